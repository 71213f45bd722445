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

    16 random bits an element: half the cost of a random float. The share is rounded to 1/65536 and scaled as rounded.
    """
    shape = (len(X), *[1] * (X.ndim - 1)) if rows else X.shape
    dropped = round(rate * 65536)
    bits = np.frombuffer(rng.bytes(2 * math.prod(shape)), "<u2").reshape(shape)
    scale = (bits >= dropped) * X.dtype.type(65536 / max(65536 - dropped, 1))
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
