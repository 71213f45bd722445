"""A dictionary that grows while text is read, in bounded memory.

Each distinct word gets a serial number when it is first met. When there are too many, the rarest are forgotten; one
that comes back later gets a new serial. Serials are never given out twice, so ids written before stay valid.
"""

from collections.abc import Callable
from typing import NamedTuple, final

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.kernels import Words

MOST_WORDS = 4_000_000
"""Distinct words that are kept while text is read; above it the rarest are forgotten."""


class Entries(NamedTuple):
    """The words of a dictionary, most frequent first, and what became of the serials."""

    words: list[str]
    counts: Array  # (V,)
    numbers: Array
    """int32 (serials,): the word of each serial, or -1."""


@final
class GrowingDictionary:
    """Counts words in blocks of UTF-8 text."""

    def __init__(self, most: int = MOST_WORDS) -> None:
        self._most = most
        self._table = Words.room_for(1 << 12, 1 << 16)
        self._known = 0
        self._counts = np.zeros(1 << 12, np.int64)
        self._serials = np.zeros(1 << 12, np.int64)  # of each word in the table
        self._issued = 0

    def add(self, text: bytes, cells: Array) -> Array:
        """Count the words at these places, (N, 2), and return their serials, (N,)."""
        if self._known > self._most:
            self._forget()
        self._make_room(self._known + len(cells), int(self._table.ends[self._known]) + len(text))
        before = self._known
        numbers, self._known = kernels.number_words(text, cells, self._table, before)
        fresh = self._known - before
        self._serials[before : self._known] = np.arange(self._issued, self._issued + fresh)
        self._issued += fresh
        self._counts[: self._known] += np.bincount(numbers, minlength=self._known)
        return np.asarray(self._serials[numbers])

    def entries(self, form: Callable[[str], str], min_count: int, most: int | None) -> Entries:
        """The ``most`` frequent forms that occur at least ``min_count`` times; ``form`` makes one of a word.

        Forms of equal counts are in the order in which they were first met.
        """
        forms = [form(self._table.word(i).decode("utf-8")) for i in range(self._known)]
        places = {word: place for place, word in enumerate(dict.fromkeys(forms))}
        where = np.fromiter(map(places.__getitem__, forms), np.int64, len(forms))
        counts = np.bincount(where, self._counts[: self._known], minlength=len(places)).astype(np.int64)
        order = np.argsort(-counts, kind="stable")[:most]
        order = order[counts[order] >= min_count]
        numbers = np.full(len(places), -1, np.int32)
        numbers[order] = np.arange(len(order))
        of_serials = np.full(self._issued, -1, np.int32)
        of_serials[self._serials[: self._known]] = numbers[where]
        names = list(places)
        return Entries([names[place] for place in order.tolist()], counts[order], of_serials)

    def _make_room(self, words: int, size: int) -> None:
        """Twice the room if a block might not fit: every token may be a new word."""
        if words < len(self._table.ends) and size <= len(self._table.pool):
            return
        self._rebuild(np.arange(self._known), 2 * words, 2 * size)

    def _forget(self) -> None:
        """Drop the rarest words, so that at most half of ``most`` are left."""
        counts = self._counts[: self._known]
        least = np.sort(counts)[-self._most // 2]
        kept = np.flatnonzero(counts > least)
        self._rebuild(kept, max(2 * len(kept), 1), len(self._table.pool))

    def _rebuild(self, kept: Array, words: int, size: int) -> None:
        """A new table that holds some of the words, in the same order."""
        ends, pool = self._table.ends, self._table.pool
        cells = np.stack([ends[kept], ends[kept + 1]], axis=1) if len(kept) else np.zeros((0, 2), np.int64)
        table = Words.room_for(words, size)
        _, self._known = kernels.number_words(pool[: ends[self._known]].tobytes(), cells, table, 0)
        for name in ("_counts", "_serials"):
            grown = np.zeros(words, np.int64)
            grown[: len(kept)] = getattr(self, name)[kept]
            setattr(self, name, grown)
        self._table = table
