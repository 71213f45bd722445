"""What a word looks like, by the frozen tables of characters: lower case, digits, capitals, shape.

The running Python is asked about ASCII only, which no version of Unicode changes. So a word has the same features under
every version of Python, and those that words.c computes.
"""

import functools
import re
from collections.abc import Callable
from typing import final

import numpy as np

from postil.arrays import Array
from postil.kernels.characters import CATEGORIES, Characters, Flag, frozen
from postil.kernels.plain_characters import lower_by_tables

NO_LETTERS, LOWER, TITLE, UPPER, SINGLE, MIXED_UPPER, MIXED_LOWER, WITHOUT_CASE = range(8)
ITSELF, ITSELF_IF_ASCII = 0, 1
_SHAPES = {"Lu": "X", "Lt": "X", "Ll": "x", "Lo": "l", "Lm": "l", "Nd": "d", "Nl": "n", "No": "n"}
_LONGEST_RUN = 3
_LONG_RUN = re.compile(rf"(.)\1{{{_LONGEST_RUN},}}", re.DOTALL)
_ASCII_DIGIT = re.compile("[0-9]")


def shapes_of_categories() -> Array:
    """uint8 (32,): the letter of each category of characters in a shape, or ITSELF, or ITSELF_IF_ASCII, else s."""
    others = {"P": ITSELF, "S": ITSELF_IF_ASCII, "M": ord("m")}
    letters = [ord(_SHAPES[kind]) if kind in _SHAPES else others.get(kind[0], ord("z")) for kind in CATEGORIES]
    return np.array([*letters, 0, 0], np.uint8)


class _ByCode(dict[int, str]):
    """Code of a character -> what takes its place, computed when first met; for ``str.translate``."""

    def __init__(self, make: Callable[[int], str]) -> None:
        self._make = make

    def __missing__(self, code: int) -> str:
        made = self[code] = self._make(code)
        return made


@final
class Orthography:
    """Functions of a word alone, for text in any script."""

    def __init__(self, characters: Characters) -> None:
        self.characters = characters
        self._shapes = bytes(shapes_of_categories())
        self._to_lower = _ByCode(lambda code: "i\u0307" if code == 0x130 else chr(code + characters.record(code)[1]))
        self._to_case, self._to_shape = _ByCode(self._case), _ByCode(self._shape)

    def lower(self, word: str) -> str:
        """``str.lower`` of the tables' version of Unicode."""
        if word.isascii():
            return word.lower()
        return lower_by_tables(word, self.characters) if "Σ" in word else word.translate(self._to_lower)

    def fold_digits(self, word: str, mark: str = "0") -> str:
        """Replace every decimal digit, of any script, by ``mark``."""
        return (_ASCII_DIGIT if word.isascii() else self._digit).sub(mark, word)

    def normalise(self, word: str) -> str:
        """Lower case, with every digit replaced by 0."""
        if word.isascii():
            lower = word.lower()
            return lower if lower.isalpha() else _ASCII_DIGIT.sub("0", lower)  # most words: nothing to search for
        return self.fold_digits(self.lower(word))

    def caps_class(self, word: str) -> int:
        """How the word is capitalised, from NO_LETTERS to WITHOUT_CASE."""
        if word.isascii() and word.islower():
            return LOWER
        letters = word.translate(self._to_case)
        cased = letters.replace("l", "")
        if not cased:
            return WITHOUT_CASE if letters else NO_LETTERS
        capitals = cased.count("X")
        if not capitals:
            return LOWER
        if capitals == len(cased):
            return UPPER if capitals > 1 else SINGLE
        if cased[0] != "X":
            return MIXED_LOWER
        return MIXED_UPPER if capitals > 1 else TITLE

    def shape(self, word: str) -> str:
        """The word with each character replaced by its class, and runs shortened to three."""
        classed = word.translate(self._to_shape)
        return _known_cut_runs(classed) if len(classed) < 30 else _cut_runs(classed)

    @functools.cached_property
    def _digit(self) -> re.Pattern[str]:
        """Any script's decimal digits."""
        return re.compile(f"[{''.join(map(chr, self.characters.codes_with(Flag.DECIMAL).tolist()))}]")

    def _case(self, code: int) -> str:
        """X a capital, or both cases in one, such as the Croatian ǅ; x a small letter; l another letter."""
        flags = self.characters.record(code)[0]
        if flags & (Flag.UPPER | Flag.TITLE):
            return "X"
        return "x" if flags & Flag.LOWER else "l" if flags & Flag.ALPHA else ""

    def _shape(self, code: int) -> str:
        letter = self._shapes[self.characters.record(code)[0] & Flag.CATEGORY]
        if letter == ITSELF or (letter == ITSELF_IF_ASCII and code < 128):
            return chr(code)  # no letter of _SHAPES can be meant: those are of other categories
        return "s" if letter == ITSELF_IF_ASCII else chr(letter)


def _cut_runs(classed: str) -> str:
    return _LONG_RUN.sub(lambda run: run.group(1) * _LONGEST_RUN, classed)


_known_cut_runs = functools.lru_cache(20_000)(_cut_runs)  # the classed characters of different words are often the same


@functools.cache
def frozen_orthography() -> Orthography:
    """That of the tables that come with the package."""
    return Orthography(frozen())
