"""Predicted labels against gold labels, token by token."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from postil.metrics.counts import Counts, check_same_shape, counts_by_label
from postil.text.labels.partial import is_partial
from postil.text.labels.schemes import PartialLabel


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
