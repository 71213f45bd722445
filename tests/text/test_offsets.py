"""Offsets of other programs: each claim is found where its text is, in one unit for all claims about a text."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.text import utf8_offsets, utf16_offsets
from postil.text.offsets import Claim, realigned

ANY_TEXT = st.text(st.characters(exclude_categories=()) | st.sampled_from("a€é\U0001f600\ud800\udc00\x00"))


@given(ANY_TEXT)
def test_offsets_agree_with_encoding_each_prefix(text: str) -> None:
    offsets = list(range(len(text) + 1))
    prefixes = [text[:offset] for offset in offsets]
    assert utf16_offsets(text, offsets).tolist() == [len(p.encode("utf-16-le", "surrogatepass")) // 2 for p in prefixes]
    assert utf8_offsets(text, offsets).tolist() == [len(p.encode("utf-8", "surrogatepass")) for p in prefixes]


@pytest.mark.parametrize("text", ["plain", "naïve 😀", ""])
def test_result_is_a_new_int64_array_in_the_given_order(text: str) -> None:
    asked = np.array([len(text), 0])
    for convert in (utf8_offsets, utf16_offsets):
        found = convert(text, asked)
        assert found.dtype == np.int64
        assert found[1] == 0
        found[:] = -1
        assert asked.tolist() == [len(text), 0]


def test_an_emoji_is_two_units_and_four_bytes() -> None:
    assert utf16_offsets("a😀b", [0, 1, 2, 3]).tolist() == [0, 1, 3, 4]
    assert utf8_offsets("a😀b", [0, 1, 2, 3]).tolist() == [0, 1, 5, 6]


# ----------- Offsets of other programs: each claim is found where its text is, in one unit for all claims about a text


TEXTS = st.text(st.sampled_from("abcdé😀 "), min_size=3, max_size=25)


@given(TEXTS, st.sampled_from([utf8_offsets, utf16_offsets]), st.data())
def test_claims_in_other_units_are_true_where_they_are_found(text: str, units: object, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    first, last = units(text, [start, end]).tolist()  # type: ignore[operator]
    [place] = realigned(text, [Claim(first, last, text[start:end])])
    if text[start:end].strip():
        assert place is not None
        assert text[place[0] : place[1]].split() == text[start:end].split()


def test_the_unit_that_makes_most_claims_true_is_taken() -> None:
    text = "😀a b a a"
    claims = [Claim(2, 3, "a"), Claim(4, 5, "b"), Claim(6, 7, "a")]
    assert realigned(text, claims) == [(1, 2), (3, 4), (5, 6)]


def test_what_is_nowhere_is_none_and_numbers_have_any_size() -> None:
    assert realigned("abc", [Claim(0, 1, "x"), Claim(10**40, 10**41, "c"), Claim(-(10**40), 2, "b")]) == [
        None,
        (2, 3),
        (1, 2),
    ]
    assert realigned("a b", [Claim(1, 2, " "), Claim(7, 8, " ")]) == [(1, 2), None]
    assert realigned("", [Claim(0, 1, "a")]) == [None]
    assert realigned("a", []) == []
