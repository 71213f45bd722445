"""Different spellings of one word as one: Unicode's canonical composition (NFC), and characters that a model folds.

Words are normalised before they are looked up; texts and offsets stay as they are. Which characters are folded is
learned from the training words: one that they lack, or almost lack, becomes the equivalent that they have. So a Persian
model reads the Arabic ``ي`` as ``ی``, an Arabic one the other way round, and full-width letters, soft hyphens, vowel
points or typographic apostrophes do not make a word unknown unless the training words have them.

C has the same in ``kernels/engine/folds.c``.
"""

import functools
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import final

import numpy as np

from postil.arrays import Array, describe
from postil.errors import ModelFileError
from postil.kernels.characters import category

LONGEST = 256
"""Bytes of a word; a longer one stays as it is."""
_WIDTH = 4  # of a row of the table: a character and up to three that take its place
_MOST = 2000
_RARE, _RAREST = 1000, 20_000
"""A character is folded if its equivalent is this many times as frequent, left out if all characters together are."""
_ALIKE = ("يیى", "كک", "هہ", "'’ʼ‘", '"“”„‟«»', "-‐‑‒–—―−", *(chr(c) + chr(c - 0xFEE0) for c in range(0xFF01, 0xFF5F)))
_COMPATIBLE = ((0xFB00, 0xFB07), (0xFB50, 0xFC00), (0xFE70, 0xFEFD), (0xFF66, 0xFFA0))
"""Ligatures, forms of Arabic letters by position, narrow kana."""
_INVISIBLE = (0xAD, 0x61C, 0x640, 0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0x2060, 0xFEFF)
"""Soft hyphen, tatweel, marks of direction, joiners."""
_POINTS = ((0x591, 0x5C8), (0x64B, 0x660), (0x670, 0x671))
"""Vowels of Hebrew and Arabic."""


@final
class Folds:
    """The normalisation of a model: NFC, then a table of characters."""

    def __init__(self, table: Array) -> None:
        """table (F, 4): a character and what takes its place, up to three characters, then zeros; rising."""
        self.table = table
        self._map = {int(row[0]): "".join(chr(code) for code in row[1:] if code) for row in table.tolist()}
        self._has_ascii = any(code < 128 for code in self._map)

    def __call__(self, word: str) -> str:
        if word.isascii() and not self._has_ascii:
            return word
        if len(word) > LONGEST or len(word.encode("utf-8", "surrogatepass")) > LONGEST:
            return word
        # A word of nothing but such characters keeps them: no word is empty.
        return unicodedata.normalize("NFC", word).translate(self._map) or word

    def __reduce__(self) -> tuple[object, ...]:
        return Folds, (self.table,)

    @classmethod
    def chosen(cls, words: Mapping[str, int]) -> "Folds":
        """Those for training words and how often each occurs."""
        counts: Counter[str] = Counter()
        for word, times in words.items():
            for character in unicodedata.normalize("NFC", word):
                counts[character] += times
        total = counts.total()
        folded: dict[str, str] = {}
        for alike in _ALIKE:
            best = max(alike, key=lambda one: counts[one])
            folded |= {one: best for one in alike if one != best and counts[best] > _RARE * counts[one]}
        for first, end in _COMPATIBLE:
            for one in map(chr, range(first, end)):
                spelt = unicodedata.normalize("NFKC", one)
                is_known = 1 <= len(spelt) < _WIDTH and spelt != one and all(counts[part] for part in spelt)
                if is_known and not counts[one]:
                    folded[one] = spelt
        points = [code for first, end in _POINTS for code in range(first, end) if category(chr(code)) == "Mn"]
        for one in map(chr, (*_INVISIBLE, *points)):
            if counts[one] * _RAREST <= total:
                folded[one] = ""
        rows = [[ord(one), *map(ord, spelt)] for one, spelt in sorted(folded.items())]
        return cls(np.array([row + [0] * (_WIDTH - len(row)) for row in rows], np.int32).reshape(-1, _WIDTH))

    @classmethod
    def from_array(cls, table: Array) -> "Folds":
        """Check what may come from a stranger."""
        is_table = table.ndim == 2 and table.shape[1] == _WIDTH and table.dtype == np.int32 and len(table) <= _MOST
        is_table = is_table and table.min(initial=0) >= 0 and table.max(initial=0) <= 0x10FFFF
        if not is_table or (np.diff(table[:, 0]) <= 0).any():
            raise ModelFileError("folds", expected=f"rising characters (F, {_WIDTH})", got=describe(table))
        if ((table >= 0xD800) & (table < 0xE000)).any() or (len(table) and not table[0, 0]):
            raise ModelFileError("folds", expected="characters", got="half characters")
        return cls(table)


# ------------------------------------------------------------------------------------------------ tables of Unicode


_COMPOSED = ((0xC0, 0x3100), (0xF900, 0xFB50), (0x11080, 0x11940), (0x1D15E, 0x1D1C1), (0x2F800, 0x2FA1E))
_CLASSED = (
    *((0x300, 0x3100), (0xA660, 0xAC00), (0xFB1E, 0xFB1F), (0xFE20, 0xFE30), (0x101FD, 0x12000), (0x16AF0, 0x16B37)),
    *((0x16FF0, 0x16FF2), (0x1BC9E, 0x1BC9F), (0x1D165, 0x1D245), (0x1E000, 0x1E94B)),
)
"""Where characters with a canonical decomposition are, and those with a combining class."""


@functools.cache
def composition() -> tuple[Array, Array, Array]:
    """Unicode's tables of NFC, but for Hangul, which is computed: int32, rising.

    (D, 5) a character and its whole decomposition, then zeros; (C, 2) a combining character and its class; (P, 3) two
    characters and the one that they become.
    """
    decomposed, composed = [], []

    def assigned(ranges: Iterable[tuple[int, int]]) -> list[str]:
        """The characters of the tables' version of Unicode."""
        return [chr(code) for first, end in ranges for code in range(first, end) if category(chr(code)) != "Cn"]

    for character in assigned(_COMPOSED):
        parts = unicodedata.normalize("NFD", character)
        if parts == character:
            continue
        decomposed.append([ord(character), *map(ord, parts), *[0] * (4 - len(parts))])
        pair = unicodedata.decomposition(character).split()
        if len(pair) == 2 and unicodedata.normalize("NFC", character) == character:
            composed.append([int(pair[0], 16), int(pair[1], 16), ord(character)])
    classes = [[ord(one), kind] for one in assigned(_CLASSED) if (kind := unicodedata.combining(one))]
    return np.array(decomposed, np.int32), np.array(classes, np.int32), np.array(sorted(composed), np.int32)
