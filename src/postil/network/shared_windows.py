"""A linear layer of windows (A4) over rows that stand at many tokens: the product is computed once per distinct row.

W [x_t-1; x_t; x_t+1] = Σ_k W_k x_t+k: one term per position k, and each depends on one row alone. A batch has about
half as many distinct words as tokens, so this halves the largest products of a window network, and windows become sums
of rows. For the other ways to compute such a layer see ``window.py``.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.graph import Node, Result
from postil.kernels.packing import Scratch
from postil.network.finish import Finish, finished
from postil.network.layer import checked_rows
from postil.network.linear import Linear
from postil.network.window import Window

_SCRATCH = Scratch()
# Paths that the data choose: each is a row of the gradient list (gradients/requirements.py).
MODES = {"shared_windows": ("wide rows", "no bias")}


def linear_of_windows(
    X: Array,
    padding: Array,
    W: Array,
    b: Array,
    places: Array,
    offsets: Array,
    size: int,
    finish: Finish | None = None,
) -> tuple[Array, Callable[[Array], tuple[Array, Array, Array, Array]]]:
    """Y_t = Σ_k W_k x_places(t+k) + b, with ``finish`` applied; ``padding`` stands for words beyond the sentence.

    X (U, D), padding (D,), W (H, size·D), b (H,), places (N,) the row of each token -> Y (N, H).
    """
    (U, D), H, ids = X.shape, len(W), places + 1
    wide = _wide(D)
    vectors = np.empty((1 + U, wide), X.dtype)
    vectors[0, :D], vectors[1:, :D], vectors[:, D:] = padding, X, 0  # 1
    by_position = _by_position(W, size, wide)  # (size·H, wide)
    rows = _rows(1 + U, size * H, X.dtype)
    np.matmul(vectors[:, :D], by_position[:, :D].T, out=rows)  # 2
    Z = kernels.sum_windows(rows, ids, offsets, size, "identity", np.empty((len(ids), H), X.dtype), add=False)  # 3
    Y, unfinished = finished(Z, b, finish)  # 4

    def pullback(dY: Array) -> tuple[Array, Array, Array, Array]:
        dZ, db = unfinished(dY)  # undoes 4
        drows = kernels.spread_windows(dZ, ids, offsets, size, _rows(1 + U, size * H, X.dtype))  # undoes 3
        dW = (drows.T @ vectors).reshape(size, H, wide)[:, :, :D].transpose(1, 0, 2).reshape(W.shape)  # undoes 2
        dvectors = (drows @ by_position)[:, :D]  # undoes 2
        return dvectors[1:], dvectors[0], dW, db  # undoes 1

    return Y, pullback


def _rows(count: int, width: int, dtype: Any) -> Array:
    """Memory for what words add to windows, or its gradient: neither outlives the function that asks for it."""
    return _SCRATCH.array("rows", count, width, dtype=dtype)


def _wide(D: int) -> int:
    """Columns to compute with, those beyond D zeros: on odd widths BLAS takes a fifth longer for the gradients."""
    return D if D < 16 else -(-D // 8) * 8


def _by_position(W: Array, size: int, wide: int) -> Array:
    """(H, size·D) -> (size·H, wide): what each position adds to the outputs."""
    H, D = len(W), W.shape[1] // size
    ordered = np.empty((size, H, wide), W.dtype)
    ordered[:, :, D:] = 0
    ordered[:, :, :D] = W.reshape(H, size, D).transpose(1, 0, 2)
    return ordered.reshape(size * H, wide)


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

    def pullback(dY: Array) -> list[Any]:
        return list(back(dY))[: len(parents)]

    return Result(Y, parents, pullback, "Linear of windows", offsets=offsets, is_layer=True)
