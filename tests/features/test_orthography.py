"""What a word looks like, in any script."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.features import CAPS_CLASSES, caps_class, fold_digits, normalise, shape

words = st.text(st.characters(), max_size=15)


@pytest.mark.parametrize(
    ("word", "expected"),
    [("May-1984", "may-0000"), ("ΟΔΟΣ", "οδος"), ("٣٤", "00"), ("x²", "x²"), ("", ""), ("ÀB", "àb")],
)
def test_normalise(word, expected):
    assert normalise(word) == expected


@given(words)
def test_normalising_twice_changes_nothing_more(word):
    assert normalise(normalise(word)) == normalise(word)


def test_digits_become_the_mark():
    assert fold_digits("A380-12", "#") == "A###-##"


@pytest.mark.parametrize(
    ("word", "name"),
    [
        *[(word, "no letters") for word in ("", "1984", ",", ":-)", "½")],
        *[(word, "lower") for word in ("house", "e-mail", "3rd", "ß", "été")],
        *[(word, "Title") for word in ("House", "O'neil", "B2b", "Élan", "'Tis", "ǅep", "1St")],
        *[(word, "UPPER") for word in ("NATO", "U.S.", "F-16A", "ΑΘΗΝΑ")],
        *[(word, "single capital") for word in ("A", "J.", "X-1", "ǅ")],
        *[(word, "MiXed") for word in ("McDonald", "PhD", "O'Neil")],
        *[(word, "mIXed") for word in ("iPhone", "mRNA", "e-Mail")],
        *[(word, "letters without case") for word in ("東京", "القاهرة", "東1")],
    ],
)
def test_caps_class(word, name):
    assert CAPS_CLASSES[caps_class(word)] == name


@given(words)
def test_caps_class_of_any_word(word):
    name = CAPS_CLASSES[caps_class(word)]
    letters_with_case = [c for c in word if c.isupper() or c.islower() or c.istitle()]
    assert (name in ("no letters", "letters without case")) == (not letters_with_case)
    assert (name == "lower") == word.islower()
    assert (name in ("UPPER", "single capital")) == (bool(letters_with_case) and not any(map(str.islower, word)))


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        *[("Boeing-747s", "Xxxx-dddx"), ("USA", "XXX"), ("UNESCO", "XXX"), ("$3.50", "$d.dd"), ("'s", "'x")],
        *[
            ("東京", "ll"),
            ("東京都庁", "lll"),
            ("e\u0301t", "xmx"),
            ("5€", "ds"),
            ("“a”", "“x”"),
            ("Ⅳ½", "nn"),
            ("😀", "s"),
        ],
        *[("a b\n", "xzxz"), ("\ud83d", "z"), ("......", "..."), ("", ""), ("ǅ", "X")],
    ],
)
def test_shape(word, expected):
    assert shape(word) == expected


@given(words)
def test_shapes_are_short_and_know_case(word):
    found = shape(word)
    assert re.search(r"(.)\1{3}", found, re.DOTALL) is None
    assert ("X" in found) == any(unicodedata.category(c) in ("Lu", "Lt") for c in word)
    assert len(found) <= len(word)
