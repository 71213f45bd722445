"""Softmax and its cross-entropy, word by word (A7, D2, E3)."""

import numpy as np

from postil.arrays import Array, checked_finite, checked_indices
from postil.errors import DataError, ShapeError
from postil.graph import Node, Result
from postil.graph.node import check_node

# Paths that the data choose: each is a row of the gradient list (gradients/requirements.py).
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
    loss, dscores = _several(S, gold) if np.asarray(gold).dtype == np.bool_ else _one_each(S, gold, weights)
    value = checked_finite(np.asarray(loss, S.dtype), where="cross-entropy: scores too far apart")
    return Result(value, (scores,), lambda dY: [dY * dscores], "cross-entropy")


def _one_each(S: Array, gold: Array, weights: Array | None) -> tuple[float, Array]:
    labels = checked_indices(gold, S.shape[1], where="gold labels")
    if labels.shape != S.shape[:1]:
        raise ShapeError("gold labels", expected=S.shape[:1], got=labels.shape, where="cross-entropy")
    return cross_entropy_and_gradient(S, labels, weights)


def _several(S: Array, allowed: Array) -> tuple[float, Array]:
    if allowed.shape != S.shape:
        raise ShapeError("allowed labels", expected=S.shape, got=allowed.shape, where="cross-entropy")
    if not allowed.any(axis=1).all():
        word = int((~allowed.any(axis=1)).argmax())
        raise DataError("no label is allowed", expected="one or more", got="none", where=f"word {word}")
    return several_cross_entropy_and_gradient(S, allowed)
