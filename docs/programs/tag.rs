use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_int, c_void};
use std::{env, ptr, slice};

#[repr(C)]
#[allow(dead_code)]
struct Entity {
    begin: i32,
    end: i32,
    first_token: i32,
    end_token: i32,
    label: i32,
    sentence: i32,
    probability: f64,
}

#[repr(C)]
#[allow(dead_code)]
struct Layer {
    task: *const c_char,
    labels: *const i32,
    probabilities: *const f64,
    sentence_probabilities: *const f64,
    entities: *const Entity,
    entity_count: i32,
    number: i32,
}

#[repr(C)]
struct Tagged {
    tokens: *const c_void,
    sentences: *const i32,
    layers: *const Layer,
    counts: [i32; 4],
}

#[link(name = "postil")]
extern "C" {
    fn postil_open(path: *const c_char, model: *mut *mut c_void) -> c_int;
    fn postil_workspace_new(model: *const c_void, max_bytes: usize, workspace: *mut *mut c_void) -> c_int;
    fn postil_tag(
        model: *const c_void, workspace: *mut c_void, text: *const c_char, length: usize, result: *mut Tagged,
    ) -> c_int;
    fn postil_entity_label(model: *const c_void, task: i32, label: i32) -> *const c_char;
    fn postil_error(code: c_int) -> *const c_char;
}

fn check(code: c_int) {
    if code != 0 {
        panic!("{}", unsafe { CStr::from_ptr(postil_error(code)) }.to_str().unwrap());
    }
}

fn main() {
    let text = env::args().nth(1).expect("a text");
    let path = CString::new("model.bin").unwrap();
    let (mut model, mut workspace) = (ptr::null_mut(), ptr::null_mut());
    let mut result = Tagged { tokens: ptr::null(), sentences: ptr::null(), layers: ptr::null(), counts: [0; 4] };
    unsafe {
        check(postil_open(path.as_ptr(), &mut model));
        check(postil_workspace_new(model, 0, &mut workspace));
        check(postil_tag(model, workspace, text.as_ptr() as *const c_char, text.len(), &mut result));
        let layer = &*result.layers;
        let count = layer.entity_count as usize;
        let entities: &[Entity] = if count == 0 { &[] } else { slice::from_raw_parts(layer.entities, count) };
        for entity in entities {
            let label = CStr::from_ptr(postil_entity_label(model, 0, entity.label)).to_str().unwrap();
            println!("{}\t{}\t{:.3}", &text[entity.begin as usize..entity.end as usize], label, entity.probability);
        }
    }
}
