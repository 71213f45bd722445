"""Predicted spans against gold spans: conlleval's numbers, and what kind of mistakes were made.

Every gold span is paired with at most one predicted span that overlaps it, and the other way round. What became of
each pair is an `Outcome`; a `SpanScores` is nothing but a count of outcomes, so scores of parts add up to the score
of the whole, and every number below is derived from them.

    gold       predicted   same place   kind             strict  boundaries  partial  type
    PER        PER         yes          correct             1        1          1       1
    PER        LOC         yes          type                0        1          1       0
    PER        PER         no           boundary            0        0         1/2      1
    PER        LOC         no           boundary+type       0        0         1/2      0
    PER        —                        missed              0        0          0       0
    —          LOC                      spurious            0        0          0       0

*strict* is conlleval's count. The other three are those of the MUC and SemEval-2013 evaluations.
"""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from postil.errors import ConfigurationError
from postil.metrics.counts import Counts, check_same_shape, counts_by_label, scores_as_dict
from postil.text.labels.schemes import Span, spans_from_labels

KINDS = ("correct", "boundary", "type", "boundary+type", "missed", "spurious")
Labels = Sequence[Sequence[str]]
Spans = Sequence[Sequence[Span]]


class Outcome(NamedTuple):
    """Classes of a paired gold and predicted span; None for a missing partner."""

    gold: str | None
    predicted: str | None
    same_place: bool

    @property
    def kind(self) -> str:
        if self.gold is None or self.predicted is None:
            return "spurious" if self.gold is None else "missed"
        if self.same_place:
            return "correct" if self.gold == self.predicted else "type"
        return "boundary" if self.gold == self.predicted else "boundary+type"


class Pair(NamedTuple):
    """A gold and a predicted span of one sentence that belong together; None for a missing partner."""

    gold: Span | None
    predicted: Span | None

    @property
    def outcome(self) -> Outcome:
        gold, predicted = self.gold, self.predicted
        same_place = gold is not None and predicted is not None and gold[1:] == predicted[1:]
        return Outcome(gold and gold.label, predicted and predicted.label, same_place)


# Name -> (which kinds are right, which others earn half a point).
MATCHINGS: dict[str, tuple[Collection[str], Collection[str]]] = {
    "strict": (["correct"], []),
    "boundaries": (["correct", "type"], []),
    "partial": (["correct", "type"], ["boundary", "boundary+type"]),
    "type": (["correct", "boundary"], []),
}
LONG = 5
"""Spans of this many tokens and more are counted together."""


@dataclass(frozen=True, slots=True)
class SpanScores:
    """How often each outcome occurred."""

    outcomes: Counter[Outcome] = field(default_factory=Counter)

    def __add__(self, other: "SpanScores") -> "SpanScores":
        return SpanScores(self.outcomes + other.outcomes)

    @property
    def labels(self) -> list[str]:
        """Classes that occur in the gold standard or in the predictions, in alphabetical order."""
        sides = (side for outcome in self.outcomes for side in outcome[:2])
        return sorted({side for side in sides if isinstance(side, str)})

    @property
    def overall(self) -> Counts:
        """conlleval's counts over all classes (micro average)."""
        return self.matching("strict")

    def matching(self, name: str) -> Counts:
        """Counts over all classes under one of `MATCHINGS`."""
        if name not in MATCHINGS:
            raise ConfigurationError("unknown way of matching spans", expected=" or ".join(MATCHINGS), got=repr(name))
        right, half = MATCHINGS[name]
        kinds = self.errors()
        return Counts(
            correct=sum(kinds[kind] for kind in right),
            predicted=self.outcomes.total() - kinds["missed"],
            gold=self.outcomes.total() - kinds["spurious"],
            partial=sum(kinds[kind] for kind in half),
        )

    def by_label(self) -> dict[str, Counts]:
        """conlleval's counts of each class."""
        return counts_by_label((one[0], one[1], one.kind == "correct", n) for one, n in self.outcomes.items())

    @property
    def macro_f1(self) -> float:
        """Unweighted mean of the F1 of the classes; 0 without classes."""
        by_label = self.by_label()
        return sum(counts.f1 for counts in by_label.values()) / len(by_label) if by_label else 0.0

    def errors(self) -> dict[str, int]:
        """The number of outcomes of each of the `KINDS`."""
        kinds = dict.fromkeys(KINDS, 0)
        for outcome, count in self.outcomes.items():
            kinds[outcome.kind] += count
        return kinds

    def confusion(self) -> Counter[tuple[str | None, str | None]]:
        """(gold class, predicted class) -> count, wherever the two overlap; (x, None) missed, (None, x) spurious."""
        table: Counter[tuple[str | None, str | None]] = Counter()
        for outcome, count in self.outcomes.items():
            table[outcome.gold, outcome.predicted] += count
        return table

    def to_dict(self) -> dict[str, Any]:
        """Everything, ratios in percent, ready for JSON."""
        confusion, labels = self.confusion(), self.labels
        return scores_as_dict(self.overall, self.by_label(), macro_f1=100 * self.macro_f1) | {
            "matching": {name: self.matching(name).to_dict() for name in MATCHINGS},
            "errors": self.errors(),
            "confusion": {
                gold: {other: confusion[gold, other] for other in labels if confusion[gold, other]} for gold in labels
            },
            "missed": {label: confusion[label, None] for label in labels},
            "spurious": {label: confusion[None, label] for label in labels},
        }


def score_spans(gold: Labels, predicted: Labels, scheme: str = "bio", predicted_scheme: str = "") -> SpanScores:
    """Score label sequences. The schemes of the two sides may differ, because spans are compared."""
    check_same_shape(gold, predicted)
    return compare_spans(
        [spans_from_labels(labels, scheme) for labels in gold],
        [spans_from_labels(labels, predicted_scheme or scheme) for labels in predicted],
    )


def compare_spans(gold: Spans, predicted: Spans) -> SpanScores:
    """Score the spans of every sentence."""
    pairs = (pair for one, other in zip(gold, predicted, strict=True) for pair in align(one, other))
    return SpanScores(Counter(pair.outcome for pair in pairs))


def sentence_counts(gold: Spans, predicted: Spans) -> NDArray[np.int64]:
    """(B, 3): correct, predicted and gold spans of each sentence, under strict matching; for `significance`."""
    sides = zip(gold, predicted, strict=True)
    rows = [(len(set(one).intersection(other)), len(other), len(one)) for one, other in sides]
    return np.array(rows, np.int64).reshape(-1, 3)


def spans_by(gold: Spans, predicted: Spans, group_of: Callable[[int, Span], str]) -> dict[str, SpanScores]:
    """Scores by group of spans; they add up to the whole. A pair is counted in the group of its gold span."""
    outcomes: dict[str, Counter[Outcome]] = {}
    for number, (one, other) in enumerate(zip(gold, predicted, strict=True)):
        for pair in align(one, other):
            span = pair.gold or pair.predicted
            if span is not None:
                outcomes.setdefault(group_of(number, span), Counter())[pair.outcome] += 1
    return {group: SpanScores(counter) for group, counter in outcomes.items()}


def spans_by_length(gold: Spans, predicted: Spans) -> dict[str, SpanScores]:
    """Scores by number of tokens; they add up to the whole. A pair is counted in the group of its gold span."""
    names = [f"{length} token{'s' * (length > 1)}{' or more' * (length == LONG)}" for length in range(1, LONG + 1)]
    found = spans_by(gold, predicted, lambda _, span: names[min(span.end - span.start, LONG) - 1])
    return {name: found[name] for name in names if name in found}


def align(gold: Sequence[Span], predicted: Sequence[Span]) -> list[Pair]:
    """Pair the spans of one sentence, one to one. Spans of one side must not overlap each other.

    Overlapping partners of the same class are preferred, then larger overlaps, then those further left. Spans at the
    same place always form a pair, because nothing else can overlap them.
    """
    left, right = (sorted(spans, key=lambda span: span.start) for spans in (gold, predicted))
    couples, i, j = [], 0, 0
    while i < len(left) and j < len(right):  # all that overlap, in one walk from left to right
        one, other = left[i], right[j]
        overlap = min(one.end, other.end) - max(one.start, other.start)
        if overlap > 0:
            couples.append((one.label != other.label, -overlap, one.start, other.start, one, other))
        i, j = (i + 1, j) if one.end <= other.end else (i, j + 1)
    free_gold, free_predicted = dict.fromkeys(gold), dict.fromkeys(predicted)
    pairs = []
    for *_, one, other in sorted(couples, key=lambda couple: couple[:4]):
        if one in free_gold and other in free_predicted:
            del free_gold[one], free_predicted[other]
            pairs.append(Pair(one, other))
    return [*pairs, *(Pair(span, None) for span in free_gold), *(Pair(None, span) for span in free_predicted)]
