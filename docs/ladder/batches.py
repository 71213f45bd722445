"""Rung 1: many sentences at once, without padding.

The words of all sentences stand one after the other; offsets say where each sentence begins. Layers of words do not
notice. Windows and the CRF need the offsets. The result is the mean over the sentences of what tagger.py computes one
by one.
Shapes: N tokens, B sentences, offsets (B + 1,).
"""

import numpy as np
from tagger import hardtanh, linear, log_sum_exp, lookup


def neighbours(offsets, K):
    """For each token the K tokens of its window; N stands for the padding.  Returns (N, K)."""
    N, half = offsets[-1], K // 2
    first = np.repeat(offsets[:-1], np.diff(offsets))[:, None]
    end = np.repeat(offsets[1:], np.diff(offsets))[:, None]
    places = np.arange(N)[:, None] + np.arange(-half, half + 1)
    return np.where((places >= first) & (places < end), places, N)


def window(X, padding, offsets, K):
    """The windows of all sentences in one gather; the way back is one scatter."""
    N, D = X.shape
    places = neighbours(offsets, K)
    Y = np.vstack([X, padding])[places].reshape(N, K * D)

    def back(dY):
        dX = np.zeros((N + 1, D))
        np.add.at(dX, places.ravel(), dY.reshape(N * K, D))
        return dX[:N], dX[N]

    return Y, back


def crf_loss(U, A, start, end, offsets, gold):
    """Forward-backward of all sentences together: as many steps as the longest sentence has words."""
    lengths = np.diff(offsets)
    order = np.argsort(
        -lengths, kind="stable"
    )  # the longest first: at step t the first few sentences are still running
    first, length = offsets[:-1][order], lengths[order]
    alpha, beta = np.zeros_like(U), np.zeros_like(U)
    alpha[first] = start + U[first]
    for t in range(1, length[0]):
        now = first[length > t] + t
        alpha[now] = U[now] + log_sum_exp(alpha[now - 1][:, :, None] + A, axis=1)
    last = first + length - 1
    beta[last] = end
    for t in range(length[0] - 2, -1, -1):
        now = first[length > t + 1] + t
        beta[now] = log_sum_exp(A + (U[now + 1] + beta[now + 1])[:, None, :], axis=2)
    log_Z = np.zeros(len(lengths))
    log_Z[order] = log_sum_exp(alpha[last] + end, axis=1)

    N, B = len(U), len(lengths)
    later = np.setdiff1d(np.arange(N), offsets[:-1])  # every token that has one before it
    per_token = np.repeat(log_Z, lengths)[:, None]
    dU = np.exp(alpha + beta - per_token)
    pairs = alpha[later - 1][:, :, None] + A + (U[later] + beta[later] - per_token[later])[:, None, :]
    dA = np.exp(pairs).sum(axis=0)
    dU[np.arange(N), gold] -= 1
    np.subtract.at(dA, (gold[later - 1], gold[later]), 1)
    score = U[np.arange(N), gold].sum() + A[gold[later - 1], gold[later]].sum()
    score += start[gold[offsets[:-1]]].sum() + end[gold[offsets[1:] - 1]].sum()
    dstart, dend = dU[offsets[:-1]].sum(axis=0), dU[offsets[1:] - 1].sum(axis=0)
    return (log_Z.sum() - score) / B, dU / B, dA / B, dstart / B, dend / B


def loss_and_gradients(p, ids, offsets, gold):
    """The mean loss of a batch and its gradients.  ids (N,), gold (N,)."""
    K = p["W1"].shape[1] // p["E"].shape[1]
    X, lookup_back = lookup(p["E"], ids)
    windows, window_back = window(X, p["padding"], offsets, K)
    Z, linear1_back = linear(windows, p["W1"], p["b1"])
    Y, hardtanh_back = hardtanh(Z)
    U, linear2_back = linear(Y, p["W2"], p["b2"])
    loss, dU, dA, dstart, dend = crf_loss(U, p["A"], p["start"], p["end"], offsets, gold)
    dY, dW2, db2 = linear2_back(dU)
    dwindows, dW1, db1 = linear1_back(hardtanh_back(dY))
    dX, dpadding = window_back(dwindows)
    network = {"E": lookup_back(dX), "padding": dpadding, "W1": dW1, "b1": db1, "W2": dW2, "b2": db2}
    return loss, network | {"A": dA, "start": dstart, "end": dend}
