"""Splits, and every occurrence of a form."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.quality.checks import Split, occurrences
from postil.quality.suspicions import Mentions
from postil.text import Span

X = [["New", "York", "Times", "in", "New", "York"], ["old", "New", "York"]]
Y = [["B-ORG", "I-ORG", "I-ORG", "O", "B-LOC", "I-LOC"], ["O", "O", "O"]]


def test_a_form_inside_a_longer_entity_is_another_name():
    found = occurrences([Split.of("X", X, Y)], {("New", "York"), ("Times",)})
    assert [(one.sentence, one.start, one.label) for one in found["New", "York"]] == [(0, 4, "LOC"), (1, 1, "")]
    assert found["Times",] == []


def test_unknown_labels_are_no_evidence():
    found = occurrences([Split.of("X", X, [Y[0], ["O", "?", "O"]])], {("New", "York")})
    assert [one.sentence for one in found["New", "York"]] == [0]


@given(
    st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=8), min_size=1, max_size=5),
    st.sets(st.tuples(st.sampled_from("abc"), st.sampled_from("abc"))),
)
def test_all_occurrences_are_found(sentences, forms):
    split = Split.of("X", sentences, [["O"] * len(tokens) for tokens in sentences])
    found = occurrences([split], forms)
    for form in forms:
        expected = [
            (i, t)
            for i, tokens in enumerate(sentences)
            for t in range(len(tokens) - 1)
            if tuple(tokens[t : t + 2]) == form
        ]
        assert [(one.sentence, one.start) for one in found[form]] == expected


def test_places_classes_and_excerpts():
    split = Split.of("X", X, Y)
    assert split.place(1, 0) == "sentence 2, token 1"
    assert split.classes == {"ORG": 1, "LOC": 1}
    assert split.excerpt(0, 4, 6, words=2) == "… Times in [New York]"
    speech = Split.of("X", [["a", ("b", "col")]], [["DET", "NOUN"]])
    assert speech.tokens == [["a", "b"]] and speech.classes == {"DET": 1, "NOUN": 1}


def test_the_odds_of_a_mention_count_other_places_only():
    X = [["Oslo", "won"]] * 4 + [["in", "Oslo"]]
    y = [["B-LOC", "O"]] * 3 + [["B-ORG", "O"], ["O", "O"]]
    mentions = Mentions(Split.of("X", X, y))
    assert mentions.odds(0, [Span("LOC", 0, 1)], True) == pytest.approx(0)  # twice so and twice otherwise elsewhere
    assert mentions.odds(3, [Span("ORG", 0, 1)], True) == pytest.approx(np.log(4.3 / 0.3))
    assert mentions.odds(4, [Span("LOC", 1, 2)], False) == pytest.approx(np.log(4.3 / 0.3))
    # ORG on paper in place of a LOC: one other ORG, and three others
    on_paper = mentions.odds(0, [Span("ORG", 0, 1)], True, Span("LOC", 0, 1))
    assert on_paper == pytest.approx(np.log(3.3 / 1.3))
    assert mentions.odds(0, [Span("X", 1, 2)], True) == 0  # words that are no entity anywhere
