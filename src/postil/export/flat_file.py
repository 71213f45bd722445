"""One flat file of arrays: what the C runtime opens, in place and without a parser.

    header     8 bytes   magic "POSTILX\\0"
               4         version of the format, uint32
               4         number of sections, uint32
               8         size of the whole file in bytes, uint64
               4         CRC-32 of everything after the header, uint32
               36        zeros
    directory  a row of 96 bytes per section: name (48, padded with zeros), type (uint32), dimensions (uint32),
               shape (3 x uint64; 1 where there is no such dimension), offset and size in bytes (uint64 each)
    sections   arrays in C order, little-endian, each on a multiple of 64 bytes, in the order of the directory

``sections.py`` and ``tree_sections.py`` say which sections a model has; ``kernels/engine/model.c`` reads them.
"""

import struct
import zlib
from collections.abc import Mapping

import numpy as np

from postil.arrays import Array
from postil.errors import ConfigurationError, ModelFileError
from postil.kernels.checking import SECTION_TYPES

MAGIC = b"POSTILX\0"
VERSION = 1
ALIGNMENT = 64
_HEADER = struct.Struct("<8sIIQI36x")
_ROW = struct.Struct("<48sII3QQQ")
_MOST_DIMENSIONS = 3


def written(sections: Mapping[str, Array]) -> bytes:
    """The file that holds these arrays."""
    rows, body = [], bytearray()
    first = _HEADER.size + _ROW.size * len(sections)
    for name, array in sections.items():
        _check(name, array)
        body += bytes(-(first + len(body)) % ALIGNMENT)
        content = np.ascontiguousarray(array, array.dtype.newbyteorder("<")).tobytes()
        shape = [*array.shape, *[1] * (_MOST_DIMENSIONS - array.ndim)]
        place = first + len(body)
        kind = SECTION_TYPES[array.dtype.name]
        rows.append(_ROW.pack(name.encode("ascii"), kind, array.ndim, *shape, place, len(content)))
        body += content
    after = b"".join(rows) + body
    return _HEADER.pack(MAGIC, VERSION, len(rows), _HEADER.size + len(after), zlib.crc32(after)) + after


def read(content: bytes) -> dict[str, Array]:
    """The arrays of such a file, in place. Damaged files are refused."""
    if len(content) < _HEADER.size or content[:8] != MAGIC:
        raise ModelFileError("exported model", expected="a file that begins with POSTILX", got="another")
    _, version, count, size, checksum = _HEADER.unpack_from(content)
    if version != VERSION:
        raise ModelFileError("exported model", expected=f"version {VERSION}", got=version)
    is_whole = size == len(content) and _HEADER.size + count * _ROW.size <= size
    if not is_whole or zlib.crc32(content[_HEADER.size :]) != checksum:
        raise ModelFileError("exported model", expected="the content that was written", got="a damaged file")
    names = {number: name for name, number in SECTION_TYPES.items()}
    sections = {}
    for row in range(count):
        name, kind, dimensions, *rest = _ROW.unpack_from(content, _HEADER.size + row * _ROW.size)
        dtype = np.dtype(names[kind]).newbyteorder("<")
        shape, (offset, length) = rest[:dimensions], rest[3:]
        values = np.frombuffer(content, dtype, length // dtype.itemsize, offset)
        sections[name.rstrip(b"\0").decode("ascii")] = values.reshape(shape)
    return sections


def _check(name: str, array: Array) -> None:
    """A section that the format cannot hold is a mistake of this package, or of a model of absurd size."""
    if len(name) >= 48 or array.dtype.name not in SECTION_TYPES or not 1 <= array.ndim <= _MOST_DIMENSIONS:
        raise ConfigurationError(
            f"section {name!r}", expected="a short name and an array of 1 to 3 dimensions", got=str(array.dtype)
        )


def strings(values: list[str]) -> Array:
    """Strings as one array of bytes, each with a zero after it, as C wants them."""
    return np.frombuffer(b"".join(value.encode("utf-8", "surrogatepass") + b"\0" for value in values), np.uint8)
