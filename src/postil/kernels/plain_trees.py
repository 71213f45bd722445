"""Kernels of trees in NumPy: shapes of trees, and the cells of a Tree-LSTM, one level at a time.

Letters: M nodes, n of them leaves, P phrases, N phrases of one level, H the width. ``A`` holds gates and u of cells: o,
f_1, f_2, i, u of a phrase, o, i, u of a word. ``parents`` are rows of what parents send, 2 P at roots, where it is 0.
"""

from itertools import pairwise

import numpy as np

from postil.arrays import Array, checked_offsets
from postil.errors import IndexRangeError


def binary_shape(widths: Array, offsets: Array) -> tuple[Array, Array]:
    """Where the children of nodes stand, (N, 2) places before their parent, 0 at leaves; and heights, int32 (N,).

    ``widths`` (N,) uint8 holds the number of children, 0 or 2, of nodes in post-order, tree by tree. That tells all:
    the right child stands just before its parent, the left one before all that is beneath the right one.
    """
    complaint = IndexRangeError("not a binary tree in post-order", where="trees")
    back: list[tuple[int, int]] = []
    heights: list[int] = []
    for start, end in pairwise(checked_offsets(offsets, len(widths)).tolist()):
        waiting: list[int] = []  # nodes without a parent so far
        for i, width in enumerate(widths[start:end].tolist(), start):
            if width not in (0, 2) or len(waiting) < width:
                raise complaint
            left, right = (waiting.pop(-2), waiting.pop()) if width else (i, i)
            back.append((i - left, i - right))
            heights.append(max(heights[left], heights[right]) + 1 if width else 0)
            waiting.append(i)
        if len(waiting) != 1:
            raise complaint
    return np.array(back, np.int64).reshape(-1, 2), np.array(heights, np.int32)


def cells_up(A: Array, memory: Array, children: Array, out: Array) -> None:
    """Open the gates in place, and put the memory c = f_1 c_1 + f_2 c_2 + i u into ``out`` (N, H).

    A (N, 5, H) comes with tanh of all maps, that of the gates at half their argument: σ(z) = (1 + tanh(z / 2)) / 2;
    memory (M, H) of all nodes, children (N, 2) their rows.
    """
    half = A.dtype.type(0.5)
    A[:, :4] *= half
    A[:, :4] += half
    parts = memory[children]
    np.multiply(A[:, 1], parts[:, 0], out=out)
    out += A[:, 2] * parts[:, 1]
    out += A[:, 3] * A[:, 4]


def cells_down(
    A: Array,
    tanh_c: Array,
    memory: Array,
    children: Array,
    parents: Array,
    dH: Array,
    first: int,
    sent_h: Array,
    sent_c: Array,
    out: Array,
) -> None:
    """dZ of one level's maps into ``out`` (N, 5, H); what its cells send to their parts' memory into ``sent_c``.

    A (N, 5, H), tanh_c (N, H), dH (N, H) and parents (N,) are of the level's phrases, whose numbers begin at ``first``;
    memory (M, H) of all nodes; sent_h and sent_c (2 P + 1, H).
    """
    o, f, i, u = A[:, 0], A[:, 1:3], A[:, 3], A[:, 4]
    dh = dH + sent_h[parents]
    dc = dh * o * (1 - tanh_c * tanh_c) + sent_c[parents]
    out[:, 0] = dh * tanh_c * (o * (1 - o))
    out[:, 1:3] = dc[:, None] * memory[children] * (f * (1 - f))
    out[:, 3] = dc * u * (i * (1 - i))
    out[:, 4] = dc * i * (1 - u * u)
    N, H = tanh_c.shape
    sent_c[2 * first : 2 * (first + N)] = (dc[:, None] * f).reshape(2 * N, H)


def leaf_cells_down(A: Array, tanh_c: Array, parents: Array, dH: Array, sent_h: Array, sent_c: Array) -> Array:
    """dZ (n, 3, H) of the maps of words.  A (n, 3, H), tanh_c and dH (n, H), parents (n,), sent_* (2 P + 1, H)."""
    o, i, u = A[:, 0], A[:, 1], A[:, 2]
    dh = dH + sent_h[parents]
    dc = dh * o * (1 - tanh_c * tanh_c) + sent_c[parents]
    return np.stack([dh * tanh_c * (o * (1 - o)), dc * u * (i * (1 - i)), dc * i * (1 - u * u)], axis=1)
