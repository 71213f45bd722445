"""Words as places among the bytes of a text, their numbers and their features, in Python.

A cell is the place of a token among the bytes of a text: its first byte and the one after its last, a row of (N, 2).
``string_slots`` and ``word_features`` are the twins of kernels in words.c.
"""

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import NamedTuple, final
from zlib import crc32

import numpy as np

from postil.arrays import Array
from postil.errors import IndexRangeError
from postil.kernels.characters import Characters, Orthography, character_places, decoded, frozen, frozen_orthography
from postil.kernels.checking import contiguous


def character_offsets(text: bytes, offsets: Array) -> Array:
    """Offsets (n,) in bytes of UTF-8, none smaller than the one before, as offsets in characters."""
    offsets = contiguous(offsets, np.int64, (len(offsets),), where="offsets")
    if len(offsets) and (offsets[0] < 0 or offsets[-1] > len(text) or (np.diff(offsets) < 0).any()):
        raise IndexRangeError("an index points outside its table", where="offsets")
    continuations = np.flatnonzero(np.frombuffer(text, np.uint8) & 0xC0 == 0x80)
    return offsets - np.searchsorted(continuations, offsets)


class Columns(NamedTuple):
    """How the rows of a file are laid out."""

    tabs: bool  # one tab between two cells; else any number of spaces and tabs
    width: int
    token: int
    label: int  # the column that must not be empty; -1: none


class TokenCells(NamedTuple):
    """The tokens of plain sentences, as places in their text."""

    tokens: Array  # (N, 2)
    offsets: Array  # (B + 1,)
    heads: Array
    """(H, 3) of sentences with comments or marks before them: the sentence, the first byte of those lines and that of
    the sentence's first row."""


def checked_columns(columns: Columns) -> Columns:
    if not (0 <= columns.token < columns.width and -1 <= columns.label < columns.width):
        raise IndexRangeError("no such column", expected=f"0 to {columns.width - 1}", got=tuple(columns))
    return columns


_FEW = 32  # rows that Python compares sooner than NumPy reduces them


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


# Strings from broken text may hold half of a surrogate pair, which strict UTF-8 refuses.
SURROGATES = "surrogatepass"
_CACHED_VALUES = 20_000  # of one affix or shape column


@final
class StringTable:
    """V strings and a hash table of their ids: the arrays of a ``Vocabulary``, see there."""

    __slots__ = ("__weakref__", "_mask", "_offsets", "_slots", "_text", "offsets", "slots", "text")

    def __init__(self, text: Array, offsets: Array, slots: Array) -> None:
        self.text, self.offsets, self.slots = text, offsets, slots
        # A memoryview gives a Python int in a third of the time that an array takes to give a NumPy scalar.
        self._text, self._offsets, self._slots = text.data, offsets.data, slots.data
        self._mask = len(self._slots) - 1

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def string(self, index: int) -> str:
        return str(self._text[self._offsets[index] : self._offsets[index + 1]], "utf-8", SURROGATES)

    def id(self, string: str, default: int = -1) -> int:
        """The id of the string, or ``default`` if it is not among them."""
        try:
            encoded = string.encode()
        except UnicodeEncodeError:  # rare, and asking for it at once would take as long as the search
            encoded = string.encode("utf-8", SURROGATES)
        text, offsets, slots, mask = self._text, self._offsets, self._slots, self._mask
        slot = crc32(encoded) & mask
        while (index := slots[slot]) >= 0:
            if text[offsets[index] : offsets[index + 1]] == encoded:
                return index
            slot = (slot + 1) & mask
        return default


def string_slots(text: Array, offsets: Array, size: int, longest: int) -> Array | None:
    """The hash table (size,) of V strings, see ``Vocabulary``; None if more than ``longest`` neighbours are taken.

    Then the filling ends early, so it is also short.
    """
    content, mask = text.tobytes(), size - 1
    slots = [-1] * size
    for index, (first, end) in enumerate(pairwise(offsets.tolist())):
        slot = begin = crc32(content[first:end]) & mask
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
            if (slot - begin) & mask >= longest:
                return None
        slots[slot] = index
    filled = np.array(slots, np.int32)
    return None if has_long_run(filled, longest) else filled


def has_long_run(slots: Array, longest: int) -> bool:
    """Whether more than ``longest`` neighbouring slots are occupied; the first slot follows the last."""
    if not (slots < 0).any():
        return True
    is_free = (slots < 0).tobytes()
    return bytes(longest + 1) in is_free + is_free[: longest + 1]


KINDS: dict[str, Callable[[Sequence[str], Sequence[str], int, Orthography], Iterable[str]]] = {
    "word": lambda forms, normal, length, orthography: normal,
    "shape": lambda forms, normal, length, orthography: map(orthography.shape, forms),
    "prefix": lambda forms, normal, length, orthography: [word[:length] for word in normal],
    "suffix": lambda forms, normal, length, orthography: [word[-length:] for word in normal],
    "caps": lambda forms, normal, length, orthography: forms,
    "vector": lambda forms, normal, length, orthography: forms,
}
"""Of columns: the string that is looked up for each form, of which ``normal`` are the normalised forms.

The places here are the numbers in C (``shared.h``) and in exported models: a new kind is the last one.
"""


class WordColumn(NamedTuple):
    """One feature of words."""

    kind: str
    length: int = 0  # characters of a prefix or suffix; a word that is shorter stands whole
    table: StringTable | None = None  # the values that have ids, the empty string at id 0; for all kinds but caps

    @property
    def number(self) -> int:
        """The number of its kind."""
        return list(KINDS).index(self.kind)

    def values(self, forms: Sequence[str], normal: Sequence[str], orthography: Orthography) -> Iterable[str]:
        """The string that is looked up for each form; ``normal`` are the normalised forms."""
        return KINDS[self.kind](forms, normal, self.length, orthography)


@final
@dataclass(frozen=True, eq=False)
class WordRules:
    """Which features words have."""

    columns: tuple[WordColumn, ...]
    digit_mark: str | None = None
    """The ASCII character that replaces every digit in the words that have vectors, if one does."""
    characters: Characters = field(default_factory=frozen)

    @functools.cached_property
    def orthography(self) -> Orthography:
        return frozen_orthography() if self.characters is frozen() else Orthography(self.characters)

    @functools.cached_property
    def finders(self) -> list[Callable[[str], int]]:
        """For each column: value -> id, 0 for one that is not known; of caps and vectors: word -> id."""
        return [self._finder(column) for column in self.columns]

    def _finder(self, column: WordColumn) -> Callable[[str], int]:
        if column.kind == "caps":
            return self.orthography.caps_class
        assert column.table is not None
        find = functools.partial(column.table.id, default=0)
        if column.kind == "vector":
            return functools.partial(self._vector, find)
        # Different words share their affixes and shapes, so these come again although every word is a new one.
        return find if column.kind == "word" else functools.lru_cache(_CACHED_VALUES)(find)

    def _vector(self, find: Callable[[str], int], form: str) -> int:
        """As it stands, then in lower case, then with its digits folded if the vectors' words are."""
        lower, fold, mark = self.orthography.lower, self.orthography.fold_digits, self.digit_mark
        found = find(form) or find(lower(form))
        if found or mark is None:
            return found
        return find(fold(form, mark)) or find(fold(lower(form), mark))


def word_features(text: bytes, cells: Array, rules: WordRules) -> Array:
    """(U, F) int32: the ids of the F columns of words that stand in cells (U, 2) of a text in UTF-8.

    Lone surrogates, as Python's ``surrogatepass`` writes them, are characters too.
    """
    forms = [
        decoded(text[first:end], surrogates=True, first=first) for first, end in checked_cells(text, cells).tolist()
    ]
    normal = list(map(rules.orthography.normalise, forms))
    ids = np.empty((len(forms), len(rules.columns)), np.int32)
    # Feature by feature, because that is faster than form by form.
    for place, (column, find) in enumerate(zip(rules.columns, rules.finders, strict=True)):
        ids[:, place] = list(map(find, column.values(forms, normal, rules.orthography)))
    return ids


def word_cells(words: Sequence[str]) -> tuple[bytes, Array]:
    """Words one after the other in UTF-8, and the cell (U, 2) of each."""
    try:
        joined = "".join(words)
    except TypeError:
        raise TypeError("a form is a string") from None
    try:
        content = joined.encode()
    except UnicodeEncodeError:
        content = joined.encode("utf-8", SURROGATES)
    ends = np.fromiter(accumulate(map(len, words), initial=0), np.int64, len(words) + 1)
    return content, cells_between(ends if len(content) == len(joined) else character_places(content)[ends])
