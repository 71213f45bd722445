"""Seen and unseen: the parts are right and add up to the whole."""

from postil.metrics.counts import Counts, TokenScores, score_tokens
from postil.metrics.evaluation import known_from, span_novelty, spans_by_novelty, tokens_by_novelty
from postil.metrics.spans import SpanScores, compare_spans
from postil.text.labels.schemes import Span

TRAIN = [["Anna", "Berg", "lives", "in", "Oslo"]]
KNOWN = known_from(TRAIN, [[Span("PER", 0, 2), Span("LOC", 4, 5)]])
TOKENS = [["Anna", "Berg", "left", "Oslo"], ["Oslo", "Berg", "met", "Zoe", "Berg"]]
GOLD = [[Span("PER", 0, 2), Span("LOC", 3, 4)], [Span("PER", 0, 2), Span("PER", 3, 5)]]
PREDICTED = [[Span("PER", 0, 2)], [Span("LOC", 0, 1), Span("PER", 3, 5), Span("MISC", 2, 3)]]


def test_novelty_of_one_span() -> None:
    words = ["Anna", "Berg", "Oslo", "Zoe"]
    assert span_novelty(words, Span("PER", 0, 2), KNOWN) == "seen entity"
    assert span_novelty(words, Span("LOC", 0, 2), KNOWN) == "new entity"
    assert span_novelty(words, Span("PER", 1, 3), KNOWN) == "new entity"
    assert span_novelty(words, Span("PER", 2, 4), KNOWN) == "unseen word"


def test_spans_apart() -> None:
    parts = spans_by_novelty(TOKENS, GOLD, PREDICTED, KNOWN)
    assert {name: scores.overall for name, scores in parts.items()} == {
        "seen entity": Counts(correct=1, predicted=1, gold=2),
        "new entity": Counts(correct=0, predicted=1, gold=1),
        "unseen word": Counts(correct=1, predicted=2, gold=1),
    }
    assert parts["seen entity"].errors()["missed"] == 1
    assert parts["new entity"].errors()["boundary+type"] == 1
    assert parts["unseen word"].errors()["spurious"] == 1
    assert sum(parts.values(), SpanScores()) == compare_spans(GOLD, PREDICTED)


def test_tokens_apart() -> None:
    gold, predicted = [["A", "B", "A", "B"], ["B"] * 5], [["A", "B", "B", "B"], ["B", "B", "B", "A", "B"]]
    parts = tokens_by_novelty(TOKENS, gold, predicted, KNOWN)
    assert {name: (part.correct, part.tokens) for name, part in parts.items()} == {
        "seen word": (6, 6),
        "unseen word": (1, 3),
    }
    assert sum(parts.values(), TokenScores()) == score_tokens(gold, predicted)


def test_words_alone() -> None:
    assert known_from(TRAIN) == (frozenset(TRAIN[0]), frozenset())
