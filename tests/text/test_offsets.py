import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.text import utf8_offsets, utf16_offsets

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
