"""Dropout of elements or of whole rows. It acts only when a forward pass carries an ``rng``, that is in training."""

import math
from collections.abc import Callable
from typing import final

import numpy as np

from postil.arrays import Array, checked_floats
from postil.errors import ConfigurationError
from postil.network.layer import Layer, LayerPullback, Run


def dropout(X: Array, rate: float, rows: bool, rng: np.random.Generator) -> tuple[Array, Callable[[Array], Array]]:
    """Set a share ``rate`` of the elements (or rows) to 0 and scale the others, so that the mean stays.  X (N, D).

    16 random bits an element: a quarter of the cost of a random float. The share is rounded to 1/65536, and the scale
    is that of the rounded one.
    """
    shape = (len(X), *[1] * (X.ndim - 1)) if rows else X.shape
    dropped = min(round(rate * 65536), 65535)
    size = math.prod(shape)
    four = rng.integers(0, 2**64 - 1, -(-size // 4), np.uint64, endpoint=True)
    keep = four.view(np.uint16)[:size].reshape(shape) >= dropped
    scale: Array = keep.view(np.uint8).astype(X.dtype)
    scale *= X.dtype.type(65536 / (65536 - dropped))
    return X * scale, lambda dY: dY * scale


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
