"""A cache of one row of numbers per word, computed when a word is first met, of bounded size."""

from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from threading import Lock
from typing import final

import numpy as np

from postil.arrays import Array
from postil.models.scoring.word_numbers import WordNumbers

MOST_BYTES = 256 << 20
"""Of one table: 105,000 words of a window of 5 and 128 hidden units. Memory is taken as words come."""
_LONGEST_CACHED = 1000  # characters; longer ones are no words, seldom come again, and would need more memory than a row


@final
class _Page:
    """A table and the row number of each word in it. A row that is there never changes; row 0 belongs to no word."""

    def __init__(self, capacity: int, padding: Array) -> None:
        # Fresh memory costs nothing until it is written to, so the table has its full size from the start.
        self.rows: Array = np.empty((capacity + 1, len(padding)), padding.dtype)
        self.rows[0] = padding
        self.numbers: dict[str, int] = {}
        self.cells = WordNumbers()  # the same words as bytes, with their row numbers as values: those that came so

    @property
    def room(self) -> int:
        return len(self.rows) - 1 - len(self.numbers)

    def look_up(self, forms: Iterable[str], count: int) -> Array:
        """(N,) row numbers, -1 for words that are not there."""
        return np.fromiter(map(self.numbers.get, forms, repeat(-1)), np.int64, count)

    def add(self, forms: Sequence[str], rows: Array) -> None:
        """Other threads may read meanwhile: a number is known only after its row is written."""
        first = len(self.numbers) + 1
        new = [i for i, form in enumerate(forms) if form not in self.numbers]
        self.rows[first : first + len(new)] = rows[new] if len(new) < len(forms) else rows
        self.numbers.update(zip([forms[i] for i in new], range(first, first + len(new)), strict=True))

    def half(self) -> "_Page":
        """A page with room: the words that came first stay. They are the frequent ones."""
        kept = (len(self.rows) - 1) // 2
        page = _Page(len(self.rows) - 1, self.rows[0])
        page.rows[1 : kept + 1] = self.rows[1 : kept + 1]
        page.numbers = {form: number for form, number in self.numbers.items() if number <= kept}
        return page


@final
class WordRows:
    """word -> row, for any number of threads at once.

    ``make`` returns the rows (U, W) of U words; a row may depend on nothing but its word. ``padding`` (W,) is row 0.
    """

    def __init__(self, make: Callable[[list[str]], Array], padding: Array, most_bytes: int = MOST_BYTES) -> None:
        self._make, self._padding = make, padding
        self._capacity = max(2, most_bytes // padding.nbytes)
        self._page = _Page(self._capacity, padding)
        self._lock, self._cells_lock = Lock(), Lock()

    def look_up(self, forms: Sequence[str]) -> tuple[Array, Array]:
        """A table (V, W) and the number of each token's row in it, (N,)."""
        page = self._page
        numbers = page.look_up(forms, len(forms))
        missing = np.flatnonzero(numbers < 0).tolist()
        if not missing:
            return page.rows, numbers
        fresh = list(dict.fromkeys([forms[i] for i in missing]))
        if len(max(fresh, key=len)) > _LONGEST_CACHED:
            return self._apart(forms)
        rows = self._make(fresh)
        with self._lock:
            if len(fresh) > page.room:
                return self._turned(forms)
            page.add(fresh, rows)
        numbers[missing] = page.look_up([forms[i] for i in missing], len(missing))
        return page.rows, numbers

    def look_up_cells(self, text: bytes, cells: Array) -> tuple[Array, Array]:
        """The same for words that stand in cells (N, 2) of a text in UTF-8. Only new ones become strings."""
        if int((cells[:, 1] - cells[:, 0]).max(initial=0)) <= _LONGEST_CACHED:
            with self._cells_lock:
                page = self._page
                numbers = page.cells.numbers(text, cells)
                if self._complete(page):
                    return page.rows, page.cells.values[numbers]
        return self.look_up([text[first:end].decode("utf-8", "surrogatepass") for first, end in cells.tolist()])

    def _complete(self, page: _Page) -> bool:
        """Set the row number of every word that came as bytes; False if the page has no room for all of them."""
        fresh = np.flatnonzero(page.cells.values[: len(page.cells)] < 0)
        if not len(fresh):
            return True
        rows, numbers = self.look_up([page.cells.word(number) for number in fresh.tolist()])
        if rows is not page.rows:
            page.cells = WordNumbers()
            return False
        page.cells.values[fresh] = numbers
        return True

    def _turned(self, forms: Sequence[str]) -> tuple[Array, Array]:
        """The same on a new page; the old one goes when the last thread that reads it is done. Called with the lock."""
        for page in (self._page, self._page.half()):  # another thread may have turned it already
            fresh = [form for form in dict.fromkeys(forms) if form not in page.numbers]
            if len(fresh) <= page.room:
                page.add(fresh, self._make(fresh))
                self._page = page
                return page.rows, page.look_up(forms, len(forms))
        return self._apart(forms)

    def _apart(self, forms: Sequence[str]) -> tuple[Array, Array]:
        """A table for these words only, which is not cached."""
        distinct = list(dict.fromkeys(forms))
        page = _Page(len(distinct), self._padding)
        page.add(distinct, self._make(distinct))
        return page.rows, page.look_up(forms, len(forms))
