"""Detecting the tokens of one label by a score: how well the scores rank them, and how well a threshold cuts them off.

Average precision asks nothing but the order: the mean over the true tokens of the precision among all that score at
least as high. Precision, recall and F1 need a threshold: what scores above it is detected.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from postil.errors import DataError
from postil.metrics import tables
from postil.metrics.counts import Counts, f_score, ratio
from postil.metrics.tables import Scores


class Threshold(NamedTuple):
    """Scores above ``value`` are detections; ``f1`` is the F1 on the data it was chosen on, 0 to 1."""

    value: float
    f1: float


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class DetectionScores(Scores):
    """How well the tokens of one label were detected."""

    label: str
    sentences: int
    tokens: int
    counts: Counts
    average_precision: float
    threshold: float

    @property
    def accuracy(self) -> float:
        """Share of tokens that were correctly detected or correctly rejected, 0 to 1; 0 without tokens."""
        wrong = self.counts.predicted + self.counts.gold - 2 * self.counts.correct
        return (self.tokens - wrong) / self.tokens if self.tokens else 0.0

    def summary(self) -> str:
        """The scores in one line, in percent."""
        precision, recall, f1 = self.counts.percents
        ratios = f"F1 {f1:.2f}, precision {precision:.2f}, recall {recall:.2f}"
        return f"average precision {100 * self.average_precision:.2f}  ({ratios})"

    def size(self) -> str:
        """How many tokens were scored, and above which score they were detected."""
        size = f"{self.sentences:,} sentences, {self.tokens:,} tokens, {self.counts.gold:,} of them {self.label}"
        return f"{size}; detected above a score of {self.threshold:.4f}"

    def tables(self) -> list[tables.Table]:
        """The label alone."""
        return [tables.label_table({self.label: self.counts}, title="", column="label")]

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON, shares in percent; the threshold is a score."""
        return {
            "label": self.label,
            "sentences": self.sentences,
            "tokens": self.tokens,
            "accuracy": 100 * self.accuracy,
            "average_precision": 100 * self.average_precision,
            **self.counts.to_dict(),
            "threshold": self.threshold,
        }


def average_precision(truth: ArrayLike, scores: ArrayLike) -> float:
    """Σ (R_k - R_{k-1}) P_k over the distinct scores, from the highest down, 0 to 1; 0 if nothing is true.

    ``truth`` (N,) booleans, ``scores`` (N,). Equal scores count as one step, because their order carries no
    information.
    """
    _, detected, correct = _cuts(truth, scores)
    found = np.diff(correct, prepend=0)
    return float(ratio((found * ratio(correct, detected)).sum(), found.sum()))


class PrecisionRecall(NamedTuple):
    """Precision and recall for a threshold just below each distinct score, the highest first, (K,) each."""

    scores: NDArray[np.float64]
    precision: NDArray[np.float64]
    recall: NDArray[np.float64]


def precision_recall(truth: ArrayLike, scores: ArrayLike, positives: int | None = None) -> PrecisionRecall:
    """The curve whose area is `average_precision`. ``truth`` (N,) booleans, ``scores`` (N,).

    ``positives`` is the number of true items if some of them have no score, such as spans that were not predicted.
    """
    lines, detected, correct = _cuts(truth, scores)
    total = positives if positives is not None else int(correct.max(initial=0))
    return PrecisionRecall(lines, ratio(correct, detected), ratio(correct, np.full(len(lines), total)))


def best_threshold(truth: ArrayLike, scores: ArrayLike) -> Threshold:
    """The threshold with the highest F1, halfway between two scores; the highest of several best ones.

    If nothing is true, it is the highest score, so nothing is detected.
    """
    lines, detected, correct = _cuts(truth, scores)
    if not len(lines):
        raise DataError("no tokens to choose a threshold on", expected="at least one")
    if not correct[-1]:
        return Threshold(float(lines[0]), 0.0)
    f1 = f_score(correct, detected, correct[-1])
    best = int(f1.argmax())
    upper = lines[best]
    below = lines[best + 1] if best + 1 < len(lines) else np.nextafter(upper, -np.inf)
    middle = below + (upper - below) / 2
    return Threshold(float(middle if middle < upper else below), float(f1[best]))


def score_detection(
    truth: ArrayLike, scores: ArrayLike, threshold: float, *, label: str, sentences: int
) -> DetectionScores:
    """All figures at once. ``truth`` (N,) booleans, ``scores`` (N,)."""
    true, given = _checked(truth, scores)
    detected = given > threshold
    return DetectionScores(
        label=label,
        sentences=sentences,
        tokens=len(true),
        counts=Counts(int((true & detected).sum()), int(detected.sum()), int(true.sum())),
        average_precision=average_precision(true, given),
        threshold=threshold,
    )


def _cuts(truth: ArrayLike, scores: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """The distinct scores (K,), the highest first, how many tokens score at least as high, and how many are true."""
    true, given = _checked(truth, scores)
    order = np.argsort(-given, kind="stable")
    given, true = given[order], true[order]
    last = np.flatnonzero(np.append(given[1:] != given[:-1], True)) if len(given) else np.zeros(0, np.int64)
    return given[last], last + 1, np.cumsum(true, dtype=np.int64)[last]


def _checked(truth: ArrayLike, scores: ArrayLike) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    true, given = np.asarray(truth, bool), np.asarray(scores, np.float64)
    if true.ndim != 1 or true.shape != given.shape:
        raise DataError("one score per token is needed", expected=f"shape {true.shape}", got=given.shape)
    if not np.isfinite(given).all():
        raise DataError("scores", expected="finite numbers", got=given[~np.isfinite(given)][0])
    return true, given
