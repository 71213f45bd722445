"""A cache of one row of numbers per word, computed when a word is first met, of bounded size.

Words may come as strings or as bytes of a text; both share their rows. A new word is numbered and gets its row without
becoming an object of Python, together with all other new words of its block.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from threading import Lock
from typing import NamedTuple, final

import numpy as np

from postil.arrays import Array
from postil.kernels.plain_words import word_cells
from postil.models.scoring.word_numbers import WordNumbers

MOST_BYTES = 256 << 20
"""Of one table: 105,000 words of a window of 5 and 128 hidden units. Memory is taken as words come."""
_LONGEST_CACHED = 1000  # bytes; longer ones are no words, seldom come again, and would need more memory than a row
_AT_ONCE = 256  # words whose rows are computed together: they stay near the processor until they are in the table

RowMaker = Callable[[bytes, Array], Array]
"""The rows (U, W) of the words in cells (U, 2) of a text in UTF-8; a row may depend on nothing but its word."""


class _Numbered(NamedTuple):
    """Words that have places in a table."""

    ids: Array  # (N,) the rows of the words
    fresh: Array  # (U,) those among them that are not computed yet
    text: bytes
    cells: Array  # (U, 2) the fresh words in the text


@final
class _Page:
    """A table and the number of each word's row in it. A row that is there never changes; row 0 belongs to no word."""

    def __init__(self, capacity: int, padding: Array) -> None:
        # Fresh memory costs nothing until it is written to, so the table has its full size from the start.
        self.rows: Array = np.empty((capacity + 1, len(padding)), padding.dtype)
        self.rows[0] = padding
        self.is_ready: Array = np.zeros(capacity + 1, np.bool_)
        self._ready = 0  # the rows up to this one are known to be ready
        self.words = WordNumbers()  # word i has row i + 1
        self.numbers: dict[str, int] = {}  # the rows of those that came as strings

    def look_up(self, forms: Iterable[str], count: int) -> Array:
        """(N,) row numbers, -1 for words that did not come as strings before."""
        return np.fromiter(map(self.numbers.get, forms, repeat(-1)), np.int64, count)

    def number(self, text: bytes, cells: Array, size: int | None = None) -> _Numbered | None:
        """Give every word a row; None, and nothing has changed, if there is no room. Called with the lock."""
        known = len(self.words)
        ids = self.words.numbers(text, cells, size) + 1
        if len(self.words) >= len(self.rows):
            self.words = self.words.first(known)
            return None
        if self._all_ready(known):
            fresh = np.arange(known + 1, len(self.words) + 1)
        else:  # another thread is at some of them, or has failed
            fresh = np.flatnonzero(np.bincount(ids[~self.is_ready[ids]]))
        return _Numbered(ids, fresh, *self.words.cells(fresh - 1))

    def _all_ready(self, known: int) -> bool:
        """Whether the rows of the first words are all there."""
        if self._ready < known and self.is_ready[self._ready + 1 : known + 1].all():
            self._ready = known
        return self._ready == known

    def complete(self, numbered: _Numbered, make: RowMaker) -> None:
        """Compute the rows that are missing. Other threads may do the same meanwhile: they write the same bits."""
        _, fresh, text, cells = numbered
        for first in range(0, len(fresh), _AT_ONCE):
            part = slice(first, first + _AT_ONCE)
            self.rows[fresh[part]] = make(text, cells[part])
            self.is_ready[fresh[part]] = True

    def half(self) -> "_Page":
        """A page with room: the words that came first stay. They are the frequent ones."""
        kept = min((len(self.rows) - 1) // 2, len(self.words))
        page = _Page(len(self.rows) - 1, self.rows[0])
        # Other threads complete rows meanwhile: the row first, then its mark, then its number. They are read the other
        # way round, so that what has a number or a mark on the new page has its row there.
        page.numbers = {form: number for form, number in self.numbers.copy().items() if number <= kept}
        page.is_ready[: kept + 1] = self.is_ready[: kept + 1]
        page.rows[1 : kept + 1] = self.rows[1 : kept + 1]
        page.words = self.words.first(kept)
        return page


@final
class WordRows:
    """word -> row, for any number of threads at once.

    ``make`` computes rows (U, W); ``padding`` (W,) is row 0.
    """

    def __init__(self, make: RowMaker, padding: Array, most_bytes: int = MOST_BYTES) -> None:
        self._make, self._padding = make, padding
        self._capacity = max(2, most_bytes // padding.nbytes)
        self._page = _Page(self._capacity, padding)
        self._lock = Lock()

    def look_up(self, forms: Sequence[str]) -> tuple[Array, Array]:
        """A table (V, W) and the number of each token's row in it, (N,)."""
        page = self._page
        numbers = page.look_up(forms, len(forms))
        missing = np.flatnonzero(numbers < 0).tolist()
        if not missing:
            return page.rows, numbers
        fresh = list(dict.fromkeys([forms[i] for i in missing]))
        text, cells = word_cells(fresh)
        numbered = None
        if len(text) <= _LONGEST_CACHED or _longest(cells) <= _LONGEST_CACHED:
            with self._lock:
                numbered = page.number(text, cells, len(text))
        if numbered is None:
            return self._look_up_distinct(forms)
        page.complete(numbered, self._make)
        page.numbers.update(zip(fresh, numbered.ids.tolist(), strict=True))
        numbers[missing] = page.look_up([forms[i] for i in missing], len(missing))
        return page.rows, numbers

    def look_up_cells(self, text: bytes, cells: Array) -> tuple[Array, Array]:
        """The same for words that stand in cells (N, 2) of a text in UTF-8."""
        if _longest(cells) <= _LONGEST_CACHED:
            with self._lock:
                page, numbered = self._numbered(text, cells)
            if numbered is not None:
                page.complete(numbered, self._make)
                return page.rows, numbered.ids
        return self._apart(text, cells)

    def _numbered(self, text: bytes, cells: Array) -> tuple[_Page, _Numbered | None]:
        """Give the words rows, on a new page if the present one is full; the old one goes when the last thread that
        reads it is done. Called with the lock."""
        page = self._page
        numbered = page.number(text, cells)
        if numbered is None:
            page = page.half()
            numbered = page.number(text, cells)
            self._page = self._page if numbered is None else page
        return page, numbered

    def _look_up_distinct(self, forms: Sequence[str]) -> tuple[Array, Array]:
        """All words as bytes: the page of the known ones has no room for the others."""
        distinct = list(dict.fromkeys(forms))
        rows, ids = self.look_up_cells(*word_cells(distinct))
        numbers = dict(zip(distinct, ids.tolist(), strict=True))
        return rows, np.fromiter(map(numbers.__getitem__, forms), np.int64, len(forms))

    def _apart(self, text: bytes, cells: Array) -> tuple[Array, Array]:
        """A table for these words only, which is not cached."""
        words = WordNumbers()
        numbers = words.numbers(text, cells)
        rows = self._make(*words.cells(np.arange(len(words))))
        return np.concatenate([self._padding[None], rows]), numbers + 1


def _longest(cells: Array) -> int:
    """Bytes of the longest word."""
    return int((cells[:, 1] - cells[:, 0]).max(initial=0))
