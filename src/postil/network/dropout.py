"""Dropout of elements or of whole rows. It acts only when a forward pass carries an ``rng``, that is in training."""

from collections.abc import Callable
from typing import final

import numpy as np

from postil import kernels
from postil.arrays import Array, checked_floats
from postil.errors import ConfigurationError
from postil.kernels import Noise
from postil.kernels.plain_layers import kept_elements
from postil.network.layer import Layer, LayerPullback, Run


def noise_of(rate: float, rng: "np.random.Generator") -> Noise:
    """Drop a share ``rate``, rounded to 2⁻³². One number is drawn; the bits of the elements are made from it."""
    dropped = min(round(rate * 2**32), 2**32 - 1)
    return Noise(int(rng.integers(0, 2**64 - 1, dtype=np.uint64, endpoint=True)) if dropped else 0, dropped)


def dropout(X: Array, rate: float, rows: bool, rng: "np.random.Generator") -> tuple[Array, Callable[[Array], Array]]:
    """Set a share ``rate`` of the elements (or rows) to 0 and scale the others, so that the mean stays.  X (N, D)."""
    noise = noise_of(rate, rng)
    if rows:
        kept = kept_elements(noise, (len(X), *[1] * (X.ndim - 1)), X.dtype)
        return X * kept, lambda dY: dY * kept
    Y, flat = np.empty_like(X, order="C"), (1, X.size)
    scale = kernels.activate(X.reshape(flat), None, "identity", noise, out=Y.reshape(flat)).reshape(X.shape)
    return Y, lambda dY: dY * scale


@final
class Dropout(Layer):
    """Sets elements to 0 at random in training; with ``rows=True``, whole rows, that is, words."""

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
