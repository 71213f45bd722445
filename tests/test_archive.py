"""Model files: what goes in comes out; whatever else a file holds is refused in one clear line."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors import safe_open
from safetensors.numpy import save as safetensors_bytes

from postil import archive, files
from postil.errors import ConfigurationError, DtypeError, ModelFileError, is_printable

ARRAYS = {
    "matrix": np.arange(12, dtype=np.float32).reshape(3, 4),
    "transposed": np.arange(6, dtype=np.int64).reshape(2, 3).T,
    "one number": np.array(2.5),
    "nothing": np.zeros((0, 3), np.int32),
    "marks": np.array([True, False, True]),
    "big-endian": np.array([1, 2], ">i2"),
    "bytes": np.frombuffer(b"abc", np.uint8),
}
METADATA = {"labels": ["O", "B-Ä", "\ud83d"], "score": 0.5, "nested": {"none": None}}
CONTENT = archive.to_bytes(ARRAYS, METADATA)


def same(found, expected):
    assert found.keys() == expected.keys()
    for name, array in found.items():
        assert array.dtype == expected[name].dtype.newbyteorder("<") and array.shape == expected[name].shape
        np.testing.assert_array_equal(array, expected[name])
        assert not array.flags.writeable
    return True


def names_in(folder):
    return [path.name for path in folder.iterdir()]


def test_what_is_saved_is_loaded(tmp_path):
    path = tmp_path / "a model.postil"
    archive.save(path, ARRAYS, METADATA)
    arrays, metadata = archive.load(str(path))
    assert same(arrays, ARRAYS) and metadata == METADATA
    assert names_in(tmp_path) == [path.name]


dtypes = st.sampled_from([np.float64, np.float32, np.float16, np.int64, np.int32, np.uint8, np.bool_])


@given(
    st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"])),
        dtypes.flatmap(
            lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
        ),
        max_size=4,
    )
)
def test_any_arrays(arrays):
    arrays.pop("__metadata__", None)
    content = archive.to_bytes(arrays, {})
    assert same(archive.from_bytes(content)[0], arrays)
    assert content == archive.to_bytes(dict(reversed(arrays.items())), {})


def test_the_safetensors_package_reads_it(tmp_path):
    archive.save(tmp_path / "m", ARRAYS, METADATA)
    with safe_open(tmp_path / "m", "numpy") as file:
        for name, array in ARRAYS.items():
            np.testing.assert_array_equal(file.get_tensor(name), array)
        assert file.metadata()["postil"] == str(archive.VERSION)
        assert json.loads(file.metadata()["content"])["metadata"] == METADATA


def test_same_content_same_bytes():
    program = (
        "import sys, numpy as np; from postil import archive\n"
        "arrays = {'b': np.arange(3), 'a': np.ones(2, 'f4')}\n"
        "sys.stdout.buffer.write(archive.to_bytes(arrays, {'y': 1, 'x': {'d': 1, 'c': 2}}))"
    )
    runs = {subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout for _ in range(2)}
    runs.add(archive.to_bytes({"a": np.ones(2, "f4"), "b": np.arange(3)}, {"x": {"c": 2, "d": 1}, "y": 1}))
    assert len(runs) == 1


def test_nothing_is_copied_on_loading(tmp_path):
    path = tmp_path / "m"
    archive.save(path, {"x": np.zeros(1000)}, {})
    arrays, _ = archive.load(path)
    with path.open("r+b") as file:  # what is written into the file in place shows in the array
        file.seek(-8, os.SEEK_END)
        file.write(np.float64(7).tobytes())
    assert arrays["x"][-1] == 7


def test_an_old_file_stays_usable_while_a_new_one_takes_its_place(tmp_path):
    path, link = tmp_path / "m", tmp_path / "link"
    link.symlink_to(path)
    archive.save(path, {"x": np.zeros(1000)}, {})
    old, _ = archive.load(path)
    archive.save(link, {"x": np.ones(1000)}, {})
    assert link.is_symlink() and not old["x"].any() and archive.load(path)[0]["x"].all()


def file_with(header, data=b"", version=b"2", name=b"checksum", checksum=None):
    """A file with any header after its fixed beginning, the checksum repaired."""
    rest = header if isinstance(header, bytes) else json.dumps(header)[1:-1].encode()
    begin = b'{"__metadata__":{"postil":"' + version + b'","' + name + b'":"'
    length = (len(begin) + 8 + len(rest)).to_bytes(8, "little")
    right = b"%08x" % zlib.crc32(rest, zlib.crc32(length))
    return length + begin + (right if checksum is None else checksum) + rest + data


def with_text(text):
    return file_with(b'","content":' + json.dumps(text).encode() + b"}}")


def with_arrays(data=b"", /, **entries):
    content = json.dumps({"metadata": {}, "checksums": {name: [zlib.crc32(data)] for name in entries}})
    arrays = "".join(f",{json.dumps(name)}:{json.dumps(entry)}" for name, entry in entries.items())
    return file_with(f'","content":{json.dumps(content)}}}{arrays}}}'.encode(), data)


def entry(dtype="F32", shape=(2,), bounds=(0, 8)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(bounds)}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a model file: it is empty"),
        (b"abc", "not a Postil model file: expected a file that `save` or `postil train` has written"),
        (b"PK\x03\x04" + bytes(100), "not a Postil model file"),
        (b"\x80\x04\x95" + bytes(100), "not a Postil model file"),
        (CONTENT[:100], "the model file is truncated: expected at least"),
        (CONTENT[:-1], "the model file is truncated: expected 114 bytes of arrays, got 113"),
        (CONTENT + b"\n", "the model file has bytes after its end: expected 114 bytes of arrays, got 115"),
        (safetensors_bytes({"x": np.zeros(3)}), "a safetensors file, but not a model of Postil's"),
        (safetensors_bytes({"x": np.zeros(3)}, {"format": "pt"}), "a safetensors file, but not a model of Postil's"),
        (file_with(b"", version=b"3"), "by a newer Postil: update this one: expected format 2, got 3"),
        (file_with(b"", version=b"99999999999999999999999999999999"), "damaged in its header|newer"),
        (file_with(b"", version=b"two"), "damaged in its header: expected format 2"),
        (file_with(b"", version=b"1"), "damaged in its header: expected format 2"),
        (file_with(b'","content":"{}"}}', name=b"checksun"), "damaged in its header: its checksum is wrong"),
        (file_with(b'","content":"{}"}}', checksum=b"00000000"), "damaged in its header: its checksum is wrong"),
        (CONTENT.replace(b'"checksum":"', b'"checksun":"'), "damaged in its header: its checksum is wrong"),
        (CONTENT.replace(b'\\"checksums\\":', b'\\"checksumz\\":'), "damaged in its header: its checksum is wrong"),
        (with_text('{"metadata": {}}'), "damaged in its metadata: expected metadata and checksums"),
        (with_text('{"metadata": {}, "checksumz": {}}'), "damaged in its metadata: expected metadata and checksums"),
        (with_text('{"metadata": {}, "checksums": {}, "more": 1}'), "expected metadata and checksums"),
        (with_text('{"metadata": [], "checksums": {}}'), "damaged in its metadata"),
        (with_text('{"metadata": {}, "checksums": []}'), "damaged in its metadata"),
        (with_text('{"metadata": {}, "checksums": {"x": [1]}}'), "damaged in the names of its arrays"),
        (with_text('{"metadata": {"x": NaN}, "checksums": {}}'), "in its metadata: expected JSON, got a number"),
        (with_text('{"metadata": {"x": 1e999}, "checksums": {}}'), "got a number that is not finite: 1e999"),
        (with_text('{"metadata": {"x": 1, "x": 2}, "checksums": {}}'), "a name that stands twice"),
        (with_text("[]"), "damaged in its metadata: expected a JSON object"),
        (with_text("[" * 99_999), "damaged in its metadata: expected JSON"),
        (with_text("{"), "damaged in its metadata: expected JSON"),
        (file_with(b'","content":5}}'), "damaged in its header: expected one text, 'content'"),
        (file_with(b'","content":"{}"},"a":1,"a":2}'), "a name that stands twice"),
        (file_with(b"]"), "damaged in its header: expected JSON"),
        (file_with(b"\xff"), "damaged in its header: expected JSON"),
        (file_with(b'","content":"{}"},"a":' + b"9" * 5000 + b"}"), "damaged in its header: expected JSON"),
        (file_with(b'","content":"{}"}}' + b" " * (4 << 20)), "its? header of the model file is too long|too long"),
        (with_arrays(a=3), "in its header at array 'a': expected dtype, shape and data_offsets that agree"),
        (with_arrays(a={"dtype": "F32"}), "at array 'a'"),
        (with_arrays(bytes(8), a=entry("BF16", (4,))), "at array 'a'"),
        (with_arrays(bytes(8), a=entry(["F32"])), "at array 'a'"),
        (with_arrays(bytes(8), a=entry(shape=(3,))), "at array 'a'"),
        (with_arrays(bytes(8), a=entry(shape=(-1, -2))), "at array 'a'"),
        (with_arrays(bytes(8), a=entry(shape=(True, 2))), "at array 'a'"),
        (with_arrays(bytes(8), a=entry(bounds=(8, 0))), "at array 'a'"),
        (with_arrays(bytes(8), a=entry(bounds=(0, 8, 8))), "at array 'a'"),
        (with_arrays(bytes(8), a=entry(shape=[1] * 99_999 + [2])), "at array 'a'"),
        (with_arrays(a=entry(shape=[2**62, 2**62, 0], bounds=(0, 0))), "at array 'a': expected a possible shape"),
        (with_arrays(bytes(8), a=entry(), b=entry()), "array '.' overlaps another or leaves a gap"),
        (with_arrays(bytes(12), a=entry(bounds=(4, 12))), "a gap: expected its beginning at byte 0, got 4"),
        (with_arrays(**{f"a{i}": entry(shape=[0], bounds=(0, 0)) for i in range(10_001)}), "too many arrays"),
        (with_arrays(a=entry(shape=[0], bounds=(0, 0))), "damaged in the checksums of array 'a'"),
        (with_arrays(**{"a\x1b[31m\n": 3}), r"at array 'a.x1b\[31m"),
    ],
)  # fmt: skip
def test_other_files_are_refused(tmp_path, content, message):
    path = tmp_path / "m"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=message) as caught:
        archive.load(path)
    assert str(caught.value).startswith(f"{path}: ") and is_printable(str(caught.value))


HEADER_END = 8 + int.from_bytes(CONTENT[:8], "little")
flips = st.lists(st.tuples(st.integers(0, HEADER_END - 1), st.integers(0, 255)), max_size=4)
cuts = st.tuples(st.integers(0, len(CONTENT)), st.integers(0, 12))


@given(flips, st.none() | cuts)
def test_a_changed_header_is_refused_or_harmless(changes, cut):
    content = bytearray(CONTENT)
    for place, byte in changes:
        content[place] = byte
    if cut:
        del content[cut[0] : cut[0] + cut[1]]
    try:
        arrays, metadata = archive.from_bytes(bytes(content))
    except ModelFileError as error:
        assert "\n" not in str(error)
    else:
        assert isinstance(metadata, dict)
        assert sum(array.nbytes for array in arrays.values()) == len(CONTENT) - HEADER_END


@given(st.integers(0, len(CONTENT) - 1), st.integers(0, 255))
def test_any_changed_byte_is_found_or_harmless(place, byte):
    content = bytearray(CONTENT)
    content[place] = byte
    try:
        arrays, metadata = archive.from_bytes(bytes(content))
    except ModelFileError as error:
        assert "\n" not in str(error)
    else:
        assert same(arrays, ARRAYS) and metadata == METADATA


def test_every_flipped_bit_of_an_array_is_found():
    for place in range(HEADER_END, len(CONTENT)):
        content = bytearray(CONTENT)
        content[place] ^= 1 << place % 8
        with pytest.raises(ModelFileError, match=r"model file: the model file is damaged in array '.*'"):
            archive.from_bytes(bytes(content))


def test_arrays_that_change_places_are_found():
    content = archive.to_bytes({"a": np.array([1, 2]), "b": np.array([3, 4])}, {})
    start = 8 + int.from_bytes(content[:8], "little")
    swapped = content[:start] + content[start + 16 :] + content[start : start + 16]
    with pytest.raises(ModelFileError, match="damaged in array 'a'"):
        archive.from_bytes(swapped)


def test_rows_are_checked_when_they_are_asked_for(tmp_path):
    path = tmp_path / "m"
    table = np.arange(100_000, dtype=np.float32).reshape(2_000, 50)  # 400,000 bytes, 7 blocks
    archive.save(path, {"small": np.zeros(4), "table": table}, {})
    archive.check(path)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1  # the last number of the last row, since wider elements come first
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=f"{path}: the model file is damaged in array 'table'"):
        archive.check(path)
    rows = archive.load(path, by_rows="table".__eq__)[0]["table"]
    assert (rows.shape, rows.dtype, len(rows), rows.ndim) == (table.shape, table.dtype, 2_000, 2)
    assert not rows.flags.writeable
    ids = np.array([0, 3, 1500, 327, 328, 3])  # two of them at the border of a block
    np.testing.assert_array_equal(rows[ids], table[ids])
    for wrong in (np.array([1, 1999]), np.array([-1]), slice(0, 2)):
        with pytest.raises(ModelFileError, match="damaged in array 'table'"):
            rows[wrong]
    with pytest.raises(ModelFileError, match="damaged in array 'table'"):
        np.asarray(rows)


def test_rows_that_are_not_finite_are_refused():
    table = np.zeros((5, 3), np.float32)
    table[4, 2] = np.nan
    rows = archive.from_bytes(archive.to_bytes({"t": table}, {}), by_rows="t".__eq__)[0]["t"]
    assert not rows[np.array([0, 3])].any()
    with pytest.raises(ModelFileError, match="array 't': expected finite numbers"):
        rows[np.array([0, 4])]
    assert np.isnan(np.asarray(rows)[4, 2])


def test_arrays_are_aligned():
    content = archive.to_bytes({"bytes": np.zeros(3, np.uint8), "x": np.arange(5.0), "y": np.arange(3)}, {"a": 1})
    assert (8 + int.from_bytes(content[:8], "little")) % 64 == 0
    data = np.arange(2, dtype=np.float32).tobytes()
    odd = [with_arrays(data, **{"a" * n: entry()}) for n in range(1, 5)]  # written by somebody else
    assert sum((8 + int.from_bytes(content[:8], "little")) % 4 != 0 for content in odd) >= 3
    for one in odd:
        (array,) = archive.from_bytes(one)[0].values()
        assert array.flags.aligned and array.tolist() == [0, 1] and not array.flags.writeable


def test_headers_that_are_too_long_are_not_written(tmp_path):
    with pytest.raises(ConfigurationError, match="metadata of a model file: expected at most 4 MiB"):
        archive.save(tmp_path / "m", {}, {"text": "x" * (4 << 20)})


def test_keys_that_are_numbers_become_texts():
    metadata = {"counts": {10: 1, 9: 2}}
    assert archive.from_bytes(archive.to_bytes({}, metadata))[1] == {"counts": {"10": 1, "9": 2}}


def test_every_cut_is_found():
    for length in range(len(CONTENT)):
        with pytest.raises(ModelFileError):
            archive.from_bytes(CONTENT[:length])


def test_places_that_cannot_be_read_or_written(tmp_path):
    with pytest.raises(ModelFileError, match="nowhere: no such model file"):
        archive.load(tmp_path / "nowhere")
    with pytest.raises(ModelFileError, match=r"cannot read the model file \(Is a directory"):
        archive.load(tmp_path)
    with pytest.raises(ModelFileError, match=r"cannot write the model file \(No such file or directory"):
        archive.save(tmp_path / "nowhere" / "m", ARRAYS, {})
    (tmp_path / "folder").mkdir()
    with pytest.raises(ModelFileError, match=r"folder: cannot write the model file \(Is a directory"):
        archive.save(tmp_path / "folder", ARRAYS, {})
    assert names_in(tmp_path) == ["folder"]


def test_what_cannot_be_saved(tmp_path):
    with pytest.raises(DtypeError, match="text: array in a model file: expected numbers or booleans, got <U1"):
        archive.save(tmp_path / "m", {"text": np.array(["a"])}, {})
    with pytest.raises(DtypeError, match="objects"):
        archive.save(tmp_path / "m", {"objects": np.array([None])}, {})
    with pytest.raises(ConfigurationError, match="expected what JSON can hold, got Out of range float"):
        archive.save(tmp_path / "m", {}, {"score": float("nan")})
    with pytest.raises(ConfigurationError, match="name of an array"):
        archive.save(tmp_path / "m", {"__metadata__": np.zeros(1)}, {})
    assert names_in(tmp_path) == []


SAVE_FOR_EVER = """
import itertools, sys
import numpy as np
from postil import archive
for number in itertools.count(1):
    archive.save(sys.argv[1], {"x": np.full(300_000, number)}, {"number": number})
    print(number, flush=True)
"""


@pytest.mark.slow
def test_killed_while_saving(tmp_path):
    path = tmp_path / "m"
    for delay in (0.0, 0.003, 0.011, 0.017, 0.04):
        command = [sys.executable, "-c", SAVE_FOR_EVER, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            process.stdout.readline()  # the first file is whole
            time.sleep(delay)
            process.send_signal(signal.SIGKILL)
        arrays, metadata = archive.load(path)
        assert (arrays["x"] == metadata["number"]).all()
    assert all(name.endswith(".partial") for name in names_in(tmp_path) if name != "m")
    archive.save(path, {}, {})
    assert names_in(tmp_path) == ["m"]  # the next one clears away what the killed ones left


def test_only_abandoned_files_are_cleared_away(tmp_path):
    for name in (".m.0123abcd.partial", ".other.0123abcd.partial", "m.partial", ".m.more.postil"):
        (tmp_path / name).write_bytes(b"half")
    archive.save(tmp_path / "m", {}, {})
    assert sorted(names_in(tmp_path)) == [".m.more.postil", ".other.0123abcd.partial", "m", "m.partial"]
    with files._partial_file(tmp_path / "m", tmp_path / "m") as (path, _):  # of a process that is still writing
        archive.save(tmp_path / "m", {}, {"second": 1})
        assert path.exists()
    assert not path.exists()


def test_a_full_disk_names_the_file(tmp_path, monkeypatch):
    def full(handle):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    archive.save(tmp_path / "m", {}, {"old": 1})
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ModelFileError, match=r"/m: cannot write the model file \(No space left on device\)"):
        archive.save(tmp_path / "m", ARRAYS, {})
    assert archive.load(tmp_path / "m")[1] == {"old": 1} and names_in(tmp_path) == ["m"]


# ------------------------------------------------------------------------------------------------ a file inside another


def nested():
    """An array that both have under different names, one that is too small, and one that differs."""
    table, small = np.arange(5000, dtype=np.float32).reshape(100, 50), np.arange(4, dtype=np.int64)
    outer = {"table": table, "rows": np.arange(1200, dtype=np.int32), "small": small}
    inner = {"words": table.copy(), "small": small, "rows": np.arange(1, 1201, dtype=np.int32)}
    return outer, inner


def test_what_both_have_stands_once():
    outer, inner = nested()
    alone = archive.to_bytes(inner, {"of": "inner"})
    inside = archive.to_bytes(inner, {"of": "inner"}, outer)
    assert len(alone) - len(inside) > 19_000
    whole = archive.to_bytes({**outer, "inner": np.frombuffer(inside, np.uint8)}, {})
    arrays, _ = archive.from_bytes(whole)
    found, metadata = archive.from_bytes(arrays["inner"].data, around=arrays)
    assert metadata == {"of": "inner"} and found["words"] is arrays["table"], "in memory once as well"
    assert set(found) == set(inner)
    for name, array in inner.items():
        assert np.array_equal(found[name], array) and found[name].dtype == array.dtype
    assert archive.to_bytes(inner, {"of": "inner"}, outer) == inside


def test_a_file_from_inside_is_refused_elsewhere():
    outer, inner = nested()
    inside = archive.to_bytes(inner, {}, outer)
    message = "array 'words' of a model inside another: expected the same array in the outer one, got "
    with pytest.raises(ModelFileError, match=message + "none"):
        archive.from_bytes(inside)
    changed = outer["table"].copy()
    changed[3, 3] += 1
    for other in ({"table": changed}, {"other": outer["table"]}):
        around, _ = archive.from_bytes(archive.to_bytes(other, {}))
        with pytest.raises(ModelFileError, match=message + "another"):
            archive.from_bytes(inside, around=around)


@pytest.mark.parametrize("shared", [[], {"words": 3}, {"rows": "table"}, {"else": "table"}])
def test_forged_references_are_refused(shared):
    outer, inner = nested()
    around, _ = archive.from_bytes(archive.to_bytes(outer, {}))
    inside = archive.to_bytes(inner, {}, outer)

    size = 8 + int.from_bytes(inside[:8], "little")
    header = json.loads(inside[8:size])
    content = json.loads(header.pop("__metadata__")["content"]) | {"shared": shared}
    entries = "".join(f",{json.dumps(name)}:{json.dumps(entry)}" for name, entry in header.items())
    forged = file_with(f'","content":{json.dumps(json.dumps(content))}}}{entries}}}'.encode(), inside[size:])
    with pytest.raises(ModelFileError):
        archive.from_bytes(forged, around=around)
