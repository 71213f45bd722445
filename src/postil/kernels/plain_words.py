"""Features of words in Python: the twin of words.c."""

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple, final
from zlib import crc32

import numpy as np

from postil.arrays import Array
from postil.kernels.characters import Characters, frozen
from postil.kernels.orthography import Orthography, frozen_orthography
from postil.kernels.plain_characters import character_places, decoded
from postil.kernels.plain_columns import cells_between, checked_cells

# Strings from broken text may hold half of a surrogate pair, which strict UTF-8 refuses.
SURROGATES = "surrogatepass"
_CACHED_VALUES = 20_000  # of one affix or shape column


@final
class StringTable:
    """V strings and a hash table of their ids: the arrays of a ``Vocabulary``, see there."""

    __slots__ = ("__weakref__", "_hash", "_mask", "_offsets", "_slots", "_text", "key", "offsets", "slots", "text")

    def __init__(self, text: Array, offsets: Array, slots: Array, key: Array | None = None) -> None:
        self.text, self.offsets, self.slots, self.key = text, offsets, slots, key
        # A memoryview gives a Python int in a third of the time that an array takes to give a NumPy scalar.
        self._text, self._offsets, self._slots = text.data, offsets.data, slots.data
        self._mask = len(self._slots) - 1
        self._hash = crc32 if key is None else keyed_hash(key.tobytes())

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def string(self, index: int) -> str:
        return str(self._text[self._offsets[index] : self._offsets[index + 1]], "utf-8", SURROGATES)

    def id(self, string: str, default: int = -1) -> int:
        """The id of the string, or ``default`` if it is none of them."""
        try:
            encoded = string.encode()
        except UnicodeEncodeError:  # rare, and asking for it at once would take as long as the search
            encoded = string.encode("utf-8", SURROGATES)
        text, offsets, slots, mask = self._text, self._offsets, self._slots, self._mask
        slot = self._hash(encoded) & mask
        while (index := slots[slot]) >= 0:
            if text[offsets[index] : offsets[index + 1]] == encoded:
                return index
            slot = (slot + 1) & mask
        return default


def keyed_hash(key: bytes) -> Callable[[bytes], int]:
    """A hash for which nobody finds many strings that begin at one slot under several keys."""
    from hashlib import blake2b  # rarely needed

    return lambda string: int.from_bytes(blake2b(string, digest_size=4, key=key).digest(), "little")


KINDS = ("word", "shape", "prefix", "suffix", "caps", "vector")
"""Of columns; their places here are their numbers in C."""


class WordColumn(NamedTuple):
    """One feature of words."""

    kind: str
    length: int = 0
    """Characters of a prefix or suffix; a word that is shorter stands whole."""
    table: StringTable | None = None
    """The values that have ids, the empty string at id 0; for all kinds but caps."""


@final
@dataclass(frozen=True, eq=False)
class WordRules:
    """Which features words have."""

    columns: tuple[WordColumn, ...]
    digit_mark: str | None = None
    """An ASCII character: what stands for every digit in the words that have vectors, if something does."""
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


def feature_values(
    column: WordColumn, forms: Sequence[str], normal: Sequence[str], orthography: Orthography
) -> Iterable[str]:
    """The string that is looked up for each form; ``normal`` are the normalised forms."""
    n = column.length
    if column.kind == "word":
        return normal
    if column.kind == "shape":
        return map(orthography.shape, forms)
    if column.kind == "prefix":
        return [word[:n] for word in normal]
    return [word[-n:] for word in normal] if column.kind == "suffix" else forms


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
        ids[:, place] = list(map(find, feature_values(column, forms, normal, rules.orthography)))
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
