"""The CRF as an objective: its parameters, its loss as one node of the flow graph, its lattice for everything else."""

from collections.abc import Sequence
from typing import Any, final

import numpy as np

from postil.arrays import Array, Ragged, checked_indices, describe
from postil.errors import ConfigurationError, DtypeError, ShapeError
from postil.graph import Node, Parameter, Result
from postil.graph.node import check_node
from postil.objectives.crf import loss_and_gradient
from postil.objectives.lattice import ChainScores, Lattice, checked_mask, checked_scores

NORMALISATIONS = ("sentences", "tokens", "sum")
# Paths that the data choose: each is a row of the gradient list (gradients/requirements.py).
MODES = {
    "CRF": (
        "allowed labels",
        "three score tables",
        "scores far apart",
        "long sentences",
        "more labels than kernels take",
    )
}


@final
class CRF:
    """Sentence-level log-likelihood (A8, C3): scores of labels for tokens, learnt scores for what follows what.

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
        costs: Any = None,  # (L, L): what it costs to take the row's label for the column's; see label_costs
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
        self.costs = None if costs is None else _checked_costs(costs, labels)
        self.masks = {
            "allowed_transitions": allowed_transitions,
            "allowed_start": allowed_start,
            "allowed_end": allowed_end,
        }
        self.chain()  # complains about masks that do not fit

    def parameters(self) -> dict[str, Parameter]:
        return {"transitions": self.transitions, "start": self.start, "end": self.end}

    def chain(self) -> ChainScores:
        """The present scores under the masks."""
        values = {name: parameter.value for name, parameter in self.parameters().items()}
        return ChainScores.under_mask(self.labels, **values, **self.masks)

    def lattice(self, scores: Any, offsets: Any, *, allowed: Any = None, bias: Any = None) -> Lattice:
        """All paths of a batch under the present parameters.  scores (N, L), offsets (B + 1,)."""
        return Lattice.over(scores, offsets, self.chain(), allowed=allowed, bias=bias)

    def loss(self, scores: Node | Sequence[Node], gold: Any) -> Result:
        """A node with the normalised loss.

        scores: one node (N, L) that carries offsets, or three of them for the offsets of C2, see ``offset_scores``.
        gold: labels (N,), or (N, L) boolean the labels that each token may have (partial annotation); or ragged ones.
        """
        unary = scores if isinstance(scores, Node) else offset_scores(*_three(scores))
        targets = np.asarray(gold.data if isinstance(gold, Ragged) else gold)
        self._check_dtype(unary)
        lattice = self.lattice(unary.value, _needed_offsets(unary))
        costs = None if self.costs is None else annotation_costs(self.costs, targets)
        losses, gradient = loss_and_gradient(lattice, targets, costs)
        share = 1 / max(1, {"sentences": len(losses), "tokens": len(lattice.unary), "sum": 1}[self.normalise])

        def pullback(dY: Array) -> list[Array]:
            return [(part * (float(dY) * share)).astype(unary.dtype) for part in gradient]

        parents = (unary, self.transitions, self.start, self.end)
        return Result(np.asarray(losses.sum() * share, unary.dtype), parents, pullback, self.name, is_layer=True)

    def _check_dtype(self, unary: Node) -> None:
        if unary.dtype != self.transitions.dtype:
            expected, got = f"{self.transitions.dtype}, as the transitions", unary.dtype
            raise DtypeError("float types of scores and parameters differ", expected=expected, got=got, where=self.name)


# ------------------------------------------------------------------------------------------------ three offsets


def offset_scores(centre: Node, previous: Node, following: Node) -> Result:
    """Unary scores that also look one token to either side (C2), (N, L):

    U_k = centre_k + 1[k > 1] previous_k-1 + 1[k < K] following_k+1

    Each of the three comes from an output map of its own, on one network or on three. The gradient at U_k goes to each
    term as it is, and nowhere over the edges of a sentence (C5).
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


# ------------------------------------------------------------------------------------------------ costs


def label_costs(weights: Any) -> Array:
    """(L, L) costs from one weight per label: missing a label costs its weight, whatever was taken for it."""
    column = checked_scores(weights, (None,), where="label weights")[:, None]
    return _checked_costs(column * (1 - np.eye(len(column))), len(column))


def annotation_costs(costs: Array, gold: Array) -> Array:
    """(N, L) what each label costs at each token. Where several labels are allowed: the cheapest reading of them."""
    if gold.dtype != np.bool_:
        return costs[checked_indices(gold, len(costs), where="labels")]
    checked_mask(gold, (None, len(costs)), where="allowed labels")
    readings = np.where(gold[:, :, None], costs, np.inf).min(axis=1)
    return np.where(gold.any(axis=1, keepdims=True), readings, 0)  # a token that allows nothing is complained of later


def _checked_costs(costs: Any, labels: int) -> Array:
    table = checked_scores(costs, (labels, labels), where="costs")
    if (table < 0).any() or np.diag(table).any():
        raise ConfigurationError("costs", expected="0 for the right label, and never below", got=f"{table.min():g}")
    return table


def _needed_offsets(scores: Node) -> Array:
    if scores.offsets is None:
        expected = "a node that carries offsets"
        raise ShapeError("the scores are not cut into sentences", expected=expected, got="none", where="CRF")
    return scores.offsets
