"""Prior knowledge about words: the cluster that a word belongs to, the lists of names that it occurs in.

A lexicon gives each word K classes, by its form alone. So it costs nothing when tagging: a word's classes are looked up
once, with its other features.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from postil.arrays import Array, arrays_under, describe
from postil.errors import ConfigurationError, ModelFileError
from postil.features.vectors import looked_up, looked_up_cells
from postil.features.vocabulary import PACKED, Vocabulary, prefixed, stored_names

UNKNOWN = ""  # the string of id 0: a word that is not in the lexicon
PREFIXES = (4, 6, 10, 20)
"""How much of a path in a tree of clusters is a class: near the root large groups of words, further down finer ones."""
MOST_COLUMNS = 64
MOST_CLASSES = np.iinfo(np.uint16).max


class NameEntry(NamedTuple):
    """A word of a name list: whether it is a whole name, or begins, or ends, or is inside of a longer one."""

    word: str
    name_class: str
    code: int


ALONE, FIRST, LAST, INSIDE = 1, 2, 4, 8
"""The bits of an entry's code."""


@final
class Lexicon:
    """W words and their classes in K columns: ``codes`` (W, K) uint16. Id 0 is the unknown word, all its classes 0.

    A form is looked up as it stands, then in lower case, like the words of a vector file.
    """

    def __init__(
        self, columns: Sequence[str], words: Vocabulary, codes: Array, stored: Mapping[str, Array] | None = None
    ) -> None:
        """``stored``: the codes as a file holds them."""
        self.columns, self.words, self.codes, self._stored = list(columns), words, codes, stored
        self.sizes = [int(column.max(initial=0)) + 1 for column in codes.T]  # max(axis=0) is ten times slower

    @classmethod
    def of_paths(cls, paths: Mapping[str, str]) -> "Lexicon":
        """Clusters in a binary tree: word -> its path of 0s and 1s from the root. The columns are prefixes of paths.

        A longer prefix is left out where no path is longer than the one before.
        """
        longest = max(map(len, paths.values()), default=0)
        lengths = [length for i, length in enumerate(PREFIXES) if i == 0 or PREFIXES[i - 1] < longest]
        classes = [[path[:length] for path in paths.values()] for length in lengths]
        return cls._numbered([f"cluster {length}" for length in lengths], list(paths), classes)

    @classmethod
    def of_clusters(cls, clusters: Mapping[str, str]) -> "Lexicon":
        """Clusters without a tree: word -> the name of its cluster."""
        return cls._numbered(["cluster"], list(clusters), [list(clusters.values())])

    @classmethod
    def _numbered(cls, columns: Sequence[str], words: list[str], classes: Sequence[Sequence[str]]) -> "Lexicon":
        codes = np.zeros((len(words) + 1, len(columns)), np.uint16)
        for k, values in enumerate(classes):
            numbers = {value: number for number, value in enumerate(sorted(set(values)), 1)}
            if len(numbers) > MOST_CLASSES:
                raise ConfigurationError("clusters", expected=f"at most {MOST_CLASSES:,}", got=f"{len(numbers):,}")
            codes[1:, k] = [numbers[value] for value in values]
        return cls(columns, Vocabulary.build([UNKNOWN, *words]), codes)

    @classmethod
    def of_names(cls, entries: Iterable[NameEntry]) -> "Lexicon":
        """Lists of names, a column per class. A word's class is its position in the names that it occurs in."""
        found: dict[str, dict[str, int]] = {}
        columns: dict[str, None] = {}
        for word, name_class, code in entries:
            columns[name_class] = None
            of_word = found.setdefault(word, {})
            of_word[name_class] = of_word.get(name_class, 0) | code
        if len(columns) > MOST_COLUMNS:
            raise ConfigurationError("classes of name lists", expected=f"at most {MOST_COLUMNS}", got=len(columns))
        names, words = sorted(columns), sorted(found)
        codes = np.zeros((len(words) + 1, len(names)), np.uint16)
        for i, word in enumerate(words, 1):
            codes[i] = [found[word].get(name, 0) for name in names]
        return cls(names, Vocabulary.build([UNKNOWN, *words]), codes)

    def limited_to(self, forms: Mapping[str, int], least: int) -> "Lexicon":
        """The lexicon with only the classes that ``forms`` (form -> how often) has at least ``least`` times.

        The other classes become 0: nothing could be learned about them. The numbers of those left are dense.
        """
        counts = np.zeros((max(self.sizes, default=1), len(self.columns)), np.int64)
        occurrences = np.fromiter(forms.values(), np.int64, len(forms))
        codes = self.of(forms)
        renumbered = np.zeros_like(self.codes)
        for k in range(len(self.columns)):
            np.add.at(counts[:, k], codes[:, k], occurrences)
            kept = np.flatnonzero(counts[1:, k] >= least) + 1
            numbers = np.zeros(len(counts), np.uint16)
            numbers[kept] = np.arange(1, len(kept) + 1)
            renumbered[:, k] = numbers[self.codes[:, k]]
        return Lexicon(self.columns, self.words, renumbered)

    def __len__(self) -> int:
        return len(self.words) - 1

    def of(self, forms: Iterable[str]) -> Array:
        """(U, K) the classes of each form, 0 where it has none."""
        return self.codes[looked_up(self.words, forms)]

    def of_cells(self, text: bytes, cells: Array) -> Array:
        """The same for forms that stand in cells (U, 2) of a text in UTF-8."""
        return self.codes[looked_up_cells(self.words, text, cells)]

    def arrays(self, *, with_words: bool = True) -> dict[str, Array]:
        """Everything, for the model file; without the words where they stand elsewhere."""
        if self._stored is None:
            self._stored = _packed(self.codes) or {"codes": self.codes}
        words = prefixed("words/", self.words.arrays()) if with_words else {}
        return words | prefixed("columns/", Vocabulary.build(self.columns).arrays()) | dict(self._stored)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array], elsewhere: Vocabulary | None = None) -> "Lexicon":
        """The lexicon whose ``arrays()`` these are; without words among them it has those that stand ``elsewhere``."""
        own, columns = (
            arrays_under("words/", arrays),
            stored_names(arrays_under("columns/", arrays), "a lexicon's columns"),
        )
        words = elsewhere if elsewhere is not None and not own else Vocabulary.from_arrays(own)
        stored = {name: arrays[name] for name in ("codes", "rows", "distinct") if name in arrays}
        codes = _unpacked(stored) if "rows" in stored else stored.get("codes")
        if not len(words) or words[0] != UNKNOWN or not 0 < len(columns) <= MOST_COLUMNS:
            raise ModelFileError("words of a lexicon", expected="the unknown word at id 0, and columns", got="others")
        if codes is None or codes.dtype != np.uint16 or codes.shape != (len(words), len(columns)) or codes[0].any():
            expected = f"uint16 ({len(words)}, {len(columns)}), the first row zeros"
            got = "none" if codes is None else describe(codes)
            raise ModelFileError("codes of a lexicon", expected=expected, got=got)
        return cls(columns, words, codes, stored)

    def __reduce__(self) -> tuple[Any, ...]:
        return Lexicon, (self.columns, self.words, self.codes)


def _packed(codes: Array) -> dict[str, Array] | None:
    """Codes (W, K) of many words as ``rows`` (W,) among those that are ``distinct``; None if that is not smaller."""
    if len(codes) < PACKED or codes.shape[1] < 2:
        return None
    whole = np.ascontiguousarray(codes).view(np.dtype((np.void, codes.itemsize * codes.shape[1]))).reshape(-1)
    _, first, rows = np.unique(whole, return_index=True, return_inverse=True)
    if len(first) > MOST_CLASSES or 2 * len(rows) + codes[first].nbytes >= codes.nbytes:
        return None
    return {"rows": rows.reshape(-1).astype(np.uint16), "distinct": codes[first]}


def _unpacked(arrays: Mapping[str, Array]) -> Array:
    rows, distinct = arrays["rows"], arrays.get("distinct", np.zeros(0))
    if (
        len(arrays) != 2
        or (rows.ndim, distinct.ndim) != (1, 2)
        or {rows.dtype, distinct.dtype} != {np.dtype(np.uint16)}
    ):
        got = ", ".join(f"{name} {describe(array)}" for name, array in arrays.items())
        raise ModelFileError("packed codes of a lexicon", expected="uint16: rows, and those that are distinct", got=got)
    if rows.max(initial=0) >= len(distinct):
        raise ModelFileError("rows of a lexicon", expected=f"below {len(distinct)}", got=int(rows.max()))
    return np.take(distinct, rows, axis=0)  # a quarter of the time of distinct[rows]
