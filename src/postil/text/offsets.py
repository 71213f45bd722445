"""Character offsets counted in the units of other programs: UTF-16 code units and UTF-8 bytes.

Python counts characters (code points), JavaScript and Java count UTF-16 units, files and C count bytes. A character
costs one unit more for every threshold that its code point reaches, so an offset grows by the number of such characters
before it. A lone surrogate counts as Python's ``surrogatepass`` writes it: one UTF-16 unit, three bytes.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from postil.kernels.plain_records import UNITS

_STEPS: dict[str, tuple[int, ...]] = dict(zip(UNITS, ((), (0x10000,), (0x80, 0x800, 0x10000)), strict=True))


def utf16_offsets(text: str, offsets: Sequence[int]) -> NDArray[np.int64]:
    """Number of UTF-16 code units before each character offset (N,)."""
    return offsets_in("utf16", text, offsets)


def utf8_offsets(text: str, offsets: Sequence[int]) -> NDArray[np.int64]:
    """Number of UTF-8 bytes before each character offset (N,)."""
    return offsets_in("bytes", text, offsets)


def offsets_in(units: str, text: str, offsets: Sequence[int]) -> NDArray[np.int64]:
    """Number of ``units`` (characters, utf16 or bytes) before each character offset (N,)."""
    positions = np.array(offsets, dtype=np.int64)
    if text.isascii():
        return positions
    code_points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    longer = (np.searchsorted(np.flatnonzero(code_points >= step), positions) for step in _STEPS[units])
    return positions + sum(longer)


# ---------------------------------------------------------------------------------------------------------- realignment
# Spans whose offsets do not count characters, found again by the text that they are said to cover.


MOVED = "spans moved to where their text is"
_WIDEST = 4  # bytes of a character
_NEAR = 1000  # characters on both sides of a span in which its text is looked for


class Claim(NamedTuple):
    """Somebody says that ``start:end``, in units of his own, is the text ``covered``."""

    start: int
    end: int
    covered: str


def realigned(text: str, claims: Sequence[Claim]) -> list[tuple[int, int] | None]:
    """Where the texts of claims are, in characters; None if a text is not near to where it should be.

    All claims about a text count in one unit: characters, UTF-16 units, characters with line ends counted as two or as
    one, or UTF-8 bytes; the first of these in which most claims are true. If a claim is not true in it, the
    occurrence of its words that begins nearest is used. White space is compared as spaces.
    """
    best: list[tuple[int, int] | None] = [None] * len(claims)
    most = -1
    for units in _units(text):
        places: list[tuple[int, int] | None] = []
        for start, end, covered in claims:
            if units is not None:
                edges = [min(max(edge, -1), _WIDEST * len(text) + 1) for edge in (start, end)]
                start, end = np.searchsorted(units, edges).tolist()
                if not (start < len(units) and end < len(units) and units[[start, end]].tolist() == edges):
                    start = end = -1
            is_true = 0 <= start < end <= len(text) and text[start:end].split() == covered.split()
            places.append((start, end) if is_true else None)
        true = len(places) - places.count(None)
        if true > most:
            best, most = places, true
        if most == len(claims):
            break
    return [place or _nearest(text, claim) for place, claim in zip(best, claims, strict=True)]


def _units(text: str) -> Iterator[NDArray[np.int64] | None]:
    """Number of units before each of the N + 1 places of a text; None: characters."""
    yield None
    places = range(len(text) + 1)
    yield utf16_offsets(text, places)
    yield np.arange(len(text) + 1) + np.cumsum([0, *(character == "\n" for character in text)])
    yield np.arange(len(text) + 1) - np.cumsum([0, *(text[at : at + 2] == "\r\n" for at in range(len(text)))])
    yield utf8_offsets(text, places)


def _nearest(text: str, claim: Claim) -> tuple[int, int] | None:
    words = claim.covered.split()
    start = min(max(0, claim.start), len(text))
    pattern = re.compile(r"\s+".join(map(re.escape, words)))
    matches = pattern.finditer(text, max(0, start - _NEAR), start + _NEAR + len(claim.covered)) if words else ()
    return min((match.span() for match in matches), key=lambda place: abs(place[0] - start), default=None)
