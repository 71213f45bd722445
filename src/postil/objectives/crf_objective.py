"""The CRF as an objective: its parameters, its loss as one node of the flow graph, its lattice for everything else."""

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from postil.arrays import Array, Ragged, describe
from postil.errors import ConfigurationError, DtypeError, ShapeError
from postil.graph import Node, Parameter, Parameterised, Result
from postil.graph.node import check_node
from postil.objectives.crf import LossGradient, cross_entropy_and_gradient, loss_and_gradient
from postil.objectives.lattice import ChainScores, Lattice

NORMALISATIONS = ("sentences", "tokens", "sum")
# Paths that the data choose: each is a row of the gradient list (gradients/requirements.py).
MODES = {
    "CRF": (
        "allowed labels",
        "a teacher's lattice",
        "three score tables",
        "scores far apart",
        "long sentences",
        "more labels than kernels take",
    )
}


@final
class CRF(Parameterised):
    """Sentence-level log-likelihood (A8, C3): scores of labels for tokens, and learnt transition scores.

        crf = CRF(17, allowed_transitions=mask)
        loss = crf.loss(scores, gold)                            a node: the mean over the sentences
        labels = viterbi(crf.lattice(scores.value, offsets))     and so marginals, k best, spans

    What the masks forbid is impossible, in training and in decoding; its parameter is never read and gets gradient 0.
    """

    name = "CRF"

    def __init__(
        self,
        labels: int,
        *,
        allowed_transitions: Any = None,  # (L, L) boolean, from row to column
        allowed_start: Any = None,  # (L,)
        allowed_end: Any = None,  # (L,)
        normalise: str = "sentences",
        dtype: Any = np.float32,
    ) -> None:
        if labels < 1:
            raise ConfigurationError("number of labels", expected="1 or more", got=labels)
        if normalise not in NORMALISATIONS:
            raise ConfigurationError("normalise", expected=" or ".join(NORMALISATIONS), got=repr(normalise))
        self.labels, self.normalise = labels, normalise
        # Zeros: nothing distinguishes the transitions before learning, and nothing has to.
        self.transitions = Parameter(np.zeros((labels, labels), dtype), "transitions")
        self.start = Parameter(np.zeros(labels, dtype), "start")
        self.end = Parameter(np.zeros(labels, dtype), "end")
        self.masks = {
            "allowed_transitions": allowed_transitions,
            "allowed_start": allowed_start,
            "allowed_end": allowed_end,
        }
        self.chain()  # an error where a mask does not fit

    def chain(self) -> ChainScores:
        """The current scores under the masks."""
        return ChainScores.under_mask(
            self.labels,
            transitions=self.transitions.value,
            start=self.start.value,
            end=self.end.value,
            **self.masks,
        )

    def lattice(self, scores: Any, offsets: Any, *, allowed: Any = None, bias: Any = None) -> Lattice:
        """All paths of a batch under the current parameters.  scores (N, L), offsets (B + 1,)."""
        return Lattice.over(scores, offsets, self.chain(), allowed=allowed, bias=bias)

    def loss(self, scores: Node | Sequence[Node], gold: Any) -> Result:
        """A node with the normalised loss.

        scores: one node (N, L) that carries offsets, or three of them for the offsets of C2, see ``offset_scores``.
        gold: labels (N,), or (N, L) boolean the labels that each token may have (partial annotation); or ragged ones;
        or the lattice of a teacher, whose posterior is learnt.
        """
        unary = scores if isinstance(scores, Node) else offset_scores(*_three(scores))
        self._check_dtype(unary)
        lattice = self.lattice(unary.value, _needed_offsets(unary))
        total, gradient = _total_and_gradient(lattice, gold)
        share = 1 / max(1, {"sentences": len(lattice.lengths), "tokens": len(lattice.unary), "sum": 1}[self.normalise])

        def pullback(dY: Array) -> list[Array]:
            return [(part * (float(dY) * share)).astype(unary.dtype) for part in gradient]

        parents = (unary, self.transitions, self.start, self.end)
        return Result(np.asarray(total * share, unary.dtype), parents, pullback, self.name, is_layer=True)

    def _check_dtype(self, unary: Node) -> None:
        if unary.dtype != self.transitions.dtype:
            expected, got = f"{self.transitions.dtype}, as the transitions", unary.dtype
            raise DtypeError("float types of scores and parameters differ", expected=expected, got=got, where=self.name)


def _total_and_gradient(lattice: Lattice, gold: Any) -> tuple[float, LossGradient]:
    if isinstance(gold, Lattice):
        return cross_entropy_and_gradient(lattice, gold)
    losses, gradient = loss_and_gradient(lattice, np.asarray(gold.data if isinstance(gold, Ragged) else gold))
    return losses.sum(), gradient


# ------------------------------------------------------------------------------------------------ three offsets


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
    U = summed_offsets([node.value for node in nodes], offsets)

    def pullback(dU: Array) -> list[Array]:
        first, last = _edges(offsets)
        return [dU, _moved(dU, -1, last), _moved(dU, 1, first)]

    return Result(U, (centre, previous, following), pullback, "offset scores", offsets=offsets)


def summed_offsets(tables: Sequence[Array], offsets: Array) -> Array:
    """The sum of ``offset_scores`` on plain arrays: centre, previous and following, (N, L) each."""
    centre, previous, following = tables
    first, last = _edges(offsets)
    summed: Array = centre + _moved(previous, 1, first) + _moved(following, -1, last)
    return summed


def _edges(offsets: Array) -> tuple[Array, Array]:
    """The first and the last token of every sentence that has one."""
    filled = np.diff(offsets) > 0
    return offsets[:-1][filled], offsets[1:][filled] - 1


def _three(scores: Sequence[Node]) -> Sequence[Node]:
    if len(scores) != 3:
        raise ShapeError("score tables", expected="one node, or three for the offsets 0, -1, +1", got=len(scores))
    return scores


def _moved(rows: Array, by: int, edges: Array) -> Array:
    """Row k of the result is row k - by; zero at the edges, where that row is none of the sentence."""
    moved = np.roll(rows, by, axis=0)
    moved[edges] = 0
    return moved


def _needed_offsets(scores: Node) -> Array:
    if scores.offsets is None:
        expected = "a node that carries offsets"
        raise ShapeError("the scores are not cut into sentences", expected=expected, got="none", where="CRF")
    return scores.offsets
