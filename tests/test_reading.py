"""Files from strangers: what is no regular file, too large, or no strict JSON is refused in one line."""

import gzip
import io
import os
import sys

import pytest

from oracles import strangers
from postil import reading
from postil.errors import ConfigurationError, DataError
from postil.reading import blocks_of_lines, open_regular, opened, parsed_json, read_bytes, read_json, read_text


@pytest.fixture
def path(tmp_path):
    return tmp_path / "file"


@pytest.mark.skipif(sys.platform == "win32", reason="needs named pipes")
def test_a_pipe_is_refused_without_waiting_for_it(path):
    os.mkfifo(path)
    with pytest.raises(OSError, match="a named pipe, not a regular file"):
        open_regular(path)
    with pytest.raises(DataError, match=r"file: cannot read the clusters \(a named pipe, not a regular file\)"):
        read_bytes(path, "the clusters", 10)


def test_folders_and_missing_files_are_refused(path, tmp_path):
    with pytest.raises(IsADirectoryError):
        open_regular(tmp_path)
    with pytest.raises(DataError, match=r"cannot read the log \(No such file or directory\)"):
        read_bytes(path, "the log", 10)


def test_sizes_are_limited_and_the_limit_can_be_raised(path, monkeypatch):
    path.write_bytes(b"x" * 100)
    assert read_bytes(path, "the log", 100) == b"x" * 100
    with pytest.raises(DataError, match="the log must have at most 99 bytes, or a higher POSTIL_LIMITS"):
        read_bytes(path, "the log", 99)
    monkeypatch.setenv("POSTIL_LIMITS", "1.5")
    assert len(read_bytes(path, "the log", 99)) == 100
    for wrong in ("0.5", "many", "nan", "inf"):
        monkeypatch.setenv("POSTIL_LIMITS", wrong)
        with pytest.raises(ConfigurationError, match="POSTIL_LIMITS must be a factor from 1 to 1000000"):
            read_bytes(path, "the log", 99)


def test_what_gzip_unpacks_to_is_counted(path, monkeypatch):
    path.write_bytes(gzip.compress(b"x" * 10_000))
    assert len(read_bytes(path, "the list", 10_000)) == 10_000
    assert len(read_bytes(path, "the list", 10_000, unpack=False)) < 100
    with pytest.raises(DataError, match="the list unpacked to too many bytes: expected at most 9,999"):
        read_bytes(path, "the list", 9_999)
    monkeypatch.setattr(reading, "FREE_EXPANSION", 1000)
    with pytest.raises(DataError, match="the list unpacked to too many bytes: expected at most 1,000"):
        read_bytes(path, "the list", 10_000)


@pytest.mark.parametrize("damage", [lambda data: data[:-9], lambda data: data[:20] + b"\xff\xff" + data[22:]])
def test_damaged_gzip_is_one_line(path, damage):
    path.write_bytes(damage(gzip.compress(bytes(range(256)))))
    with pytest.raises(DataError, match="cannot read the clusters"):
        read_bytes(path, "the clusters", 1000)


@pytest.mark.parametrize("size", [1, 3, 1 << 20])
def test_lines_come_in_blocks_with_their_numbers(size, monkeypatch):
    monkeypatch.setattr(reading, "_BLOCK", size)
    data = b"\xef\xbb\xbfone\ntwo\r\n\n  four\nfive" if size > 3 else b"one\ntwo\r\n\n  four\nfive"
    found = {}
    for number, lines in blocks_of_lines(io.BytesIO(data), "the list", "f"):
        found |= dict(enumerate(lines, number))
    assert found == {1: b"one", 2: b"two\r", 3: b"", 4: b"  four", 5: b"five"}


def test_a_line_without_end_is_refused_where_it_stands(monkeypatch):
    monkeypatch.setattr(reading, "MOST_LINE_BYTES", 10)
    with pytest.raises(DataError, match="f, line 3: a line of the list is too long: expected at most 10 bytes"):
        list(blocks_of_lines(io.BytesIO(b"a\nb\n" + b"c" * 11), "the list", "f"))


def test_text_is_utf8(path):
    path.write_bytes("\ufeffŁódź".encode())
    assert read_text(path, "the templates", 100) == "Łódź"
    path.write_bytes(b"a\xff")
    with pytest.raises(DataError, match=r"the templates must be UTF-8 \(byte 0xff\)"):
        read_text(path, "the templates", 100)


def test_json_that_is_nested_too_deeply():
    deepest = "[" * reading.MOST_DEPTH + "]" * reading.MOST_DEPTH
    assert parsed_json(deepest) is not None
    assert len(parsed_json("[" + "[]," * 1000 + "[]]")) == 1001  # many, but not deep
    for text in (f"[{deepest}]", '{"a":' * 300 + "1" + "}" * 300, "[" * 100_000, "[" * 100_000 + "]" * 100_000):
        with pytest.raises(ValueError, match=r"nested more than 200 deep|Expecting value"):
            parsed_json(text)


def test_json_with_a_key_twice_or_numbers_that_are_not_finite():
    with pytest.raises(reading.DoubleKey, match="a name that stands twice: 'b'"):
        parsed_json('{"a": 1, "b": 2, "c": {}, "b": 3}')
    for text in ("NaN", "[1e999]", '{"a": -Infinity}'):
        with pytest.raises(ValueError, match="not finite"):
            parsed_json(text)
    assert parsed_json("[1e999]", finite=False) == [float("inf")]


def test_a_file_of_json(path):
    path.write_text('{"a": [1]}')
    assert read_json(path, "the card") == {"a": [1]}
    path.write_text("{")
    with pytest.raises(DataError, match="the card must be JSON"):
        read_json(path, "the card")


def test_an_error_inside_the_block_closes_the_file(path):
    path.write_bytes(b"x")
    with pytest.raises(KeyError), opened(path, "the list", 10) as file:
        raise KeyError
    assert file.closed


@pytest.mark.parametrize("kind", strangers.AUXILIARY)
def test_whatever_is_done_to_a_file_is_read_or_refused(kind):
    """Only errors that are one clear line; the campaign tries thousands (`make faults`)."""
    outcomes = {strangers.auxiliary_outcome(kind, content) for _, content in strangers.mutated(kind, 40, seed=0)}
    assert outcomes == {"answered", "refused"}
