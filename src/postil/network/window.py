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

from collections.abc import Callable
from typing import Any, final

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.errors import ConfigurationError
from postil.graph import Node, Result
from postil.kernels.plain_chain import Scratch
from postil.kernels.plain_layers import overlapping_sum, padded_places, shifts
from postil.network.containers import Chain
from postil.network.layer import (
    Initialiser,
    Layer,
    LayerPullback,
    Rng,
    Run,
    by_parameter,
    checked_rows,
    needed_offsets,
    new_parameter,
    xavier,
    zeros,
)
from postil.network.linear import Finish, Linear, finished


def concatenated_windows(
    X: Array, padding: Array, offsets: Array, size: int, dilation: int = 1
) -> tuple[Array, Callable[[Array], tuple[Array, Array]]]:
    """Each row joined with its neighbours, ``dilation`` rows apart.  X (N, D), padding (D,), size K -> Y (N, K·D)."""
    Y = kernels.windows(X, padding, offsets, size, dilation)
    return Y, lambda dY: kernels.windows_back(dY, offsets, size, dilation)


def averaged_windows(X: Array, offsets: Array, size: int) -> tuple[Array, Callable[[Array], Array]]:
    """The mean of each row and its neighbours inside the sentence.  X (N, D) -> Y (N, D)."""
    N, D = X.shape
    places, rows = padded_places(offsets, size)
    share = 1 / window_counts(offsets, size, X.dtype)[:, None]
    padded = np.zeros((rows, D), X.dtype)
    padded[places] = X  # 1
    Y = sum((padded[places + shift] for shift in shifts(size)), start=np.zeros_like(X)) * share  # 2

    def pullback(dY: Array) -> Array:
        spread = np.broadcast_to((dY * share)[:, None, :], (N, size, D))
        return overlapping_sum(spread, places, rows)[places]  # undoes 2 and 1

    return Y, pullback


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
        offsets = needed_offsets(run, self.name)
        joined = concatenated_windows(X, self.padding.value, offsets, self.size, self.dilation)
        return by_parameter(joined, self.padding)


@final
class WindowAverage(Layer):
    """The mean of the vectors in each window (E2), without padding: a baseline that ignores positions."""

    def __init__(self, size: int) -> None:
        self.size = _odd(size)

    def forward(self, X: Array, run: Run) -> tuple[Array, LayerPullback]:
        Y, back = averaged_windows(checked_rows(X, self.name), needed_offsets(run, self.name), self.size)
        return Y, lambda dY: (back(dY), {})


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


def window_counts(offsets: Array, size: int, dtype: Any) -> Array:
    """How many words of the sentence each window holds, (N,)."""
    half, lengths = size // 2, np.diff(offsets)
    before = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    after = np.repeat(lengths, lengths) - 1 - before
    counts: Array = np.minimum(before, half) + np.minimum(after, half) + 1
    return counts.astype(dtype)


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
