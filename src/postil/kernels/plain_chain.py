"""Recursions over chains of labels in NumPy: Viterbi, the k best paths, forward-backward, answers.

The twins of chain.c, forward_backward.c and answers.c: same names, arguments and results. They serve where nothing was
compiled, and the tests as the reference. Each works on all sentences of a batch at once, in the order of time, because
a step of NumPy costs the same for one sentence and for a thousand.
"""

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple, final

import numpy as np

from postil.arrays import Array, offsets_from_lengths
from postil.kernels.checking import checked_chain

# ------------------------------------------------------------------------------------------------ ragged batches

GROUP_ENTRIES = 2**18  # 2 MB of float64: the sums of one step stay near the processor, however many labels
SCRATCH_ENTRIES = 2**21  # larger arrays are used long enough to pay for their pages


def sentence_groups(offsets: Array, labels: int) -> Iterator[tuple[slice, slice]]:
    """A batch in pieces small enough for an (L, L) table per sentence: the sentences and the tokens of each."""
    B, size = len(offsets) - 1, max(1, GROUP_ENTRIES // labels**2)
    for first in range(0, B, size):
        end = min(first + size, B)
        yield slice(first, end), slice(int(offsets[first]), int(offsets[end]))


@final
class Sentences:
    """Where the sentences of a ragged batch begin and end: sentence b owns the tokens ``offsets[b]:offsets[b + 1]``."""

    def __init__(self, offsets: Array) -> None:
        self.lengths: Array = offsets[1:] - offsets[:-1]  # (B,)
        self.filled: Array = self.lengths > 0  # (B,)
        self.first: Array = offsets[:-1][self.filled]  # the first token of every sentence that has one
        self.last: Array = offsets[1:][self.filled] - 1  # the last token of every sentence that has one

    def sums(self, values: Array) -> Array:
        """(N,) -> (B,): the sum over each sentence; 0 for one without tokens."""
        sums = np.zeros(len(self.lengths))
        if len(values):
            sums[self.filled] = np.add.reduceat(values, self.first)
        return sums


@final
class Packing:
    """A ragged batch in the order of time: step t holds the t-th token of every sentence that has one.

    Longer sentences come first, so those alive at step t are the first ones of step t - 1, and every step is a plain
    slice of rows: no padding, no mask.
    """

    def __init__(self, offsets: Array) -> None:
        lengths = offsets[1:] - offsets[:-1]
        self.offsets = offsets
        self.order: Array = np.argsort(-lengths, kind="stable")  # (B,) sentence at each place of a step
        self.alive: Array = len(lengths) - np.cumsum(np.bincount(lengths, minlength=1))[:-1]  # (T,) longer than t
        self.borders = offsets_from_lengths(self.alive)
        self.steps: list[tuple[int, int]] = list(pairwise(self.borders.tolist()))  # first row and end of each step
        self.step: Array = np.repeat(np.arange(len(self.alive)), self.alive)  # (N,) of each row
        self.sentence: Array = self.order[np.arange(len(self.step)) - self.borders[self.step]]  # (N,) of each row
        self.forward: Array = offsets[self.sentence] + self.step  # (N,) token at each row

    def both_ways(self) -> tuple[Array, Array, Array]:
        """For two sweeps side by side, one from each end: step t becomes a block of twice as many rows, first the t-th
        tokens from the left, then the t-th from the right. Returns the token of each row (2N,), and the row of each
        token in the sweep from the left (N,) and in the one from the right (N,).
        """
        N = len(self.step)
        left_rows = np.arange(N) + self.borders[self.step]
        right_rows = left_rows + self.alive[self.step]
        backward = self.offsets[self.sentence + 1] - 1 - self.step
        tokens, left, right = np.empty(2 * N, np.int64), np.empty(N, np.int64), np.empty(N, np.int64)
        tokens[left_rows], tokens[right_rows] = self.forward, backward
        left[self.forward], right[backward] = left_rows, right_rows
        return tokens, left, right


@final
class Scratch(threading.local):
    """Memory that recursions use again from call to call, one set of buffers per thread.

    Fresh memory has to be mapped page by page, which costs as much as the arithmetic on it. Contents are undefined, and
    nothing that a caller keeps may live here.
    """

    def __init__(self) -> None:
        self._buffers: dict[tuple[str, Any], Array] = {}

    def array(self, name: str, *shape: int, dtype: Any = np.float64) -> Array:
        """An array under a name: the next call with that name and type returns the same memory."""
        size, key = math.prod(shape), (name, dtype)
        if size > SCRATCH_ENTRIES:
            return np.empty(shape, dtype)
        if key not in self._buffers or self._buffers[key].size < size:
            memory = np.empty(size + 64 // np.dtype(dtype).itemsize, dtype)
            aligned = -memory.ctypes.data % 64 // memory.itemsize  # on a cache line: vectors are a third faster there
            self._buffers[key] = memory[aligned : aligned + size]
        return self._buffers[key][:size].reshape(shape)


_SCRATCH = Scratch()

# ------------------------------------------------------------------------------------------------ best paths


def viterbi(unary: Array, offsets: Array, transitions: Array, start: Array, end: Array) -> tuple[Array, Array]:
    """The best labelling of every sentence: labels (N,) and scores (B,).

    unary (N, L) float32 or float64, offsets (B + 1,), transitions (L, L), start and end (L,) float64; -inf forbids. Of
    equal paths: the lower label, decided from the last token. Labels mean nothing if the score is -inf.
    """
    paths, scores = ranked_paths(unary, offsets, transitions, start, end, 1)
    return paths[:, 0], scores[:, 0]


def ranked_paths(
    unary: Array, offsets: Array, transitions: Array, start: Array, end: Array, k: int
) -> tuple[Array, Array]:
    """Labels (N, k) and scores (B, k) of the k best paths of every sentence, best first; arguments as for ``viterbi``.

    A path that does not exist scores -inf, and its labels mean nothing.
    """
    unary, offsets, transitions, start, end = checked_chain(unary, offsets, transitions, start, end)
    paths, scores = np.empty((len(unary), k), np.int64), np.empty((len(offsets) - 1, k))
    for sentences, tokens in sentence_groups(offsets, unary.shape[1]):
        group = offsets[sentences.start : sentences.stop + 1] - tokens.start
        packing = Packing(group)
        ordered = unary[tokens][packing.forward]
        scores_in_order, sources, pointers = _ranked_beginnings(ordered, packing, transitions, start, end, k)
        scores[sentences][packing.order] = scores_in_order
        for (first, last), pointer in zip(reversed(packing.steps), reversed(pointers), strict=True):
            n = last - first
            label, rank = np.divmod(sources[:n], k)  # (n, k)
            paths[tokens][packing.forward[first:last]] = label
            sources[:n] = pointer[np.arange(n)[:, None], label, rank]
    return paths, scores


def _ranked_beginnings(
    unary: Array, packing: Packing, transitions: Array, start: Array, end_scores: Array, k: int
) -> tuple[Array, Array, list[Array]]:
    """Scores (B, k) of the best whole paths, where they come from (B, k), and each step's pointers (n, L, k).

    A pointer is source label × k + rank. The end is reached like a label: by a step into a table with one column.
    """
    L, alive = len(start), [*(end - first for first, end in packing.steps), 0]
    scores = np.full((len(packing.order), k), -np.inf)
    scores[alive[0] :, 0] = 0  # a sentence without tokens has one path, the empty one
    sources = np.zeros((len(packing.order), k), np.int64)
    delta, pointers = np.full((0, 0, 0), -np.inf), []
    for (first, end), survivors in zip(packing.steps, alive[1:], strict=True):
        if first == 0:
            delta, pointer = np.full((end, L, k), -np.inf), np.zeros((end, L, k), np.int64)
            delta[:, :, 0] = start
        else:
            delta, pointer = _ranked_step(delta[: end - first], transitions)
        delta += unary[first:end, :, None]
        pointers.append(pointer)
        final, source = _ranked_step(delta[survivors:], end_scores[:, None])
        scores[survivors : end - first], sources[survivors : end - first] = final[:, 0], source[:, 0]
    return scores, sources, pointers


def _ranked_step(delta: Array, table: Array) -> tuple[Array, Array]:
    """The k best of δ(i, r) + table (L, J) into each j, with pointers.  delta (n, L, k) -> two (n, J, k)."""
    (n, _, k), J = delta.shape, table.shape[1]
    best, pointers = np.empty((n, J, k)), np.empty((n, J, k), np.int64)
    following = np.pad(delta, ((0, 0), (0, 0), (0, 1)), constant_values=-np.inf)  # after the last rank comes nothing
    offers = delta[:, None, :, 0] + table.T  # (n, J, L) what each source i offers now
    taken = np.zeros(offers.shape, np.int64)  # how many of its beginnings have been taken
    b, j = np.ogrid[:n, :J]
    for r in range(k):
        i = offers.argmax(axis=2)  # (n, J)
        rank = taken[b, j, i]
        best[:, :, r], pointers[:, :, r] = offers[b, j, i], i * k + rank
        taken[b, j, i] += 1
        offers[b, j, i] = following[b, i, rank + 1] + table[i, j]
    return best, pointers


# ------------------------------------------------------------------------------------------------ forward-backward

# The scaled one is the twin of forward_backward.c; the logarithmic one never underflows and is the fallback of both.


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
    return np.asarray((before.T @ after) * table)


def _log_pair_sum(before: Array, table: Array, after: Array) -> Array:
    counts, size = np.zeros_like(table), max(1, GROUP_ENTRIES // table.size)
    for first in range(0, len(before), size):
        rows = slice(first, first + size)
        counts += np.exp(before[rows, :, None] + table + after[rows, None, :]).sum(axis=0)
    return counts


SCALED = Algebra(0.0, 1.0, np.exp, np.log, _itself, np.multiply, np.divide, _sum, np.matmul, _pair_sum)
LOGARITHMIC = Algebra(-np.inf, 0.0, _itself, _itself, np.exp, np.add, np.subtract, _log_sum, _log_step, _log_pair_sum)


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
    is_exact: Array  # (B,) False if something may have been lost to underflow, or no path is possible


def messages_in(
    algebra: Algebra, unary: Array, offsets: Array, transitions: Array, start: Array, end: Array
) -> ChainMessages:
    """Both recursions over all sentences.

    log Z adds up all that was divided out on the way: every scale of α, the last token's weight, and the peaks.
    """
    sentences, scores = Sentences(offsets), (unary, transitions, start, end)
    peaks = unary.T.copy().max(axis=0)[:, None]  # (N, 1); of short rows three times as fast as max(axis=1)
    peaks[peaks == -np.inf] = 0  # where nothing is possible
    start_peak, end_peak, step_peak = (
        float(table.max()) if table.max() > -np.inf else 0.0 for table in (start, end, transitions)
    )
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
    """(B,) True if scaled messages have certainly lost nothing, and some path is possible.

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


def chain_messages(unary: Array, offsets: Array, transitions: Array, start: Array, end: Array) -> ChainMessages:
    """Forward-backward with scaled probabilities; arguments as for ``viterbi``."""
    unary, *others = checked_chain(unary, offsets, transitions, start, end)
    return messages_in(SCALED, unary.astype(np.float64, copy=False), *others)


def chain_moments(
    unary: Array, offsets: Array, transitions: Array, start: Array, end: Array
) -> tuple[Array, Array, Array, Array]:
    """log Z (B,), p(y_t = j) (N, L), how often each transition is expected (L, L), and is_exact (B,).

    Arguments as for ``viterbi``. A sentence that is not exact adds no transitions, and its other numbers mean nothing.
    These are for gradients: probabilities below NEGLIGIBLE are given as 0.
    """
    m = chain_messages(unary, offsets, transitions, start, end)
    with np.errstate(all="ignore"):  # sentences that are not exact
        share = m.prefix / m.weight
        marginals = share * m.following
        marginals[marginals < NEGLIGIBLE] = 0
        if not m.is_exact.all():
            lost = np.repeat(~m.is_exact, np.diff(offsets))
            share[lost] = m.arriving[lost] = 0
        return m.log_partition, marginals, share[:-1].T @ m.arriving[1:] * m.transitions, m.is_exact


# ------------------------------------------------------------------------------------------------ answers

# All that is answered about sentences, from their scores at once, by answers.c. Probabilities come from
#
#     p(y) ∝ exp(s(y) / temperature + shift · (tokens that y does not label O)),
#
# and the labelling that is answered has the largest log p(y) + the bonuses of its labels.


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Question:
    """How to read answers from the scores of L labels. None: not requested, or no restriction."""

    temperature: float = 1.0
    shift: float = 0.0
    outside: int = -1  # the label O; -1: there is none
    bonus: Array | None = None  # (L,) float64, added to the scores when labels are chosen, not in the distribution
    classes: Array | None = None
    """(L,) int64, the class of an entity's labels, negative elsewhere; None: labels without spans."""
    begins: Array | None = None  # (L,) boolean, the labels with which an entity begins
    after: Array | None = None  # (classes, L) boolean, the labels that may follow an entity; None: all
    lowest: Array | None = None  # (classes,) float64: entities less probable than this become O
    alike: Array | None = None
    """(L, L) float64, 1 where two labels have one spelling: asks for the probabilities of labels."""


class ChainAnswers(NamedTuple):
    """The answers for B sentences of N tokens with M entities."""

    numbers: Array  # (N,) label numbers
    probabilities: Array  # (B,) the probability of each sentence's labelling
    label_probabilities: Array | None  # (N,) the probability of each token's label
    spans: Array  # (M, 4) sentence, start, end and class, in the order of the text
    span_probabilities: Array  # (M,)
    is_exact: Array  # (B,) False if something may have been lost to underflow: the sentence's numbers mean nothing
