"""Softmax and its cross-entropy, word by word (A7, D2, E3)."""

import numpy as np

from postil.arrays import Array, checked_finite, checked_indices
from postil.errors import ShapeError
from postil.graph import Node, Result
from postil.graph.node import check_node


def softmax(scores: Array) -> Array:
    """exp(s_i) / Σ_j exp(s_j) for every row; the largest score is taken off first, so nothing overflows.  (N, L)."""
    powers = np.exp(_lowered(scores))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def log_softmax(scores: Array) -> Array:
    """log softmax(scores), exact also where the probability underflows.  (N, L)."""
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
    of_gold = gold * N + np.arange(N)  # where the gold label of each word stands in (L, N)
    losses = np.log(totals) - lowered.reshape(-1).take(of_gold)
    dscores = np.divide(powers, totals, out=powers)  # ŷ
    dscores.reshape(-1)[of_gold] -= 1  # ŷ - y
    if weights is None:
        dscores /= N
        return float(losses.mean(dtype=np.float64)), dscores.T
    shares = weights / (weights.sum(dtype=np.float64) or 1.0)
    dscores *= shares.astype(scores.dtype)
    return float(losses.astype(np.float64) @ shares), dscores.T


def softmax_cross_entropy(scores: Node, gold: Array, weights: Array | None = None) -> Result:
    """The word-level log-likelihood, negated: a node with the mean over the words.  scores (N, L), gold (N,) labels.

    With ``weights`` (N,), 0 or more, the weighted mean.
    """
    check_node(scores, "scores of the cross-entropy")
    S = scores.value
    if S.ndim != 2 or S.shape[1] == 0:
        raise ShapeError("scores", expected="(N, L) with at least one label", got=S.shape, where="cross-entropy")
    checked_finite(S, where="scores of the cross-entropy")
    labels = checked_indices(gold, S.shape[1], where="gold labels")
    if labels.shape != S.shape[:1]:
        raise ShapeError("gold labels", expected=S.shape[:1], got=labels.shape, where="cross-entropy")
    if weights is not None and weights.shape != labels.shape:
        raise ShapeError("weights", expected=labels.shape, got=weights.shape, where="cross-entropy")
    loss, dscores = cross_entropy_and_gradient(S, labels, weights)
    value = checked_finite(np.asarray(loss, S.dtype), where="cross-entropy: scores too far apart")
    return Result(value, (scores,), lambda dY: [dY * dscores], "cross-entropy")
