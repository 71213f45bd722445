"""Files of word vectors, one reader per format: text with or without a header, word2vec's binary form.

Each reader returns the words as bytes and a float32 matrix (V, D), in the order of the file.
"""

import io
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO, TypeVar, final

import numpy as np

from postil import archive
from postil.arrays import Array, arrays_under
from postil.errors import DataError, ModelFileError
from postil.features.vocabulary import prefixed
from postil.reading import (
    MOST_DIMENSIONS,
    MOST_LINE_BYTES,
    MOST_VECTOR_BYTES,
    MOST_WORDS,
    blocks_of_lines,
    limit,
    opened,
)

_WHAT = "the file of word vectors"
_LINES_AT_ONCE = 2000
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_PRINTABLE = bytes(range(32, 127)) + b"\t\r\n"
_LARGEST = float(np.finfo(np.float32).max)
Rows = tuple[list[bytes], Array]


def read_file(path: str | os.PathLike[str]) -> Rows:
    """Find out the format and read the file; gzip is undone on the way.

    After the header of word2vec and fastText files comes text if the first row is a word and D numbers; else binary; if
    it is not that either, the text's error counts.
    """
    with opened(path, _WHAT, MOST_VECTOR_BYTES) as file:
        longest = limit(MOST_LINE_BYTES)
        first = file.readline(longest).removeprefix(_BYTE_ORDER_MARK)
        fields = first.split()
        if len(fields) != 2 or not all(field.isdigit() for field in fields) or not fields[1].strip(b"0"):
            return _read_text(_Rest(first, file), None, len(fields) - 1, path)
        V, D = (int(field) if len(field) < 20 else sys.maxsize for field in fields)
        _check_sizes(V, D, path)
        first = file.readline(longest)
        try:
            _text_row(first, D)
        except ValueError:
            data = first + file.read()
        else:
            return _read_text(_Rest(first, file), V, D, path)
    try:
        return _read_binary(data, V, D, path)
    except DataError:
        if first.translate(None, _PRINTABLE):
            raise
        return _read_text(io.BytesIO(data), V, D, path)


def _check_sizes(V: int, D: int, path: Any) -> None:
    for number, most, what in ((V, MOST_WORDS, "words"), (D, MOST_DIMENSIONS, "dimensions")):
        if number > limit(most):
            raise DataError(f"too many {what} in {_WHAT}", expected=f"at most {limit(most):,}", got="more", where=path)


@final
class _Rest:
    """A file some bytes of which were read already."""

    def __init__(self, before: bytes, file: BinaryIO) -> None:
        self._before, self._file = before, file

    def read(self, size: int = -1) -> bytes:
        before, self._before = self._before, b""
        return before + self._file.read(size)


# ----------------------------------------------------------------------------------------------------------------- text


def _read_text(file: Any, V: int | None, D: int, path: Any) -> Rows:
    words: list[bytes] = []
    _check_sizes(0, D, path)
    parts = [np.zeros((0, max(D, 0)), np.float32)]
    for first, block in blocks_of_lines(file, _WHAT, path, 1 if V is None else 2):
        for place in range(0, len(block), _LINES_AT_ONCE):
            lines, number = block[place : place + _LINES_AT_ONCE], first + place
            if D < 1:
                got, where = _quoted(lines[0]), f"{path}, line {number}"
                raise DataError("no word vector", expected="a word and its numbers", got=got, where=where)
            batch, matrix = _fast_rows(lines, D) or _careful_rows(lines, D, path, number)
            words += batch
            parts.append(matrix)
            _check_sizes(len(words), D, path)
    if V is not None and len(words) != V:
        raise DataError("file of word vectors", expected=f"{V} words, says its header", got=len(words), where=path)
    return words, np.concatenate(parts)


def _fast_rows(lines: list[bytes], D: int) -> Rows | None:
    """All lines at once by NumPy's parser, if they are as plain as they should be."""
    cut = [line.partition(b" ") for line in lines]
    numbers = [rest.decode("latin-1") for _, _, rest in cut]
    if not all(word and rest.strip() for word, _, rest in cut):
        return None
    try:
        matrix = np.loadtxt(numbers, np.float32, comments=None, ndmin=2)
    except ValueError:
        return None
    if matrix.shape != (len(lines), D) or not np.isfinite(matrix).all():
        return None
    return [word for word, _, _ in cut], matrix


def _careful_rows(lines: list[bytes], D: int, path: Any, number: int) -> Rows:
    """Line by line: words with spaces inside, empty lines, and the line that is wrong."""
    words, rows = [], []
    for at, line in enumerate(lines, number):
        if not line.strip():
            continue
        try:
            word, row = _text_row(line, D)
        except ValueError as error:
            expected, where = f"a word and {D} number{'s' * (D != 1)}", f"{path}, line {at}"
            raise DataError("no word vector", expected=expected, got=error, where=where) from None
        words.append(word)
        rows.append(row)
    return words, np.array(rows, np.float32).reshape(len(rows), D)


def _text_row(line: bytes, D: int) -> tuple[bytes, list[float]]:
    """The word and its D numbers, or a ValueError that says what is there instead."""

    def is_number(field: bytes) -> bool:
        try:
            return abs(float(field)) <= _LARGEST
        except ValueError:
            return False

    count = len(line.split()) - 1
    if line[:1].isspace():
        raise ValueError(f"no word before {_quoted(line)}")
    word, *fields = line.rsplit(None, D)
    if count < D or (count > D and all(map(is_number, word.split()[1:]))):
        raise ValueError(f"{count} numbers in {_quoted(line)}")
    for field in fields:
        if not is_number(field):
            raise ValueError(f"{_quoted(field)}, which is not a finite number")
    return word, [float(field) for field in fields]


def _quoted(text: bytes) -> str:
    shown = text.decode("utf-8", "replace").strip()
    return repr(shown if len(shown) <= 40 else shown[:40] + "…")


# --------------------------------------------------------------------------------------------------------------- binary


def _read_binary(data: bytes, V: int, D: int, path: Any) -> Rows:
    """V times: the word, a space, D float32 little-endian, and in most files a line feed."""

    def cut_after(words: int) -> DataError:
        what, expected = "the file of word vectors is cut, or neither text nor binary", f"{V} words, says its header"
        return DataError(what, expected=expected, got=f"{words} at most", where=path)

    if len(data) < V * (4 * D + 1):
        raise cut_after(len(data) // (4 * D + 1))
    words, place, matrix = [], 0, np.empty((V, D), np.float32)
    for index in range(V):
        space = data.find(b" ", place)
        if space < 0 or space + 1 + 4 * D > len(data):
            raise cut_after(index)
        words.append(data[place:space].lstrip(b"\n"))
        matrix[index] = np.frombuffer(data, "<f4", D, space + 1)
        place = space + 1 + 4 * D
    if data[place:].strip(b"\n"):
        raise DataError("file of word vectors", expected=f"its end after {V} words", got="more bytes", where=path)
    if not np.isfinite(matrix).all():
        index = int(np.flatnonzero(~np.isfinite(matrix).all(1))[0])
        where = f"{path}, word {index + 1}"
        raise DataError("no word vector", expected="finite numbers", got=matrix[index], where=where)
    return words, matrix


# ------------------------ Results of pretraining in one file: word vectors and word clusters, each as its own arrays


_KIND = "pretrained"
_T = TypeVar("_T")


def save_pretrained(path: str | os.PathLike[str], **parts: Mapping[str, Array]) -> None:
    """Write the file that ``postil train --pretrained`` takes under another name, then rename it."""
    arrays = prefixed("vectors/", parts["vectors"]) | prefixed("clusters/", parts["clusters"])
    archive.save(path, arrays, {"kind": _KIND})


def holds_model(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a model, with vectors and clusters inside, rather than vectors and clusters alone."""
    _, metadata = archive.load(path)
    return metadata.get("kind") != _KIND


def load_part(path: str | os.PathLike[str], part: str, made: Callable[[Mapping[str, Array]], _T]) -> _T:
    """Load the arrays of a part and pass them to ``made``, which checks them; return its result."""
    arrays, metadata = archive.load(path)
    if metadata.get("kind") != _KIND:
        raise ModelFileError("not a file of `postil pretrain --with-brown`", where=path)
    try:
        return made(arrays_under(f"{part}/", arrays))
    except ModelFileError as error:
        raise ModelFileError(str(error), where=path) from None
