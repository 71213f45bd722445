"""The rules of the tokeniser and the sentence splitter as programs for the matcher of matcher.h.

``programs.bin`` holds those of the default rules and of the settings of ``line_breaks``; ``make rules`` writes it. The
compiler is a tool of the sources (tools/patterns.py), not part of the package: expressions that the file does not hold
are run by Python's ``re``.
"""

import functools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np

from postil.arrays import Array
from postil.kernels.characters import BLOCK, Characters, frozen

FILE = Path(__file__).with_name("programs.bin")
ARRAYS = {"code": "<i4", "sets": "<u8", "index": "<u2", "pages": "<u2"}
"""The arrays of a program, in the order of the file, and their types there."""


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


def program_of(expressions: Sequence[str], characters: Characters) -> Program | None:
    """The stored program of some expressions; None if there is none."""
    stored = _stored().get(tuple(expressions)) if characters is frozen() else None
    if stored is None:
        return None
    arrays = {
        name: np.frombuffer(stored["content"], kind, int(np.prod(shape)), first).reshape(shape).astype(kind[1:])
        for (name, kind), (first, *shape) in zip(ARRAYS.items(), stored["arrays"], strict=True)
    }
    widths = tuple((low, high) for low, high in stored["widths"])
    firsts = tuple(int(bits, 16) for bits in stored["firsts"])
    return Program(**arrays, entries=tuple(stored["entries"]), widths=widths, firsts=firsts)


@functools.cache
def _stored() -> dict[tuple[str, ...], dict[str, Any]]:
    """Expressions -> what is stored of their program."""
    content = FILE.read_bytes()
    size = int.from_bytes(content[:4], "little")
    programs: list[dict[str, Any]] = json.loads(content[4 : 4 + size])
    body = memoryview(content)[4 + size :]
    return {tuple(fields["expressions"]): {**fields, "content": body} for fields in programs}
