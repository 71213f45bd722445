from hypothesis import given
from hypothesis import strategies as st

from postil.metrics import SpanScores, compare_spans, spans_by_length
from postil.text import Span, spans_from_labels

LABELS = st.lists(st.sampled_from(["O", "B-A", "I-A", "B-B", "I-B"]), min_size=12, max_size=12)


@given(st.lists(st.tuples(LABELS, LABELS), max_size=5))
def test_parts_add_up_to_the_whole(pairs):
    gold, predicted = ([spans_from_labels(pair[side]) for pair in pairs] for side in (0, 1))
    parts = spans_by_length(gold, predicted)
    assert sum(parts.values(), SpanScores()) == compare_spans(gold, predicted)


def test_a_pair_goes_where_its_gold_span_belongs():
    gold, predicted = [[Span("A", 0, 2), Span("A", 3, 10)]], [[Span("A", 0, 1), Span("B", 11, 12)]]
    parts = spans_by_length(gold, predicted)
    assert {name: part.errors() for name, part in parts.items()} == {
        name: {kind: int(kind == wanted) for kind in part.errors()}
        for (name, part), wanted in zip(parts.items(), ["spurious", "boundary", "missed"], strict=True)
    }
    assert list(parts) == ["1 token", "2 tokens", "5 tokens or more"]
