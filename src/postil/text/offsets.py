"""Character offsets counted in the units of other programs: UTF-16 code units and UTF-8 bytes.

Python counts characters (code points), JavaScript and Java count UTF-16 units, files and C count bytes. A character
costs one unit more for every threshold that its code point reaches, so an offset grows by the number of such characters
before it. A lone surrogate counts as Python's ``surrogatepass`` writes it: one UTF-16 unit, three bytes.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from postil.kernels.plain_records import UNITS

_UTF16_STEPS = (0x10000,)
_UTF8_STEPS = (0x80, 0x800, 0x10000)
_STEPS: dict[str, tuple[int, ...]] = dict(zip(UNITS, ((), _UTF16_STEPS, _UTF8_STEPS), strict=True))


def utf16_offsets(text: str, offsets: Sequence[int]) -> NDArray[np.int64]:
    """Number of UTF-16 code units before each character offset (N,)."""
    return _count_units(text, offsets, _UTF16_STEPS)


def utf8_offsets(text: str, offsets: Sequence[int]) -> NDArray[np.int64]:
    """Number of UTF-8 bytes before each character offset (N,)."""
    return _count_units(text, offsets, _UTF8_STEPS)


def offsets_in(units: str, text: str, offsets: Sequence[int]) -> NDArray[np.int64]:
    """Number of ``units`` (characters, utf16 or bytes) before each character offset (N,)."""
    return _count_units(text, offsets, _STEPS[units])


def _count_units(text: str, offsets: Sequence[int], steps: tuple[int, ...]) -> NDArray[np.int64]:
    positions = np.array(offsets, dtype=np.int64)
    if text.isascii():
        return positions
    code_points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    longer = (np.searchsorted(np.flatnonzero(code_points >= step), positions) for step in steps)
    return positions + sum(longer)
