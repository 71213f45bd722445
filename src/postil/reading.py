"""Reading files that may come from strangers: regular files, within stated sizes, and strict JSON.

Model files and checkpoints have their own reader (``archive.py``), which opens them here. Text to tag and labelled
data may also come from pipes (``text/lines.py``).

The limits are far above what real files need. Somebody whose files need more sets the environment variable
POSTIL_LIMITS to the factor by which all of them are raised: ``POSTIL_LIMITS=4``.
"""

import errno
import io
import json
import math
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, cast, final

from postil.errors import ConfigurationError, DataError

MOST_VECTOR_BYTES = 32 << 30
"""Of a file of word vectors, once it is decompressed."""
MOST_WORDS = 10_000_000
"""Rows of a file of word vectors."""
MOST_DIMENSIONS = 10_000
"""Of a word vector."""
MOST_LIST_BYTES = 1 << 30
"""Of a file of clusters, a gazetteer or answers, once it is decompressed."""
MOST_JSON_BYTES = 64 << 20
"""Of a small file as a whole: a model card, names of labels, templates, the description of a job."""
MOST_LINE_BYTES = 1 << 20
"""Of a line in any of these."""
MOST_DEPTH = 200
"""Of nested lists and objects in JSON."""
MOST_EXPANSION, FREE_EXPANSION = 20, 64 << 20
"""A gzip file may become this many times as large, or this many bytes if that is more."""
VARIABLE = "POSTIL_LIMITS"
_BLOCK = 1 << 20
_GZIP = b"\x1f\x8b"
_KINDS = {stat.S_IFIFO: "a named pipe", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFSOCK: "a socket"}


def limit(number: int) -> int:
    """A limit of this module, raised if the user asks for it."""
    text = os.environ.get(VARIABLE)
    if not text:
        return number
    try:
        factor = float(text)
    except ValueError:
        factor = math.nan
    if not 1 <= factor <= 1e6:
        raise ConfigurationError(VARIABLE, expected="must be a factor from 1 to 1000000", got=repr(text[:40]))
    return int(number * factor)


# ------------------------------------------------------------------------------------------------ files


def open_regular(path: str | os.PathLike[str]) -> io.BufferedReader:
    """Open a file for reading. A pipe, a device or a folder is an OSError: reading from it might never end."""
    # Without O_NONBLOCK, opening a named pipe waits for somebody who writes to it.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        mode = os.fstat(handle).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
        if not stat.S_ISREG(mode):
            kind = _KINDS.get(stat.S_IFMT(mode), "something else")
            raise OSError(errno.EINVAL, f"{kind}, not a regular file", os.fspath(path))
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


@contextmanager
def opened(path: str | os.PathLike[str], what: str, most: int, *, unpack: bool = True) -> Iterator[BinaryIO]:
    """A stream of the bytes of a regular file. DataError if it cannot be read or is larger than ``most``.

    ``what`` names the file in messages: "the clusters". Gzip is undone unless ``unpack`` is false.
    """
    import gzip  # most commands read no such file
    import zlib

    try:
        with open_regular(path) as file:
            size, most = os.fstat(file.fileno()).st_size, limit(most)
            if size > most:
                what = f"{what} must have at most {most:,} bytes, or a higher {VARIABLE}"
                raise DataError(what, got=f"{size:,}", where=path)
            is_packed = unpack and file.read(2) == _GZIP
            file.seek(0)
            if not is_packed:
                yield file
                return
            most = min(most, limit(max(FREE_EXPANSION, MOST_EXPANSION * size)))
            with gzip.GzipFile(fileobj=file) as unpacked:
                yield cast(BinaryIO, io.BufferedReader(_Counted(unpacked, most, what, path), _BLOCK))
    except (OSError, EOFError, zlib.error) as error:  # the last two: a gzip file that is cut or damaged
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"cannot read {what}", got=reason, where=path) from None


def read_bytes(path: str | os.PathLike[str], what: str, most: int, *, unpack: bool = True) -> bytes:
    """The whole content of a regular file, of at most this many bytes."""
    with opened(path, what, most, unpack=unpack) as file:
        return file.read()


def read_text(path: str | os.PathLike[str], what: str, most: int) -> str:
    """The same as a text in UTF-8."""
    try:
        return read_bytes(path, what, most).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{what} must be UTF-8", got=f"byte 0x{error.object[error.start]:02x}", where=path) from None


def blocks_of_lines(file: BinaryIO, what: str, where: object, number: int = 1) -> Iterator[tuple[int, list[bytes]]]:
    """The lines of a file without their ends, in blocks, with the number of each block's first line.

    The first line of all has the given number. No line is longer than the limit; a byte order mark is left out.
    """
    unfinished, most = b"", limit(MOST_LINE_BYTES)
    while True:
        piece = file.read(_BLOCK)
        if number == 1 and not unfinished:
            piece = piece.removeprefix(b"\xef\xbb\xbf")
        lines = (unfinished + piece).split(b"\n")
        for place in (i for i, line in enumerate(lines) if len(line) > most):
            shown, expected = f"more, beginning with {lines[place][:30]!r}", f"at most {most:,} bytes"
            place_of_line = f"{where}, line {number + place}"
            raise DataError(f"a line of {what} is too long", expected=expected, got=shown, where=place_of_line)
        if not piece:
            if unfinished:
                yield number, lines
            return
        unfinished = lines.pop()
        if lines:
            yield number, lines
        number += len(lines)


def decoded_lines(path: str | os.PathLike[str], what: str) -> Iterator[tuple[str, str]]:
    """The lines of a list in UTF-8 that are not blank, each with its place for messages."""
    with opened(path, what, MOST_LIST_BYTES) as file:
        for first, lines in blocks_of_lines(file, what, path):
            for number, line in enumerate(lines, first):
                if not line.strip():
                    continue
                where = f"{path}, line {number}"
                try:
                    yield line.decode("utf-8").rstrip("\r"), where
                except UnicodeDecodeError:
                    raise DataError(f"a line of {what}", expected="UTF-8", got=repr(line[:80]), where=where) from None


@final
class _Counted(io.RawIOBase):
    """The unpacked content of a gzip file, up to a limit."""

    def __init__(self, unpacked: Any, most: int, what: str, path: object) -> None:
        self._unpacked, self._most, self._what, self._path = unpacked, most, what, path
        self._size = 0

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        got = int(self._unpacked.readinto(room))
        self._size += got
        if self._size > self._most:
            expected = f"at most {self._most:,}, or a higher {VARIABLE}"
            what = f"{self._what} unpacked to too many bytes"
            raise DataError(what, expected=expected, got="more", where=self._path)
        return got


# ------------------------------------------------------------------------------------------------ JSON


class TooDeep(ValueError):
    """JSON with more than ``MOST_DEPTH`` lists and objects inside each other."""


_TOO_DEEP = f"lists and objects nested more than {MOST_DEPTH} deep"


class DoubleKey(ValueError):
    """The same key twice in a JSON object: without this error, the first value would be lost silently."""

    def __init__(self, key: str) -> None:
        super().__init__(f"a name that stands twice: {key[:40]!r}")
        self.key = key


def parsed_json(text: str | bytes, *, finite: bool = True) -> Any:
    """The JSON value of a text. ValueError if it is not JSON, nested too deeply, or has a key twice.

    With ``finite``, numbers that are not finite are a ValueError too.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8")
    numbers: dict[str, Any] = {"parse_float": _finite, "parse_constant": _finite} if finite else {}
    try:
        value = json.loads(text, object_pairs_hook=_without_repeats, **numbers)
    except RecursionError:
        raise TooDeep(_TOO_DEEP) from None
    if text.count("[") + text.count("{") > MOST_DEPTH:
        level = [value]  # level by level: the depth is what it is about
        for _ in range(MOST_DEPTH):
            outer = [one for one in level if type(one) is list or type(one) is dict]
            level = [inner for one in outer for inner in (one.values() if type(one) is dict else one)]
        if any(type(one) is list or type(one) is dict for one in level):
            raise TooDeep(_TOO_DEEP)
    return value


def read_json(path: str | os.PathLike[str], what: str) -> Any:
    """The JSON value of a regular file."""
    content = read_bytes(path, what, MOST_JSON_BYTES)
    try:
        return parsed_json(content)
    except ValueError as error:
        raise DataError(f"{what} must be JSON", got=str(error)[:120], where=path) from None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        raise DoubleKey(next(name for place, name in enumerate(names) if name in names[:place]))
    return value


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"a number that is not finite: {text[:40]}")
    return number
