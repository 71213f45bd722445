"""Windows over sentences: concatenated (E3, and with a linear layer the convolution, A4) or averaged (E2).

The work is done by kernels; their NumPy twins are in ``kernels/plain_layers.py``.

A linear layer of windows, W [x_t-2; …; x_t+2] + b, is computed in three ways. They agree up to rounding; the first is
the reference, and each of the others is faster where something more is known:

| where                                 | used for                           | W is multiplied with        | gradient |
|---------------------------------------|------------------------------------|-----------------------------|----------|
| ``Window``, ``Linear``: `convolution` | every other case: inner layers     | every window                | yes      |
| `shared_windows`                      | training, the first layer          | each distinct row of a batch | yes     |
| ``models/engine.py``                  | tagging                            | each word, once for good    | no       |
"""

from collections.abc import Callable, Iterator
from typing import Any, final

import numpy as np

from postil import kernels
from postil.arrays import Array, checked_finite, offsets_from_lengths
from postil.errors import ConfigurationError, IndexRangeError, ShapeError
from postil.graph import Node, Result, RowGradient
from postil.graph.node import note_branches
from postil.kernels.plain_chain import Scratch
from postil.kernels.plain_layers import overlapping_sum, padded_places, shifts
from postil.network.layer import (
    Chain,
    Finish,
    Initialiser,
    Layer,
    LayerPullback,
    Linear,
    ParameterGradients,
    Rng,
    Run,
    by_parameter,
    checked_rows,
    fan_in_variance,
    finished,
    needed_offsets,
    new_parameter,
    xavier,
    zeros,
)
from postil.network.lookup import LookupTable


@final
class Window(Layer):
    """Concatenates each word with its neighbours: (N, D) to (N, size·D).

    A learned padding vector fills the positions beyond the sentence. With a ``dilation`` of d, neighbours are every
    d-th word: layers whose dilations double see twice as far with each layer.
    """

    def __init__(
        self,
        D: int,
        size: int,
        *,
        dilation: int = 1,
        rng: Rng,
        initialise: Initialiser = zeros,
        dtype: Any = np.float32,
    ) -> None:
        if dilation < 1:
            raise ConfigurationError("dilation", expected="1 or more", got=dilation)
        self.size, self.dilation = _odd(size), dilation
        self.padding = new_parameter("padding", (D,), initialise, rng, dtype, decays=False)

    def forward(self, X: Array, run: Run) -> tuple[Array, LayerPullback]:
        checked_rows(X, self.name, self.padding)
        offsets, size, dilation = needed_offsets(run, self.name), self.size, self.dilation
        Y = kernels.windows(X, self.padding.value, offsets, size, dilation)
        return by_parameter((Y, lambda dY: kernels.windows_back(dY, offsets, size, dilation)), self.padding)


@final
class WindowAverage(Layer):
    """The mean of the vectors in each window (E2), without padding: a baseline that ignores positions."""

    def __init__(self, size: int) -> None:
        self.size = _odd(size)

    def forward(self, X: Array, run: Run) -> tuple[Array, LayerPullback]:
        (N, D), size, offsets = checked_rows(X, self.name).shape, self.size, needed_offsets(run, self.name)
        places, rows = padded_places(offsets, size)
        lengths = np.diff(offsets)
        before = np.arange(N) - np.repeat(offsets[:-1], lengths)
        after = np.repeat(lengths, lengths) - 1 - before
        counts = np.minimum(before, size // 2) + np.minimum(after, size // 2) + 1  # (N,) words in each window
        share = 1 / counts.astype(X.dtype)[:, None]
        padded = np.zeros((rows, D), X.dtype)
        padded[places] = X  # 1
        Y = sum((padded[places + shift] for shift in shifts(size)), start=np.zeros_like(X)) * share  # 2

        def pullback(dY: Array) -> tuple[Array, ParameterGradients]:
            spread = np.broadcast_to((dY * share)[:, None, :], (N, size, D))
            return overlapping_sum(spread, places, rows)[places], {}  # undoes 2 and 1

        return Y, pullback


def convolution(
    D: int, H: int, size: int, *, rng: Rng, initialise: Initialiser = xavier, dtype: Any = np.float32
) -> Chain:
    """A4: the same linear layer at every window of the sentence. (N, D) to (N, H)."""
    return Chain(
        Window(D, size, rng=rng, dtype=dtype), Linear(size * D, H, rng=rng, initialise=initialise, dtype=dtype)
    )


def _odd(size: int) -> int:
    if not isinstance(size, int | np.integer) or size < 1 or size % 2 == 0:
        raise ConfigurationError("window size", expected="an odd number, so that a word is in the middle", got=size)
    return size


# --------------------------------------------------------------------------------------------- windows over shared rows
# A linear layer of windows (A4) over rows that stand at many tokens: the product is computed once per distinct row.
#
# W [x_t-1; x_t; x_t+1] = Σ_k W_k x_t+k: one term per position k, and each depends on one row alone. A batch has about
# half as many distinct words as tokens, so this halves the largest products of a window network, and windows become
# sums of rows.


_SCRATCH = Scratch()
# Paths that the data choose: each is a row of the gradient list (tests/oracles/requirements.py).
MODES = {"shared_windows": ("wide rows", "no bias"), "Window": ("dilation",)}


def linear_of_windows(
    X: Array, padding: Array, W: Array, b: Array, places: Array, offsets: Array, size: int, finish: Finish | None = None
) -> tuple[Array, Callable[[Array], tuple[Array, Array, Array, Array]]]:
    """Y_t = Σ_k W_k x_places(t+k) + b, with ``finish`` applied; ``padding`` stands for words beyond the sentence.

    X (U, D), padding (D,), W (H, size·D), b (H,), places (N,) the row of each token -> Y (N, H).
    """
    (U, D), H, ids = X.shape, len(W), places + 1
    # Columns to compute with, those beyond D zeros: on odd widths BLAS takes a fifth longer for the gradients.
    wide = D if D < 16 else -(-D // 8) * 8
    vectors = np.empty((1 + U, wide), X.dtype)
    vectors[0, :D], vectors[1:, :D], vectors[:, D:] = padding, X, 0  # 1
    by_position = np.zeros((size * H, wide), W.dtype)  # what each position adds to the outputs
    by_position.reshape(size, H, wide)[:, :, :D] = W.reshape(H, size, D).transpose(1, 0, 2)
    rows = _SCRATCH.array("rows", 1 + U, size * H, dtype=X.dtype)  # as its gradient below, it does not outlive this
    np.matmul(vectors[:, :D], by_position[:, :D].T, out=rows)  # 2
    Z = kernels.sum_windows(rows, ids, offsets, size, "identity", np.empty((len(ids), H), X.dtype), add=False)  # 3
    Y, unfinished = finished(Z, b, finish)  # 4

    def pullback(dY: Array) -> tuple[Array, Array, Array, Array]:
        dZ, db = unfinished(dY)  # undoes 4
        out = _SCRATCH.array("rows", 1 + U, size * H, dtype=X.dtype)
        drows = kernels.spread_windows(dZ, ids, offsets, size, out)  # undoes 3
        dW = (drows.T @ vectors).reshape(size, H, wide)[:, :, :D].transpose(1, 0, 2).reshape(W.shape)  # undoes 2
        dvectors = (drows @ by_position)[:, :D]  # undoes 2
        return dvectors[1:], dvectors[0], dW, db  # undoes 1

    return Y, pullback


def shared_windows(
    x: Node, places: Array, offsets: Array, window: Window, linear: Linear, finish: Finish | None = None
) -> Result:
    """``window``, then ``linear`` with its ``finish``, on tokens whose rows are ``x`` (U, D) at ``places`` (N,).

    A node (N, H).
    """
    checked_rows(x.value, "windows over shared rows", window.padding)
    tokens = places, offsets, window.size
    Y, back = linear_of_windows(x.value, window.padding.value, linear.W.value, linear.bias(), *tokens, finish)
    parents: tuple[Node, ...] = (x, window.padding, linear.W) + ((linear.b,) if linear.b is not None else ())
    name, n = "Linear of windows", len(parents)
    return Result(Y, parents, lambda dY: list(back(dY))[:n], name, offsets=offsets, is_layer=True)


# -------------------------------------------------------------------------------------------------------- max over time


def max_over_time(X: Array, offsets: Array) -> tuple[Array, Callable[[Array], Array]]:
    """The largest value of each feature in each sentence.  X (N, D) -> Y (B, D).

    The gradient goes to the position of the maximum only, to the first one among equals.
    """
    Y, winners = first_maxima(X, offsets)  # 1

    def pullback(dY: Array) -> Array:
        dX = np.zeros_like(X)
        np.put_along_axis(dX, winners, dY, axis=0)  # undoes 1; no two sentences share a row
        return dX

    return Y, pullback


def first_maxima(X: Array, offsets: Array) -> tuple[Array, Array]:
    """The largest value of each feature in each sentence, (B, D), and the first row that has it, (B, D)."""
    lengths = np.diff(offsets)
    if (lengths == 0).any():
        where = f"sentence {int(np.argmin(lengths != 0))} of the batch"
        raise ShapeError("max over time", expected="at least one word", got="an empty sentence", where=where)
    Y, winners = kernels.first_maxima(X, offsets)
    if (winners == len(X)).any() and len(X):  # no row equals a maximum that is NaN
        checked_finite(X, where="max over time")
    note_branches(winners)
    return Y, winners


@final
class MaxOverTime(Layer):
    """The maximum of each feature over the words of a sentence: (N, D), divided into B sentences, to (B, D)."""

    def forward(self, X: Array, run: Run) -> tuple[Array, LayerPullback]:
        Y, back = max_over_time(checked_rows(X, self.name), needed_offsets(run, self.name))
        return Y, lambda dY: (back(dY), {})

    def offsets_after(self, offsets: Array | None) -> None:
        return None


# ------------------------------------------------------------------------------------------------ the sentence approach
# The sentence approach (A12): every word is tagged by a view of its whole sentence.
#
# For each target word t, every word of the sentence gets its distance to the target as a feature; a convolution runs
# over that, and the maximum over time is the vector of the target. A sentence of T words is laid out T times.
#
# The convolution is linear, so it is the sum of what the words contribute and of what the distances contribute:
#
#     C[t, p] = A[p] + F[edge(p), p - t]
#
# A (N, H) is the convolution of the words alone, once per sentence. F is a small table: the distances in the window
# around a word depend only on its own distance, and on how much of the window lies beyond the edges of the sentence
# (the padding there is counted in A). So the T² rows of a sentence cost an addition each instead of a matrix product.


LONGEST_VIEW = 1000  # words; a longer sentence is looked at in pieces
_ROWS_AT_ONCE = 4096  # of the T² rows: what fits the cache, and bounds the memory


@final
class SentenceConvolution(Layer):
    """(N, D) to (N, H): lookup of distances, convolution, max over time, for every word as the target.

    A sentence of more than LONGEST_VIEW words is processed in pieces of about equal length, at most that long.
    """

    def __init__(
        self,
        D: int,
        H: int,
        size: int,
        *,
        distance_dim: int = 5,
        longest_distance: int = 30,
        rng: Rng,
        initialise: Initialiser = xavier,
        dtype: Any = np.float32,
    ) -> None:
        self.longest = longest_distance
        self.distances = LookupTable(2 * longest_distance + 1, distance_dim, rng=rng, dtype=dtype)
        self.convolution = convolution(D + distance_dim, H, size, rng=rng, initialise=initialise, dtype=dtype)
        self.size = size

    def forward(self, X: Array, run: Run) -> tuple[Array, LayerPullback]:
        offsets = views(needed_offsets(run, self.name), LONGEST_VIEW)
        checked_rows(X, self.name)
        D = X.shape[1]
        without_distances = np.concatenate((X, np.zeros((len(X), self.distances.table.shape[1]), X.dtype)), axis=1)
        A, back_words = self.convolution.forward(without_distances, Run(offsets=offsets, rng=run.rng))  # 1
        linear = self.convolution.layers[-1]
        assert isinstance(linear, Linear)
        F, back_distances = self._distance_scores(linear.W.value, D)  # 2
        Y, back_max = _largest_sums(A, F, offsets)  # 3

        def pullback(dY: Array) -> tuple[Array, ParameterGradients]:
            dA, dF = back_max(dY)  # undoes 3
            dX, gradients = back_words(dA)  # undoes 1
            assert dX is not None
            dW, gradients[self.distances.table] = back_distances(dF)  # undoes 2
            gradients[linear.W] = gradients[linear.W] + dW
            return dX[:, :D], gradients

        return Y, pullback

    def _distance_scores(self, W: Array, D: int) -> tuple[Array, Callable[[Array], tuple[Array, RowGradient]]]:
        """F (edges, edges, R, H), R = 2 (longest + half) + 1: the sum over the window's slots inside the sentence.

        The first two axes are the number of words before and after in the sentence, up to half a window.
        """
        P = self.distances.table.value
        slots = W.reshape(len(W), self.size, -1)[:, :, D:]  # (H, K, P)
        half, R = self.size // 2, 2 * (self.longest + self.size // 2) + 1
        E = np.einsum("rp,hkp->krh", P, slots)  # 1
        F = np.zeros((half + 1, half + 1, R, len(W)), P.dtype)
        # (R,) row of the table of distances for the slot at each shift of a window whose centre has each distance
        centres = np.arange(-self.longest - half, self.longest + half + 1)
        used = [
            np.clip(centres + shift, -self.longest, self.longest) + self.longest for shift in range(-half, half + 1)
        ]
        for k, shift in enumerate(range(-half, half + 1)):
            F[max(-shift, 0) :, max(shift, 0) :] += E[k, used[k]]  # 2

        def pullback(dF: Array) -> tuple[Array, RowGradient]:
            dE = np.zeros_like(E)
            for k, shift in enumerate(range(-half, half + 1)):
                np.add.at(dE[k], used[k], dF[max(-shift, 0) :, max(shift, 0) :].sum(axis=(0, 1)))  # undoes 2
            dW = np.zeros_like(W).reshape(len(W), self.size, -1)
            dW[:, :, D:] = np.einsum("krh,rp->hkp", dE, P)  # undoes 1
            dP = np.einsum("krh,hkp->rp", dE, slots)
            rows = np.flatnonzero(dE.any(axis=(0, 2)))  # distances that nothing was learned about stay untouched
            return dW.reshape(W.shape), RowGradient(rows, dP[rows], P.shape)

        return F, pullback


def views(offsets: Array, longest: int) -> Array:
    """The offsets with cuts inside sentences of more than ``longest`` words, into as few and as equal pieces."""
    lengths = np.diff(offsets)
    if not (lengths > longest).any():
        return offsets
    pieces = -(-lengths // longest)
    cuts = [
        start + T * np.arange(n) // n for start, T, n in zip(offsets[:-1], lengths, np.maximum(pieces, 1), strict=True)
    ]
    return np.concatenate([*cuts, offsets[-1:]])


def _largest_sums(A: Array, F: Array, offsets: Array) -> tuple[Array, Callable[[Array], tuple[Array, Array]]]:
    """Y[t] = max over p of A[p] + F[edges(p), p - t], for all targets t of each sentence.  A (N, H) -> Y (N, H)."""
    (N, H), flat = A.shape, F.reshape(-1, F.shape[-1])
    Y = np.empty_like(A)
    best_word, best_row = np.empty((N, H), np.int64), np.empty((N, H), np.int64)
    for targets, words, distances, starts in _rows_of_targets(offsets, edges=F.shape[0] - 1, distances=F.shape[2]):
        sums = A[words]
        sums += flat[distances]
        Y[targets], winners = first_maxima(sums, starts)
        best_word[targets], best_row[targets] = words[winners], distances[winners]

    def pullback(dY: Array) -> tuple[Array, Array]:
        return _scattered(dY, best_word, A.shape), _scattered(dY, best_row, flat.shape).reshape(F.shape)

    return Y, pullback


def _scattered(dY: Array, rows: Array, shape: tuple[int, ...]) -> Array:
    """Each dY[t, h] added at [rows[t, h], h]."""
    places = rows * shape[1] + np.arange(shape[1])
    total = np.bincount(places.reshape(-1), dY.reshape(-1), shape[0] * shape[1])
    return total.reshape(shape).astype(dY.dtype)


def _rows_of_targets(offsets: Array, edges: int, distances: int) -> Iterator[tuple[slice, Array, Array, Array]]:
    """Some targets, each with all M words of its sentence: the word (M,), its row in F (M,), where targets begin."""
    lengths = np.diff(offsets)
    sizes = np.repeat(lengths, lengths)  # (N,) the length of each target's sentence
    starts = np.repeat(offsets[:-1], lengths)
    ends, largest = np.cumsum(sizes), distances // 2
    before = np.minimum(np.arange(offsets[-1]) - starts, edges)
    after = np.minimum(starts + sizes - 1 - np.arange(offsets[-1]), edges)
    edge = (before * (edges + 1) + after) * distances + largest  # (N,) the row of F for this word at distance 0
    first = 0
    while first < len(sizes):
        done = ends[first - 1] if first else 0
        end = max(first + 1, int(np.searchsorted(ends, done + _ROWS_AT_ONCE, side="right")))
        copies = offsets_from_lengths(sizes[first:end])
        target = np.repeat(np.arange(first, end), sizes[first:end])
        words = np.arange(copies[-1]) - np.repeat(copies[:-1] - starts[first:end], sizes[first:end])
        yield slice(first, end), words, edge[words] + np.clip(words - target, -largest, largest), copies
        first = end


# ---------------------------------------------------------------------------------------------- the characters of words
# A convolution over the characters of words (A4) and the maximum over each word (A5): one vector per word.
#
# A word is to its characters what a sentence is to its words in the sentence approach, so the same functions compute
# it. The filters are multiplied with each character of the alphabet once, whatever the batch: the bits of a word's
# vector do not depend on the other words of the batch.


@final
class CharacterConvolution(Layer):
    """The characters of U words, (U, M), to (U, H): tanh of the largest value of each filter over a word.

    An entry is 1 + the id of a character; after the last character of a word there are zeros. A word without
    characters is a row of zeros.
    """

    def __init__(
        self,
        V: int,
        H: int,
        *,
        D: int = 16,
        size: int = 3,
        rng: Rng,
        initialise: Initialiser = xavier,
        dtype: Any = np.float32,
    ) -> None:
        """V characters, each with a vector of D numbers, and H filters of ``size`` characters."""
        self.table = new_parameter("table", (V, D), fan_in_variance, rng, dtype, decays=False)
        self.window = Window(D, size, rng=rng, dtype=dtype)
        self.linear = Linear(size * D, H, rng=rng, initialise=initialise, dtype=dtype)

    def forward(self, X: Array, run: Run) -> tuple[Array, LayerPullback]:
        if X.ndim != 2 or X.dtype.kind not in "iu":
            raise ShapeError("characters of words", expected="integers (U, M)", got=X.shape, where=self.name)
        is_there = X > 0
        places, lengths, V = X[is_there].astype(np.int64) - 1, is_there.sum(axis=1), len(self.table.value)
        if len(places) and places.max() >= V:
            raise IndexRangeError("characters of words", expected=f"0 to {V}", got=int(X.max()), where=self.name)
        spelled = np.flatnonzero(lengths)  # words with characters
        offsets = offsets_from_lengths(lengths[spelled])
        table, padding, (W, b) = self.table, self.window.padding, (self.linear.W, self.linear.b)
        assert b is not None
        weights = table.value, padding.value, W.value, b.value
        Z, back_filters = linear_of_windows(*weights, places, offsets, self.window.size)  # 1
        largest, back_max = max_over_time(Z, offsets)  # 2
        Y = np.zeros((len(X), len(W.value)), W.dtype)
        Y[spelled] = np.tanh(largest)  # 3

        def pullback(dY: Array) -> tuple[None, dict[Any, Any]]:
            dlargest = dY[spelled] * (1 - Y[spelled] ** 2)  # undoes 3
            dtable, dpadding, dW, db = back_filters(back_max(dlargest))  # undoes 2 and 1
            return None, {table: dtable, padding: dpadding, W: dW, b: db}

        return Y, pullback
