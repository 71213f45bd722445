"""Kernels of trees in NumPy: their shapes, the cells of a Tree-LSTM, quadratic forms, phrases for prediction.

Letters: M nodes, n of them leaves, P phrases, H the width. Rows are sorted by level, words first, as in a TreeSchedule:
``children`` (P, 2) are rows, ``parents`` (M,) are 2 i + side, 2 P at roots.

A kernel that works level by level takes all arrays at once and returns a function of a level, the phrases
``first:end``: the arrays are checked once, and a level costs little more than its arithmetic.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from postil.arrays import Array, checked_offsets
from postil.errors import IndexRangeError

Level: TypeAlias = Callable[[int, int], None]


def binary_shape(widths: Array, offsets: Array) -> tuple[Array, Array]:
    """Where the children of nodes stand, (N, 2) places before their parent, 0 at leaves; and heights, int32 (N,).

    ``widths`` (N,) uint8 holds the number of children, 0 or 2, of nodes in post-order, tree by tree. That tells all:
    the right child comes just before its parent, the left one before all that is beneath the right one.
    """
    wrong_order = IndexRangeError("not a binary tree in post-order", where="trees")
    back: list[tuple[int, int]] = []
    heights: list[int] = []
    for start, end in pairwise(checked_offsets(offsets, len(widths)).tolist()):
        waiting: list[int] = []  # nodes without a parent so far
        for i, width in enumerate(widths[start:end].tolist(), start):
            if width not in (0, 2) or len(waiting) < width:
                raise wrong_order
            left, right = (waiting.pop(-2), waiting.pop()) if width else (i, i)
            back.append((i - left, i - right))
            heights.append(max(heights[left], heights[right]) + 1 if width else 0)
            waiting.append(i)
        if len(waiting) != 1:
            raise wrong_order
    return np.array(back, np.int64).reshape(-1, 2), np.array(heights, np.int32)


class TreeCells(NamedTuple):
    """The state of the cells of a batch of trees."""

    words: Array  # (n, 3, H) o, i, u of words; before the upward kernels their products alone
    phrases: Array  # (P, 5, H) o, f_1, f_2, i, u of phrases
    c: Array  # (M, H)
    tanh_c: Array  # (M, H)
    h: Array  # (M, H)
    parts: Array  # (2 P + 1, H) h of each phrase's children; roots write to the last row

    @staticmethod
    def shapes(n: int, P: int, H: int) -> list[tuple[int, ...]]:
        return [(n, 3, H), (P, 5, H), *[(n + P, H)] * 3, (2 * P + 1, H)]

    @classmethod
    def empty(cls, n: int, P: int, H: int, dtype: Any) -> "TreeCells":
        return cls(*(np.empty(shape, dtype) for shape in cls.shapes(n, P, H)))


def _opened(maps: Array, bias: Array) -> None:
    """z + bias to gates and, last, u; in place.  maps (N, K, H), bias (K H,)."""
    half = maps.dtype.type(0.5)
    maps += bias.reshape(maps.shape[1:])
    maps[:, :-1] *= half  # σ(z) = (1 + tanh(z / 2)) / 2
    np.tanh(maps, out=maps)
    maps[:, :-1] *= half
    maps[:, :-1] += half


def _shown(cells: TreeCells, o: Array, rows: slice, parents: Array) -> None:
    """h = o tanh(c) of some rows, which their parents get as well."""
    np.tanh(cells.c[rows], out=cells.tanh_c[rows])
    np.multiply(o, cells.tanh_c[rows], out=cells.h[rows])
    cells.parts[parents[rows]] = cells.h[rows]


def leaf_cells_up(cells: TreeCells, bias: Array, parents: Array) -> None:
    """Gates, memory and vectors of words, whose products with the maps stand in ``cells.words``.  bias (3 H,)."""
    _opened(cells.words, bias)
    rows = slice(0, len(cells.words))
    np.multiply(cells.words[:, 1], cells.words[:, 2], out=cells.c[rows])
    _shown(cells, cells.words[:, 0], rows, parents)


def cells_up(cells: TreeCells, bias: Array, children: Array, parents: Array) -> Level:
    """Gates, memory c = f_1 c_1 + f_2 c_2 + i u and vectors of phrases, from the products in ``cells.phrases``."""
    n = len(cells.words)

    def level(first: int, end: int) -> None:
        A, rows = cells.phrases[first:end], slice(n + first, n + end)
        _opened(A, bias)
        c1, c2 = cells.c[children[first:end, 0]], cells.c[children[first:end, 1]]
        cells.c[rows] = A[:, 1] * c1 + A[:, 2] * c2 + A[:, 3] * A[:, 4]
        _shown(cells, A[:, 0], rows, parents)

    return level


def cells_down(
    cells: TreeCells, children: Array, parents: Array, dH: Array, sent_h: Array, sent_c: Array, out: Array
) -> Level:
    """dZ of the phrases' maps into ``out`` (P, 5, H); what they send to their parts' memory into ``sent_c``.

    dH (M, H) is the loss's own gradient. sent_h and sent_c (2 P + 1, H) hold what parents send, 0 in the last row, for
    roots: the caller fills in the rows of ``sent_h`` that come from a level before the next one down.
    """
    n, (P, _, H) = len(cells.words), cells.phrases.shape

    def level(first: int, end: int) -> None:
        A, rows = cells.phrases[first:end], slice(n + first, n + end)
        o, f, i, u, tanh_c = A[:, 0], A[:, 1:3], A[:, 3], A[:, 4], cells.tanh_c[rows]
        dh = dH[rows] + sent_h[parents[rows]]
        dc = dh * o * (1 - tanh_c * tanh_c) + sent_c[parents[rows]]
        dZ = out[first:end]
        dZ[:, 0] = dh * tanh_c * (o * (1 - o))
        dZ[:, 1:3] = dc[:, None] * cells.c[children[first:end]] * (f * (1 - f))
        dZ[:, 3] = dc * u * (i * (1 - i))
        dZ[:, 4] = dc * i * (1 - u * u)
        sent_c[: 2 * P].reshape(P, 2, H)[first:end] = dc[:, None] * f

    return level


def leaf_cells_down(cells: TreeCells, parents: Array, dH: Array, sent_h: Array, sent_c: Array) -> Array:
    """dZ (n, 3, H) of the maps of words; the arguments are those of ``cells_down``."""
    n = len(cells.words)
    o, i, u, tanh_c = cells.words[:, 0], cells.words[:, 1], cells.words[:, 2], cells.tanh_c[:n]
    dh = dH[:n] + sent_h[parents[:n]]
    dc = dh * o * (1 - tanh_c * tanh_c) + sent_c[parents[:n]]
    return np.stack([dh * tanh_c * (o * (1 - o)), dc * u * (i * (1 - i)), dc * i * (1 - u * u)], axis=1)


# The products of the tensor composition, of many rows:  z_d = Σ_{j ≤ k} c_j U_d[j, k] c_k + W_d c + b_d
#
# Letters: N rows c (K,), D units. The matrix of unit d stands at ``[:, d, :]`` of an array (K, D, K). U is symmetric,
# and compiled kernels read only one half of it.


def sums_of_pairs(V: Array) -> Array:
    """U (K, D, K), by which c_j c_k is multiplied in cᵀ V_d c: V[j, d, k] + V[k, d, j], or V[j, d, j] where j = k."""
    U = V + V.transpose(2, 1, 0)
    _diagonal(U)[...] *= U.dtype.type(0.5)
    return U


def _diagonal(U: Array) -> Array:
    """A view (D, K) of U[j, d, j]."""
    return np.asarray(np.einsum("jdj->dj", U))


def _times(C: Array, U: Array) -> Array:
    """U_d c for every row and unit, (N, D, K)."""
    K, D, _ = U.shape
    return (C @ U.reshape(K, D * K)).reshape(len(C), D, K)


def quadratic_forms(C: Array, U: Array, W: Array, b: Array, out: Array) -> None:
    """Z (N, D) into ``out``.  C (N, K), U (K, D, K) as of ``sums_of_pairs``, W (D, K), b (D,)."""
    np.matmul(_times(C, U), C[:, :, None], out=out[:, :, None])
    out += (C * C) @ _diagonal(U).T  # now every pair has come twice
    out *= out.dtype.type(0.5)
    out += C @ W.T
    out += b


def quadratic_forms_back(dZ: Array, C: Array, U: Array, W: Array, out: Array) -> None:
    """dC (N, K) into ``out``: ∂z_d/∂c = U_d c + diagonal of U_d ⊙ c + W_d."""
    np.matmul(dZ[:, None, :], _times(C, U), out=out[:, None, :])
    out += (dZ @ _diagonal(U)) * C
    out += dZ @ W


def quadratic_weights(dZ: Array, C: Array) -> Array:
    """dV (K, D, K), symmetric: Σ_n c_j dz_d c_k."""
    weighted = (C[:, :, None] * dZ[:, None, :]).reshape(len(C), C.shape[1] * dZ.shape[1])
    return (weighted.T @ C).reshape(C.shape[1], dZ.shape[1], C.shape[1])
