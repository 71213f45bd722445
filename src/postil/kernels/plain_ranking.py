"""True windows against corrupt ones on one shard of text (E4), in NumPy: the twin of ranking.c.

A window is a word with the words around it, S of them; a corrupt window has another word in its centre. Both get a
score, and the true one's must be higher by a margin:

    x = (e_1 … e_S),  s = u · hardtanh(W x + b),  J = max(0, Δ - s(true) + s(corrupt))

A window with cost 0 teaches nothing. Windows are worked on in groups of ``GROUP``: all of a group see the same
parameters, and their gradients add up.
"""

from typing import NamedTuple

import numpy as np

from postil.arrays import Array, checked_offsets
from postil.errors import IndexRangeError, ShapeError
from postil.kernels.checking import contiguous
from postil.kernels.plain_skipgram import LANES, RowChanges, ShardRoom

GROUP = 16
UNIT_LANES = 16
"""The hidden layer has a multiple of this many units."""


class RankingText(NamedTuple):
    """N words in B sentences, and a corrupt centre for each of them."""

    ids: Array  # int32 (N,): below V they are centres
    offsets: Array  # (B + 1,)
    corrupt: Array  # int32 (N,)
    V: int


class RankingLayers(NamedTuple):
    """The parameters that every window uses."""

    W: Array  # (S, P, H)
    b: Array  # (H,)
    u: Array  # (H,)


class RankingRates(NamedTuple):
    rate: float
    ratio: float
    """The rate of the layers beside that of the words."""
    margin: float


class RankingChanges(NamedTuple):
    rows: RowChanges
    layers: RankingLayers
    loss: float
    windows: int


class RankingGradients(NamedTuple):
    loss: float
    violated: Array  # bool (n,)
    dX: Array  # (n, S, D)
    dC: Array  # (n, D)
    layers: RankingLayers
    pieces: Array  # int8 (2 n, H): on which piece of the hard tanh each unit is


def ranking_losses(X: Array, C: Array, layers: RankingLayers, margin: float) -> RankingGradients:
    """Σ J over windows X (n, S, D) and their corrupt centres C (n, D), and its gradients."""
    W, b, u = layers
    n, S, D = X.shape
    centre = S // 2
    corrupt = X.copy()
    corrupt[:, centre] = C
    both = np.stack([X, corrupt]).reshape(2 * n, S * D)
    Z = both @ W.reshape(S * D, -1) + b  # 1
    F = np.clip(Z, -1, 1)  # 2
    scores = F @ u  # 3
    costs = margin + scores[n:] - scores[:n]  # 4
    violated = costs > 0
    dscores = np.concatenate([-1 * violated, 1 * violated]).astype(X.dtype)  # 4
    du = dscores @ F  # 3
    dZ = dscores[:, None] * u * (np.abs(Z) <= 1)  # 3, 2
    dW = (both.T @ dZ).reshape(W.shape)  # 1
    dboth = (dZ @ W.reshape(S * D, -1).T).reshape(2, n, S, D)  # 1
    dX = dboth.sum(axis=0)
    dX[:, centre] = dboth[0, :, centre]  # the true centre stands in one of both alone
    loss = float(costs[violated].sum(dtype=np.float64))
    layers, pieces = RankingLayers(dW, dZ.sum(axis=0), du), np.sign(Z - F).astype(np.int8)
    return RankingGradients(loss, violated, dX, dboth[1, :, centre], layers, pieces)


def checked_ranking(table: Array, layers: RankingLayers, text: RankingText) -> RankingText:
    """The arrays as C expects them. Ids are checked where they are used."""
    N, (S, P, H) = len(text.ids), layers.W.shape
    if table.ndim != 2 or table.shape[1] != P or P % LANES or H % UNIT_LANES or not H or not S % 2:
        expected = f"W (S, P, H) for a table (R, P), S odd, P a multiple of {LANES}, H of {UNIT_LANES}"
        raise ShapeError("wrong shape", expected=expected, got=(table.shape, layers.W.shape), where="ranking")
    if not 0 < text.V < len(table):
        raise IndexRangeError("an index points outside its table", where="ranking")
    offsets = checked_offsets(text.offsets, rows=N)
    ids, corrupt = (contiguous(a, np.int32, (N,), "words") for a in (text.ids, text.corrupt))
    return RankingText(ids, offsets, corrupt, text.V)


def _windows(text: RankingText, S: int, outside: int) -> Array:
    """(n, S + 1): the words of each window, then its corrupt centre."""
    found = []
    for begin, end in zip(text.offsets[:-1].tolist(), text.offsets[1:].tolist(), strict=True):
        padded = np.full(end - begin + S - 1, outside)
        padded[S // 2 : S // 2 + end - begin] = text.ids[begin:end]
        for t in range(begin, end):
            if text.ids[t] < text.V and text.ids[t] != text.corrupt[t]:
                found.append([*padded[t - begin : t - begin + S], text.corrupt[t]])
    return np.array(found, np.int64).reshape(-1, S + 1)


def ranking_shard(
    table: Array, layers: RankingLayers, text: RankingText, rates: RankingRates, room: ShardRoom | None = None
) -> RankingChanges:
    """One pass of gradient descent over a shard, group after group.

    table (R, P): the first V rows are words, the last one stands outside of sentences.
    """
    text = checked_ranking(table, layers, text)
    for ids, most in ((text.ids, len(table)), (text.corrupt, text.V)):
        if len(ids) and not 0 <= ids.min() <= ids.max() < most:
            raise IndexRangeError("an index points outside its table", where="ranking")
    E, moved = table.copy(), RankingLayers(*(array.copy() for array in layers))
    windows = _windows(text, layers.W.shape[0], len(table) - 1)
    touches, loss = np.zeros(len(table), np.int32), 0.0
    np.add.at(touches, windows, 1)
    rate = E.dtype.type(rates.rate)
    for begin in range(0, len(windows), GROUP):
        words = windows[begin : begin + GROUP]
        found = ranking_losses(E[words[:, :-1]], E[words[:, -1]], moved, rates.margin)
        np.subtract.at(E, words[:, :-1], rate * found.dX)
        np.subtract.at(E, words[:, -1], rate * found.dC)
        for array, gradient in zip(moved, found.layers, strict=True):
            array -= E.dtype.type(rates.rate * rates.ratio) * gradient
        loss += found.loss
    rows = np.flatnonzero(touches)
    changed = RankingLayers(*(after - before for after, before in zip(moved, layers, strict=True)))
    return RankingChanges(RowChanges(rows, E[rows] - table[rows], touches[rows]), changed, loss, len(windows))
