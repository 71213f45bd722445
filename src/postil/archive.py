"""Arrays and one JSON object in one file: written whole or not at all, opened as a memory map, never pickle.

The file is a safetensors file, so other tools can open it:

    8 bytes     length of the header, little-endian
    header      JSON, padded with spaces: ``{"__metadata__":{"postil":"2","checksum":"89abcdef","content":"…"},…}``
                and for every array its dtype, shape and place
    data        the arrays one after the other, without gaps, the widest elements first: each is aligned

The header begins with exactly these bytes. ``checksum`` is the CRC-32 of the length and of every byte of the header
after the checksum's own digits. ``content`` is JSON again, ``{"checksums": {name: [number, …]}, "metadata": {…}}``:
for every array the CRC-32 of each 64 KiB of its bytes. docs/internals/model-file.md describes what models write.

A file may stand in an array of another one. What both have then stands in the outer one only, and ``content`` has a
third entry: ``{"shared": {name: name of the outer file}}``.
"""

import json
import math
import mmap
import os
import zlib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, final

import numpy as np

from postil.arrays import Array, describe
from postil.errors import ConfigurationError, DtypeError, ModelFileError
from postil.files import replaced
from postil.reading import open_regular, parsed_json

VERSION = 2
"""The format's number. A reader refuses every other one."""
MAGIC = b'{"__metadata__":{"postil":"'
"""How the header of every model file begins, from byte 8 on."""
BLOCK = 1 << 16
"""Bytes of an array that have one checksum."""
SHARED = 4096
"""Bytes from which on an array of a file inside another one is not stored again."""
_BEFORE_CHECKSUM = MAGIC + b'%d","checksum":"' % VERSION
_CHECKSUM_DIGITS = 8
_ALIGNMENT = 64  # of the data in the file
# Real model files stay far below these limits; a forged one must not cost time or memory before it is rejected.
MOST_HEADER_BYTES = 4 << 20
_MOST_ARRAYS = 10_000
_MOST_DIMENSIONS = 8

_DTYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "|i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "|u1",
    "BOOL": "|b1",
}
_CODES = {np.dtype(dtype): code for code, dtype in _DTYPES.items()}


# ---------------------------------------------------------------------------------------------------------- writing


def save(path: str | os.PathLike[str], arrays: Mapping[str, Array], metadata: Mapping[str, Any]) -> None:
    """Write the file under another name and rename it: at any moment there is the old file or the new one.

    ``metadata`` is what JSON can hold (NaN and infinity not among it).
    """
    header, data = _serialised(arrays, metadata)
    try:
        with replaced(path) as file:
            file.writelines([header, *data])
    except OSError as error:
        raise ModelFileError("cannot write the model file", got=error.strerror or error, where=path) from None


def to_bytes(
    arrays: Mapping[str, Array], metadata: Mapping[str, Any], around: Mapping[str, Array] = MappingProxyType({})
) -> bytes:
    """The bytes that ``save`` writes: the same for the same content.

    ``around``: the arrays of the file that these bytes will be an array of.
    """
    header, data = _serialised(arrays, metadata, around)
    return b"".join([header, *data])


def _serialised(
    arrays: Mapping[str, Array], metadata: Mapping[str, Any], around: Mapping[str, Array] = MappingProxyType({})
) -> tuple[bytes, list[memoryview]]:
    """The header with its length before it, and the bytes of every array in the order of the file."""
    given = {}
    for name, array in arrays.items():
        if name == "__metadata__":
            raise ConfigurationError("name of an array in a model file", expected="any other", got=name)
        array = np.asarray(array)
        dtype = _little(array.dtype)
        if dtype not in _CODES:
            raise DtypeError("array in a model file", expected="numbers or booleans", got=describe(array), where=name)
        given[name] = np.asarray(array, dtype, order="C")
    shared = _shared(given, around) if around else {}
    ordered = dict(sorted(given.items(), key=lambda item: (-item[1].itemsize, item[0])))
    data = {name: _bytes_of(array) for name, array in ordered.items()}
    checksums = {
        name: [zlib.crc32(content[first : first + BLOCK]) for first in range(0, len(content), BLOCK)]
        for name, content in data.items()
    }
    written: Any = {"metadata": dict(metadata), "checksums": checksums} | ({"shared": shared} if shared else {})
    for name in shared:
        del ordered[name], data[name]
    try:
        # Twice: keys that are numbers become texts, and sort differently. What a reader gets stands still.
        text = json.dumps(written, sort_keys=True, allow_nan=False)
        content = json.dumps(json.loads(text), sort_keys=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigurationError("metadata of a model file", expected="what JSON can hold", got=error) from None
    rest, end = f'","content":{json.dumps(content)}}}', 0
    for name, array in ordered.items():
        bounds = [end, end := end + array.nbytes]
        entry = {"dtype": _CODES[array.dtype], "shape": list(array.shape), "data_offsets": bounds}
        rest += f",{json.dumps(name)}:{json.dumps(entry)}"
    rest += "}"
    size = 8 + len(_BEFORE_CHECKSUM) + _CHECKSUM_DIGITS + len(rest)
    rest += " " * (-size % _ALIGNMENT)
    length = size + -size % _ALIGNMENT - 8
    if length > MOST_HEADER_BYTES:
        expected = f"at most {MOST_HEADER_BYTES >> 20} MiB"
        raise ConfigurationError("metadata of a model file", expected=expected, got=f"{length:,} bytes")
    prefix, checked = length.to_bytes(8, "little"), rest.encode("ascii")
    return prefix + _BEFORE_CHECKSUM + _header_checksum(prefix, checked) + checked, list(data.values())


def _shared(arrays: Mapping[str, Array], around: Mapping[str, Array]) -> dict[str, str]:
    """The arrays whose bytes are in the outer file, and their names there."""
    places: dict[tuple[str, tuple[int, ...]], list[str]] = {}
    for name in sorted(around):
        places.setdefault((_little(around[name].dtype).str, around[name].shape), []).append(name)
    found = {}
    for name, array in arrays.items():
        names = places.get((array.dtype.str, array.shape), []) if array.nbytes >= SHARED else []
        for other in sorted(names, key=name.__ne__):  # the same name first
            if np.array_equal(_bytes_of(array), _bytes_of(np.asarray(around[other], array.dtype, order="C"))):
                found[name] = other
                break
    return found


def _header_checksum(length: bytes, rest: bytes) -> bytes:
    return b"%08x" % zlib.crc32(rest, zlib.crc32(length))


def _little(dtype: "np.dtype[Any]") -> "np.dtype[Any]":
    return dtype.newbyteorder("<")


def _bytes_of(array: Array) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


# ---------------------------------------------------------------------------------------------------------- reading


@final
class Arrays(dict[str, Any]):
    """The arrays of a file by name, and the checksums of each."""

    def __init__(self, checksums: Mapping[str, Any]) -> None:
        super().__init__()
        self.checksums = checksums


def check(path: str | os.PathLike[str]) -> None:
    """Compare all checksums, those of tables too: a ModelFileError if something is not what was saved."""
    load(path)


def is_model_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file begins as the files of this module do. The rest may still be cut or damaged."""
    if not os.path.isfile(path):  # noqa: PTH113  # a text that is too long for a name is not a file
        return False
    with open_regular(path) as file:
        return file.read(8 + len(MAGIC))[8:] == MAGIC


def load(path: str | os.PathLike[str], by_rows: Callable[[str], bool] | None = None) -> tuple[Arrays, dict[str, Any]]:
    """The arrays, read-only views into a memory map of the file, and the metadata.

    All checksums are compared. Arrays whose name ``by_rows`` accepts come as ``Rows`` instead: each block of them is
    read and compared when one of its rows is asked for.
    """
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
    except FileNotFoundError:
        raise ModelFileError("no such model file", where=path) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ModelFileError("cannot read the model file", got=reason, where=path) from None
    return from_bytes(content, path, by_rows)


def from_bytes(
    content: bytes | mmap.mmap | memoryview,
    where: object = "model file",
    by_rows: Callable[[str], bool] | None = None,
    around: Arrays | None = None,
) -> tuple[Arrays, dict[str, Any]]:
    """Invert ``to_bytes``: return arrays and metadata; the arrays are read-only views into ``content``.

    ``around``: the arrays of the file whose array the content is. Those that both have are the same objects.
    """
    try:
        header, start = _parsed_header(content)
        strings = header.pop("__metadata__")
        text = strings.get("content") if isinstance(strings, dict) else None
        if not isinstance(text, str):
            raise ModelFileError("the model file is damaged in its header", expected="one text, 'content'")
        stored = _json_object(text, "its metadata")
        metadata, checksums, shared = (stored.get(key, {}) for key in ("metadata", "checksums", "shared"))
        if set(stored) - {"shared"} != {"metadata", "checksums"} or not all(
            isinstance(part, dict) for part in (metadata, checksums, shared)
        ):
            raise ModelFileError("the model file is damaged in its metadata", expected="metadata and checksums")
        if (count := len(header) + len(shared)) > _MOST_ARRAYS:
            raise ModelFileError("too many arrays", expected=f"at most {_MOST_ARRAYS:,}", got=count)
        places = sorted((_place(name, entry) for name, entry in header.items()), key=lambda place: place.bounds)
        end = 0  # the arrays lie one after the other from the first byte of the data to the last
        for place in places:
            if place.bounds[0] != end:
                what = f"array {place.name[:80]!r} overlaps another or leaves a gap"
                what = f"the model file is damaged in its header: {what}"
                raise ModelFileError(what, expected=f"its beginning at byte {end}", got=place.bounds[0])
            end = place.bounds[1]
        if (size := len(content) - start) != end:
            what = "the model file is truncated" if size < end else "the model file has bytes after its end"
            raise ModelFileError(what, expected=f"{end} bytes of arrays", got=size)
        if set(checksums) != {*header, *shared} or not set(header).isdisjoint(shared):
            different = sorted(set(checksums) ^ {*header, *shared})
            raise ModelFileError("the model file is damaged in the names of its arrays", got=repr(different)[:120])
        arrays = Arrays(checksums)
        for name, outer in shared.items():
            if around is None or not isinstance(outer, str) or around.checksums.get(outer) != checksums[name]:
                what, expected = (
                    f"array {name[:80]!r} of a model inside another",
                    "the same array in the outer one",
                )
                raise ModelFileError(what, expected=expected, got="none" if around is None else "another")
            arrays[name] = around[outer]
        for place in places:
            rows = Rows(_view(content, start, place), checksums[place.name], place.name, where)
            arrays[place.name] = rows if by_rows is not None and by_rows(place.name) else np.asarray(rows)
        return arrays, metadata
    except ModelFileError as error:
        raise ModelFileError(error.what, expected=error.expected, got=error.got, where=where) from None


@final
class Rows:
    """An array of a file; each block of it is compared with its checksum once, before its rows are used.

    ``rows[ids]`` are rows as of an array, finite numbers; ``np.asarray(rows)`` is all of it.
    """

    def __init__(self, array: Array, checksums: object, name: str, where: object) -> None:
        blocks = -(-array.nbytes // BLOCK)
        if not isinstance(checksums, list) or len(checksums) != blocks:
            raise ModelFileError(f"the model file is damaged in the checksums of array {name!r}")
        self._array, self._checksums = array, checksums
        self._name, self._where = name, where
        self._checked = np.zeros(blocks, bool)
        self._touched: Array | None = None

    shape = property(lambda self: self._array.shape)
    dtype = property(lambda self: self._array.dtype)
    ndim = property(lambda self: self._array.ndim)
    flags = property(lambda self: self._array.flags)

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, ids: Any) -> Array:
        numbers, width = np.asarray(ids), self._array.nbytes // max(len(self._array), 1)
        if numbers.dtype.kind not in "iu" or not 0 < width <= BLOCK:
            self._check(np.arange(len(self._checked)))
        else:
            first = numbers.reshape(-1).astype(np.int64) % len(self._array) * width
            is_touched = np.zeros(len(self._checked), bool)  # np.unique imports numpy.ma: milliseconds of a cold start
            is_touched[np.concatenate([first, first + width - 1]) // BLOCK] = True
            self._check(np.flatnonzero(is_touched))
        rows = np.asarray(self._array[ids])
        if not np.isfinite(rows).all():
            raise ModelFileError(f"array {self._name!r}", expected="finite numbers", got="others", where=self._where)
        return rows

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        self._check(np.arange(len(self._checked)))
        array = np.asarray(self._array, dtype)
        return array.copy() if copy and array is self._array else array

    def lent(self) -> tuple[Array, Array]:
        """The array without any check, and a byte for each block of it, to be set when rows of the block are read.

        What was computed with such rows counts only after ``check_lent``.
        """
        if self._touched is None:
            self._touched = np.zeros(len(self._checked), np.uint8)
        return self._array, self._touched

    def check_lent(self) -> None:
        """Compare the checksums of all blocks that were read so far."""
        if self._touched is not None:
            self._check(np.flatnonzero(self._touched > self._checked))

    def _check(self, blocks: Array) -> None:
        new = blocks[~self._checked[blocks]]
        if not len(new):
            return
        content = _bytes_of(self._array)
        for block in new.tolist():
            found = zlib.crc32(content[block * BLOCK : (block + 1) * BLOCK])
            if found != self._checksums[block]:
                raise ModelFileError(f"the model file is damaged in array {self._name!r}", where=self._where)
        self._checked[new] = True


class _ArrayPlace(NamedTuple):
    name: str
    dtype: "np.dtype[Any]"
    shape: tuple[int, ...]
    bounds: tuple[int, int]  # in bytes from the beginning of the data


def _parsed_header(content: bytes | mmap.mmap | memoryview) -> tuple[dict[str, Any], int]:
    """The header's JSON object and where the data begin, if its beginning and its checksum are right."""
    if not len(content):
        raise ModelFileError("not a model file: it is empty")
    length = int.from_bytes(content[:8], "little")
    if len(content) < 10 or length < 2 or content[8:9] != b"{":
        raise ModelFileError("not a Postil model file", expected="a file that `save` or `postil train` has written")
    begin = bytes(content[8 : 8 + len(MAGIC) + 20])
    if not begin.startswith(MAGIC):
        raise ModelFileError("a safetensors file, but not a model of Postil's")
    version = begin[len(MAGIC) :].partition(b'"')[0]
    if version.isdigit() and int(version) > VERSION:
        what = "the model file was written by a newer Postil: update this one"
        raise ModelFileError(what, expected=f"format {VERSION}", got=int(version))
    if version != b"%d" % VERSION:
        raise ModelFileError("the model file is damaged in its header", expected=f"format {VERSION}", got=version)
    if length > MOST_HEADER_BYTES:
        expected = f"at most {MOST_HEADER_BYTES:,} bytes"
        raise ModelFileError("the header of the model file is too long", expected=expected, got=length)
    if len(content) < 8 + length:
        raise ModelFileError("the model file is truncated", expected=f"at least {8 + length} bytes", got=len(content))
    header = bytes(content[8 : 8 + length])
    digits, rest = len(_BEFORE_CHECKSUM), len(_BEFORE_CHECKSUM) + _CHECKSUM_DIGITS
    if not header.startswith(_BEFORE_CHECKSUM) or header[digits:rest] != _header_checksum(
        bytes(content[:8]), header[rest:]
    ):
        raise ModelFileError("the model file is damaged in its header: its checksum is wrong")
    return _json_object(header, "its header"), 8 + length


def _json_object(text: str | bytes, part: str) -> dict[str, Any]:
    try:
        found = parsed_json(text)
    except ValueError as error:
        raise ModelFileError(f"the model file is damaged in {part}", expected="JSON", got=str(error)[:120]) from None
    if not isinstance(found, dict):
        raise ModelFileError(f"the model file is damaged in {part}", expected="a JSON object", got=repr(found)[:40])
    return found


def _place(name: str, entry: object) -> _ArrayPlace:
    """Parse and check the header's entry for one array."""
    damaged = ModelFileError(
        f"the model file is damaged in its header at array {name[:80]!r}",
        expected="dtype, shape and data_offsets that agree",
        got=repr(entry)[:120],
    )
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise damaged
    code, shape, bounds = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(code, str) or code not in _DTYPES:
        raise damaged
    for sizes, most in ((shape, _MOST_DIMENSIONS), (bounds, 2)):
        if not isinstance(sizes, list) or len(sizes) > most:
            raise damaged
        if not all(type(size) is int and 0 <= size < 2**63 for size in sizes):
            raise damaged
    dtype = np.dtype(_DTYPES[code])
    if len(bounds) != 2 or bounds[1] - bounds[0] != math.prod(shape) * dtype.itemsize:
        raise damaged
    return _ArrayPlace(name, dtype, tuple(shape), (bounds[0], bounds[1]))


def _view(content: bytes | mmap.mmap | memoryview, start: int, place: _ArrayPlace) -> Array:
    try:
        if place.bounds[0] == place.bounds[1]:
            array = np.empty(place.shape, place.dtype)
        else:
            count = math.prod(place.shape)
            array = np.frombuffer(content, place.dtype, count, start + place.bounds[0]).reshape(place.shape)
    except (ValueError, OverflowError, MemoryError):  # longer dimensions than NumPy has
        what = f"the model file is damaged in its header at array {place.name[:80]!r}"
        raise ModelFileError(what, expected="a possible shape", got=str(place.shape)[:120]) from None
    if not array.flags.aligned:  # by another writer than ours, or in a buffer that begins at an odd address
        array = array.copy()
    array.flags.writeable = False
    return array
