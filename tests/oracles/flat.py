"""The arrays of a flat file, read without looking for damage: C does that."""

from struct import unpack_from

import numpy as np

from postil.arrays import Array
from postil.kernels.checking import SECTION_TYPES


def read(content: bytes) -> dict[str, Array]:
    names = {number: name for name, number in SECTION_TYPES.items()}
    sections = {}
    for row in range(unpack_from("<I", content, 12)[0]):
        name, kind, dimensions, *rest = unpack_from("<48sII3QQQ", content, 64 + 96 * row)
        shape, (offset, length) = rest[:dimensions], rest[3:]
        values = np.frombuffer(content[offset : offset + length], np.dtype(names[kind]).newbyteorder("<"))
        sections[name.rstrip(b"\0").decode("ascii")] = values.reshape(shape)
    return sections
