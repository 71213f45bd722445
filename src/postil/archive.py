"""Arrays and one JSON object in one file: written whole or not at all, opened as a memory map, never pickle.

The file is a safetensors file, so other tools can open it:

    8 bytes     length of the header, little-endian
    header      JSON: for every array its dtype, shape and place; ``__metadata__`` holds one string under ``postil``
    data        the arrays one after the other, without gaps

The string under ``postil`` is JSON again, ``{"version": 1, "metadata": {…}, "arrays": {name: checksum}}`` with a
checksum of itself. It is one string because safetensors writes several in an order that changes from run to run, and
the same content shall give the same bytes.
"""

import json
import math
import mmap
import os
import secrets
import sys
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from postil.arrays import Array, describe
from postil.errors import ConfigurationError, DtypeError, ModelFileError

FORMAT = "postil"
VERSION = 1  # of the file's outer form; a reader refuses what is newer

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
_WRITABLE = {np.dtype(code) for code in _DTYPES.values()}
CHECKED_ON_LOADING = 2**24
"""Bytes of arrays, the smallest first, whose checksums are compared on loading: ten to twenty milliseconds. What is
larger, say the vectors of 400,000 words, shall not be read only for that; see ``check``."""
_LONGEST_HEADER = 100_000_000  # what the safetensors package accepts


# ---------------------------------------------------------------------------------------------------------- writing


def save(path: str | os.PathLike[str], arrays: Mapping[str, Array], metadata: Mapping[str, Any]) -> None:
    """Write the file beside its place and rename it: at any moment there is the old file or the new one.

    ``metadata`` is what JSON can hold (NaN and infinity not among it). A process that is killed while writing may leave
    a file ``.NAME.*.partial`` behind, which nothing reads.
    """
    content = to_bytes(arrays, metadata)
    target = Path(os.path.realpath(path))  # a link goes on pointing to the same place
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    try:
        try:
            with partial.open("xb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(target)
            _sync_folder(target.parent)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise ModelFileError("cannot write the model file", got=error.strerror or error, where=path) from None


def to_bytes(arrays: Mapping[str, Array], metadata: Mapping[str, Any]) -> bytes:
    """The bytes that ``save`` writes: the same for the same content."""
    # Imported here because reading needs only NumPy, and most processes only read.
    from safetensors.numpy import save as serialise

    prepared, header = _prepared(arrays, metadata)
    return serialise(prepared, metadata=header)


def _prepared(arrays: Mapping[str, Array], metadata: Mapping[str, Any]) -> tuple[dict[str, Array], dict[str, str]]:
    prepared = {}
    for name, array in arrays.items():
        if name == "__metadata__":
            raise ConfigurationError("name of an array in a model file", expected="any other", got=name)
        dtype = np.asarray(array).dtype.newbyteorder("<")
        if dtype not in _WRITABLE:
            raise DtypeError("array in a model file", expected="numbers or booleans", got=describe(array), where=name)
        prepared[name] = np.asarray(array, dtype, order="C")
    checksums = {name: _checksum(name, array) for name, array in prepared.items()}
    try:
        # Read again what was written: keys that are numbers become texts, and sort differently.
        outer = json.loads(_text({"version": VERSION, "metadata": dict(metadata), "arrays": checksums}))
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigurationError("metadata of a model file", expected="what JSON can hold", got=error) from None
    return prepared, {FORMAT: _text(outer | {"checksum": _text_checksum(outer)})}


def _text(content: Mapping[str, Any]) -> str:
    return json.dumps(content, sort_keys=True, allow_nan=False)


def _text_checksum(content: Mapping[str, Any]) -> int:
    return zlib.crc32(_text(content).encode("ascii"))


def _checksum(name: str, array: Array) -> int:
    """Of an array's name, element type, shape and bytes, in C order and little-endian."""
    described = zlib.crc32(f"{name} {array.dtype.str} {array.shape}".encode("utf-8", "backslashreplace"))
    return zlib.crc32(array.reshape(-1).view(np.uint8).data, described)


def _sync_folder(folder: Path) -> None:
    """Make the disk hold the folder's new name for the file."""
    if os.name == "nt":
        return  # Windows cannot open a folder
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# ---------------------------------------------------------------------------------------------------------- reading


def check(path: str | os.PathLike[str]) -> None:
    """Compare all checksums, however large the file: a ModelFileError where something is not what was saved."""
    _mapped(path, sys.maxsize)


def load(path: str | os.PathLike[str]) -> tuple[dict[str, Array], dict[str, Any]]:
    """The arrays, read-only views into a memory map of the file, and the metadata.

    Large arrays are not read: they come from the disk when they are used, once for all processes that map the file.
    """
    return _mapped(path, CHECKED_ON_LOADING)


def _mapped(path: str | os.PathLike[str], checked: int) -> tuple[dict[str, Array], dict[str, Any]]:
    try:
        with Path(path).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
    except FileNotFoundError:
        raise ModelFileError("no such model file", where=path) from None
    except (OSError, ValueError) as error:
        raise ModelFileError(
            "cannot read the model file", got=getattr(error, "strerror", None) or error, where=path
        ) from None
    return from_bytes(content, where=path, checked=checked)


def from_bytes(
    content: bytes | mmap.mmap, where: object = "model file", *, checked: int = CHECKED_ON_LOADING
) -> tuple[dict[str, Array], dict[str, Any]]:
    """What ``to_bytes`` was given; the arrays are read-only views into ``content``, so many bytes of them checked."""
    try:
        header, start = _header(content)
        metadata, checksums = _metadata(header.pop("__metadata__", None))
        places = sorted((_place(name, entry) for name, entry in header.items()), key=lambda place: place.bounds)
        _check_cover(places, len(content) - start)
        arrays = {place.name: _view(content, start, place) for place in places}
        if checksums is not None:
            _check_arrays(arrays, checksums, checked)
        return arrays, metadata
    except ModelFileError as error:
        raise ModelFileError(error.what, expected=error.expected, got=error.got, where=where) from None


class _Place(NamedTuple):
    name: str
    dtype: "np.dtype[Any]"
    shape: tuple[int, ...]
    bounds: tuple[int, int]  # in bytes from the beginning of the data


def _header(content: bytes | mmap.mmap) -> tuple[dict[str, Any], int]:
    """The header's JSON object and where the data begin."""
    if not len(content):
        raise ModelFileError("not a model file: it is empty")
    length = int.from_bytes(content[:8], "little")
    if len(content) < 10 or not 2 <= length <= _LONGEST_HEADER or content[8:9] != b"{":
        raise ModelFileError("not a Postil model file", expected="a safetensors file", got=f"{content[:8]!r} …")
    if len(content) < 8 + length:
        raise ModelFileError("the model file is cut", expected=f"at least {8 + length} bytes", got=len(content))
    return _json_object(content[8 : 8 + length], "its header"), 8 + length


def _metadata(strings: object) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """What was saved beside the arrays, and their checksums; files of older versions have none."""
    text = strings.get(FORMAT) if isinstance(strings, dict) else None
    if not isinstance(text, str):
        raise ModelFileError("a safetensors file, but not a model of Postil's", expected=f"metadata {FORMAT!r}")
    outer = _json_object(text, "its metadata")
    version, metadata = outer.get("version"), outer.get("metadata")
    if type(version) is int and version > VERSION:
        raise ModelFileError(
            "the model file was made by a newer Postil: update this one", expected=f"format {VERSION}", got=version
        )
    if type(version) is not int or version < 1 or not isinstance(metadata, dict):
        raise ModelFileError("the model file is damaged in its metadata", expected="a version and metadata")
    if "checksum" not in outer:
        return metadata, None
    expected, checksums = outer.pop("checksum"), outer.get("arrays")
    try:
        found = _text_checksum(outer)
    except (ValueError, RecursionError) as error:
        raise ModelFileError("the model file is damaged in its metadata", expected="JSON", got=error) from None
    _compare("its metadata", expected, found)
    if not isinstance(checksums, dict):
        raise ModelFileError("the model file is damaged in its metadata", expected="a checksum for each array")
    return metadata, checksums


def _check_arrays(arrays: Mapping[str, Array], checksums: Mapping[str, Any], bytes_left: int) -> None:
    """Compare with what was saved, from the smallest array to the largest, as far as the number of bytes reaches."""
    if set(arrays) != set(checksums):
        different = sorted(set(arrays) ^ set(checksums))
        raise ModelFileError("the model file is damaged in the names of its arrays", got=repr(different)[:120])
    for name, array in sorted(arrays.items(), key=lambda item: item[1].nbytes):
        bytes_left -= array.nbytes
        if bytes_left < 0:
            return
        _compare(f"array {name!r}", checksums[name], _checksum(name, array))


def _compare(part: str, expected: object, got: int) -> None:
    if expected != got:
        raise ModelFileError(f"the model file is damaged in {part}", expected=f"checksum {expected}", got=got)


def _json_object(text: str | bytes, part: str) -> dict[str, Any]:
    try:
        found = json.loads(
            text.decode("utf-8") if isinstance(text, bytes) else text, object_pairs_hook=_without_repeats
        )
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"the model file is damaged in {part}", expected="JSON", got=error) from None
    if not isinstance(found, dict):
        raise ModelFileError(f"the model file is damaged in {part}", expected="a JSON object", got=repr(found)[:40])
    return found


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name that stands twice")
    return found


def _place(name: str, entry: object) -> _Place:
    """What the header says about one array, checked in itself."""
    damaged = ModelFileError(
        f"the model file is damaged in its header at array {name!r}",
        expected="dtype, shape and data_offsets that agree",
        got=repr(entry)[:120],
    )
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise damaged
    code, shape, bounds = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not (isinstance(code, str) and code in _DTYPES and _are_sizes(shape) and _are_sizes(bounds, length=2)):
        raise damaged
    dtype = np.dtype(_DTYPES[code])
    if bounds[1] - bounds[0] != math.prod(shape) * dtype.itemsize:
        raise damaged
    return _Place(name, dtype, tuple(shape), (bounds[0], bounds[1]))


def _are_sizes(value: object, length: int | None = None) -> bool:
    return (
        isinstance(value, list)
        and all(type(size) is int and 0 <= size < 2**63 for size in value)
        and (length is None or len(value) == length)
    )


def _check_cover(places: list[_Place], size: int) -> None:
    """The arrays lie one after the other from the first byte of the data to the last."""
    end = 0
    for place in places:
        if place.bounds[0] != end:
            raise ModelFileError(
                f"the model file is damaged in its header: array {place.name!r} overlaps another or leaves a gap",
                expected=f"its beginning at byte {end}",
                got=place.bounds[0],
            )
        end = place.bounds[1]
    if size != end:
        what = "the model file is cut" if size < end else "the model file has bytes after its end"
        raise ModelFileError(what, expected=f"{end} bytes of arrays", got=size)


def _view(content: bytes | mmap.mmap, start: int, place: _Place) -> Array:
    try:
        if place.bounds[0] == place.bounds[1]:
            array = np.empty(place.shape, place.dtype)
            array.flags.writeable = False
            return array
        count = math.prod(place.shape)
        return np.frombuffer(content, place.dtype, count, start + place.bounds[0]).reshape(place.shape)
    except (ValueError, OverflowError, MemoryError):  # more dimensions, or longer ones, than NumPy has
        raise ModelFileError(
            f"the model file is damaged in its header at array {place.name!r}",
            expected="a possible shape",
            got=str(place.shape)[:120],
        ) from None
