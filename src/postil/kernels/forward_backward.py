"""Forward-backward in NumPy, over all sentences of a batch at once, in one of two algebras.

The scaled one is the twin of forward_backward.c; the logarithmic one never underflows and is the fallback of both.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from postil.arrays import Array
from postil.kernels.packing import GROUP_ENTRIES, Packing, Scratch, Sentences

_SCRATCH = Scratch()

# ------------------------------------------------------------------------------------------------ two algebras


class Algebra(NamedTuple):
    """How sums and products over paths are carried out.

    SCALED multiplies and adds probabilities: fast, but small ones can underflow. LOGARITHMIC adds logarithms and sums
    with log Σ exp: never underflows, costs some ten times as much. The recursions are written once, for both.
    """

    zero: float
    one: float
    enter: Callable[[Array], Array]  # log-score -> number of this algebra
    log: Callable[[Array], Array]  # number -> log-score
    probability: Callable[[Array], Array]  # number -> probability
    times: np.ufunc
    over: np.ufunc
    total: Callable[[Array], Array]  # sum of each row: (n, L) -> (n, 1)
    step: Callable[[Array, Array, Array], object]  # Σ_i (2, n, i) × tables (2, i, j) -> out (2, n, j)
    pair_sum: Callable[[Array, Array, Array], Array]  # Σ_p (P, i) × table (i, j) × (P, j) -> probabilities (i, j)


def _itself(numbers: Array) -> Array:
    return numbers


def _sum(numbers: Array) -> Array:
    return numbers @ _ones(numbers.shape[-1])  # three times as fast as a sum over short rows


@cache
def _ones(labels: int) -> Array:
    return np.ones((labels, 1))


def _log_sum(numbers: Array, axis: int = -1) -> Array:
    peak = numbers.max(axis=axis, keepdims=True)
    peak[peak == -np.inf] = 0
    with np.errstate(divide="ignore"):  # log 0 = -inf is meant: nothing is possible
        total: Array = np.log(np.exp(numbers - peak).sum(axis=axis, keepdims=True)) + peak
    return total


def _log_step(messages: Array, tables: Array, out: Array) -> None:
    out[:] = _log_sum(messages[:, :, :, None] + tables[:, None], axis=2)[:, :, 0]


def _pair_sum(before: Array, table: Array, after: Array) -> Array:
    counts: Array = (before.T @ after) * table
    return counts


def _log_pair_sum(before: Array, table: Array, after: Array) -> Array:
    counts, size = np.zeros_like(table), max(1, GROUP_ENTRIES // table.size)
    for first in range(0, len(before), size):
        rows = slice(first, first + size)
        counts += np.exp(before[rows, :, None] + table + after[rows, None, :]).sum(axis=0)
    return counts


SCALED = Algebra(0.0, 1.0, np.exp, np.log, _itself, np.multiply, np.divide, _sum, np.matmul, _pair_sum)
LOGARITHMIC = Algebra(-np.inf, 0.0, _itself, _itself, np.exp, np.add, np.subtract, _log_sum, _log_step, _log_pair_sum)


# ------------------------------------------------------------------------------------------------ messages


class ChainMessages(NamedTuple):
    """The messages of forward-backward, in one algebra; one row per token, in reading order.

    α_t(j) sums over all beginnings of paths that reach label j at token t, ψ_t(j) included; β_t(j) over all ways to go
    on from there. Each is known up to a factor per token, which ``weight`` and ``scale`` account for.
    """

    factors: Array  # (N, L) ψ_t(j): the unary scores, each token's largest taken off
    transitions: Array  # (L, L) E_ij: the transition scores, the largest taken off
    prefix: Array  # (N, L) α_t
    scale: Array  # (N, 1) what α_t was divided by at this token
    following: Array  # (N, L) β_t
    arriving: Array  # (N, L) ψ_t β_t, in the units of following_t-1 = E arriving_t; zero at first tokens
    weight: Array  # (N, 1) Σ_j prefix_t(j) following_t(j): Z in the units of token t
    log_partition: Array  # (B,) log Z
    is_exact: Array  # (B,) False where something may have been lost to underflow, or no path is possible


def chain_messages(
    algebra: Algebra, unary: Array, offsets: Array, transitions: Array, start: Array, end: Array
) -> ChainMessages:
    """Both recursions over all sentences.

    log Z adds up all that was divided out on the way: every scale of α, the last token's weight, and the peaks.
    """
    sentences, scores = Sentences(offsets), (unary, transitions, start, end)
    peaks = _row_peaks(unary)  # (N, 1)
    start_peak, end_peak, step_peak = (_peak(table) for table in (start, end, transitions))
    factors, steps = algebra.enter(unary - peaks), algebra.enter(transitions - step_peak)
    entry = algebra.enter(np.array([start - start_peak, end - end_peak]))
    with np.errstate(all="ignore"):  # 0 / 0 and the like in sentences that are not exact: they are recognised below
        prefix, scale, following, suffix = _sweep(algebra, Packing(offsets), factors, steps, entry)
        weight = algebra.total(algebra.times(prefix, following))
        logs = (algebra.log(scale) + peaks)[:, 0]
        logs[sentences.last] += algebra.log(weight[sentences.last, 0])
        is_exact = sentences.lengths >= 0
        if algebra is SCALED:
            is_exact = _is_exact((prefix, suffix), (factors, steps, entry), scores, weight, sentences)
    suffix[sentences.first] = algebra.zero
    constant = start_peak + end_peak + (sentences.lengths - 1) * step_peak
    log_partition = sentences.sums(logs) + np.where(sentences.lengths, constant, 0)
    return ChainMessages(factors, steps, prefix, scale, following, suffix, weight, log_partition, is_exact)


def _row_peaks(scores: Array) -> Array:
    """(N, L) -> (N, 1) the largest score of each row; 0 where none is possible."""
    peaks: Array = scores.T.copy().max(axis=0)[:, None]  # short rows: three times as fast as max(axis=1)
    peaks[peaks == -np.inf] = 0
    return peaks


def _peak(table: Array) -> float:
    peak = float(table.max())
    return peak if peak > -np.inf else 0.0


def _sweep(
    algebra: Algebra, packing: Packing, factors: Array, transitions: Array, entry: Array
) -> tuple[Array, Array, Array, Array]:
    """Forward and backward messages in one loop over time.  entry (2, L): start and end.

    Forward:    α_1(j) = start_j ψ_1(j),   α_t(j) = ψ_t(j) Σ_i α_t-1(i) E_ij.
    Backward, with γ = ψ β:   β_T(i) = end_i,   β_t(i) = Σ_j E_ij γ_t+1(j),   γ_t(i) = ψ_t(i) β_t(i):
    the same recursion on the sentence read from its end, with Eᵀ for E. Step t does the t-th token from the left and
    the t-th from the right of all n sentences that are long enough: one block (2, n, L).
    Returns α_t and its scale, β_t, γ_t: one row per token. Every few steps α and γ are divided by their totals.
    """
    N, L = factors.shape
    tokens, left, right = packing.both_ways()
    both = np.array([transitions, transitions.T])  # (2, L, L)
    ordered, incoming, outgoing = (_SCRATCH.array(name, 2 * N, L) for name in ("ordered", "incoming", "outgoing"))
    scale = np.full((2 * N, 1), algebra.one)
    factors.take(tokens, axis=0, out=ordered, mode="clip")  # "raise", the default, would copy once more
    previous = outgoing
    for t, (first, end) in enumerate(packing.steps):
        n, rows = end - first, slice(2 * first, 2 * end)
        arriving, leaving = incoming[rows], outgoing[rows]
        if t == 0:
            arriving.reshape(2, n, L)[:] = entry[:, None]
        else:
            algebra.step(previous.reshape(2, -1, L)[:, :n], both, arriving.reshape(2, n, L))
        algebra.times(arriving, ordered[rows], leaving)
        if t % RESCALED_EVERY == 0:
            scale[rows] = total = algebra.total(leaving)
            algebra.over(leaving, total, leaving)
        previous = leaving
    return outgoing.take(left, 0), scale.take(left, 0), incoming.take(right, 0), outgoing.take(right, 0)


# When is SCALED exact? Suppose that the possible scores of a token differ by at most a, those within the transitions,
# within start and within end by at most b, and that a + b is at most WIDEST. Then a step shrinks a message by at most
# exp(-WIDEST) / L, some 1e-90 for a thousand labels: one above SMALLEST cannot vanish (fall below 1e-308) in a single
# step. So before a possible path is lost, a message between 0 and SMALLEST is seen. A sentence without such a message
# has lost nothing, if every ``weight`` is as large as a product of two messages ought to be. Dividing by totals only
# keeps messages away from SMALLEST: a few steps without it do no harm, and save time.
WIDEST = 200.0
SMALLEST = 1e-120
RESCALED_EVERY = 4
# Probabilities below this count as 0 where they become gradients: in float32 they would soon be denormal numbers, with
# which processors compute many times slower, and a confident model has lots of them.
NEGLIGIBLE = 1e-25


def _is_exact(
    messages: Sequence[Array], tables: Sequence[Array], scores: Sequence[Array], weight: Array, sentences: Sentences
) -> Array:
    """(B,) True where scaled messages have certainly lost nothing, and some path is possible.

    messages: α and γ, (N, L) each; tables: ψ (N, L), E (L, L), start and end (2, L); scores: what the tables came from.
    """
    lowest, *chain_lowest = (t.min(initial=1) for t in tables)
    if lowest * min(chain_lowest) >= np.exp(-WIDEST) and min(m.min(initial=1) for m in messages) >= SMALLEST:
        return np.ones(len(sentences.lengths), bool)  # nothing small at all: the usual case without masks
    unary, *chain = scores
    left = WIDEST - max(_spread(table) for table in chain)
    if left < 0:
        return np.equal(sentences.lengths, 0)
    lost = ~(weight[:, 0] >= SMALLEST**2)  # (N,) True also for NaN
    small = [(tables[0] < np.exp(-left)) & (unary > -np.inf), *((m < SMALLEST) & (m > 0) for m in messages)]
    for entries in small:  # (N, L)
        if entries.any():
            lost |= entries.any(axis=1)
    return np.equal(sentences.sums(lost.astype(float)), 0)


def _spread(table: Array) -> float:
    """How far the possible scores are apart; -inf where none is possible."""
    return float(table.max() - table.min(where=table > -np.inf, initial=np.inf))
