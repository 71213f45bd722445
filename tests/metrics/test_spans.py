"""Span scores against seqeval and a transcription of conlleval's rules, over valid and garbled label sequences."""

import warnings
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import conlleval as oracle
from postil.errors import ConfigurationError, DataError
from postil.metrics import spans as span_metrics
from postil.metrics.counts import Counts
from postil.metrics.spans import KINDS, MATCHINGS, Outcome, Pair, SpanScores, align, compare_spans, score_spans
from postil.text.labels.schemes import Span, labels_from_spans, spans_from_labels

CLASSES = ("PER", "LOC", "some-thing")


@st.composite
def disjoint_spans(draw: st.DrawFn, length: int) -> list[Span]:
    """Spans within ``length`` tokens, in order, often touching."""
    cuts = sorted(draw(st.sets(st.integers(0, length), max_size=length + 1)))
    pieces = pairwise(cuts)
    labels = (draw(st.sampled_from([None, *CLASSES])) for _ in cuts)
    return [Span(label, *piece) for piece, label in zip(pieces, labels, strict=False) if label is not None]


@st.composite
def span_sides(draw: st.DrawFn) -> tuple[list[list[Span]], list[list[Span]], list[int]]:
    lengths = draw(st.lists(st.integers(0, 9), max_size=4))
    return (
        [draw(disjoint_spans(length)) for length in lengths],
        [draw(disjoint_spans(length)) for length in lengths],
        lengths,
    )


def label_sides(prefixes: str, *bare: str) -> st.SearchStrategy[tuple[list[list[str]], list[list[str]]]]:
    """Gold and predicted label sequences of equal lengths, any prefix after any other."""
    labels = st.sampled_from(["O", *bare, *(f"{prefix}-{name}" for prefix in prefixes for name in CLASSES[1:])])
    sentence = st.lists(st.tuples(labels, labels), min_size=1, max_size=10)
    return st.lists(sentence, min_size=1, max_size=4).map(
        lambda sentences: (
            [[pair[0] for pair in pairs] for pairs in sentences],
            [[pair[1] for pair in pairs] for pairs in sentences],
        )
    )


def assert_agrees_with_the_rules(gold: list[list[str]], predicted: list[list[str]]) -> None:
    scores = score_spans(gold, predicted)
    correct, found, there = oracle.conlleval(gold, predicted)
    by_label = scores.by_label()
    assert set(by_label) == found.keys() | there.keys()
    for label, counts in by_label.items():
        assert counts == Counts(correct[label], found[label], there[label])
        ratios = (100 * counts.precision, 100 * counts.recall, 100 * counts.f1)
        assert ratios == pytest.approx(oracle.percentages(counts.correct, counts.predicted, counts.gold))
    assert scores.overall == Counts(correct.total(), found.total(), there.total())


@given(st.one_of(label_sides("BI"), label_sides("BIES"), label_sides("BIESX"), label_sides("BIESO", *"BIES")))
def test_any_sequence_is_scored_by_conllevals_rules(sides: tuple[list[list[str]], list[list[str]]]) -> None:
    assert_agrees_with_the_rules(*sides)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["iob1", "bio", "iobes"])
@given(case=span_sides())
def test_valid_sequences_are_scored_by_conllevals_rules(
    scheme: str, case: tuple[list[list[Span]], list[list[Span]], list[int]]
) -> None:
    gold, predicted = (
        [labels_from_spans(spans, length, scheme) for spans, length in zip(side, case[2], strict=True)]
        for side in case[:2]
    )
    assert_agrees_with_the_rules(gold, predicted)


@given(st.one_of(label_sides("BI"), label_sides("BIES")))
def test_any_sequence_is_scored_as_by_seqeval(sides: tuple[list[list[str]], list[list[str]]]) -> None:
    from seqeval.metrics import classification_report  # brings all of scikit-learn

    gold, predicted = sides
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # seqeval warns of 0/0
        report = classification_report(gold, predicted, output_dict=True, zero_division=0)
    scores = score_spans(gold, predicted)
    overall, macro, *_ = (report.pop(f"{kind} avg") for kind in ("micro", "macro", "weighted"))
    mine = {label: (c.precision, c.recall, c.f1, c.gold) for label, c in scores.by_label().items()}
    assert mine == {
        label: pytest.approx((row["precision"], row["recall"], row["f1-score"], row["support"]))
        for label, row in report.items()
    }
    assert scores.overall.f1 == pytest.approx(overall["f1-score"])
    assert scores.overall.precision == pytest.approx(overall["precision"])
    assert scores.overall.recall == pytest.approx(overall["recall"])
    if scores.labels:  # without any class seqeval's macro average is NaN, ours is 0
        assert scores.macro_f1 == pytest.approx(macro["f1-score"])


@given(span_sides(), st.sampled_from(["iob1", "bio", "iobes"]), st.sampled_from(["iob1", "bio", "iobes"]))
def test_schemes_of_the_two_sides_may_differ(
    case: tuple[list[list[Span]], list[list[Span]], list[int]], one: str, other: str
) -> None:
    gold = [labels_from_spans(spans, length, one) for spans, length in zip(case[0], case[2], strict=True)]
    predicted = [labels_from_spans(spans, length, other) for spans, length in zip(case[1], case[2], strict=True)]
    assert score_spans(gold, predicted, one, other) == compare_spans(case[0], case[1])


def overlap(one: Span, other: Span) -> int:
    return min(one.end, other.end) - max(one.start, other.start)


@given(disjoint_spans(9), disjoint_spans(9))
def test_alignment_is_one_to_one_and_leaves_no_couple_apart(gold: list[Span], predicted: list[Span]) -> None:
    pairs = align(gold, predicted)
    assert Counter(pair.gold for pair in pairs if pair.gold) == Counter(gold)
    assert Counter(pair.predicted for pair in pairs if pair.predicted) == Counter(predicted)
    assert all(overlap(pair.gold, pair.predicted) > 0 for pair in pairs if pair.gold and pair.predicted)
    missed = [pair.gold for pair in pairs if pair.gold and not pair.predicted]
    spurious = [pair.predicted for pair in pairs if pair.predicted and not pair.gold]
    assert not any(overlap(one, other) > 0 for one in missed for other in spurious)
    same_place = [(one, other) for one in gold for other in predicted if one[1:] == other[1:]]
    assert set(same_place) <= set(pairs)


@given(disjoint_spans(9), disjoint_spans(9))
def test_no_couple_would_rather_be_paired_with_each_other(gold: list[Span], predicted: list[Span]) -> None:
    """A stable matching: same class before other class, then the larger overlap."""
    pairs = align(gold, predicted)
    partner_of_gold = {pair.gold: pair.predicted for pair in pairs if pair.gold}
    partner_of_predicted = {pair.predicted: pair.gold for pair in pairs if pair.predicted}

    def worth(one: Span | None, other: Span | None) -> tuple[bool, int]:
        return (one.label == other.label, overlap(one, other)) if one and other else (False, 0)

    for one in gold:
        for other in predicted:
            if overlap(one, other) > 0 and one[1:] != other[1:]:
                kept = max(worth(one, partner_of_gold[one]), worth(partner_of_predicted[other], other))
                assert kept >= worth(one, other)


@pytest.mark.slow
@given(span_sides())
def test_kinds_and_matchings_fit_together(case: tuple[list[list[Span]], list[list[Span]], list[int]]) -> None:
    scores = compare_spans(case[0], case[1])
    errors, overall = scores.errors(), scores.overall
    assert tuple(errors) == KINDS
    assert overall.gold == sum(map(len, case[0])) == sum(errors.values()) - errors["spurious"]
    assert overall.predicted == sum(map(len, case[1])) == sum(errors.values()) - errors["missed"]
    assert overall.correct == errors["correct"]
    assert scores.matching("boundaries").correct == errors["correct"] + errors["type"]
    assert scores.matching("type").correct == errors["correct"] + errors["boundary"]
    partial = scores.matching("partial")
    assert (partial.correct, partial.partial) == (
        errors["correct"] + errors["type"],
        errors["boundary"] + errors["boundary+type"],
    )
    assert scores.confusion().total() == sum(errors.values())


@pytest.mark.slow
@given(span_sides())
def test_scores_of_sentences_add_up(case: tuple[list[list[Span]], list[list[Span]], list[int]]) -> None:
    gold, predicted, _ = case
    parts = [compare_spans([one], [other]) for one, other in zip(gold, predicted, strict=True)]
    whole = compare_spans(gold, predicted)
    assert sum(parts, SpanScores()) == whole
    assert sum(whole.by_label().values(), Counts()) == whole.overall
    rows = span_metrics.sentence_counts(gold, predicted)
    assert rows.shape == (len(gold), 3)
    assert rows.dtype == np.int64
    assert rows.tolist() == [[p.overall.correct, p.overall.predicted, p.overall.gold] for p in parts]


GOLD = [["B-PER", "I-PER", "O", "B-LOC", "O", "B-ORG", "I-ORG", "O"], ["B-LOC", "O", "O", "B-PER"]]
PREDICTED = [["B-PER", "I-PER", "O", "B-ORG", "O", "B-ORG", "O", "O"], ["O", "B-MISC", "O", "B-LOC"]]


def test_a_worked_example() -> None:
    scores = score_spans(GOLD, PREDICTED)
    assert scores.outcomes == {
        Outcome("PER", "PER", True): 1,
        Outcome("LOC", "ORG", True): 1,
        Outcome("ORG", "ORG", False): 1,
        Outcome("LOC", None, False): 1,
        Outcome(None, "MISC", False): 1,
        Outcome("PER", "LOC", True): 1,
    }
    assert scores.errors() == {
        "correct": 1, "boundary": 1, "type": 2, "boundary+type": 0, "missed": 1, "spurious": 1,
    }  # fmt: skip
    assert {name: scores.matching(name).credit for name in MATCHINGS} == {
        "strict": 1, "boundaries": 3, "partial": 3.5, "type": 2,
    }  # fmt: skip
    report = scores.to_dict()
    assert (report["precision"], report["recall"], report["f1"]) == (20, 20, 20)
    assert report["labels"]["PER"] == {
        "precision": 100, "recall": 50, "f1": pytest.approx(200 / 3), "support": 2, "predicted": 1, "correct": 1,
    }  # fmt: skip
    assert report["confusion"] == {
        "LOC": {"ORG": 1}, "MISC": {}, "ORG": {"ORG": 1}, "PER": {"LOC": 1, "PER": 1},
    }  # fmt: skip
    assert report["missed"] == {"LOC": 1, "MISC": 0, "ORG": 0, "PER": 0}
    assert report["spurious"] == {"LOC": 0, "MISC": 1, "ORG": 0, "PER": 0}


def test_the_larger_overlap_of_the_same_class_wins() -> None:
    gold = [Span("PER", 0, 6)]
    assert align(gold, [Span("PER", 0, 1), Span("PER", 1, 3), Span("LOC", 3, 6)]) == [
        Pair(Span("PER", 0, 6), Span("PER", 1, 3)),
        Pair(None, Span("PER", 0, 1)),
        Pair(None, Span("LOC", 3, 6)),
    ]


def test_nothing_divided_by_nothing_is_zero() -> None:
    empty = score_spans([["O"], []], [["O"], []])
    assert (empty.overall.precision, empty.overall.recall, empty.overall.f1, empty.macro_f1) == (0, 0, 0, 0)
    assert empty.labels == []
    assert SpanScores().to_dict()["f1"] == 0
    assert span_metrics.sentence_counts([], []).shape == (0, 3)


def test_a_class_without_a_name() -> None:
    scores = score_spans([["B", "I", "O"]], [["B", "I", "B"]])
    assert scores.by_label() == {"": Counts(1, 2, 1)}


def test_sides_that_do_not_fit() -> None:
    with pytest.raises(DataError, match="differ in their number of sentences: expected 1, got 2"):
        score_spans([["O"]], [["O"], ["O"]])
    with pytest.raises(DataError, match=r"sentence 2: .*number of labels: expected 1, got 2"):
        score_spans([["O"], ["O"]], [["O"], ["O", "O"]])
    with pytest.raises(ConfigurationError, match="expected strict or boundaries or partial or type, got 'fuzzy'"):
        SpanScores().matching("fuzzy")


def test_reading_is_that_of_schemes() -> None:
    assert compare_spans([spans_from_labels(labels) for labels in GOLD], [[], []]).overall == Counts(0, 0, 5)
