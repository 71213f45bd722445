"""Tokens as places among the bytes of a text: types, checks, and the Python twin of ``number_words``.

A cell is the place of a token among the bytes of a text: its first byte and the one after its last, a row of (N, 2).
"""

import os
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple, final

import numpy as np

from postil.arrays import Array
from postil.errors import IndexRangeError
from postil.kernels.checking import contiguous


class Columns(NamedTuple):
    """How the rows of a file are laid out."""

    tabs: bool
    """One tab between two cells; else any number of spaces and tabs."""
    width: int
    token: int
    label: int
    """The column that must not be empty; -1: none."""


class TokenCells(NamedTuple):
    """The tokens of plain sentences, as places in their text."""

    tokens: Array  # (N, 2)
    offsets: Array  # (B + 1,)
    heads: Array
    """(H, 3) of sentences with comments or marks before them: the sentence, the first byte of those lines and that of
    the sentence's first row."""


@cache
def process_key() -> Array:
    """A random key (2,) of this process: whoever chooses the words of a text does not know where they will stand."""
    return np.frombuffer(os.urandom(16), np.uint64).copy()


@final
@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """Room for a growing list of different words. Only ``number_words`` writes into it."""

    slots: Array  # uint64 (S,), S a power of two above the most words: the compiled kernel's table
    pool: Array  # uint8, the words one after the other
    ends: Array  # (most + 1,), word i is pool[ends[i]:ends[i + 1]]
    key: Array  # uint64 (2,), of the table's hash: it decides where words stand in ``slots``, not their numbers
    index: dict[bytes, int] = field(default_factory=dict)  # the twin's table

    @classmethod
    def room_for(cls, most: int, size: int, key: Array | None = None) -> "Words":
        """No words yet, and room for ``most`` words of ``size`` bytes in total. ``key``: by default, the process's."""
        slots = np.zeros(1 << (2 * most).bit_length(), np.uint64)
        key = process_key() if key is None else contiguous(key, np.uint64, (2,), where="key")
        return cls(slots, np.empty(size, np.uint8), np.zeros(most + 1, np.int64), key)

    def word(self, number: int) -> bytes:
        return self.pool[self.ends[number] : self.ends[number + 1]].tobytes()


def checked_columns(columns: Columns) -> Columns:
    if not (0 <= columns.token < columns.width and -1 <= columns.label < columns.width):
        raise IndexRangeError("no such column", expected=f"0 to {columns.width - 1}", got=tuple(columns))
    return columns


_FEW = 32
"""Rows that Python compares sooner than NumPy reduces them."""


def check_inside(cells: Array, size: int, where: str) -> None:
    """Whether cells (N, 2) are ranges of ``size`` bytes."""
    if len(cells) <= _FEW:
        is_inside = all(0 <= first <= end <= size for first, end in cells.tolist())
    else:
        first, end = cells[:, 0], cells[:, 1]
        is_inside = first.min() >= 0 and end.max() <= size and bool((first <= end).all())
    if not is_inside:
        raise IndexRangeError("an index points outside its table", where=where)


def checked_cells(text: bytes, cells: Array) -> Array:
    """Cells (N, 2) as C expects them; each lies in the text."""
    ready = contiguous(cells, np.int64, (len(cells), 2), where="cells")
    check_inside(ready, len(text), "cells")
    return ready


def cells_between(edges: Array) -> Array:
    """Cells (N, 2) that stand one after the other, from their edges (N + 1,)."""
    cells = np.empty((len(edges) - 1, 2), np.int64)  # a third of the time of np.column_stack
    cells[:, 0], cells[:, 1] = edges[:-1], edges[1:]
    return cells


def number_words(text: bytes, cells: Array, words: Words, known: int) -> tuple[Array, int]:
    """The number of each cell's word, (N,); and how many words are known now.

    Words that are met for the first time are added to ``words``, of which there were ``known`` before, and numbered in
    the order in which they came.
    """
    cells = checked_cells(text, cells)
    if len(words.index) != known:
        words.index.clear()
        words.index.update({words.word(i): i for i in range(known)})
    numbers = words.index
    indices, fresh = [], []
    for first, end in cells.tolist():
        word = text[first:end]
        if word not in numbers:
            numbers[word] = len(numbers)
            fresh.append(word)
        indices.append(numbers[word])
    ends = words.ends[known] + np.cumsum([0, *map(len, fresh)])
    if len(numbers) >= len(words.ends) or ends[-1] > len(words.pool):
        raise IndexRangeError("an index points outside its table", where="words")
    words.ends[known : len(numbers) + 1] = ends
    words.pool[ends[0] : ends[-1]] = np.frombuffer(b"".join(fresh), np.uint8)
    return np.array(indices, np.int64), len(numbers)
