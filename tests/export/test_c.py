"""A folder of C: it is whole, compiles without a word, and its conformance program finds what is wrong."""

import shutil
import subprocess
import tomllib
from pathlib import Path

import numpy as np
import pytest

import postil
from oracles import corpora
from oracles.c_runtime import COMPILER, WARNINGS, needs_compiler
from postil.errors import ConfigurationError
from postil.export.amalgamation import KERNEL_FILES, RUNTIME_FILES
from postil.export.c import export_c
from postil.samples.corpora import made_up_trees

FILES = {
    "LICENSES.txt",
    "Makefile",
    "README.md",
    "conformance.c",
    "conformance.txt",
    "example.c",
    "model.bin",
    "postil.c",
    "postil.h",
}


def make(folder, *words, code=0):
    command = ["make", "-s", f"CC={COMPILER}", "CFLAGS=-O1 -Werror", *words]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600)
    assert made.returncode == code, made.stderr
    return made


@pytest.fixture(scope="module")
def folder(names_model, tmp_path_factory):
    path = tmp_path_factory.mktemp("exported") / "names"
    export_c(postil.load(names_model), path, array=True)
    return path


def test_the_folder_is_whole(folder):
    assert {path.name for path in folder.iterdir()} == FILES | {"model.c", "model.h"}
    assert not list(folder.parent.glob(".*"))


@pytest.mark.slow
@needs_compiler
def test_make_check_passes_and_the_example_runs(folder, names_model):
    made = make(folder, "check")
    assert made.stderr == ""
    assert made.stdout.startswith("conformance: passed")
    make(folder, "example")
    shown = subprocess.run(
        ["./example", "Anna lives in Paris."], cwd=folder, capture_output=True, text=True, timeout=60, check=True
    )
    expected = postil.load(names_model).tag("Anna lives in Paris.").entities
    rows = [f"{entity.text}\t{entity.label}\t{entity.probability:.3f}" for entity in expected]
    assert shown.stdout.splitlines() == rows


@needs_compiler
@pytest.mark.extra("rustc")
def test_the_rust_program_of_the_documentation(folder, names_model):
    shutil.copy(Path(__file__).parents[2] / "docs" / "programs" / "tag.rs", folder)
    make(folder, "shared")
    command = ["rustc", "-D", "warnings", "-L", ".", "-C", "link-arg=-Wl,-rpath,.", "tag.rs"]
    subprocess.run(command, cwd=folder, check=True, timeout=600)
    for text in ("Zoë 😀 met Anna in Paris.", "nothing"):
        shown = subprocess.run(["./tag", text], cwd=folder, capture_output=True, timeout=60, check=True)
        expected = postil.load(names_model).tag(text).entities
        rows = [f"{entity.text}\t{entity.label}\t{entity.probability:.3f}" for entity in expected]
        assert shown.stdout.decode().splitlines() == rows


@needs_compiler
def test_a_wrong_answer_is_found(folder):
    path = folder / "conformance.txt"
    content = path.read_bytes()
    try:
        first = content.index(b"\nL ")
        place = content.index(b"O\n", first)
        path.write_bytes(content[:place] + b"X" + content[place + 1 :])
        made = make(folder, "check", code=2)
        assert "FAILED" in made.stdout
        assert "3 labels differ" in made.stdout, "as text, from tokens, in a fixed workspace"
        path.write_bytes(content[: len(content) // 2])
        assert "damaged" in make(folder, "check", code=2).stderr
    finally:
        path.write_bytes(content)


@pytest.mark.slow
@needs_compiler
def test_the_model_as_an_array(folder, tmp_path):
    program = """
#include "model.h"
#include "postil.h"
int main(void) {
    postil_model *model;
    const int code = postil_open_memory(postil_model_data, postil_model_size, &model);
    postil_close(code ? NULL : model);
    return code;
}
"""
    (tmp_path / "main.c").write_text(program, encoding="utf-8")
    sources = [str(tmp_path / "main.c"), str(folder / "model.c"), str(folder / "postil.c")]
    command = [COMPILER, *WARNINGS, f"-I{folder}", *sources, "-o", str(tmp_path / "main"), "-lm"]
    subprocess.run(command, check=True, timeout=600)
    assert subprocess.run([tmp_path / "main"], timeout=60).returncode == 0


@pytest.mark.slow
@needs_compiler
def test_sanitisers_find_nothing(folder):
    probe = [COMPILER, "-fsanitize=address,undefined", "-x", "c", "-", "-o", "/dev/null"]
    found = subprocess.run(probe, input="int main(void) { return 0; }", capture_output=True, text=True, timeout=60)
    if found.returncode:
        pytest.skip("needs the sanitisers of the compiler")
    made = make(folder, "sanitise")
    assert made.stdout.startswith("conformance: passed")


@pytest.mark.slow
@needs_compiler
def test_half_precision_conforms_to_the_rounded_model(names_model, tmp_path):
    written = export_c(postil.load(names_model), tmp_path / "half", half=True)
    assert written.change is not None
    assert "half precision changes" in str(written.change)
    assert make(tmp_path / "half", "check").stdout.startswith("conformance: passed")


@pytest.mark.slow
@needs_compiler
def test_several_tasks_and_texts_of_the_user(tmp_path):
    (X, y), (X2, y2) = corpora.named_entities(20), corpora.parts_of_speech(20)
    tagger = postil.MultiTaskTagger(hidden=8, epochs=2).fit({"a": X, "b": X2}, {"a": y, "b": y2})
    export_c(tagger, tmp_path / "tasks", texts=["Anna lives here.", "", "Zürich \u2028 is far"])
    assert "7 tokens" in make(tmp_path / "tasks", "check").stdout


@pytest.mark.slow
@needs_compiler
def test_a_tree_classifier(tmp_path):
    trees = made_up_trees(30, np.random.default_rng(0))
    classifier = postil.TreeClassifier(hidden=6, epochs=1).fit(trees)
    export_c(classifier, tmp_path / "trees")
    assert make(tmp_path / "trees", "check").stdout.startswith("conformance: passed: 0 tokens")
    make(tmp_path / "trees", "example")
    shown = subprocess.run(
        ["./example"], cwd=tmp_path / "trees", capture_output=True, text=True, timeout=60, check=True
    )
    assert shown.stdout.splitlines()[-1].endswith("a) (3 (2 good) (2 film")


def test_an_earlier_export_is_replaced_and_nothing_else(names_model, tmp_path):
    tagger = postil.load(names_model)
    export_c(tagger, tmp_path / "out", array=True)
    (tmp_path / "out" / "main.c").write_text("int main(void) { return 0; }\n", encoding="utf-8")
    export_c(tagger, tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == FILES | {"main.c"}
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    with pytest.raises(ConfigurationError, match="must be a new folder or an earlier export"):
        export_c(tagger, tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.tex"]
    with pytest.raises(ConfigurationError, match="must be a folder"):
        export_c(tagger, tmp_path / "mine" / "thesis.tex")
    with pytest.raises(ConfigurationError, match="existing folder"):
        export_c(tagger, tmp_path / "no" / "where")


def test_a_failed_export_leaves_nothing(tmp_path):
    detector = postil.Detector(label="PER", epochs=1, hidden=4).fit(*corpora.named_entities(10))
    with pytest.raises(ConfigurationError, match="Detector"):
        export_c(detector, tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_sources_are_part_of_an_installation():
    """What an export reads stands in the package data of pyproject.toml."""
    root = Path(__file__).parents[2]
    if not (root / "pyproject.toml").exists():
        pytest.skip("not in the repository")
    with (root / "pyproject.toml").open("rb") as file:
        patterns = tomllib.load(file)["tool"]["setuptools"]["package-data"]["postil"]
    package = root / "src" / "postil"
    installed = {path for pattern in patterns for path in package.glob(pattern)}
    needed = {package / "kernels" / name for name in KERNEL_FILES}
    needed |= {package / "kernels" / "engine" / name for name in (*RUNTIME_FILES, "postil.h")}
    needed |= set((package / "export" / "c_files").iterdir())
    assert needed <= installed


COUNTING = """
#include <stdlib.h>
#include <string.h>
#include "postil.h"
static long allocations;
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size) { allocations++; return __real_malloc(size); }
void *__wrap_calloc(size_t count, size_t size) { allocations++; return __real_calloc(count, size); }
void *__wrap_realloc(void *memory, size_t size) { allocations++; return __real_realloc(memory, size); }
int main(int count, char **words) {
    postil_model *model;
    postil_workspace *workspace;
    postil_result result;
    if (count < 3 || postil_open(words[1], &model)) return 2;
    const size_t max_bytes = (size_t)atoi(words[2]);
    if (postil_workspace_new(model, max_bytes, &workspace) || allocations == 0) return 3;
    const long before = allocations;
    for (int i = 3; i < count; i++)
        if (postil_tag(model, workspace, words[i], strlen(words[i]), &result)) return 4;
    const int is_quiet = allocations == before;
    postil_workspace_free(workspace);
    postil_close(model);
    return is_quiet ? 0 : 1;
}
"""


@pytest.mark.slow
@needs_compiler
def test_nothing_is_allocated_while_tagging(folder, tmp_path):
    (tmp_path / "main.c").write_text(COUNTING, encoding="utf-8")
    wrapped = "-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc"
    command = [COMPILER, "-O1", wrapped, f"-I{folder}", "main.c", str(folder / "postil.c")]
    made = subprocess.run([*command, "-o", "main", "-lm"], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    if made.returncode and "wrap" in made.stderr:
        pytest.skip("needs a linker that wraps functions")
    assert made.returncode == 0, made.stderr
    texts = ["Anna lives in Paris. " * 10, "x" * 300, "Mr. " * 70, "a-b" * 90, "12345678.9 " * 25, "W." * 140]

    def run(max_bytes: int) -> int:
        return subprocess.run([tmp_path / "main", folder / "model.bin", str(max_bytes), *texts], timeout=120).returncode

    assert run(300) == 0
    assert run(0) == 1, "a workspace that grows allocates, and that is seen"
    assert run(200) == 4, "texts that are too long are refused"
