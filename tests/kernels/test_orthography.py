"""What words look like by the frozen tables: as Python has it where versions agree, and by other tables elsewhere."""

import re
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from oracles.characters import other_unicode, same_version
from postil.kernels import characters as orthography
from postil.kernels.characters import Orthography, frozen_orthography, shapes_of_categories

WORDS = st.lists(st.sampled_from([*"ΣΣσςAa1.'’­İıßǅȺ٣½€東", "\u0301", "\ud800", "😀"]) | st.characters(), max_size=12)


def caps_by_python(word):
    capitals = [c.istitle() for c in word if c.istitle() or c.islower()]
    if not capitals:
        return orthography.WITHOUT_CASE if any(map(str.isalpha, word)) else orthography.NO_LETTERS
    if not any(capitals):
        return orthography.LOWER
    if all(capitals):
        return orthography.UPPER if len(capitals) > 1 else orthography.SINGLE
    if not capitals[0]:
        return orthography.MIXED_LOWER
    return orthography.MIXED_UPPER if sum(capitals) > 1 else orthography.TITLE


def shape_by_python(word):
    letters = {"Lu": "X", "Lt": "X", "Ll": "x", "Lo": "l", "Lm": "l", "Nd": "d", "Nl": "n", "No": "n"}
    others = {"M": "m", "S": "s"}

    def letter(character):
        kind = unicodedata.category(character)
        if kind[0] == "P" or (kind[0] == "S" and ord(character) < 128):
            return character
        return letters.get(kind) or others.get(kind[0], "z")

    return re.sub(r"(.)\1{3,}", r"\1\1\1", "".join(map(letter, word)), flags=re.DOTALL)


@same_version
@given(WORDS.map("".join))
def test_words_look_as_python_says(word):
    looks = frozen_orthography()
    assert looks.lower(word) == word.lower()
    assert looks.fold_digits(word, "#") == re.sub(r"\d", "#", word)
    assert looks.normalise(word) == re.sub(r"\d", "0", word.lower())
    assert looks.caps_class(word) == caps_by_python(word)
    assert (looks.caps_class(word) == orthography.LOWER) == word.islower()
    assert looks.shape(word) == shape_by_python(word)


@same_version
def test_every_letter_and_digit_of_the_first_planes():
    looks = frozen_orthography()
    for character in map(
        chr, [*range(0x3100), *range(0xA000, 0xAC00), *range(0xF900, 0x12000), *range(0x1D000, 0x1F000)]
    ):
        assert looks.normalise(character) == re.sub(r"\d", "0", character.lower())
        assert looks.caps_class(character) == caps_by_python(character)
        assert looks.shape(character) == shape_by_python(character)


def test_another_unicode():
    """Python's own opinion does not count."""
    looks = Orthography(other_unicode(GREEK_CAPITAL_LETTER_BETA="-", SNOWMAN="7", GREEK_SMALL_LETTER_BETA="Σ"))
    assert looks.lower("ΑΒΑΣ") == "αΒας" and looks.normalise("Α☃Β") == "α0Β"
    assert looks.fold_digits("a☃") == "a0"
    assert looks.shape("Α☃Β") == "XdΒ"
    assert looks.caps_class("Β") == orthography.NO_LETTERS and looks.caps_class("β") == orthography.SINGLE


def test_shapes_of_all_categories():
    assert len(shapes_of_categories()) == 32
    assert bytes(shapes_of_categories()).count(ord("z")) == 8  # Cn Cc Cf Cs Co Zs Zl Zp


def test_the_tables_are_loaded_once():
    assert frozen_orthography() is frozen_orthography()
