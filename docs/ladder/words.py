"""Rung 2: multiply each distinct word once.

    W1 [x_t-2; x_t-1; x_t; x_t+1; x_t+2]  =  Σ_k W1_k x_t+k

The product with W1 is a sum over the places of the window, and each term depends on one word alone. So every distinct
word of a batch is multiplied once for each place, and a token costs K additions of such rows. The way back adds up
the gradients of a row first and multiplies once. In tagging, rows stay valid from one text to the next: that is the
table of the engine.
Shapes: Q distinct words, rows (Q + 1, K, H); the last row is that of the padding.
"""

import numpy as np
from batches import crf_loss, neighbours
from tagger import hardtanh, linear


def word_rows(vectors, W1):
    """Every word multiplied by the part of W1 for each place of the window.  vectors (Q, D): (Q, K, H)."""
    H, D = len(W1), vectors.shape[1]
    return np.einsum("qd,hkd->qkh", vectors, W1.reshape(H, -1, D))


def shared_windows(E, padding, W1, b1, ids, offsets):
    """Window and first linear layer together.  Z (N, H), and a way back that returns only the rows of E that occur."""
    H, D = len(W1), E.shape[1]
    K = W1.shape[1] // D
    words, places = np.unique(ids, return_inverse=True)
    vectors = np.vstack([E[words], padding])
    rows = word_rows(vectors, W1)
    which = np.append(places, len(words))[neighbours(offsets, K)]  # (N, K) numbers of rows
    Z = b1 + rows[which, np.arange(K)].sum(axis=1)

    def back(dZ):
        drows = np.zeros_like(rows)
        for k in range(K):
            np.add.at(drows[:, k], which[:, k], dZ)
        dW1 = np.einsum("qkh,qd->hkd", drows, vectors).reshape(H, K * D)
        dvectors = np.einsum("qkh,hkd->qd", drows, W1.reshape(H, K, D))
        return words, dvectors[:-1], dvectors[-1], dW1, dZ.sum(axis=0)

    return Z, back


def loss_and_sparse_gradients(p, ids, offsets, gold):
    """As rung 1, with the gradient of E as (words, their rows)."""
    Z, shared_back = shared_windows(p["E"], p["padding"], p["W1"], p["b1"], ids, offsets)
    Y, hardtanh_back = hardtanh(Z)
    U, linear2_back = linear(Y, p["W2"], p["b2"])
    loss, dU, dA, dstart, dend = crf_loss(U, p["A"], p["start"], p["end"], offsets, gold)
    dY, dW2, db2 = linear2_back(dU)
    words, drows, dpadding, dW1, db1 = shared_back(hardtanh_back(dY))
    dense = {"padding": dpadding, "W1": dW1, "b1": db1, "W2": dW2, "b2": db2, "A": dA, "start": dstart, "end": dend}
    return loss, (words, drows), dense


class CachedScores:
    """Scores of labels for tagging: a word is multiplied when it is first met, and never again."""

    def __init__(self, p):
        self.p, self.known = p, {}
        self.padding = word_rows(p["padding"][None], p["W1"])[0]

    def __call__(self, ids, offsets):
        for word in set(ids.tolist()) - self.known.keys():
            self.known[word] = word_rows(self.p["E"][word][None], self.p["W1"])[0]
        rows = np.array([*(self.known[word] for word in ids.tolist()), self.padding])
        K = rows.shape[1]
        Z = self.p["b1"] + rows[neighbours(offsets, K), np.arange(K)].sum(axis=1)
        return np.clip(Z, -1, 1) @ self.p["W2"].T + self.p["b2"]
