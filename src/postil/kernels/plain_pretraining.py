"""Vectors and clusters of words from raw text, in NumPy: the twins of skipgram.c, ranking.c and brown.c.

A shard of text works on copies of the rows that it touches and returns what it has added to them, so that shards can
run at the same time and be merged in a fixed order.
"""

from collections.abc import Callable
from itertools import combinations, pairwise
from typing import NamedTuple, final

import numpy as np

from postil.arrays import Array, checked_offsets
from postil.errors import IndexRangeError, ShapeError
from postil.kernels.checking import check_shape

# ------------------------------------------------------------------------------------------------ skip-gram

# A window is a centre word, the M words around it, and K words drawn at random, the negatives. Every word around it
# predicts that the centre is the true word and the negatives are not:
#
#     J = - Σ_m [ log σ(x_m · o_0) + Σ_k log σ(-x_m · o_k) ]
#
# x are rows of the table of inputs, o rows of the table of outputs. The negatives are shared by the words of a window,
# which then is a product of two small matrices. A negative that is the centre itself is left out.

MOST_REACH = 32  # words on each side of a centre, at most
MOST_NEGATIVES = 63
LOSS_EVERY = 16  # the loss is measured on one in this many windows: it takes logarithms, the gradient does not
LANES = 8  # tables are padded to a multiple of this many columns


class SkipgramText(NamedTuple):
    """N words in B sentences, and what was drawn for each of them."""

    ids: Array  # int32 (N,)
    offsets: Array  # (B + 1,)
    reach: Array  # uint8 (N,): how many words on each side are around it
    negatives: Array  # int32 (N, K)


class RowChanges(NamedTuple):
    """Changes that a shard has added to rows of a table (V, P)."""

    rows: Array  # (n,)
    values: Array  # (n, P)
    touches: Array  # int32 (n,): how many pairs or windows did


class ShardChanges(NamedTuple):
    """What a shard has added to rows of tables, and to whole arrays."""

    rows: dict[str, RowChanges]
    arrays: dict[str, Array]
    loss: float  # the sum over `terms` pairs of words, or windows
    terms: int


@final
class ShardRoom:
    """Memory of the compiled kernel that is used again; one for each shard that runs at the same time."""

    def __init__(self) -> None:
        self._arrays: dict[str, Array] = {}

    def array(self, name: str, shape: tuple[int, ...], dtype: type, fill: int | None = None) -> Array:
        """An array with room for at least this shape; ``fill`` is what a new one holds."""
        size = int(np.prod(shape))
        held = self._arrays.get(name)
        if held is None or held.size < size:
            held = np.empty(size, dtype) if fill is None else np.full(size, fill, dtype)
            self._arrays[name] = held
        return held[:size].reshape(shape)


def pair_losses(X: Array, Y: Array, wanted: Array) -> tuple[float, Array, Array]:
    """J of a window and its gradients dX, dY.  X (M, D), Y (Q, D); wanted (Q,): 1 true, 0 negative, -1 left out."""
    S = X @ Y.T  # 1
    P = 0.5 + 0.5 * np.tanh(0.5 * S)  # 2: σ, which does not overflow so
    counted = wanted >= 0
    costs = np.logaddexp(0, np.where(wanted > 0, -S, S))  # 3: -log σ(±s)
    dS = np.where(counted, P - (wanted > 0), 0).astype(X.dtype)  # 3, 2
    return float(costs[:, counted].sum(dtype=np.float64)), dS @ Y, dS.T @ X  # 1


def check_text(text: SkipgramText) -> None:
    """Shapes; ids are checked where they are used."""
    K = text.negatives.shape[1]
    if not 1 <= K <= MOST_NEGATIVES:
        raise IndexRangeError("negatives", expected=f"must be 1 to {MOST_NEGATIVES}", got=K)
    check_shape(text.reach, text.ids.shape, "reach of words")
    check_shape(text.negatives, (len(text.ids), K), "negatives")


def _check_ids(ids: Array, count: int, where: str) -> None:
    if ids.size and not 0 <= ids.min() <= ids.max() < count:
        raise IndexRangeError("an index points outside its table", where=where)


def skipgram_shard(
    inputs: Array, outputs: Array, text: SkipgramText, rate: float, room: ShardRoom | None = None
) -> ShardChanges:
    """One pass of gradient descent over a shard, window after window.  inputs (V, P), outputs (V, P)."""
    check_text(text)
    offsets = checked_offsets(text.offsets, rows=len(text.ids)).tolist()
    for ids, count in ((text.ids, len(inputs)), (text.negatives, len(inputs)), (text.reach, MOST_REACH + 1)):
        _check_ids(ids, count, "skipgram_shard")
    X, Y = inputs.copy(), outputs.copy()
    touches = np.zeros((2, len(inputs)), np.int32)
    loss, pairs = 0.0, 0
    for begin, end in pairwise(offsets):
        for t in range(begin, end):
            reach = int(text.reach[t])
            around = [i for i in range(max(begin, t - reach), min(end, t + reach + 1)) if i != t]
            if not around:
                continue
            contexts, words = text.ids[around], np.append(text.ids[t], text.negatives[t])
            wanted = np.where(words == words[0], -1, 0)
            wanted[0] = 1
            cost, dX, dY = pair_losses(X[contexts], Y[words], wanted)
            np.subtract.at(X, contexts, X.dtype.type(rate) * dX)
            np.subtract.at(Y, words, Y.dtype.type(rate) * dY)
            np.add.at(touches[0], contexts, len(words))
            np.add.at(touches[1], words, len(around))
            if t % LOSS_EVERY == 0:
                loss, pairs = loss + cost, pairs + len(around)
    changed = {"inputs": _changes(X, inputs, touches[0]), "outputs": _changes(Y, outputs, touches[1])}
    return ShardChanges(changed, {}, loss, pairs)


def _changes(table: Array, before: Array, touches: Array) -> RowChanges:
    rows = np.flatnonzero(touches)
    return RowChanges(rows, table[rows] - before[rows], touches[rows])


def merge_rows(table: Array, changes: RowChanges, scales: Array) -> None:
    """Row ``rows[i]`` of the table += ``scales[i]`` × ``values[i]``. No row stands twice."""
    table[changes.rows] += scales[:, None] * changes.values


# ------------------------------------------------------------------------------------------------ ranking (E4)

# A window is a word with the words around it, S of them; a corrupt window has another word in its centre. Both get a
# score, and the true one's must be higher by a margin:
#
#     x = (e_1 … e_S),  s = u · hardtanh(W x + b),  J = max(0, Δ - s(true) + s(corrupt))
#
# A window with cost 0 teaches nothing. Windows are worked on in groups of ``GROUP``: all of a group see the same
# parameters, and their gradients add up.


GROUP = 16
UNIT_LANES = 16  # the hidden layer has a multiple of this many units


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

    def less(self, other: "RankingLayers") -> dict[str, Array]:
        """By how much each of them differs."""
        return {name: getattr(self, name) - getattr(other, name) for name in self._fields}


class RankingRates(NamedTuple):
    rate: float
    ratio: float  # the rate of the layers relative to that of the words
    margin: float


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


def check_ranking(table: Array, layers: RankingLayers, text: RankingText) -> None:
    S, P, H = layers.W.shape
    if table.ndim != 2 or table.shape[1] != P or P % LANES or H % UNIT_LANES or not H or not S % 2:
        expected = f"W (S, P, H) for a table (R, P), S odd, P a multiple of {LANES}, H of {UNIT_LANES}"
        raise ShapeError("wrong shape", expected=expected, got=(table.shape, layers.W.shape), where="ranking_shard")
    if not 0 < text.V < len(table):
        raise IndexRangeError("an index points outside its table", where="ranking_shard")


def _windows_of(text: RankingText, S: int, outside: int) -> Array:
    """(n, S + 1): the words of each window, then its corrupt centre."""
    found = []
    for begin, end in pairwise(checked_offsets(text.offsets, rows=len(text.ids)).tolist()):
        padded = np.full(end - begin + S - 1, outside)
        padded[S // 2 : S // 2 + end - begin] = text.ids[begin:end]
        for t in range(begin, end):
            if text.ids[t] < text.V and text.ids[t] != text.corrupt[t]:
                found.append([*padded[t - begin : t - begin + S], text.corrupt[t]])
    return np.array(found, np.int64).reshape(-1, S + 1)


def ranking_shard(
    table: Array, layers: RankingLayers, text: RankingText, rates: RankingRates, room: ShardRoom | None = None
) -> ShardChanges:
    """One pass of gradient descent over a shard, group after group.

    table (R, P): the first V rows are words, the last one stands outside of sentences.
    """
    check_ranking(table, layers, text)
    check_shape(text.corrupt, text.ids.shape, "words")
    for ids, count in ((text.ids, len(table)), (text.corrupt, text.V)):
        _check_ids(ids, count, "ranking_shard")
    E, moved = table.copy(), RankingLayers(*(array.copy() for array in layers))
    windows = _windows_of(text, layers.W.shape[0], len(table) - 1)
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
    return ShardChanges({"words": _changes(E, table, touches)}, moved.less(layers), loss, len(windows))


# ------------------------------------------------------------------------------------------------ Brown clusters

# The N most frequent words each form a cluster. Each further word becomes one more cluster, and the two clusters
# whose merging loses least mutual information between neighbouring clusters are merged (Brown et al. 1992, Liang 2005).
# When all words are in, the N clusters are merged to one: those merges are a binary tree. This twin computes every loss
# anew and is for small dictionaries.


class Bigrams(NamedTuple):
    """How often a word follows another one; words are numbered from the most frequent one."""

    first: Array  # int32 (n,)
    second: Array  # int32 (n,)
    counts: Array  # (n,)
    V: int


def check_bigrams(bigrams: Bigrams, N: int) -> None:
    if not 1 <= N < bigrams.V:
        expected = f"must be 1 to {bigrams.V - 1}, less than the words"
        raise IndexRangeError("number of clusters", expected=expected, got=N)
    for ids in (bigrams.first, bigrams.second):
        _check_ids(ids, bigrams.V, "bigrams")


def brown_merges(bigrams: Bigrams, N: int, report: Callable[[int], None] | None = None) -> Array:
    """(V - 1, 2): the merges in their order, each as the names of both clusters. A cluster keeps the name of the first.

    The name of a cluster is one of its words. The last N - 1 merges are the tree. ``report`` is called with the number
    of merges that are done.
    """
    check_bigrams(bigrams, N)
    V = bigrams.V
    counts = np.zeros((V, V), np.int64)
    np.add.at(counts, (bigrams.first, bigrams.second), bigrams.counts)
    members = {word: [word] for word in range(N)}
    merges = []
    for word in range(N, V + N - 1):
        if word < V:
            members[word] = [word]
        lost = merging_losses(counts, list(members.values()))
        i, j = np.unravel_index(int(np.argmin(lost)), lost.shape)
        names = list(members)
        kept, gone = names[int(i)], names[int(j)]
        members[kept] += members.pop(gone)
        merges.append((kept, gone))
        if report is not None:
            report(len(merges))
    return np.array(merges, np.int64).reshape(-1, 2)


def merging_losses(counts: Array, members: list[list[int]]) -> Array:
    """(n, n): what is lost by merging clusters i < j; infinity elsewhere.  counts (V, V).

    In units of n log n of counts; see brown.c. Only pairs of words that are in clusters count.
    """
    indicator = np.zeros((len(members), len(counts)), np.int64)
    for i, words in enumerate(members):
        indicator[i, words] = 1
    C = indicator @ counts @ indicator.T
    before = information(C)
    lost = np.full(C.shape, np.inf)
    for i, j in combinations(range(len(C)), 2):
        merged = np.delete(np.eye(len(C), dtype=np.int64), j, axis=0)
        merged[i, j] = 1  # row j is added to row i, and gone
        lost[i, j] = before - information(merged @ C @ merged.T)
    return lost


def information(C: Array) -> float:
    """Σ h(c) - Σ h(left) - Σ h(right) with h(n) = n log n: the mutual information up to constants and a factor."""
    return float(_h(C).sum() - _h(C.sum(axis=1)).sum() - _h(C.sum(axis=0)).sum())


def _h(n: Array) -> Array:
    return np.asarray(n * np.log(np.maximum(n, 1)))
