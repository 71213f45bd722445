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


# ---------------------------------------------------------------------------------------------------------- realignment
# Spans whose offsets do not count characters, found again by the text that they are said to cover.


MOVED = "spans moved to where their text is"
_WIDEST = 4
"""Bytes of a character."""
_NEAR = 1000
"""Characters on both sides of a span in which its text is looked for."""


class Claim(NamedTuple):
    """Somebody says that ``start:end``, in units of his own, is the text ``covered``."""

    start: int
    end: int
    covered: str


Place = tuple[int, int]


def realigned(text: str, claims: Sequence[Claim]) -> list[Place | None]:
    """Where the texts of claims are, in characters; None if a text is not near to where it should be.

    All claims about a text count in one unit: characters, UTF-16 units, characters with line ends counted as two or as
    one, or UTF-8 bytes; the first of these in which most claims are true. If a claim is not true in it, the
    occurrence of its words that begins nearest is used. White space is compared as spaces.
    """
    best: list[Place | None] = [None] * len(claims)
    most = -1
    for reading in _readings(text, claims):
        places = [_checked(text, place, claim) for place, claim in zip(reading, claims, strict=True)]
        true = sum(place is not None for place in places)
        if true > most:
            best, most = places, true
        if most == len(claims):
            break
    return [place or _nearest(text, claim) for place, claim in zip(best, claims, strict=True)]


def _checked(text: str, place: Place, claim: Claim) -> Place | None:
    start, end = place
    is_inside = 0 <= start < end <= len(text)
    return place if is_inside and text[start:end].split() == claim.covered.split() else None


def _readings(text: str, claims: Sequence[Claim]) -> Iterator[list[Place]]:
    """The places of the claims, unit by unit; (-1, -1) if the place does not exist."""
    yield [(claim.start, claim.end) for claim in claims]
    largest = _WIDEST * len(text) + 1
    bounded = [(min(max(claim.start, -1), largest), min(max(claim.end, -1), largest)) for claim in claims]
    for units in _units(text):
        yield [_characters(units, *place) for place in bounded]


def _units(text: str) -> Iterator[NDArray[np.int64]]:
    """Number of units before each of the N + 1 places of a text."""
    places = range(len(text) + 1)
    yield utf16_offsets(text, places)
    yield np.arange(len(text) + 1) + np.cumsum([0, *(character == "\n" for character in text)])
    yield np.arange(len(text) + 1) - np.cumsum([0, *(text[at : at + 2] == "\r\n" for at in range(len(text)))])
    yield utf8_offsets(text, places)


def _characters(units: NDArray[np.int64], start: int, end: int) -> Place:
    first, last = (int(place) for place in np.searchsorted(units, [start, end]))
    is_place = last < len(units) and first < len(units) and units[first] == start and units[last] == end
    return (first, last) if is_place else (-1, -1)


def _nearest(text: str, claim: Claim) -> Place | None:
    words = claim.covered.split()
    if not words:
        return None
    start = min(max(0, claim.start), len(text))
    pattern = re.compile(r"\s+".join(map(re.escape, words)))
    found = [
        match.span() for match in pattern.finditer(text, max(0, start - _NEAR), start + _NEAR + len(claim.covered))
    ]
    return min(found, key=lambda place: abs(place[0] - start), default=None)
