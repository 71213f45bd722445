"""The linear-chain conditional random field (A8, A9, C2-C6), exact, on ragged batches.

From top to bottom: score of a path, messages, partition and marginals, loss with gradient. Then go on with
``crf_decoding.py`` (Viterbi, k best), ``crf_spans.py`` (spans), ``crf_forbidden.py`` (spans that must not be) and
``crf_objective.py`` (parameters and nodes). All of them read the lattice of ``lattice.py``, in which every path y has a
score s(y) and so a probability

    p(y) = exp(s(y)) / Z,    Z = Σ_y exp(s(y))

Shapes: B sentences, N tokens in the batch, L labels, P pairs of neighbouring tokens.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np

from postil import kernels
from postil.arrays import Array, checked_indices
from postil.errors import ConfigurationError, DataError, ShapeError
from postil.kernels.forward_backward import LOGARITHMIC, SCALED, Algebra, ChainMessages, chain_messages
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


# ------------------------------------------------------------------------------------------------ messages


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Messages:
    """The messages of forward-backward on a lattice, and the algebra in which their numbers are."""

    algebra: Algebra
    lattice: Lattice
    chain: ChainMessages

    @cached_property
    def share(self) -> Array:
        """(N, L) α_t / Z, in the units of following_t."""
        share: Array = self.algebra.over(self.chain.prefix, self.chain.weight)
        return share


def forward_backward(lattice: Lattice, algebra: Algebra) -> Messages:
    """Run both recursions over all sentences."""
    arguments = _arguments(lattice)
    chain = kernels.chain_messages(*arguments) if algebra is SCALED else chain_messages(algebra, *arguments)
    return Messages(algebra=algebra, lattice=lattice, chain=chain)


def _arguments(lattice: Lattice) -> tuple[Array, Array, Array, Array, Array]:
    """A lattice as kernels take it."""
    chain = lattice.chain
    return lattice.unary, lattice.offsets, chain.transitions, chain.start, chain.end


# ------------------------------------------------------------------------------------------------ partition, marginals


class Part(NamedTuple):
    """Sentences solved in one batch, and their tokens as rows of the whole lattice."""

    sentences: Array
    tokens: Array
    messages: Messages


@final
@dataclass(frozen=True, eq=False)
class Posterior:
    """The posterior p(y) of every sentence of a lattice."""

    lattice: Lattice
    parts: tuple[Part, ...]

    @classmethod
    def of(cls, lattice: Lattice) -> "Posterior":
        """Run forward-backward: scaled, and in log space for sentences that may have underflowed."""
        scaled = forward_backward(lattice, SCALED)
        exact = scaled.chain.is_exact
        if exact.all():
            return cls(lattice, (Part(np.arange(len(exact)), np.arange(len(lattice.unary)), scaled),))
        posterior = cls(lattice, (*_solved(lattice, exact, SCALED), *_solved(lattice, ~exact, LOGARITHMIC)))
        check_possible(posterior.log_partition)
        return posterior

    @property
    def log_partition(self) -> Array:
        """(B,) log Z."""
        shape = (len(self.lattice.lengths),)
        return self._gathered(shape, lambda part: (part.sentences, part.messages.chain.log_partition))

    def marginals(self) -> Array:
        """(N, L) p(y_t = j) = α_t(j) β_t(j) / Z (C4)."""
        return self._gathered(self.lattice.unary.shape, lambda part: (part.tokens, _marginals(part.messages)))

    def pairwise_marginals(self) -> Array:
        """(N, L, L) p(y_t-1 = i, y_t = j) = α_t-1(i) E_ij ψ_t(j) β_t(j) / Z in row t; 0 where t begins a sentence."""
        N, L = self.lattice.unary.shape
        return self._gathered((N, L, L), lambda part: (part.tokens, _pairwise_marginals(part.messages)))

    def transition_counts(self) -> Array:
        """(L, L) the expected number of each transition in the batch: the sum of the pairwise marginals."""
        counts: Array = np.sum([_transition_counts(part.messages) for part in self.parts], axis=0)
        return counts

    def entropy(self) -> Array:
        """(B,) the entropy of each sentence's labelling, in nats: -Σ_y p(y) log p(y) = log Z - Σ_y p(y) s(y).

        The expected score of a path is a sum over its scores, each times its marginal: no path is enumerated.
        """
        lattice, chain, marginals = self.lattice, self.lattice.chain, self.marginals()
        first, last = lattice.first_tokens, lattice.last_tokens
        scores = self._gathered((len(marginals),), lambda part: (part.tokens, _expected_step_scores(part.messages)))
        scores += np.einsum("nl,nl->n", marginals, _possible(lattice.unary))
        scores[first] += marginals[first] @ _possible(chain.start)
        scores[last] += marginals[last] @ _possible(chain.end)
        # The difference of two large numbers: rounding may leave less than nothing.
        return np.asarray(np.maximum(self.log_partition - lattice.sentence_sums(scores), 0.0))

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
    """An error about the first sentence whose best or total log-score (B,) says that it has no possible path."""
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
    return m.algebra.probability(m.algebra.times(m.share, m.chain.following))


def _pairwise_marginals(m: Messages) -> Array:
    N, L = m.chain.prefix.shape
    joint = np.zeros((N, L, L))
    edges = m.algebra.times(m.share[:-1, :, None], m.chain.transitions)
    joint[1:] = m.algebra.probability(m.algebra.times(edges, m.chain.arriving[1:, None, :]))
    return joint


def _expected_step_scores(m: Messages) -> Array:
    """(N,) the expected score of the transition to each token; 0 for the first token of a sentence."""
    scores, table = np.zeros(len(m.chain.prefix)), _possible(m.lattice.chain.transitions)
    if m.algebra is LOGARITHMIC:
        return np.asarray(np.einsum("nij,ij->n", _pairwise_marginals(m), table))
    scores[1:] = np.einsum("nj,nj->n", m.share[:-1] @ (m.chain.transitions * table), m.chain.arriving[1:])
    return scores


def _possible(scores: Array) -> Array:
    """The scores with 0 in place of -inf: no path has what is impossible, and 0 times -inf would be no number."""
    return np.where(scores > -np.inf, scores, 0.0)


def _transition_counts(m: Messages) -> Array:
    return m.algebra.pair_sum(m.share[:-1], m.chain.transitions, m.chain.arriving[1:])


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


def loss_and_gradient(lattice: Lattice, gold: Any) -> tuple[Array, LossGradient]:
    """-log p(gold) of every sentence (B,), and the derivatives of their sum (A8, C3, C5).

    gold (N,) is one label per token, or (N, L) boolean the labels each token may have (partial annotation). The loss is
    log Z - log Z(gold), with Z(gold) summed over the paths consistent with the gold labels (for one path, its score).
    Its derivative by any score is what the model expects minus what the gold expects: p(y_t = j) - 1[gold_t = j].
    """
    expected = expected_counts(lattice)
    subtract = _subtract_sets if np.asarray(gold).dtype == np.bool_ else _subtract_path
    losses, dU, dA = subtract(expected, lattice, np.asarray(gold))
    # A start score is one more unary score of first tokens, an end score of last tokens.
    start, end = dU[lattice.first_tokens].sum(axis=0), dU[lattice.last_tokens].sum(axis=0)
    return losses, LossGradient(unary=dU, transitions=dA, start=start, end=end)


def cross_entropy_and_gradient(lattice: Lattice, teacher: Lattice) -> tuple[float, LossGradient]:
    """-Σ_y q(y) log p(y), summed over the sentences, and its derivatives: q is the posterior of a teacher's lattice.

    Σ_y q(y) s(y) is a sum over the scores, each times how often q expects it. So the loss is log Z minus that sum, and
    its derivative by any score what the model expects minus what the teacher expects: p(y_t = j) - q(y_t = j).
    A teacher sure of one path is a gold labelling.
    """
    ours, theirs = expected_counts(lattice), expected_counts(teacher)
    first, last, chain = lattice.first_tokens, lattice.last_tokens, lattice.chain
    starts, ends = theirs.unary[first].sum(axis=0), theirs.unary[last].sum(axis=0)
    counted = [(theirs.unary, lattice.unary), (theirs.transitions, chain.transitions)]
    counted += [(starts, chain.start), (ends, chain.end)]
    score = sum(float((counts * np.where(counts > 0, scores, 0.0)).sum()) for counts, scores in counted)
    dU, dA = ours.unary - theirs.unary, ours.transitions - theirs.transitions
    gradient = LossGradient(unary=dU, transitions=dA, start=dU[first].sum(axis=0), end=dU[last].sum(axis=0))
    return float(ours.log_weight.sum()) - score, gradient


def expected_counts(lattice: Lattice) -> Moments:
    """What the posterior of a lattice expects: labels of tokens, and transitions."""
    log_weight, marginals, counts, exact = kernels.chain_moments(*_arguments(lattice))
    if not exact.all():
        for part in _solved(lattice, ~exact, LOGARITHMIC):
            log_weight[part.sentences] = part.messages.chain.log_partition
            marginals[part.tokens] = _marginals(part.messages)
            counts += _transition_counts(part.messages)
        check_possible(log_weight)
    return Moments(log_weight, marginals, counts)


def _subtract_sets(expected: Moments, lattice: Lattice, allowed: Array) -> Moments:
    agreeing = expected_counts(lattice.restricted(allowed))
    return Moments(*(ours - theirs for ours, theirs in zip(expected, agreeing, strict=True)))


def _subtract_path(expected: Moments, lattice: Lattice, labels: Array) -> Moments:
    scores, L = path_scores(lattice, labels), lattice.chain.labels
    if not np.isfinite(scores).all():
        raise _forbidden_gold(lattice, labels, int(np.flatnonzero(~np.isfinite(scores))[0]))
    dU = expected.unary  # nobody else holds it: changed in place
    dU[np.arange(len(labels)), labels] -= 1
    steps = np.bincount(labels[lattice.pairs] * L + labels[lattice.pairs + 1], minlength=L * L)
    return Moments(expected.log_weight - scores, dU, expected.transitions - steps.reshape(L, L))


def _forbidden_gold(lattice: Lattice, y: Array, sentence: int) -> DataError:
    """The error about gold labels on an impossible path: it names the first impossible step."""
    chain, rows = lattice.chain, lattice.offsets[sentence : sentence + 2]
    labels, unary = y[slice(*rows)], lattice.unary[slice(*rows)]
    steps = [(chain.start[labels[0]], f"label {labels[0]} at the start")]
    for t, label in enumerate(labels):
        if t:
            steps.append((chain.transitions[labels[t - 1], label], f"label {label} after {labels[t - 1]} at token {t}"))
        steps.append((unary[t, label], f"label {label} at token {t}"))
    steps.append((chain.end[labels[-1]], f"label {labels[-1]} at the end"))
    impossible = next(step for score, step in steps if score == -np.inf)
    return DataError(
        "gold labels on a forbidden path", expected="allowed steps", got=impossible, where=f"sentence {sentence}"
    )
