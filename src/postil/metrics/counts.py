"""Counts add up, ratios are derived: the one place where precision, recall and F1 are computed.

0/0 is 0, as in conlleval: where nothing was predicted precision is 0, where nothing was there to find recall is 0.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from postil.errors import DataError
from postil.text.labels.partial import is_partial
from postil.text.labels.schemes import PartialLabel


def ratio(numerator: ArrayLike, denominator: ArrayLike) -> NDArray[np.float64]:
    """Elementwise quotient in float64, 0 where the denominator is 0."""
    below = np.asarray(denominator, np.float64)
    above = np.broadcast_to(np.asarray(numerator, np.float64), below.shape)
    return np.divide(above, below, out=np.zeros_like(below), where=below != 0)


def f_score(correct: ArrayLike, predicted: ArrayLike, gold: ArrayLike) -> NDArray[np.float64]:
    """F1 of counts, elementwise: the harmonic mean of precision and recall, 0 to 1."""
    return ratio(2 * np.asarray(correct), np.add(predicted, gold))


RATIOS = ("precision", "recall", "f1")


@dataclass(frozen=True, slots=True)
class Counts:
    """How many were predicted, how many are in the gold standard, and how many agree.

    ``partial`` are agreements that earn half a point each (see `postil.metrics.spans.MATCHINGS`).
    """

    correct: int = 0
    predicted: int = 0
    gold: int = 0
    partial: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        sums = self.correct + other.correct, self.predicted + other.predicted, self.gold + other.gold
        return Counts(*sums, self.partial + other.partial)

    @property
    def credit(self) -> float:
        return self.correct + self.partial / 2

    @property
    def precision(self) -> float:
        """Share of the predicted ones that are correct, 0 to 1."""
        return self.credit / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """Share of the gold ones that were found, 0 to 1."""
        return self.credit / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall, 0 to 1."""
        return float(f_score(self.credit, self.predicted, self.gold))

    @property
    def percents(self) -> tuple[float, float, float]:
        """The `RATIOS` in percent."""
        return 100 * self.precision, 100 * self.recall, 100 * self.f1

    def __str__(self) -> str:
        precision, recall, f1 = self.percents
        return f"F1 {f1:.2f}  (precision {precision:.2f}, recall {recall:.2f})"

    def to_dict(self) -> dict[str, Any]:
        """Ratios in percent, and the underlying counts."""
        counts: dict[str, Any] = {"support": self.gold, "predicted": self.predicted, "correct": self.correct}
        if self.partial:
            counts["partial"] = self.partial
        return dict(zip(RATIOS, self.percents, strict=True)) | counts


def counts_by_label(outcomes: Iterable[tuple[str | None, str | None, bool, int]]) -> dict[str, Counts]:
    """Counts of each label, in alphabetical order. An outcome: gold, predicted, whether it is correct, how often."""
    sums: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for gold, predicted, is_correct, count in outcomes:
        if gold is not None:
            sums[gold][0] += count * is_correct
            sums[gold][2] += count
        if predicted is not None:
            sums[predicted][1] += count
    return {label: Counts(*sums[label]) for label in sorted(sums)}


def scores_as_dict(overall: Counts, by_label: dict[str, Counts], **others: Any) -> dict[str, Any]:
    """Ratios over all labels in percent, ``others``, counts over all labels, and everything of each label."""
    whole = overall.to_dict()
    return {
        **{name: whole[name] for name in RATIOS},
        **others,
        "counts": {name: whole[name] for name in ("correct", "predicted", "support")},
        "labels": {label: counts.to_dict() for label, counts in by_label.items()},
    }


def check_same_shape(gold: Sequence[Sequence[object]], predicted: Sequence[Sequence[object]]) -> None:
    """Refuse gold and predictions that are not about the same sentences."""
    if len(gold) != len(predicted):
        what = "gold and predictions differ in their number of sentences"
        raise DataError(what, expected=len(gold), got=len(predicted))
    for number, (one, other) in enumerate(zip(gold, predicted, strict=True), start=1):
        if len(one) != len(other):
            what = "gold and predictions differ in their number of labels"
            raise DataError(what, expected=len(one), got=len(other), where=f"sentence {number}")


# ------------------------------------------------------------------------------------------------------- token by token


@dataclass(frozen=True, slots=True)
class TokenScores:
    """How often each pair (gold label, predicted label) occurred. The scores of parts add up to those of the whole."""

    confusion: Counter[tuple[str, str]] = field(default_factory=Counter)

    def __add__(self, other: "TokenScores") -> "TokenScores":
        return TokenScores(self.confusion + other.confusion)

    @property
    def tokens(self) -> int:
        return self.confusion.total()

    @property
    def correct(self) -> int:
        return sum(count for (gold, predicted), count in self.confusion.items() if gold == predicted)

    @property
    def accuracy(self) -> float:
        """Share of tokens with the right label, 0 to 1; 0 without tokens."""
        return self.correct / self.tokens if self.tokens else 0.0

    def by_label(self) -> dict[str, Counts]:
        """Counts of every label that occurs on either side, in alphabetical order."""
        return counts_by_label((one, other, one == other, count) for (one, other), count in self.confusion.items())

    def mistakes(self) -> list[tuple[str, str, int]]:
        """(gold, predicted, count) of every confusion, the most frequent first."""
        wrong = [(gold, predicted, n) for (gold, predicted), n in self.confusion.items() if gold != predicted]
        return sorted(wrong, key=lambda row: (-row[2], row[0], row[1]))

    def confusion_dict(self) -> dict[str, dict[str, int]]:
        """{gold: {predicted: count}} in alphabetical order."""
        rows: dict[str, dict[str, int]] = {}
        for (gold, predicted), count in sorted(self.confusion.items()):
            rows.setdefault(gold, {})[predicted] = count
        return rows

    def to_dict(self) -> dict[str, Any]:
        """Tokens and accuracy (in percent)."""
        return {"tokens": self.tokens, "correct_tokens": self.correct, "accuracy": 100 * self.accuracy}


def score_tokens(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> TokenScores:
    """Compare label by label. Tokens whose gold label is a mark (unknown, or one of several) are not counted."""
    check_same_shape(gold, predicted)
    confusion: Counter[tuple[str, str]] = Counter()
    for one, other in zip(gold, predicted, strict=True):
        confusion.update(_known(one, other))
    return TokenScores(confusion)


def sentence_token_counts(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> NDArray[np.int64]:
    """(B, 2): correct labels and all labels of each sentence, for `significance`."""
    known = [_known(one, other) for one, other in zip(gold, predicted, strict=True)]
    return np.array([(sum(a == b for a, b in pairs), len(pairs)) for pairs in known], np.int64).reshape(-1, 2)


def _known(gold: Sequence[str], predicted: Sequence[str]) -> list[tuple[str, str]]:
    pairs = list(zip(gold, predicted, strict=True))
    return [pair for pair in pairs if not isinstance(pair[0], PartialLabel)] if is_partial(gold) else pairs
