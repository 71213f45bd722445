"""Do probabilities mean what they say? Of all answers given with 0.8, eight in ten should be right.

Answers are sorted into equal bins by their probability. A bin keeps three sums (answers, probabilities, right
answers), so tables add up; the expected calibration error is the mean gap between what a bin promised and what it
kept, weighted by its answers.
"""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from postil.errors import ConfigurationError, DataError
from postil.metrics.counts import ratio

ROUNDING = 1e-9
"""Tolerance by which a sum of probabilities may miss 0 or 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """Sums per bin, each of shape (bins,). A bin includes its upper edge; the first one also includes 0."""

    counts: NDArray[np.int64]
    promised: NDArray[np.float64]
    kept: NDArray[np.int64]

    def __add__(self, other: "Calibration") -> "Calibration":
        if len(self.counts) != len(other.counts):
            raise ConfigurationError("tables with different bins", expected=len(self.counts), got=len(other.counts))
        return Calibration(self.counts + other.counts, self.promised + other.promised, self.kept + other.kept)

    @property
    def edges(self) -> NDArray[np.float64]:
        """Edges of the bins, (bins + 1,)."""
        return np.linspace(0, 1, len(self.counts) + 1)

    @property
    def confidence(self) -> NDArray[np.float64]:
        """Mean probability of each bin, 0 if it is empty."""
        return ratio(self.promised, self.counts)

    @property
    def accuracy(self) -> NDArray[np.float64]:
        """Share of correct predictions in each bin, 0 if it is empty."""
        return ratio(self.kept, self.counts)

    @property
    def expected_error(self) -> float:
        """Expected calibration error, 0 (perfect) to 1; 0 without predictions."""
        return float(ratio(np.abs(self.promised - self.kept).sum(), self.counts.sum()))

    @property
    def error_by_chance(self) -> float:
        """The expected error that perfectly calibrated probabilities would show by chance on this number of
        predictions.

        Of n predictions with probability p each, the number of correct ones differs from n p by sqrt(2 n p (1 - p) / π)
        on average.
        """
        spread = np.sqrt(2 / np.pi * self.counts * self.confidence * (1 - self.confidence))
        return float(ratio(spread.sum(), self.counts.sum()))

    @property
    def largest_error(self) -> float:
        """The largest gap of any bin."""
        return float(np.max(np.abs(self.confidence - self.accuracy), initial=0.0))

    def to_dict(self) -> dict[str, Any]:
        """Errors in percent, and one row per bin that is not empty."""
        rows = zip(self.edges, self.edges[1:], self.counts, self.confidence, self.accuracy, strict=False)
        names = ("from", "to", "count", "confidence", "accuracy")
        return {
            "expected_calibration_error": 100 * self.expected_error,
            "error_by_chance": 100 * self.error_by_chance,
            "largest_calibration_error": 100 * self.largest_error,
            "bins": [dict(zip(names, map(float, row), strict=True)) | {"count": int(row[2])} for row in rows if row[2]],
        }


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class ReliabilityCurve:
    """The calibration of the network's probabilities and of the calibrated ones; equal without calibration."""

    before: Calibration
    after: Calibration
    temperature: float
    shift: float

    @property
    def is_calibrated(self) -> bool:
        return self.temperature != 1 or bool(self.shift)

    def to_dict(self) -> dict[str, Any]:
        calibrations = {"before": self.before.to_dict(), "after": self.after.to_dict()}
        return {"temperature": self.temperature, "shift": self.shift, **calibrations}


def calibrate(probabilities: ArrayLike, correct: ArrayLike, *, bins: int = 10) -> Calibration:
    """The reliability table of predictions: their probabilities and whether they were correct, both of shape (N,)."""
    promised, kept = np.asarray(probabilities, np.float64), np.asarray(correct, np.bool_)
    if bins < 1:
        raise ConfigurationError("impossible number of bins", expected="1 or more", got=bins)
    if promised.ndim != 1 or promised.shape != kept.shape:
        raise DataError("one probability per answer is needed", expected=f"shape {kept.shape}", got=promised.shape)
    is_probability = (promised >= -ROUNDING) & (promised <= 1 + ROUNDING)
    if not np.all(is_probability):
        raise DataError("not a probability", expected="0 to 1", got=promised[~is_probability][0])
    promised = np.clip(promised, 0, 1)
    place = np.searchsorted(np.linspace(0, 1, bins + 1)[1:-1], promised, side="left")
    return Calibration(
        np.bincount(place, minlength=bins),
        np.bincount(place, weights=promised, minlength=bins).astype(np.float64),
        np.bincount(place[kept], minlength=bins),
    )
