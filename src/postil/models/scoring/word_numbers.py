"""Numbers of words that are given as bytes of a text, in the order in which they came: a table that grows."""

from typing import final

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.kernels import Words

_ROOM = 1 << 8  # words of a new table


@final
class WordNumbers:
    """word -> number, and a whole ``value`` that belongs to each number; -1 before it is known."""

    def __init__(self) -> None:
        self._words = Words.room_for(_ROOM, 8 * _ROOM)
        self._known = 0
        self.values: Array = np.full(_ROOM, -1)

    def __len__(self) -> int:
        return self._known

    def numbers(self, text: bytes, cells: Array) -> Array:
        """(N,) the number of the word in each cell (N, 2) of the text; new words get the next ones."""
        self._make_room(len(cells), int((cells[:, 1] - cells[:, 0]).sum()))
        numbers, self._known = kernels.number_words(text, cells, self._words, self._known)
        return numbers

    def word(self, number: int) -> str:
        return self._words.word(number).decode("utf-8", "surrogatepass")

    def _make_room(self, count: int, size: int) -> None:
        """Make sure that ``count`` new words of ``size`` bytes in total fit; a table that is too small doubles."""
        known, old = self._known, self._words
        used = int(old.ends[known])
        most = len(old.ends) - 1
        if known + count <= most and used + size <= len(old.pool):
            return
        self._words = Words.room_for(max(most, 2 * (known + count)), max(len(old.pool), 2 * (used + size)))
        cells = np.column_stack([old.ends[:known], old.ends[1 : known + 1]])
        kernels.number_words(old.pool[:used].tobytes(), cells, self._words, 0)  # in their order: the same numbers
        values = np.full(len(self._words.ends) - 1, -1)
        values[:known] = self.values[:known]
        self.values = values
