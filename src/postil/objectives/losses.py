"""Objectives word by word and window by window: softmax cross-entropy (A7, D2, E3), max-margin (E4), L2 (B5)."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from postil.arrays import Array, checked_finite, checked_indices, describe, sum_of_squares
from postil.errors import ConfigurationError, DataError, DtypeError, ShapeError
from postil.graph import Gradient, Node, Parameter, Result, RowGradient
from postil.graph.node import check_node, note_branches

# Paths that the data choose: each is a row of the gradient list (tests/oracles/requirements.py).
MODES = {"softmax_cross_entropy": ("allowed labels",)}


def softmax(scores: Array) -> Array:
    """exp(s_i) / Σ_j exp(s_j) for every row; the largest score is subtracted first, so nothing overflows.  (N, L)."""
    powers = np.exp(_lowered(scores))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def log_softmax(scores: Array) -> Array:
    """log softmax(scores), exact even if the probability underflows.  (N, L)."""
    lowered = _lowered(scores)
    return np.asarray(lowered - np.log(np.exp(lowered).sum(axis=1, keepdims=True)))


def _lowered(scores: Array) -> Array:
    """Scores below the largest of their row; more than the largest float below it is -inf, a probability of 0."""
    largest = np.ascontiguousarray(scores.T).max(axis=0)  # rows are short: this is faster than max(axis=1)
    with np.errstate(over="ignore"):
        return np.asarray(scores - largest[:, None])


def cross_entropy_and_gradient(scores: Array, gold: Array, weights: Array | None = None) -> tuple[float, Array]:
    """Mean of -log p(gold) over the words and its gradient (ŷ - y) / N.  scores (N, L), gold (N,).

    With ``weights`` (N,), 0 or more, the weighted mean.
    """
    N = len(scores)
    if N == 0:
        return 0.0, np.zeros_like(scores)
    # One row a label: sums over a handful of labels then run along long rows, several times as fast.
    lowered = _lowered(scores).T.copy()
    powers = np.exp(lowered)
    totals = powers.sum(axis=0)
    of_gold = gold * N + np.arange(N)  # the place of each word's gold label in (L, N)
    losses = np.log(totals) - lowered.reshape(-1).take(of_gold)
    dscores = np.divide(powers, totals, out=powers)  # ŷ
    dscores.reshape(-1)[of_gold] -= 1  # ŷ - y
    if weights is None:
        dscores /= N
        return float(losses.mean(dtype=np.float64)), dscores.T
    shares = weights / (weights.sum(dtype=np.float64) or 1.0)
    dscores *= shares.astype(scores.dtype)
    return float(losses.astype(np.float64) @ shares), dscores.T


def several_cross_entropy_and_gradient(scores: Array, allowed: Array) -> tuple[float, Array]:
    """Mean of -log Σ_{y allowed} p(y) over the words about which something is known, and its gradient.

    With q = p restricted to the allowed labels and brought to sum 1, a word's gradient is ŷ - q: what the model expects
    minus what it expects given that the label is an allowed one. Where every label is allowed both are the same: such
    a word teaches nothing and is not counted.  scores (N, L), allowed (N, L) boolean, a label or more in each row.
    """
    known = np.asarray(~allowed.all(axis=1))
    n = int(known.sum())
    if n == 0:
        return 0.0, np.zeros_like(scores)
    log_p = log_softmax(scores)
    within = np.where(allowed, log_p, -np.inf)
    peaks = within.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):  # -inf - -inf where scores are too far apart: the caller finds the NaN
        log_sum = np.log(np.exp(within - peaks).sum(axis=1, keepdims=True)) + peaks  # log Σ_{y allowed} p(y)
    dscores = (np.exp(log_p) - np.exp(within - log_sum)) * (known[:, None] / n)  # (ŷ - q) / n
    return float(-log_sum[known].mean(dtype=np.float64)), dscores.astype(scores.dtype, copy=False)


def softmax_cross_entropy(scores: Node, gold: Array, weights: Array | None = None) -> Result:
    """The negative word-level log-likelihood: a node with the mean over the words.  scores (N, L), gold (N,) labels.

    With ``weights`` (N,), at least 0, it is the weighted mean. gold may also be (N, L) boolean: the labels that each
    word may have, if not all are known.
    """
    check_node(scores, "scores of the cross-entropy")
    S = scores.value
    if S.ndim != 2 or S.shape[1] == 0:
        raise ShapeError("scores", expected="(N, L) with at least one label", got=S.shape, where="cross-entropy")
    checked_finite(S, where="scores of the cross-entropy")
    if weights is not None and weights.shape != S.shape[:1]:
        raise ShapeError("weights", expected=S.shape[:1], got=weights.shape, where="cross-entropy")
    if np.asarray(gold).dtype == np.bool_:
        if gold.shape != S.shape:
            raise ShapeError("allowed labels", expected=S.shape, got=gold.shape, where="cross-entropy")
        if not gold.any(axis=1).all():
            where = f"word {int((~gold.any(axis=1)).argmax())}"
            raise DataError("no label is allowed", expected="one or more", got="none", where=where)
        loss, dscores = several_cross_entropy_and_gradient(S, gold)
    else:
        labels = checked_indices(gold, S.shape[1], where="gold labels")
        if labels.shape != S.shape[:1]:
            raise ShapeError("gold labels", expected=S.shape[:1], got=labels.shape, where="cross-entropy")
        loss, dscores = cross_entropy_and_gradient(S, labels, weights)
    value = checked_finite(np.asarray(loss, S.dtype), where="cross-entropy: scores too far apart")
    return Result(value, (scores,), lambda dY: [dY * dscores], "cross-entropy")


# ------------------------------------------------------------------------------------------------ max-margin
# B2, E4: a true window must score higher than a corrupt one, by a margin.


NORMALISATIONS = ("mean", "sum")


def max_margin(true: Node, corrupt: Node, *, margin: float = 1.0, normalise: str = "mean") -> Result:
    """J = Σ max(0, Δ + s_c - s): a node with the mean over the pairs (E4 prints their sum: ``normalise="sum"``).

    ``true`` (P,) holds the scores of the true windows, ``corrupt`` (P, C) those of C corrupt windows for each. A pair
    with cost 0 sends no gradient; one with a positive cost sends -1 to s and +1 to s_c.
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
        costs = margin + S_c - S[:, None]
        violated = costs > 0
        note_branches(violated)
        scale = costs.dtype.type(1 / max(costs.size, 1) if normalise == "mean" else 1)
        loss = float(costs[violated].sum(dtype=np.float64) * scale)
        value = checked_finite(np.asarray(loss, S.dtype), where="max-margin objective")
    dS_c = violated * scale
    dS = -dS_c.sum(axis=1)
    return Result(value, (true, corrupt), lambda dY: [dY * dS, dY * dS_c], "max-margin")


# ------------------------------------------------------------------------------------------------ L2 regularisation
# B5, E9, C1: λ Σ θ² with gradient 2λθ, outside the mean of the loss, never on biases.


def l2(parameters: Iterable[Parameter], strength: float, *, touched: Mapping[Parameter, Array] | None = None) -> Result:
    """A node with λ Σ θ² over the parameters that decay: weights, not biases, and not lookup tables.

    To regularise a table too, pass it in ``touched`` with the rows that the batch uses. Only those decay, so a step
    costs as much as the rows, not as much as the table.
    """
    if not 0 <= strength < np.inf:
        raise ConfigurationError("strength of L2", expected="0 or more", got=strength)
    rows = {
        table: np.unique(checked_indices(ids, len(table.value), where=f"touched rows of {table.name}"))
        for table, ids in (touched or {}).items()
    }
    given: list[Any] = [*parameters, *rows]
    for other in [p for p in given if not isinstance(p, Parameter)]:
        expected = "Parameter nodes, as in parameters().values()"
        raise DtypeError("parameters of L2", expected=expected, got=describe(other))
    dtypes = {p.dtype for p in given} or {np.dtype(np.float32)}
    if len(dtypes) > 1:
        got = ", ".join(f"{p.name} {p.dtype}" for p in dict.fromkeys(given))
        raise DtypeError("parameters of L2", expected="all float32 or all float64", got=got)
    decaying = [p for p in dict.fromkeys(given) if p.decays or p in rows]  # a shared one decays once
    parts = [p.value[rows[p]] if p in rows else p.value for p in decaying]
    dtype = dtypes.pop()
    with np.errstate(over="ignore"):  # the value tells
        penalty = np.asarray(strength * sum(map(sum_of_squares, parts)), dtype)
    checked_finite(penalty, where="L2 penalty")

    def pullback(dY: Array) -> list[Gradient]:
        slope = dY * dtype.type(2 * strength)
        return [
            RowGradient(rows[p], slope * part, p.shape) if p in rows else slope * part
            for p, part in zip(decaying, parts, strict=True)
        ]

    return Result(penalty, tuple(decaying), pullback, "L2", is_layer=True)
