"""Vectors of phrases for prediction, in NumPy: the oracle of ``composed_phrases`` and what belongs to it."""

from collections.abc import Sequence

import numpy as np

from postil.arrays import Array
from postil.errors import IndexRangeError

SUMS, PAIRS, CELLS = HOW = "sums", "pairs", "cells"


def composed_phrases(
    how: str,
    states: Array,
    forms: Array,
    children: Array,
    levels: Sequence[tuple[int, int]],
    W: Array,
    bias: Array | None = None,
) -> Array:
    """X (M, H): the vectors of words, then of phrases. ``forms`` (n,) are rows of ``states``.

    | how    | a phrase                                                  | W         | states (U, ·)      |
    |--------|-----------------------------------------------------------|-----------|--------------------|
    | sums   | tanh(W (x_1 + x_2)), no bias                              | (H, H)    | vectors, H         |
    | pairs  | tanh(W [x_1; x_2] + bias)                                 | (H, 2 H)  | vectors, H         |
    | cells  | o tanh(c), c = f_1 c_1 + f_2 c_2 + i u; maps o f_1 f_2 i u | (5 H, 2 H) | vectors, memory, 2 H |

    ``children`` (P, 2) are rows; ``levels`` cut the phrases, children stand on levels beneath.
    """
    check_levels(children, levels, len(forms))
    if len(forms) and (forms.min() < 0 or forms.max() >= len(states)):
        raise IndexRangeError("an index points outside its table", where="forms of words")
    n, H = len(forms), W.shape[1] if how == SUMS else W.shape[1] // 2
    rows = np.empty((n + len(children), states.shape[1]), states.dtype)
    rows[:n] = states[forms]
    across = np.ascontiguousarray(W.T)  # BLAS takes much longer over few rows when a matrix is only seen as transposed
    for first, end in levels:
        pair = rows[children[first:end]]
        rows[n + first : n + end] = _composed(how, pair, across, bias)
    return np.ascontiguousarray(rows[:, :H])


def _composed(how: str, pair: Array, across: Array, bias: Array | None) -> Array:
    """The states (N, S) of the phrases over pairs (N, 2, S) of parts."""
    if how == SUMS:
        return np.asarray(np.tanh((pair[:, 0] + pair[:, 1]) @ across))
    N, H = len(pair), len(across) // 2
    maps = pair[:, :, :H].reshape(N, 2 * H) @ across + bias
    if how == PAIRS:
        return np.asarray(np.tanh(maps))
    half = maps.dtype.type(0.5)
    gates = np.tanh(maps[:, : 4 * H] * half).reshape(N, 4, H) * half + half  # σ(z) = (1 + tanh(z / 2)) / 2
    o, f, i = gates[:, 0], gates[:, 1:3], gates[:, 3]
    c = (f * pair[:, :, H:]).sum(axis=1) + i * np.tanh(maps[:, 4 * H :])
    return np.hstack([o * np.tanh(c), c])


def check_levels(children: Array, levels: Sequence[tuple[int, int]], n: int) -> None:
    """Levels cover all phrases in their order, and children stand on levels beneath."""
    reached = 0
    for first, end in levels:
        below = children[first:end]
        if first != reached or end < first or (below.size and (below.min() < 0 or below.max() >= n + first)):
            break
        reached = end
    if reached != len(children) or (levels and levels[-1][1] != reached):
        raise IndexRangeError("an index points outside its table", where="children and levels")


def bilinear_forms(L: Array, R: Array, U: Array, out: Array) -> None:
    """Add Σ_jk l_j U[j, d, k] r_k to ``out`` (N, D).  L (N, K), R (N, K), U (K, D, K), symmetric or not."""
    K, D, _ = U.shape
    out += np.matmul((L @ U.reshape(K, D * K)).reshape(len(L), D, K), R[:, :, None])[:, :, 0]


def chosen_products(X: Array, M: Array, which: Array, out: Array) -> None:
    """Add x M[which] of each row to ``out`` (N, D).  X (N, K), M (m, K, D), which (N,)."""
    if len(which) and (which.min() < 0 or which.max() >= len(M)):
        raise IndexRangeError("an index points outside its table", where="matrices of rows")
    for i in np.unique(which):
        rows = np.flatnonzero(which == i)
        out[rows] += X[rows] @ M[i]
