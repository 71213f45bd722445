"""Bytes to lines: every way to end a line, every encoding, every kind of damage, in flat memory."""

import gzip
import io
import os
import re
import threading
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.errors import ConfigurationError, DataError
from postil.text import lines as module
from postil.text.lines import Lines


def lines_of(data: bytes, **options: Any) -> list[str]:
    return [line for _, batch in Lines(io.BytesIO(data), **options) for line in batch]


def reference(text: str) -> list[str]:
    found = re.split("\r\n|\r|\n", text)
    return ["" if not line.strip(" \t") else line for line in (found[:-1] if not found[-1] else found)]


@given(st.text(st.sampled_from("ab\r\n\t é😀\u2028\x85\x0b")), st.integers(1, 7))
def test_lines_do_not_depend_on_where_pieces_are_cut(text: str, piece: int) -> None:
    assert lines_of(text.encode(), piece=piece) == reference(text)


@given(st.text(st.sampled_from("ab\n \t"), max_size=40))
def test_lines_are_numbered_and_the_head_is_not_consumed(text: str) -> None:
    source = Lines(io.BytesIO(text.encode()))
    head = source.head(5)
    numbered = [(number + index, line) for number, batch in source for index, line in enumerate(batch)]
    assert numbered == list(enumerate(reference(text), 1))
    assert head == reference(text)[: len(head)]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_byte_order_marks_name_the_encoding(encoding: str) -> None:
    assert lines_of("é\n😀".encode(encoding)) == ["é", "😀"]


def test_gzip_is_found_by_its_content() -> None:
    assert lines_of(gzip.compress("é\nb\n".encode())) == ["é", "b"]


def test_another_encoding_can_be_named() -> None:
    assert lines_of("é".encode("latin-1"), encoding="latin-1") == ["é"]


def failure(data: bytes, **options: Any) -> str:
    with pytest.raises(DataError) as caught:
        lines_of(data, **options)
    return str(caught.value)


def test_invalid_utf8_is_named_by_line_and_byte() -> None:
    assert failure(b"caf\xc3\xa9\r\nGr\xfc\xdfe\n") == (
        "stream, line 2: invalid UTF-8 at byte 9: expected UTF-8, or "
        "the right encoding (--encoding latin-1 or cp1252 for "
        "older Western text), got byte 0xfc"
    )


@given(st.text("é\nx", max_size=30), st.integers(1, 9))
def test_the_place_of_invalid_bytes_does_not_depend_on_the_pieces(text: str, piece: int) -> None:
    before = module.PIECE
    module.PIECE = piece
    good = text.encode()
    try:
        message = failure(good + b"\xff" + b"tail\n")
    finally:
        module.PIECE = before
    assert f"line {text.count(chr(10)) + 1}: invalid UTF-8 at byte {len(good)}:" in message


def test_a_character_cut_at_the_end_of_the_file() -> None:
    assert "line 2: invalid UTF-8 at byte 2: " in failure(b"a\n\xc3")


def test_nul_byte() -> None:
    assert failure(b"a\nb\0c") == ("stream, line 2: NUL byte: expected text, got binary data or another encoding")


@pytest.mark.parametrize("end", [b"", b"\nnext"])
def test_an_endless_line(end: bytes) -> None:
    assert failure(b"a\n" + b"x" * 1_000_000 + end, line_limit=800_000) == (
        f"stream, line 2: line too long: expected at most 800,000 characters, got more, beginning with '{'x' * 29}…'"
    )


def test_a_line_of_ten_megabytes() -> None:
    with Lines(io.BytesIO(b"a\n" + b"x" * 10_000_000)) as found:
        assert [len(line) for _, batch in found for line in batch] == [1, 10_000_000]


PACKED = gzip.compress(bytes(range(1, 100)) * 50, mtime=0)


def test_gzip_that_ends_too_early() -> None:
    assert failure(PACKED[:-9]) == (
        "stream: damaged gzip data: expected a whole gzip file, "
        "got compressed file ended before the end-of-stream marker was reached"
    )


@given(st.integers(10, len(PACKED) - 5), st.integers(0, 7))
def test_gzip_with_a_flipped_bit(place: int, bit: int) -> None:
    """The checksum finds what the decoder does not; bits that fill up the last byte mean nothing."""
    data = bytearray(PACKED)
    data[place] ^= 1 << bit
    try:
        assert lines_of(bytes(data)) == lines_of(PACKED)
    except DataError as error:
        assert str(error).startswith("stream: damaged gzip data: expected a whole gzip file, got ")


@pytest.mark.parametrize(
    ("beginning", "name"),
    [(b"PK\x03\x04", "a ZIP archive or an office document"), (b"BZh9", "a bzip2 file"), (b"%PDF-1.4", "a PDF")],
)
def test_files_that_are_not_text(beginning: bytes, name: str) -> None:
    assert failure(beginning + b"rest") == f"stream: this is {name}: expected text or gzip of text"


def test_unknown_encoding() -> None:
    with pytest.raises(ConfigurationError, match=r"unknown encoding: expected a name such as utf-8, .*, got 'klingon'"):
        lines_of(b"a", encoding="klingon")


def test_a_text_stream_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="cannot read from a text stream: expected a path or a binary stream"):
        Lines(io.StringIO("a"))  # type: ignore[arg-type]


def test_a_stream_that_was_handed_in_stays_open() -> None:
    stream = io.BytesIO(b"a\n")
    with Lines(stream) as source:
        assert list(source) == [(1, ["a"])]
    del source
    assert not stream.closed


def test_a_pipe_is_read_as_it_comes() -> None:
    """The first line is there before the writer has closed its end."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as source, os.fdopen(writing, "wb", buffering=0) as target:
        target.write(b"first\nsec")
        batches = iter(Lines(source))
        assert next(batches) == (1, ["first"])
        target.write(b"ond\n")
        assert next(batches) == (2, ["second"])
        target.close()
        assert list(batches) == []


@pytest.mark.slow
def test_memory_stays_flat() -> None:
    """A pipe of 8 MB passes through two megabytes."""
    reading, writing = os.pipe()

    def feed() -> None:
        with os.fdopen(writing, "wb") as target:
            for _ in range(80):
                target.write(b"token\tO\n" * 12_500)

    thread = threading.Thread(target=feed)
    tracemalloc.start()
    thread.start()
    with os.fdopen(reading, "rb") as source:
        count = sum(len(batch) for _, batch in Lines(source))
    thread.join()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 1_000_000
    assert peak < 2_500_000
