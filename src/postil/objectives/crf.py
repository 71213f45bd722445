"""The linear-chain conditional random field (A8, A9, C2-C6), exact, on ragged batches.

From top to bottom: score of a path, messages, partition and marginals, loss with gradient. Then go on with
``crf_decoding.py`` (Viterbi, k best), ``crf_spans.py`` (spans, constraints) and ``crf_objective.py`` (parameters and
nodes). All of them read the lattice of ``lattice.py``, which gives every path y a score s(y) and so a probability

    p(y) = exp(s(y)) / Z,    Z = Σ_y exp(s(y))

Shapes: B sentences, N tokens in the batch, L labels, P pairs of neighbouring tokens.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, NamedTuple, final

import numpy as np

from postil.arrays import Array, checked_indices
from postil.errors import ConfigurationError, DataError, ShapeError
from postil.kernels.packing import GROUP_ENTRIES, Packing, Scratch
from postil.objectives.lattice import Lattice

# ------------------------------------------------------------------------------------------------ score of a path


def path_scores(lattice: Lattice, labels: Any) -> Array:
    """s(y) of one labelling per sentence: labels (N,) -> (B,); -inf where it takes an impossible step."""
    y = _checked_path(lattice, labels)
    chain, first, last = lattice.chain, lattice.first_tokens, lattice.last_tokens
    arriving = np.empty(len(y))  # (N,) the score of coming to each token
    arriving[1:] = chain.transitions[y[:-1], y[1:]]
    arriving[first] = chain.start[y[first]]  # also undoes the steps between sentences
    scores = arriving + lattice.unary[np.arange(len(y)), y]
    scores[last] += chain.end[y[last]]
    return lattice.sentence_sums(scores)


def log_probabilities(lattice: Lattice, labels: Any) -> Array:
    """log p(y) of one labelling per sentence: labels (N,) -> (B,)."""
    return path_scores(lattice, labels) - Posterior.of(lattice).log_partition


def _checked_path(lattice: Lattice, labels: Any) -> Array:
    y = checked_indices(labels, lattice.chain.labels, where="labels")
    if y.shape != lattice.unary.shape[:1]:
        raise ShapeError("one label per token", expected=lattice.unary.shape[:1], got=y.shape, where="labels")
    return y


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

_SCRATCH = Scratch()


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Messages:
    """What forward-backward leaves behind, in one algebra; one row per token, in reading order.

    α_t(j) sums over all beginnings of paths that reach label j at token t, ψ_t(j) included; β_t(j) over all ways to go
    on from there. Each is known up to a factor per token, which ``weight`` and ``scale`` account for.
    """

    algebra: Algebra
    lattice: Lattice
    factors: Array  # (N, L) ψ_t(j): the unary scores, each token's largest taken off
    transitions: Array  # (L, L) E_ij: the transition scores, the largest taken off
    prefix: Array  # (N, L) α_t
    scale: Array  # (N, 1) what α_t was divided by at this token
    following: Array  # (N, L) β_t
    arriving: Array  # (N, L) ψ_t β_t, in the units of following_t-1 = E arriving_t; zero at first tokens
    weight: Array  # (N, 1) Σ_j prefix_t(j) following_t(j): Z in the units of token t
    log_partition: Array  # (B,) log Z
    is_exact: Array  # (B,) False where something may have been lost to underflow, or no path is possible

    @cached_property
    def share(self) -> Array:
        """(N, L) α_t / Z, in the units of following_t."""
        share: Array = self.algebra.over(self.prefix, self.weight)
        return share


def forward_backward(lattice: Lattice, algebra: Algebra) -> Messages:
    """Both recursions over all sentences.

    log Z adds up all that was divided out on the way: every scale of α, the last token's weight, and the peaks.
    """
    chain, last = lattice.chain, lattice.last_tokens
    peaks = _row_peaks(lattice.unary)  # (N, 1)
    start_peak, end_peak, step_peak = (_peak(table) for table in (chain.start, chain.end, chain.transitions))
    factors = algebra.enter(lattice.unary - peaks)
    transitions = algebra.enter(chain.transitions - step_peak)
    entry = algebra.enter(np.array([chain.start - start_peak, chain.end - end_peak]))
    with np.errstate(all="ignore"):  # 0 / 0 and the like in sentences that are not exact: they are found out
        prefix, scale, following, suffix = _sweep(algebra, Packing(lattice.offsets), factors, transitions, entry)
        weight = algebra.total(algebra.times(prefix, following))
        logs = (algebra.log(scale) + peaks)[:, 0]
        logs[last] += algebra.log(weight[last, 0])
        is_exact = lattice.lengths >= 0
        if algebra is SCALED:
            is_exact = _is_exact((prefix, suffix), (factors, transitions, entry), weight, lattice)
    suffix[lattice.first_tokens] = algebra.zero
    constant = start_peak + end_peak + (lattice.lengths - 1) * step_peak
    return Messages(
        algebra=algebra,
        lattice=lattice,
        factors=factors,
        transitions=transitions,
        prefix=prefix,
        scale=scale,
        following=following,
        arriving=suffix,
        weight=weight,
        log_partition=lattice.sentence_sums(logs) + np.where(lattice.lengths, constant, 0),
        is_exact=is_exact,
    )


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
    Gives α_t and its scale, β_t, γ_t: one row per token. Every few steps α and γ are divided by their totals.
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


# When is SCALED exact? Suppose that within each token's scores, within the transitions, within start and within end,
# the possible ones differ by at most WIDEST. Then a step shrinks a message by at most exp(-2 WIDEST) / L, some 1e-90
# for a thousand labels: one above SMALLEST cannot vanish (fall below 1e-308) in a single step. So before a possible
# path is lost, a message between 0 and SMALLEST is seen. A sentence without such a message has lost nothing.
# Dividing by totals only keeps messages away from SMALLEST: a few steps without it do no harm, and save time.
WIDEST = 100.0
SMALLEST = 1e-120  # the product of two such messages, which ``weight`` is made of, is far from 1e-308 as well
RESCALED_EVERY = 4


def _is_exact(messages: tuple[Array, ...], tables: tuple[Array, ...], weight: Array, lattice: Lattice) -> Array:
    """(B,) True where scaled messages have certainly lost nothing, and some path is possible.

    messages: α and γ, (N, L) each; tables: ψ (N, L), E (L, L), start and end (2, L).
    """
    narrow = np.exp(-WIDEST)
    if min(t.min(initial=1) for t in tables) >= narrow and min(m.min(initial=1) for m in messages) >= SMALLEST:
        return np.ones(len(lattice.lengths), bool)  # nothing small at all: the usual case without masks
    chain, factors = lattice.chain, tables[0]
    if any(_is_wide(table) for table in (chain.transitions, chain.start, chain.end)):
        return np.equal(lattice.lengths, 0)
    lost = ~(weight[:, 0] > 0)  # (N,) True also for NaN
    small = [(factors < narrow) & (lattice.unary > -np.inf), *((m < SMALLEST) & (m > 0) for m in messages)]
    for entries in small:  # (N, L)
        if entries.any():
            lost |= entries.any(axis=1)
    return np.equal(lattice.sentence_sums(lost.astype(float)), 0)


def _is_wide(table: Array) -> bool:
    return bool(table.max() - table.min(where=table > -np.inf, initial=np.inf) > WIDEST)


# ------------------------------------------------------------------------------------------------ partition, marginals


class Part(NamedTuple):
    """Sentences solved together, and their tokens as rows of the whole lattice."""

    sentences: Array
    tokens: Array
    messages: Messages


@final
@dataclass(frozen=True, eq=False)
class Posterior:
    """p(y) of every sentence of a lattice, ready for questions."""

    lattice: Lattice
    parts: tuple[Part, ...]

    @classmethod
    def of(cls, lattice: Lattice) -> "Posterior":
        """Solve a lattice: scaled, and in logarithms the sentences that may have lost something to underflow."""
        scaled = forward_backward(lattice, SCALED)
        exact = scaled.is_exact
        if exact.all():
            return cls(lattice, (Part(np.arange(len(exact)), np.arange(len(lattice.unary)), scaled),))
        posterior = cls(lattice, (*_solved(lattice, exact, SCALED), *_solved(lattice, ~exact, LOGARITHMIC)))
        check_possible(posterior.log_partition)
        return posterior

    @property
    def log_partition(self) -> Array:
        """(B,) log Z."""
        return self._gathered((len(self.lattice.lengths),), lambda part: (part.sentences, part.messages.log_partition))

    def marginals(self) -> Array:
        """(N, L) p(y_t = j) = α_t(j) β_t(j) / Z (C4)."""
        return self._gathered(self.lattice.unary.shape, lambda part: (part.tokens, _marginals(part.messages)))

    def pairwise_marginals(self) -> Array:
        """(N, L, L) p(y_t-1 = i, y_t = j) = α_t-1(i) E_ij ψ_t(j) β_t(j) / Z in row t; 0 where t begins a sentence."""
        N, L = self.lattice.unary.shape
        return self._gathered((N, L, L), lambda part: (part.tokens, _pairwise_marginals(part.messages)))

    def transition_counts(self) -> Array:
        """(L, L) how often each transition is expected in the batch: the sum of the pairwise marginals."""
        counts: Array = np.sum([_transition_counts(part.messages) for part in self.parts], axis=0)
        return counts

    def _gathered(self, shape: tuple[int, ...], answer: Callable[[Part], tuple[Array, Array]]) -> Array:
        if len(self.parts) == 1:
            return answer(self.parts[0])[1]
        whole = np.empty(shape)
        for part in self.parts:
            rows, values = answer(part)
            whole[rows] = values
        return whole


def _solved(lattice: Lattice, which: Array, algebra: Algebra) -> list[Part]:
    chosen = np.flatnonzero(which)
    selection, rows = lattice.selected(chosen)
    groups = selection.groups()
    return [Part(chosen[b], rows[tokens], forward_backward(part, algebra)) for part, b, tokens in groups]


def check_possible(scores: Array) -> None:
    """Complain about the first sentence whose best or total log-score (B,) says that it has no possible path."""
    possible = np.isfinite(scores)
    if not possible.all():
        raise no_possible_path(int(possible.argmin()))


def no_possible_path(sentence: int) -> ConfigurationError:
    return ConfigurationError(
        "no labelling is possible",
        expected="a path that the mask and the allowed labels leave open",
        got="all paths forbidden",
        where=f"sentence {sentence}",
    )


def _marginals(m: Messages) -> Array:
    return m.algebra.probability(m.algebra.times(m.share, m.following))


def _pairwise_marginals(m: Messages) -> Array:
    N, L = m.prefix.shape
    joint = np.zeros((N, L, L))
    edges = m.algebra.times(m.share[:-1, :, None], m.transitions)
    joint[1:] = m.algebra.probability(m.algebra.times(edges, m.arriving[1:, None, :]))
    return joint


def _transition_counts(m: Messages) -> Array:
    return m.algebra.pair_sum(m.share[:-1], m.transitions, m.arriving[1:])


# ------------------------------------------------------------------------------------------------ loss and gradient


class Moments(NamedTuple):
    """Log-weight of a set of paths and what it expects: the derivatives of that log-weight by the scores."""

    log_weight: Array  # (B,)
    unary: Array  # (N, L) expected label of each token
    transitions: Array  # (L, L) expected number of each transition


class LossGradient(NamedTuple):
    """Derivatives of the summed loss."""

    unary: Array  # (N, L)
    transitions: Array  # (L, L)
    start: Array  # (L,)
    end: Array  # (L,)


def loss_and_gradient(lattice: Lattice, gold: Any, costs: Array | None = None) -> tuple[Array, LossGradient]:
    """-log p(gold) of every sentence (B,), and the derivatives of their sum (A8, C3, C5).

    gold (N,) is one label per token, or (N, L) boolean the labels each token may have (partial annotation). The loss
    is log Z - log Z(gold), with Z(gold) summed over the paths that agree with the gold (one path: its score). Its
    derivative by any score is what the model expects minus what the gold expects: p(y_t = j) - 1[gold_t = j].

    costs (N, L), zero at gold labels, are added to the scores inside Z only: the model must then beat a wrong label by
    its cost (softmax-margin).
    """
    expected = _moments(lattice if costs is None else replace(lattice, unary=lattice.unary + costs))
    subtract = _subtract_sets if np.asarray(gold).dtype == np.bool_ else _subtract_path
    losses, dU, dA = subtract(expected, lattice, np.asarray(gold))
    # A start score is one more unary score of first tokens, an end score of last tokens.
    start, end = dU[lattice.first_tokens].sum(axis=0), dU[lattice.last_tokens].sum(axis=0)
    return losses, LossGradient(unary=dU, transitions=dA, start=start, end=end)


def _moments(lattice: Lattice) -> Moments:
    posterior = Posterior.of(lattice)
    return Moments(posterior.log_partition, posterior.marginals(), posterior.transition_counts())


def _subtract_sets(expected: Moments, lattice: Lattice, allowed: Array) -> Moments:
    agreeing = _moments(lattice.restricted(allowed))
    return Moments(*(ours - theirs for ours, theirs in zip(expected, agreeing, strict=True)))


def _subtract_path(expected: Moments, lattice: Lattice, labels: Array) -> Moments:
    scores, L = path_scores(lattice, labels), lattice.chain.labels
    if not np.isfinite(scores).all():
        raise _forbidden_gold(lattice, labels, int(np.flatnonzero(~np.isfinite(scores))[0]))
    dU = expected.unary  # made for this purpose: changed in place
    dU[np.arange(len(labels)), labels] -= 1
    steps = np.bincount(labels[lattice.pairs] * L + labels[lattice.pairs + 1], minlength=L * L)
    return Moments(expected.log_weight - scores, dU, expected.transitions - steps.reshape(L, L))


def _forbidden_gold(lattice: Lattice, y: Array, sentence: int) -> DataError:
    """The complaint about gold labels on an impossible path: names the first impossible step."""
    chain, rows = lattice.chain, lattice.offsets[sentence : sentence + 2]
    labels, unary = y[slice(*rows)], lattice.unary[slice(*rows)]
    steps = [(chain.start[labels[0]], f"label {labels[0]} at the start")]
    for t, label in enumerate(labels):
        if t:
            steps.append((chain.transitions[labels[t - 1], label], f"label {label} after {labels[t - 1]} at token {t}"))
        steps.append((unary[t, label], f"label {label} at token {t}"))
    steps.append((chain.end[labels[-1]], f"label {labels[-1]} at the end"))
    found = next(step for score, step in steps if score == -np.inf)
    return DataError(
        "gold labels on a forbidden path", expected="allowed steps", got=found, where=f"sentence {sentence}"
    )
