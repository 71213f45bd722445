"""Marks in the place of labels."""

import pytest

from postil.text.labels.partial_label import PartialLabel, looks_like_mark


@pytest.mark.parametrize(
    ("mark", "alternatives"), [("?", ()), ("B-PER|O", ("B-PER", "O")), ("PER | ORG", ("PER", "ORG")), ("X", ("X",))]
)
def test_alternatives(mark, alternatives):
    assert PartialLabel(mark).alternatives == alternatives


def test_a_mark_is_a_string():
    assert PartialLabel("A|B") == "A|B" and isinstance(PartialLabel("?"), str) and len({PartialLabel("?"), "?"}) == 1


def test_what_could_be_a_mark():
    assert looks_like_mark("?") and looks_like_mark("A|B") and looks_like_mark("A | B|C")
    assert not any(map(looks_like_mark, ["", "O", "??", "|", "A|", "|A", "A||B", "A| "]))
