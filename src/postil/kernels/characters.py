"""Properties of every character: category, case, digits, whitespace, frozen at one version of Unicode.

Python's own tables change with its version, so tokens, and with them a model's labels, would change with it. The
tables here are data of the package (``characters.bin``, written by ``tools/freeze_characters.py``), and both twins
follow them: C reads them, and the twins in Python exchange the few characters on which the running Python thinks
otherwise.

A character's record is found in two steps: ``records[pages[index[code // BLOCK], code % BLOCK]]``.
"""

import enum
import functools
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np

from postil.arrays import Array
from postil.errors import DataError
from postil.lazy import Remembered

FILE = Path(__file__).with_name("characters.bin")
LAST = sys.maxunicode
BLOCK = 128
CATEGORIES = "Cn Cc Cf Cs Co Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp".split()
_ASSIGNED = ((0, 0x40000), (0xE0000, 0xE1000))
"""Where characters are, or may be in some years: between and above are unassigned planes and private ones."""


class Flag(enum.IntFlag):
    """Properties of a character; the lowest five bits are the place of its category in `CATEGORIES`."""

    CATEGORY = 0x1F
    ALPHA = 1 << 5  # str.isalpha, and so on
    DECIMAL = 1 << 6  # also \d
    DIGIT = 1 << 7
    LOWER = 1 << 8
    UPPER = 1 << 9
    TITLE = 1 << 10  # both cases in one, such as ǅ
    SPACE = 1 << 11  # also \s
    WORD = 1 << 12  # \w
    CASED = 1 << 13  # a capital sigma after it is a final one
    IGNORABLE = 1 << 14  # unless something cased stands before characters like this
    SPECIAL = 1 << 15  # its lower case is more than one character, or depends on its neighbours


_OBSERVED: dict[Flag, Callable[[str], bool]] = {
    Flag.ALPHA: str.isalpha,
    Flag.DECIMAL: str.isdecimal,
    Flag.DIGIT: str.isdigit,
    Flag.LOWER: str.islower,
    Flag.UPPER: str.isupper,
    Flag.TITLE: lambda c: c.istitle() and not c.isupper(),
    Flag.SPACE: str.isspace,
    Flag.WORD: lambda c: c.isalnum() or c == "_",
    # Python shows which characters are cased only by what it makes of a capital sigma after them.
    Flag.CASED: lambda c: (c + "Σ").lower()[-1] == "ς",
    Flag.IGNORABLE: lambda c: (c + "Σ").lower()[-1] == "σ" and ("A" + c + "Σ").lower()[-1] == "ς",
    Flag.SPECIAL: lambda c: len(c.lower()) > 1 or c == "Σ",
}


def observed(codes: Array) -> tuple[Array, Array]:
    """Flags and lower case (its first character) of characters, as the running Python has them."""
    characters = [chr(code) for code in codes.tolist()]
    places = {category: place for place, category in enumerate(CATEGORIES)}
    flags = np.array([places[unicodedata.category(character)] for character in characters])
    for flag, holds in _OBSERVED.items():
        flags += int(flag) * np.array([holds(character) for character in characters])
    return flags, np.array([ord(character.lower()[0]) for character in characters])


@final
@dataclass(frozen=True, eq=False)
class Characters:
    """The tables. One set of them is in use, see `frozen`; tests make others."""

    version: tuple[int, int, int]
    records: Array  # int32 (R, 2): flags, and what is added to a code to get its lower case (the first character of it)
    cases: Array  # int32 (C, 2): lower-case characters that patterns which ignore case take for one another, and which
    index: Array  # uint8 (0x110000 // BLOCK,)
    pages: Array  # uint8 (P, BLOCK)

    @classmethod
    def read(cls, content: bytes) -> "Characters":
        """The tables of a file's content."""
        numbers = np.frombuffer(content, "<i4", count=6)
        version = (int(numbers[0]), int(numbers[1]), int(numbers[2]))
        records, cases, pages = (int(number) for number in numbers[3:])
        small = np.frombuffer(content, "<i4", count=2 * (records + cases), offset=24).reshape(-1, 2).astype(np.int32)
        large = np.frombuffer(content, np.uint8, offset=24 + 8 * len(small))
        blocks = (LAST + 1) // BLOCK
        return cls(version, small[:records], small[records:], large[:blocks], large[blocks:].reshape(pages, BLOCK))

    @property
    def version_name(self) -> str:
        """Such as 14.0.0."""
        return ".".join(map(str, self.version))

    def record(self, code: int) -> tuple[int, int]:
        """Flags, and what is added to the code to get its lower case, of one character."""
        flags, step = self.records[self.pages[self.index[code // BLOCK], code % BLOCK]].tolist()
        return flags, step

    def codes_with(self, flag: Flag) -> Array:
        """The characters that have a property, rising. For rare ones much faster than ``flags``."""
        members = (self.records[:, 0] & flag != 0)[self.pages]
        blocks = np.flatnonzero(members.any(axis=1)[self.index])
        rows, places = np.nonzero(members[self.index[blocks]])
        codes: Array = blocks[rows] * BLOCK + places
        return codes

    @functools.cached_property
    def flags(self) -> Array:
        """int32 (0x110000,)"""
        flags: Array = self.records[self.pages, 0][self.index].ravel()
        return flags

    @functools.cached_property
    def lower(self) -> Array:
        """int32 (0x110000,): each character's lower case, the first character of it."""
        lower: Array = self.records[self.pages, 1][self.index].ravel() + np.arange(LAST + 1, dtype=np.int32)
        return lower

    @functools.cached_property
    def spaces(self) -> Array:
        """uint8 (256,) of a byte of UTF-8: 1 if it is whitespace, 2 if it may be the first byte of some."""
        spaces = np.zeros(256, np.uint8)
        for code in self.codes_with(Flag.SPACE).tolist():
            spaces[chr(code).encode()[0]] = 1 if code < 128 else 2
        return spaces

    @functools.cached_property
    def disputed(self) -> Array:
        """(X,) the codes of which the running Python thinks otherwise."""
        if self.version == tuple(int(part) for part in unicodedata.unidata_version.split(".")):
            return np.zeros(0, np.int64)
        codes = np.concatenate([np.arange(*ends) for ends in _ASSIGNED])
        flags, lower = observed(codes)
        disputed: Array = codes[(flags != self.flags[codes]) | (lower != self.lower[codes])]
        return disputed

    def stand_ins(self, kinds: Array) -> dict[int, int]:
        """Code -> another of the same kind of which the running Python thinks as we do.

        kinds (0x110000,). For ``str.translate`` before anything asks the running Python; empty where Python's version
        of Unicode is ours. A character that has no such other stays.
        """
        if not len(self.disputed):
            return {}
        agreed = np.delete(np.arange(LAST + 1), self.disputed)
        known, first = np.unique(kinds[agreed], return_index=True)
        places = np.searchsorted(known, kinds[self.disputed]).clip(max=len(known) - 1)
        fits = known[places] == kinds[self.disputed]
        return dict(zip(self.disputed[fits].tolist(), agreed[first[places[fits]]].tolist(), strict=True))


@functools.cache
def frozen() -> Characters:
    """The tables that come with the package."""
    return Characters.read(FILE.read_bytes())


@functools.lru_cache(10_000)
def category(character: str) -> str:
    """``unicodedata.category`` of the tables' version of Unicode."""
    return CATEGORIES[frozen().record(ord(character))[0] & Flag.CATEGORY]


# The running Python is asked about ASCII only, which no version of Unicode changes. So a word has the same features
# under every version of Python, and those that words.c computes.


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


@final
class Orthography:
    """Functions of a word alone, for text in any script."""

    def __init__(self, characters: Characters) -> None:
        self.characters = characters
        self._shapes = bytes(shapes_of_categories())
        # Code of a character -> what takes its place, for ``str.translate``.
        self._to_lower = Remembered(self._lower)
        self._to_case, self._to_shape = Remembered(self._case), Remembered(self._shape)

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

    def _lower(self, code: int) -> str:
        return "i\u0307" if code == 0x130 else chr(code + self.characters.record(code)[1])

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


def decoded(text: bytes, surrogates: bool = False, first: int = 0) -> str:
    """The text of UTF-8, which stands at byte ``first`` of something longer; with lone surrogates if they may be."""
    try:
        return text.decode("utf-8", "surrogatepass" if surrogates else "strict")
    except UnicodeDecodeError as error:
        what = f"invalid UTF-8 at byte {first + error.start}"
        raise DataError(what, expected="UTF-8", got=f"byte 0x{error.object[error.start]:02x}") from None


def lower_by_tables(word: str, characters: Characters) -> str:
    """``str.lower`` without asking the running Python."""
    lower = [chr(characters.lower[ord(character)]) for character in word]
    for place, character in enumerate(word):
        if character == "İ":
            lower[place] += "\u0307"  # the dot
        elif character == "Σ" and _is_cased(word, range(place - 1, -1, -1), characters):
            lower[place] = "σ" if _is_cased(word, range(place + 1, len(word)), characters) else "ς"
    return "".join(lower)


def _is_cased(word: str, places: Iterable[int], characters: Characters) -> bool:
    """Whether the first character at these places that is not passed over is cased."""
    for place in places:
        flags = int(characters.flags[ord(word[place])])
        if not flags & Flag.IGNORABLE:
            return bool(flags & Flag.CASED)
    return False


def character_places(text: bytes) -> Array:
    """The byte at which each character of UTF-8 begins, and the end."""
    return np.append(np.flatnonzero(np.frombuffer(text, np.uint8) & 0xC0 != 0x80), len(text))
