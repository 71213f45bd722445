"""What the matcher of matcher.h runs: a `Program`, made by ``patterns.py`` or stored beforehand."""

from dataclasses import dataclass
from typing import final

import numpy as np

from postil.arrays import Array
from postil.kernels.characters import BLOCK


class Unsupported(Exception):
    """What the matcher does not know."""


@final
@dataclass(frozen=True, eq=False)
class Program:
    """Expressions over one division of characters into classes."""

    code: Array  # int32
    sets: Array
    """uint64; a set begins at the place that an operand names."""
    index: Array  # uint16 (0x110000 // BLOCK,)
    pages: Array  # uint16 (P, BLOCK)
    entries: tuple[int, ...]
    """Where the expressions begin in the code."""
    widths: tuple[tuple[int, int], ...]
    """The fewest and the most characters that they match."""
    firsts: tuple[int, ...]
    """The classes of characters with which they can begin, as bits."""

    def first_bytes(self, place: int) -> Array:
        """uint8 (256,): whether an expression's match can begin with a byte, in UTF-8."""
        bits = self.firsts[place]
        wanted = np.isin(self.pages, [number for number in range(bits.bit_length()) if bits >> number & 1])
        blocks = np.flatnonzero(
            np.asarray(wanted.any(axis=1))[self.index]
        )  # much less than the classes of all characters
        codes = (blocks[:, None] * BLOCK + np.arange(BLOCK))[wanted[self.index[blocks]]]
        found = np.zeros(256, np.uint8)
        found[[ord(character.encode("utf-8", "surrogatepass")[:1]) for character in map(chr, codes.tolist())]] = 1
        return found

    def classes(self) -> Array:
        """uint16 (0x110000,)"""
        classes: Array = self.pages[self.index].ravel()
        return classes
