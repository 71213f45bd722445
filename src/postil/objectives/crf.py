"""The linear-chain conditional random field (A8, A9, C2-C6), exact, on ragged batches.

A path y through a sentence of T tokens scores, and so has the probability,

    s(y) = start[y_1] + Σ_t unary[t, y_t] + Σ_t transitions[y_t, y_t+1] + end[y_T]
    p(y) = exp(s(y)) / Z,    Z = Σ_y exp(s(y))

From top to bottom: the lattice of all paths, score of a path, messages, partition and marginals, loss with gradient,
decoding (Viterbi, k best), and the objective with its parameters. ``spans.py`` goes on with entities, spans that must
not be entities and log-odds, ``long_chains.py`` with very long sentences.

Shapes: B sentences, N tokens in the batch, L labels, P pairs of neighbouring tokens.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self, final

import numpy as np

from postil import kernels
from postil.arrays import (
    Array,
    checked_finite,
    checked_floats,
    checked_indices,
    checked_offsets,
    describe,
    selected_rows,
)
from postil.errors import ConfigurationError, DataError, DtypeError, NumericalError, ShapeError
from postil.graph import Node, Parameter, Parameterised, Result
from postil.graph.node import check_node
from postil.kernels.plain_chain import (
    LOGARITHMIC,
    SCALED,
    Algebra,
    ChainMessages,
    Sentences,
    messages_in,
    sentence_groups,
)

# ------------------------------------------------------------------------------------------------ the lattice
# What is impossible scores -inf, which is probability 0 exactly. Masks, allowed sets and constraints all become -inf
# here, so no recursion ever asks what is allowed. Callers hand over finite scores and boolean masks.


# Sums over 100,000 tokens of such scores stay far from the end of float64; a larger one is a mistake upstream.
LARGEST_SCORE = 1e30


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class ChainScores:
    """The scores of a path apart from its tokens: float64, -inf where a step is impossible."""

    transitions: Array  # (L, L) from label i (row) to label j (column)
    start: Array  # (L,)
    end: Array  # (L,)

    @classmethod
    def under_mask(
        cls,
        labels: int,
        *,
        transitions: Any = None,
        start: Any = None,
        end: Any = None,
        allowed_transitions: Any = None,
        allowed_start: Any = None,
        allowed_end: Any = None,
    ) -> Self:
        """Scores, -inf outside the boolean masks. Missing scores are 0; a missing mask allows everything.

        A mask without scores is the chain of a softmax model: tokens are independent apart from the mask.
        """
        return cls(
            transitions=_masked("transitions", transitions, allowed_transitions, (labels, labels)),
            start=_masked("start", start, allowed_start, (labels,)),
            end=_masked("end", end, allowed_end, (labels,)),
        )

    @property
    def labels(self) -> int:
        return len(self.start)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Lattice:
    """A ragged batch of sentences on one chain: sentence b owns the tokens ``offsets[b]:offsets[b + 1]``."""

    unary: Array  # (N, L) float64, -inf where a token may not have a label
    offsets: Array  # (B + 1,)
    chain: ChainScores

    @classmethod
    def over(cls, unary: Any, offsets: Any, chain: ChainScores, *, allowed: Any = None, bias: Any = None) -> Self:
        """Validate a batch and build its lattice.

        unary (N, L) finite scores, float32 or float64; offsets (B + 1,); allowed (N, L) boolean: the labels that each
        token may have; bias (L,) is added to the scores of every token, to trade precision for recall.
        """
        scores = checked_scores(unary, (None, chain.labels), where="unary scores")
        if bias is not None:
            scores = scores + checked_scores(bias, (chain.labels,), where="label bias")
        lattice = cls(unary=scores, offsets=checked_offsets(offsets, rows=len(scores)), chain=chain)
        return lattice if allowed is None else lattice.restricted(allowed)

    def restricted(self, allowed: Any) -> Self:
        """Only the paths on which every token has an allowed label.  allowed (N, L) boolean."""
        mask = checked_mask(allowed, self.unary.shape, where="allowed labels")
        return replace(self, unary=np.where(mask, self.unary, -np.inf))

    def selected(self, sentences: Array) -> tuple[Self, Array]:
        """The lattice of some sentences, in the order given, and the rows (n,) of this lattice that it took."""
        offsets, tokens = selected_rows(self.offsets, sentences)
        return replace(self, unary=self.unary[tokens], offsets=offsets), tokens

    @cached_property
    def sentences(self) -> Sentences:
        return Sentences(self.offsets)

    @property
    def lengths(self) -> Array:
        """(B,) tokens in each sentence."""
        return self.sentences.lengths

    @cached_property
    def pairs(self) -> Array:
        """(P,) every token that is followed by another one of its sentence."""
        followed = np.ones(len(self.unary), bool)
        followed[self.sentences.last] = False
        return np.flatnonzero(followed)

    def groups(self) -> Iterator[tuple[Self, slice, slice]]:
        """The batch in groups small enough for an (L, L) table per sentence, each with its sentences and its tokens."""
        for sentences, tokens in sentence_groups(self.offsets, self.chain.labels):
            offsets = self.offsets[sentences.start : sentences.stop + 1] - tokens.start
            yield replace(self, unary=self.unary[tokens], offsets=offsets), sentences, tokens


def checked_scores(scores: Any, shape: tuple[int | None, ...], where: str) -> Array:
    """Finite scores of the given shape (None: any size) as float64."""
    array = checked_floats(scores, where=where)
    _check_shape(array, shape, where)
    wide = array.astype(np.float64)
    if not np.vdot(wide, wide) <= LARGEST_SCORE**2:  # one pass; false for NaN as well
        checked_finite(wide, where=where)
        largest = np.abs(wide).max()
        if largest > LARGEST_SCORE:
            limit = f"at most {LARGEST_SCORE:g}"
            raise NumericalError("a score is too large", expected=limit, got=f"{largest:.3g}", where=where)
    return wide


def checked_mask(mask: Any, shape: tuple[int | None, ...], where: str) -> Array:
    """A boolean array of the given shape."""
    array = np.asarray(mask)
    if array.dtype != np.bool_:
        raise DtypeError("wrong element type", expected="bool", got=describe(array), where=where)
    _check_shape(array, shape, where)
    return array


def _masked(what: str, scores: Any, allowed: Any, shape: tuple[int, ...]) -> Array:
    table = np.zeros(shape) if scores is None else checked_scores(scores, shape, where=f"{what} scores")
    return table if allowed is None else np.where(checked_mask(allowed, shape, where=f"allowed {what}"), table, -np.inf)


def _check_shape(array: Array, shape: tuple[int | None, ...], where: str) -> None:
    if array.ndim != len(shape) or any(n not in (None, m) for n, m in zip(shape, array.shape, strict=True)):
        expected = str(shape).replace("None", "N")
        raise ShapeError("wrong shape", expected=expected, got=array.shape, where=where)


# ------------------------------------------------------------------------------------------------ score of a path


def path_scores(lattice: Lattice, labels: Any) -> Array:
    """s(y) of one labelling per sentence: labels (N,) -> (B,); -inf where it takes an impossible step."""
    y = checked_indices(labels, lattice.chain.labels, where="labels")
    if y.shape != lattice.unary.shape[:1]:
        raise ShapeError("one label per token", expected=lattice.unary.shape[:1], got=y.shape, where="labels")
    chain, first, last = lattice.chain, lattice.sentences.first, lattice.sentences.last
    arriving = np.empty(len(y))  # (N,) the score of coming to each token
    arriving[1:] = chain.transitions[y[:-1], y[1:]]
    arriving[first] = chain.start[y[first]]  # also undoes the steps between sentences
    scores = arriving + lattice.unary[np.arange(len(y)), y]
    scores[last] += chain.end[y[last]]
    return lattice.sentences.sums(scores)


def log_probabilities(lattice: Lattice, labels: Any) -> Array:
    """log p(y) of one labelling per sentence: labels (N,) -> (B,)."""
    return path_scores(lattice, labels) - Posterior.of(lattice).log_partition


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
        return np.asarray(self.algebra.over(self.chain.prefix, self.chain.weight))

    def marginals(self) -> Array:
        """(N, L) p(y_t = j) = α_t(j) β_t(j) / Z (C4)."""
        return self.algebra.probability(self.algebra.times(self.share, self.chain.following))

    def pairwise_marginals(self) -> Array:
        """(N, L, L) p(y_t-1 = i, y_t = j) = α_t-1(i) E_ij ψ_t(j) β_t(j) / Z in row t; 0 where t begins a sentence."""
        N, L = self.chain.prefix.shape
        joint = np.zeros((N, L, L))
        edges = self.algebra.times(self.share[:-1, :, None], self.chain.transitions)
        joint[1:] = self.algebra.probability(self.algebra.times(edges, self.chain.arriving[1:, None, :]))
        return joint

    def transition_counts(self) -> Array:
        """(L, L) the expected number of each transition in the batch: the sum of the pairwise marginals."""
        return self.algebra.pair_sum(self.share[:-1], self.chain.transitions, self.chain.arriving[1:])

    def expected_step_scores(self) -> Array:
        """(N,) the expected score of the transition to each token; 0 for the first token of a sentence."""
        scores, table = np.zeros(len(self.chain.prefix)), _possible(self.lattice.chain.transitions)
        if self.algebra is LOGARITHMIC:
            return np.asarray(np.einsum("nij,ij->n", self.pairwise_marginals(), table))
        steps = self.share[:-1] @ (self.chain.transitions * table)
        scores[1:] = np.einsum("nj,nj->n", steps, self.chain.arriving[1:])
        return scores


def _possible(scores: Array) -> Array:
    """The scores with 0 in place of -inf: no path has what is impossible, and 0 times -inf would be no number."""
    return np.where(scores > -np.inf, scores, 0.0)


def forward_backward(lattice: Lattice, algebra: Algebra) -> Messages:
    """Run both recursions over all sentences."""
    arguments = _arguments(lattice)
    chain = kernels.chain_messages(*arguments) if algebra is SCALED else messages_in(algebra, *arguments)
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
        if len(self.parts) == 1:
            return self.parts[0].messages.chain.log_partition
        whole = np.empty(len(self.lattice.lengths))
        for part in self.parts:
            whole[part.sentences] = part.messages.chain.log_partition
        return whole

    def marginals(self) -> Array:
        """(N, L) p(y_t = j) (C4)."""
        return self._of_tokens(Messages.marginals, self.lattice.chain.labels)

    def pairwise_marginals(self) -> Array:
        """(N, L, L) p(y_t-1 = i, y_t = j) in row t; 0 where t begins a sentence."""
        return self._of_tokens(Messages.pairwise_marginals, self.lattice.chain.labels, self.lattice.chain.labels)

    def transition_counts(self) -> Array:
        """(L, L) the expected number of each transition in the batch."""
        return np.asarray(np.sum([part.messages.transition_counts() for part in self.parts], axis=0))

    def entropy(self) -> Array:
        """(B,) the entropy of each sentence's labelling, in nats: -Σ_y p(y) log p(y) = log Z - Σ_y p(y) s(y).

        The expected score of a path is a sum over its scores, each times its marginal: no path is enumerated.
        """
        lattice, chain, marginals = self.lattice, self.lattice.chain, self.marginals()
        first, last = lattice.sentences.first, lattice.sentences.last
        scores = self._of_tokens(Messages.expected_step_scores)
        scores += np.einsum("nl,nl->n", marginals, _possible(lattice.unary))
        scores[first] += marginals[first] @ _possible(chain.start)
        scores[last] += marginals[last] @ _possible(chain.end)
        # The difference of two large numbers: rounding may leave less than nothing.
        return np.asarray(np.maximum(self.log_partition - lattice.sentences.sums(scores), 0.0))

    def _of_tokens(self, answer: Callable[[Messages], Array], *shape: int) -> Array:
        """(N, …) the answers of all parts, each at its tokens."""
        if len(self.parts) == 1:
            return answer(self.parts[0].messages)
        whole = np.empty((len(self.lattice.unary), *shape))
        for part in self.parts:
            whole[part.tokens] = answer(part.messages)
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
    what, expected = "no labelling is possible", "a path that the mask and the allowed labels leave open"
    return ConfigurationError(what, expected=expected, got="all paths forbidden", where=f"sentence {sentence}")


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
    log_z, dU, dA = expected_counts(lattice)
    y, L = np.asarray(gold), lattice.chain.labels
    if y.dtype == np.bool_:
        log_gold, of_tokens, of_steps = expected_counts(lattice.restricted(y))
        return log_z - log_gold, _gradient(lattice, dU - of_tokens, dA - of_steps)
    scores = path_scores(lattice, y)
    if not np.isfinite(scores).all():
        raise _forbidden_gold(lattice, y, int(np.flatnonzero(~np.isfinite(scores))[0]))
    dU[np.arange(len(y)), y] -= 1  # nobody else holds it: changed in place
    steps = np.bincount(y[lattice.pairs] * L + y[lattice.pairs + 1], minlength=L * L)
    return log_z - scores, _gradient(lattice, dU, dA - steps.reshape(L, L))


def _gradient(lattice: Lattice, dU: Array, dA: Array) -> LossGradient:
    """A start score is one more unary score of first tokens, an end score of last tokens."""
    start, end = dU[lattice.sentences.first].sum(axis=0), dU[lattice.sentences.last].sum(axis=0)
    return LossGradient(unary=dU, transitions=dA, start=start, end=end)


def cross_entropy_and_gradient(lattice: Lattice, teacher: Lattice | Moments) -> tuple[float, LossGradient]:
    """-Σ_y q(y) log p(y), summed over the sentences, and its derivatives: q is the posterior of a teacher's lattice.

    Nothing but the expected counts of q is needed, which may be given instead of a lattice.

    Σ_y q(y) s(y) is a sum over the scores, each times how often q expects it. So the loss is log Z minus that sum, and
    its derivative by any score what the model expects minus what the teacher expects: p(y_t = j) - q(y_t = j).
    A teacher sure of one path is a gold labelling.
    """
    ours = expected_counts(lattice)
    theirs = expected_counts(teacher) if isinstance(teacher, Lattice) else teacher
    first, last, chain = lattice.sentences.first, lattice.sentences.last, lattice.chain
    starts, ends = theirs.unary[first].sum(axis=0), theirs.unary[last].sum(axis=0)
    counted = [(theirs.unary, lattice.unary), (theirs.transitions, chain.transitions)]
    counted += [(starts, chain.start), (ends, chain.end)]
    score = sum(float((counts * np.where(counts > 0, scores, 0.0)).sum()) for counts, scores in counted)
    gradient = _gradient(lattice, ours.unary - theirs.unary, ours.transitions - theirs.transitions)
    return float(ours.log_weight.sum()) - score, gradient


def expected_counts(lattice: Lattice) -> Moments:
    """The expected counts of labels and transitions under the posterior of a lattice."""
    log_weight, marginals, counts, exact = kernels.chain_moments(*_arguments(lattice))
    if not exact.all():
        for part in _solved(lattice, ~exact, LOGARITHMIC):
            log_weight[part.sentences] = part.messages.chain.log_partition
            marginals[part.tokens] = part.messages.marginals()
            counts += part.messages.transition_counts()
        check_possible(log_weight)
    return Moments(log_weight, marginals, counts)


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
    what, where = "gold labels on a forbidden path", f"sentence {sentence}"
    return DataError(what, expected="allowed steps", got=impossible, where=where)


# ------------------------------------------------------------------------------------------------ the best labelling


def viterbi(lattice: Lattice) -> Array:
    """The best labelling of every sentence, (N,) (A9). Ties go to the lower label, starting from the last token.

    δ_1(j) = start_j + u_1(j),   δ_t(j) = u_t(j) + max_i (δ_t-1(i) + A_ij):   the best beginning that ends in j.
    No pointers are stored: on the way back, y_t = argmax_i (δ_t(i) + A_i,y_t+1) is computed for the best path only.
    """
    labels, scores = best_paths(lattice)
    check_possible(scores)
    return labels


def best_paths(lattice: Lattice) -> tuple[Array, Array]:
    """Viterbi's labels (N,) and scores (B,); the labels mean nothing if the score is -inf."""
    labels, scores = kernels.viterbi(*_arguments(lattice))
    return labels, scores


# ------------------------------------------------------------------------------------------------ the k best labellings


class RankedPath(NamedTuple):
    """One labelling of a sentence."""

    labels: Array  # (T,)
    score: float
    probability: float


def k_best(lattice: Lattice, k: int) -> list[list[RankedPath]]:
    """The k best labellings of every sentence, best first, with their exact probabilities; fewer if there are fewer.

    δ_t(j, r) is the r-th best beginning that ends in j. It is one of δ_t-1(i, ·) extended by A_ij + u_t(j), and each
    source i offers its own beginnings, best first. So the best offer is picked k times, and its source offers the next.
    """
    if not isinstance(k, int | np.integer) or k < 1:
        raise ConfigurationError("number of labellings", expected="a whole number, 1 or more", got=k)
    log_z = Posterior.of(lattice).log_partition
    ranked: list[list[RankedPath]] = []
    paths, scores = kernels.ranked_paths(*_arguments(lattice), k)
    for b, log_total in enumerate(log_z):
        possible = scores[b][scores[b] > -np.inf]
        probabilities = np.exp(np.minimum(possible - log_total, 0))
        columns = paths[lattice.offsets[b] : lattice.offsets[b + 1]].T  # (k, T)
        rows = zip(columns, possible.tolist(), probabilities.tolist(), strict=False)
        ranked.append([RankedPath(*row) for row in rows])
    return ranked


# ------------------------------------------------------------------------------------------------ the objective
# Parameters, the loss as one node of the flow graph, and the lattice for everything else.


# Paths that the data choose: each is a row of the gradient list (tests/oracles/requirements.py).
_OF_GOLD = ("allowed labels", "a teacher's lattice", "a teacher's expected counts")
_OF_SCORES = ("scores far apart", "long sentences", "more labels than kernels take")
MODES = {"CRF": _OF_GOLD + _OF_SCORES}


@final
class CRF(Parameterised):
    """Sentence-level log-likelihood (A8, C3): scores of labels for tokens, and learned transition scores.

        crf = CRF(17, allowed_transitions=mask)
        loss = crf.loss(scores, gold)                            a node: the mean over the sentences
        labels = viterbi(crf.lattice(scores.value, offsets))     and so marginals, k best, spans

    Masked steps are impossible, in training and in decoding; their parameters are never read and get gradient 0.
    """

    name = "CRF"

    def __init__(
        self,
        labels: int,
        *,
        allowed_transitions: Any = None,  # (L, L) boolean, from row to column
        allowed_start: Any = None,  # (L,)
        allowed_end: Any = None,  # (L,)
        dtype: Any = np.float32,
    ) -> None:
        if labels < 1:
            raise ConfigurationError("number of labels", expected="1 or more", got=labels)
        self.labels = labels
        # Zeros: nothing distinguishes the transitions before learning, and nothing has to.
        self.transitions = Parameter(np.zeros((labels, labels), dtype), "transitions")
        self.start = Parameter(np.zeros(labels, dtype), "start")
        self.end = Parameter(np.zeros(labels, dtype), "end")
        self.masks = {"allowed_transitions": allowed_transitions, "allowed_start": allowed_start}
        self.masks["allowed_end"] = allowed_end
        self.chain()  # an error if a mask does not fit

    def chain(self) -> ChainScores:
        """The current scores under the masks."""
        scores = {"transitions": self.transitions.value, "start": self.start.value, "end": self.end.value}
        return ChainScores.under_mask(self.labels, **scores, **self.masks)

    def lattice(self, scores: Any, offsets: Any) -> Lattice:
        """All paths of a batch under the current parameters.  scores (N, L), offsets (B + 1,)."""
        return Lattice.over(scores, offsets, self.chain())

    def loss(self, unary: Node, gold: Any) -> Result:
        """A node with the mean over the sentences.  unary (N, L), a node that carries offsets: see ``offset_scores``.

        gold: labels (N,), or (N, L) boolean the labels that each token may have (partial annotation); or the lattice of
        a teacher, whose posterior is learned, or the expected counts of one.
        """
        check_node(unary, "scores of a CRF")
        if unary.dtype != self.transitions.dtype:
            expected, got = f"{self.transitions.dtype}, as the transitions", unary.dtype
            raise DtypeError("float types of scores and parameters differ", expected=expected, got=got, where=self.name)
        lattice = self.lattice(unary.value, _needed_offsets(unary))
        if isinstance(gold, Lattice | Moments):
            total, gradient = cross_entropy_and_gradient(lattice, gold)
        else:
            losses, gradient = loss_and_gradient(lattice, gold)
            total = losses.sum()
        share = 1 / max(1, len(lattice.lengths))

        def pullback(dY: Array) -> list[Array]:
            return [(part * (float(dY) * share)).astype(unary.dtype) for part in gradient]

        parents = (unary, self.transitions, self.start, self.end)
        return Result(np.asarray(total * share, unary.dtype), parents, pullback, self.name, is_layer=True)


# ---------------------------------------------------------------------------------------------- scores at three offsets


def offset_scores(centre: Node, previous: Node, following: Node) -> Result:
    """Unary scores that also look one token to either side (C2), (N, L):

    U_k = centre_k + 1[k > 1] previous_k-1 + 1[k < K] following_k+1

    Each of the three comes from its own output layer, on one network or on three. The gradient at U_k is passed to each
    term unchanged, and never across the edges of a sentence (C5).
    """
    nodes = (centre, previous, following)
    for node in nodes:
        check_node(node, "score table")
    offsets = _needed_offsets(centre)
    if centre.ndim != 2 or any((node.shape, node.dtype) != (centre.shape, centre.dtype) for node in nodes):
        got = ", ".join(describe(node.value) for node in nodes)
        raise ShapeError("three score tables", expected="one shape (N, L) and type", got=got, where="offset scores")
    U = centre.value + _moved(previous.value, 1, offsets) + _moved(following.value, -1, offsets)

    def pullback(dU: Array) -> list[Array]:
        return [dU, _moved(dU, -1, offsets), _moved(dU, 1, offsets)]

    return Result(U, (centre, previous, following), pullback, "offset scores", offsets=offsets)


def _moved(rows: Array, by: int, offsets: Array) -> Array:
    """Row k of the result is row k - by; zero where that is not in the sentence: at its first or its last token."""
    moved, filled = np.roll(rows, by, axis=0), np.diff(offsets) > 0
    moved[offsets[:-1][filled] if by > 0 else offsets[1:][filled] - 1] = 0
    return moved


def _needed_offsets(scores: Node) -> Array:
    if scores.offsets is None:
        expected = "a node that carries offsets"
        raise ShapeError("the scores are not cut into sentences", expected=expected, got="none", where="CRF")
    return scores.offsets
