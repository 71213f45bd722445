"""Dropout of elements or of whole rows. It acts only when a forward pass carries an ``rng``, that is in training."""

import math
from collections.abc import Callable
from typing import final

import numpy as np

from postil import kernels
from postil.arrays import Array, checked_floats
from postil.errors import ConfigurationError
from postil.network.layer import Layer, LayerPullback, Run


def random_bits(shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """16 random bits an element: a quarter of the cost of a random float."""
    size = math.prod(shape)
    four = rng.integers(0, 2**64 - 1, -(-size // 4), np.uint64, endpoint=True)
    return four.view(np.uint16)[:size].reshape(shape)


def dropped_values(rate: float) -> int:
    """How many of the 65536 values of 16 bits drop an element: the share is rounded to that."""
    return min(round(rate * 65536), 65535)


def dropout(X: Array, rate: float, rows: bool, rng: np.random.Generator) -> tuple[Array, Callable[[Array], Array]]:
    """Set a share ``rate`` of the elements (or rows) to 0 and scale the others, so that the mean stays.  X (N, D)."""
    bits, dropped = random_bits((len(X), *[1] * (X.ndim - 1)) if rows else X.shape, rng), dropped_values(rate)
    if rows:
        scale = np.where(bits < dropped, 0, 65536 / (65536 - dropped)).astype(X.dtype)
        return X * scale, lambda dY: dY * scale
    Y = np.empty_like(X, order="C")
    flat = (1, X.size)
    scale = kernels.activate(X.reshape(flat), None, "identity", bits.reshape(flat), dropped, out=Y.reshape(flat))
    return Y, lambda dY: dY * scale.reshape(X.shape)


@final
class Dropout(Layer):
    """``rows=True`` drops whole rows, that is words; otherwise single elements."""

    def __init__(self, rate: float, *, rows: bool = False) -> None:
        if not 0 <= rate < 1:
            raise ConfigurationError("dropout rate", expected="at least 0 and below 1", got=rate)
        self.rate = rate
        self.rows = rows

    def forward(self, X: Array, run: Run) -> tuple[Array, LayerPullback]:
        checked_floats(X, where=self.name)
        if run.rng is None or self.rate == 0:
            return X, lambda dY: (dY, {})
        Y, back = dropout(X, self.rate, self.rows, run.rng)
        return Y, lambda dY: (back(dY), {})
