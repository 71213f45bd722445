"""Windows over sentences: concatenated (E3, and with a linear layer the convolution, A4) or averaged (E2).

The work is done by kernels; their NumPy twins stand in ``kernels/plain_layers.py``.

A linear layer of windows, W [x_t-2; …; x_t+2] + b, is computed in three ways. They agree up to rounding; the first is
the reference, and each of the others is faster where something more is known:

| where                                 | used for                           | W is multiplied with        | gradient |
|---------------------------------------|------------------------------------|-----------------------------|----------|
| ``Window``, ``Linear``: `convolution` | every other case: extra columns, … | every window                | yes      |
| ``shared_windows.py``                 | training, features of words alone  | each word, once a batch     | yes      |
| ``models/engine.py``                  | tagging                            | each word, once for good    | no       |
"""

from collections.abc import Callable
from typing import Any, final

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.errors import ConfigurationError
from postil.graph import Parameter
from postil.kernels.plain_layers import overlapping_sum, padded_places, shifts
from postil.network.containers import Chain
from postil.network.initialisers import Initialiser, new_parameter, xavier, zeros
from postil.network.layer import Layer, LayerPullback, Run, checked_rows, needed_offsets
from postil.network.linear import Linear


def concatenated_windows(
    X: Array, padding: Array, offsets: Array, size: int
) -> tuple[Array, Callable[[Array], tuple[Array, Array]]]:
    """Each row beside its neighbours.  X (N, D), padding (D,), size K -> Y (N, K·D)."""
    Y = kernels.windows(X, padding, offsets, size)
    return Y, lambda dY: kernels.windows_back(dY, offsets, size)


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

    A learnt padding vector fills the positions beyond the sentence.
    """

    def __init__(
        self, D: int, size: int, *, rng: "np.random.Generator", initialise: Initialiser = zeros, dtype: Any = np.float32
    ) -> None:
        self.size = _odd(size)
        self.padding = new_parameter("padding", (D,), initialise, rng, dtype, decays=False)

    def forward(self, X: Array, run: Run) -> tuple[Array, LayerPullback]:
        checked_rows(X, self.name, self.padding)
        Y, back = concatenated_windows(X, self.padding.value, needed_offsets(run, self.name), self.size)

        def pullback(dY: Array) -> tuple[Array, dict[Parameter, Any]]:
            dX, dpadding = back(dY)
            return dX, {self.padding: dpadding}

        return Y, pullback


@final
class WindowAverage(Layer):
    """The mean of the vectors in each window (E2), without padding: a baseline that ignores positions."""

    def __init__(self, size: int) -> None:
        self.size = _odd(size)

    def forward(self, X: Array, run: Run) -> tuple[Array, LayerPullback]:
        Y, back = averaged_windows(checked_rows(X, self.name), needed_offsets(run, self.name), self.size)
        return Y, lambda dY: (back(dY), {})


def convolution(
    D: int, H: int, size: int, *, rng: "np.random.Generator", initialise: Initialiser = xavier, dtype: Any = np.float32
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
