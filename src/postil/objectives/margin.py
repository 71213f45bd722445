"""The max-margin objective (B2, E4): a true window must score higher than a corrupt one, by a margin."""

import numpy as np

from postil.arrays import Array, checked_finite
from postil.errors import ConfigurationError, DtypeError, ShapeError
from postil.graph import Node, Result
from postil.graph.kinks import note_branches
from postil.graph.node import check_node

NORMALISATIONS = ("mean", "sum")


def hinge_and_gradients(true: Array, corrupt: Array, margin: float, mean: bool) -> tuple[float, Array, Array]:
    """J = Σ max(0, Δ + s_c - s) over all pairs, or its mean.  true (P,), corrupt (P, C): C corrupt scores each.

    A pair with cost 0 sends no gradient; one with a positive cost sends -1 to s and +1 to s_c.
    """
    costs = margin + corrupt - true[:, None]
    violated = costs > 0
    note_branches(violated)
    scale = costs.dtype.type(1 / max(costs.size, 1) if mean else 1)
    dcorrupt = violated * scale
    loss = float(costs[violated].sum(dtype=np.float64) * scale)
    return loss, -dcorrupt.sum(axis=1), dcorrupt


def max_margin(true: Node, corrupt: Node, *, margin: float = 1.0, normalise: str = "mean") -> Result:
    """A node with the mean hinge over the pairs (E4 prints their sum: ``normalise="sum"``).

    ``true`` (P,) holds the scores of the true windows, ``corrupt`` (P, C) those of C corrupt windows for each.
    """
    check_node(true, "scores of true windows")
    check_node(corrupt, "scores of corrupt windows")
    S, S_c = true.value, corrupt.value
    if S.ndim != 1 or S_c.ndim != 2 or len(S_c) != len(S):
        raise ShapeError("scores", expected="true (P,), corrupt (P, C)", got=f"{S.shape}, {S_c.shape}", where="margin")
    if S.dtype != S_c.dtype:
        raise DtypeError("scores", expected="one float type", got=f"{S.dtype}, {S_c.dtype}", where="margin")
    if normalise not in NORMALISATIONS:
        raise ConfigurationError("normalise", expected=" or ".join(NORMALISATIONS), got=repr(normalise))
    if not 0 <= margin < np.inf:
        raise ConfigurationError("margin", expected="0 or more", got=margin)
    checked_finite(S, where="scores of true windows")
    checked_finite(S_c, where="scores of corrupt windows")
    with np.errstate(over="ignore"):  # the loss tells
        loss, dS, dS_c = hinge_and_gradients(S, S_c, margin, normalise == "mean")
        value = checked_finite(np.asarray(loss, S.dtype), where="max-margin objective")
    return Result(value, (true, corrupt), lambda dY: [dY * dS, dY * dS_c], "max-margin")
