"""Errors made on purpose are errors, and stay inside the sentence."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from postil.curation.errors_on_paper import KINDS, altered, alternatives
from postil.text import Span


@given(st.data())
def test_alternatives_differ_fit_and_overlap_no_other_entity(data):
    tokens = data.draw(st.integers(1, 8))
    edges = sorted(data.draw(st.sets(st.integers(0, tokens), min_size=2)))
    gold = [Span(data.draw(st.sampled_from("AB")), start, end) for start, end in pairwise(edges)]
    span = data.draw(st.sampled_from(gold))
    for kind in KINDS:
        for other in alternatives(kind, span, gold, tokens, "AB"):
            assert other != span
            if other is not None:
                assert 0 <= other.start < other.end <= tokens
                others = [one for one in gold if one != span]
                assert all(other.end <= one.start or one.end <= other.start for one in others)


def test_one_error_of_each_possible_kind():
    rng, span = np.random.default_rng(0), Span("A", 1, 2)
    made = list(altered(span, [span], 4, ["A", "B"], "bio", rng))
    assert made[0] is None and made[1] in (Span("A", 0, 2), Span("A", 1, 3)) and made[2] == Span("B", 1, 2)
    assert list(altered(span, [span], 4, ["A"], "bio", rng))[:1] == [None]
    assert list(altered(span, [span], 4, ["A", "B"], "none", rng)) == [Span("B", 1, 2)]
