"""Offsets of other programs: each claim is found where its text is, in one unit for all claims about a text."""

from hypothesis import given
from hypothesis import strategies as st

from postil.text.annotations.realignment import Claim, realigned
from postil.text.offsets import utf8_offsets, utf16_offsets

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
