"""Softmax and its cross-entropy, word by word (A7, D2, E3)."""

import numpy as np

from postil.arrays import Array, checked_finite, checked_indices
from postil.errors import DataError, ShapeError
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
    with np.errstate(over="ignore"):
        return np.asarray(scores - scores.max(axis=1, keepdims=True))


def cross_entropy_and_gradient(scores: Array, gold: Array) -> tuple[float, Array]:
    """Mean of -log p(gold) over the words and its gradient (ŷ - y) / N.  scores (N, L), gold (N,)."""
    N = len(scores)
    if N == 0:
        return 0.0, np.zeros_like(scores)
    words = np.arange(N)
    log_p = log_softmax(scores)
    dscores = np.exp(log_p)  # ŷ
    dscores[words, gold] -= 1  # ŷ - y
    dscores /= N
    return float(-log_p[words, gold].mean(dtype=np.float64)), dscores


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


def softmax_cross_entropy(scores: Node, gold: Array) -> Result:
    """The word-level log-likelihood, negated: a node with the mean over the words.  scores (N, L), gold (N,) labels.

    Or gold (N, L) boolean: the labels that each word may have, where not all are known.
    """
    check_node(scores, "scores of the cross-entropy")
    S = scores.value
    if S.ndim != 2 or S.shape[1] == 0:
        raise ShapeError("scores", expected="(N, L) with at least one label", got=S.shape, where="cross-entropy")
    checked_finite(S, where="scores of the cross-entropy")
    loss, dscores = _several(S, gold) if np.asarray(gold).dtype == np.bool_ else _one_each(S, gold)
    value = checked_finite(np.asarray(loss, S.dtype), where="cross-entropy: scores too far apart")
    return Result(value, (scores,), lambda dY: [dY * dscores], "cross-entropy")


def _one_each(S: Array, gold: Array) -> tuple[float, Array]:
    labels = checked_indices(gold, S.shape[1], where="gold labels")
    if labels.shape != S.shape[:1]:
        raise ShapeError("gold labels", expected=S.shape[:1], got=labels.shape, where="cross-entropy")
    return cross_entropy_and_gradient(S, labels)


def _several(S: Array, allowed: Array) -> tuple[float, Array]:
    if allowed.shape != S.shape:
        raise ShapeError("allowed labels", expected=S.shape, got=allowed.shape, where="cross-entropy")
    if not allowed.any(axis=1).all():
        word = int((~allowed.any(axis=1)).argmax())
        raise DataError("no label is allowed", expected="one or more", got="none", where=f"word {word}")
    return several_cross_entropy_and_gradient(S, allowed)
