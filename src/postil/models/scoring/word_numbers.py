"""Numbers of words that are bytes of a text, in the order in which they came: a table that grows."""

from typing import final

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.kernels import Words
from postil.kernels.plain_columns import cells_between

_ROOM = 1 << 8  # words of a new table


@final
class WordNumbers:
    """word -> number."""

    def __init__(self) -> None:
        self._words = Words.room_for(_ROOM, 8 * _ROOM)
        self._known = 0

    def __len__(self) -> int:
        return self._known

    def numbers(self, text: bytes, cells: Array, size: int | None = None) -> Array:
        """(N,) the number of the word in each cell (N, 2) of the text; new words get the next ones.

        ``size`` is the number of bytes in all cells, where that is known.
        """
        self._make_room(len(cells), int((cells[:, 1] - cells[:, 0]).sum()) if size is None else size)
        numbers, self._known = kernels.number_words(text, cells, self._words, self._known)
        return numbers

    def cells(self, numbers: Array) -> tuple[bytes, Array]:
        """A text that holds the words with these numbers (U,), rising, and their cells (U, 2) in it."""
        if not len(numbers):
            return b"", np.zeros((0, 2), np.int64)
        first, last = int(numbers[0]), int(numbers[-1])
        edges = self._words.ends[first : last + 2]
        text, cells = self._words.pool[edges[0] : edges[-1]].tobytes(), cells_between(edges - edges[0])
        return text, cells if len(cells) == len(numbers) else cells[numbers - first]

    def first(self, count: int) -> "WordNumbers":
        """A table of the first ``count`` words, with the same numbers."""
        words = WordNumbers()
        words.numbers(*self.cells(np.arange(count)))
        return words

    def _make_room(self, count: int, size: int) -> None:
        """Make sure that ``count`` new words of ``size`` bytes in total fit; a table that is too small doubles."""
        known, old = self._known, self._words
        used = int(old.ends[known])
        most = len(old.ends) - 1
        if known + count <= most and used + size <= len(old.pool):
            return
        self._words = Words.room_for(max(most, 2 * (known + count)), max(len(old.pool), 2 * (used + size)))
        cells = cells_between(old.ends[: known + 1])
        kernels.number_words(old.pool[:used].tobytes(), cells, self._words, 0)  # in their order: the same numbers
