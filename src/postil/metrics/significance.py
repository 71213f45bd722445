"""How much of a score is luck: intervals by bootstrap over sentences, and a paired test of two systems.

A score is a function of counts summed over sentences. Sentences with the same counts are interchangeable, so a
resample is drawn over *kinds* of sentence: how often each kind is drawn is multinomial, how often it is swapped
between two systems binomial. This is the same distribution as drawing sentence by sentence, and a test set of
thousands of sentences has only some dozens of kinds.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from postil.errors import ConfigurationError, DataError
from postil.metrics.counts import f_score, ratio

CELLS_AT_ONCE = 1 << 21
Statistic = Callable[[NDArray[Any]], NDArray[np.float64]]


class Interval(NamedTuple):
    """A score and the range that contains the share ``level`` of its bootstrap resamples."""

    value: float
    low: float
    high: float
    level: float
    resamples: int

    def __str__(self) -> str:
        return f"{100 * self.level:g} % interval {100 * self.low:.2f} to {100 * self.high:.2f}"

    def to_dict(self) -> dict[str, Any]:
        """The three scores in percent."""
        return self._asdict() | {name: 100 * getattr(self, name) for name in ("value", "low", "high")}


class Comparison(NamedTuple):
    """Two systems on the same sentences. ``difference`` is second minus first, with its bootstrap interval.

    ``p_value``: how often swapping the systems' outputs at random produces a difference at least as large (two-sided).
    ``second_better``: share of bootstrap resamples in which the second system is ahead (a draw counts half).
    """

    first: float
    second: float
    difference: float
    low: float
    high: float
    level: float
    p_value: float
    second_better: float
    resamples: int

    @property
    def note(self) -> str:
        """Why interval and p-value contradict each other, if they do; otherwise nothing.

        They answer different questions: how far the difference varies over sentences, and whether systems that are
        alike would differ so much. With few differing sentences, both are coarse.
        """
        if (self.low <= 0 <= self.high) == (self.p_value > 1 - self.level):
            return ""
        says = "excludes 0, but p is not small" if self.p_value > 1 - self.level else "includes 0, but p is small"
        return f"the interval {says}: the difference is not certain; more labelled sentences would decide"

    def to_dict(self) -> dict[str, Any]:
        """Scores in percent; the p-value and the share stay between 0 and 1."""
        names = ("first", "second", "difference", "low", "high")
        return self._asdict() | {name: 100 * getattr(self, name) for name in names}


def f1(counts: NDArray[Any]) -> NDArray[np.float64]:
    """F1 from (…, 3) counts: correct, predicted, gold. See `postil.metrics.spans.sentence_counts`."""
    return f_score(*np.moveaxis(counts, -1, 0))


def accuracy(counts: NDArray[Any]) -> NDArray[np.float64]:
    """Accuracy from (…, 2) counts: right, all. See `postil.metrics.counts.sentence_token_counts`."""
    return ratio(counts[..., 0], counts[..., 1])


def bootstrap_interval(
    counts: NDArray[np.int64],
    statistic: Statistic,
    *,
    rng: np.random.Generator,
    resamples: int = 2000,
    level: float = 0.95,
) -> Interval:
    """Percentile interval of ``statistic`` over resampled sentences; ``counts`` is (B, C), one row per sentence."""
    _check(counts, resamples, level)
    value = float(statistic(counts.sum(axis=0)))
    scores = np.concatenate([statistic(sums) for sums in _resampled_sums(counts, resamples, rng)])
    low, high = map(float, np.quantile(scores, [(1 - level) / 2, (1 + level) / 2]))
    return Interval(value, low, high, level, resamples)


def compare_systems(
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    statistic: Statistic,
    *,
    rng: np.random.Generator,
    resamples: int = 2000,
    level: float = 0.95,
) -> Comparison:
    """Paired bootstrap and approximate randomisation of two systems; both counts are (B, C), same sentences."""
    _check(first, resamples, level)
    if first.shape != second.shape:
        raise DataError("two systems must answer the same sentences", expected=first.shape, got=second.shape)
    width = first.shape[1]
    both = np.concatenate([first, second], axis=1)
    gaps = np.concatenate(
        [statistic(sums[:, width:]) - statistic(sums[:, :width]) for sums in _resampled_sums(both, resamples, rng)]
    )
    low, high = map(float, np.quantile(gaps, [(1 - level) / 2, (1 + level) / 2]))
    one, other = float(statistic(first.sum(axis=0))), float(statistic(second.sum(axis=0)))
    better = float(np.mean(gaps > 0) + np.mean(gaps == 0) / 2)
    p_value = randomisation_test(first, second, statistic, rng=rng, resamples=resamples)
    return Comparison(one, other, other - one, low, high, level, p_value, better, resamples)


def randomisation_test(
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    statistic: Statistic,
    *,
    rng: np.random.Generator,
    resamples: int = 2000,
) -> float:
    """Two-sided p-value: each sentence's answers change sides with probability 1/2 if the systems are alike.

    The observed assignment counts as one of the drawn ones, so the p-value is never 0.
    """
    total = first.sum(axis=0) + second.sum(axis=0)
    observed = abs(float(statistic(second.sum(axis=0)) - statistic(first.sum(axis=0))))
    gains, sizes = np.unique(second - first, axis=0, return_counts=True)
    moves = np.any(gains != 0, axis=1)  # swapping equal answers changes nothing
    gains, sizes = gains[moves], sizes[moves]
    as_extreme = 0
    for rows in _batches(resamples, len(sizes)):
        swapped = rng.binomial(sizes, 0.5, size=(rows, len(sizes)))
        sums = first.sum(axis=0) + swapped @ gains
        gap = np.abs(statistic(total - sums) - statistic(sums))
        # Sums are whole numbers: equal assignments differ by rounding at most.
        as_extreme += int(np.sum(gap >= observed - 1e-12))
    return (as_extreme + 1) / (resamples + 1)


def _resampled_sums(counts: NDArray[np.int64], resamples: int, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """Sums over B sentences drawn with replacement, (rows, C) at a time, ``resamples`` rows in all."""
    rows_of_kind, sizes = np.unique(counts, axis=0, return_counts=True)  # (K, C), (K,)
    for rows in _batches(resamples, len(sizes)):
        if len(counts) == 0:
            yield np.zeros((rows, counts.shape[1]), np.int64)
            continue
        yield rng.multinomial(len(counts), sizes / len(counts), size=rows) @ rows_of_kind


def _batches(resamples: int, kinds: int) -> Iterator[int]:
    """Numbers of rows that keep a batch of (rows, kinds) within CELLS_AT_ONCE, which bounds the memory."""
    step = max(1, CELLS_AT_ONCE // max(kinds, 1))
    for done in range(0, resamples, step):
        yield min(step, resamples - done)


def _check(counts: NDArray[np.int64], resamples: int, level: float) -> None:
    if counts.ndim != 2:
        raise DataError("one row of counts per sentence is needed", expected="2 dimensions", got=counts.ndim)
    if resamples < 1:
        raise ConfigurationError("impossible number of resamples", expected="1 or more", got=resamples)
    if not 0 < level < 1:
        raise ConfigurationError("impossible level of confidence", expected="between 0 and 1", got=level)
