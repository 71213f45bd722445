"""What a word looks like: functions of the word alone, for text in any script."""

import re
from functools import lru_cache
from unicodedata import category

# The meaning of each value of `caps_class`; the value is the place in this list.
CAPS_CLASSES = (
    "no letters",  # 1984  ,  :-)
    "lower",  # house  e-mail  3rd
    "Title",  # House  O'neil  B2b
    "UPPER",  # NATO  U.S.  F-16A
    "single capital",  # A  J.  X-1
    "MiXed",  # McDonald  PhD: begins with a capital and has both kinds later on
    "mIXed",  # iPhone  mRNA: begins with a small letter and has a capital later on
    "letters without case",  # 東京  القاهرة
)
_NO_LETTERS, _LOWER, _TITLE, _UPPER, _SINGLE, _MIXED_UPPER, _MIXED_LOWER, _WITHOUT_CASE = range(len(CAPS_CLASSES))

_DIGIT = re.compile(r"\d")  # any script's decimal digits


def fold_digits(word: str, mark: str = "0") -> str:
    """Replace every decimal digit, of any script, by ``mark``."""
    return _DIGIT.sub(mark, word)


def normalise(word: str) -> str:
    """Lower case, with every digit replaced by 0: ``May-1984`` -> ``may-0000``."""
    lower = word.lower()
    return lower if lower.isalpha() else fold_digits(lower)  # most words: no pattern has to be searched for


def caps_class(word: str) -> int:
    """How the word is capitalised, as an index into ``CAPS_CLASSES``. Only letters with case count."""
    if word.islower():
        return _LOWER
    # istitle on one character: an upper-case letter, or one that is both, such as the Croatian ǅ.
    capitals = [c.istitle() for c in word if c.istitle() or c.islower()]
    if not capitals:
        return _WITHOUT_CASE if any(map(str.isalpha, word)) else _NO_LETTERS
    if all(capitals):
        return _UPPER if len(capitals) > 1 else _SINGLE
    if not capitals[0]:
        return _MIXED_LOWER
    return _MIXED_UPPER if any(capitals[1:]) else _TITLE


_SHAPES = {"Lu": "X", "Lt": "X", "Ll": "x", "Lo": "l", "Lm": "l", "Nd": "d", "Nl": "n", "No": "n"}


class _ShapeOfCharacter(dict[int, str]):
    """Code point -> its letter in a shape, worked out when first met."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        kind = category(character)
        if kind in _SHAPES:
            shape = _SHAPES[kind]
        elif kind.startswith("P") or (kind.startswith("S") and code < 128):
            shape = character  # no letter of _SHAPES can be meant: those are classed above
        else:
            shape = {"M": "m", "S": "s"}.get(kind[0], "z")
        self[code] = shape
        return shape


_SHAPE_OF = _ShapeOfCharacter()
_LONGEST_RUN = 3
_LONG_RUN = re.compile(rf"(.)\1{{{_LONGEST_RUN},}}", re.DOTALL)


def shape(word: str) -> str:
    """The word with each character replaced by its class and runs shortened to three: ``Boeing-747s`` -> ``Xxxx-dddx``.

    X capital, x small letter, l letter without case, d digit, n other number, m mark (accent of its own), s symbol that
    is not ASCII, z anything else; punctuation and ASCII symbols stand for themselves.
    """
    classed = word.translate(_SHAPE_OF)
    return _known_cut_runs(classed) if len(classed) < 30 else _cut_runs(classed)


def _cut_runs(classed: str) -> str:
    return _LONG_RUN.sub(lambda run: run.group(1) * _LONGEST_RUN, classed)


_known_cut_runs = lru_cache(20_000)(_cut_runs)  # the classed characters of different words are often the same
