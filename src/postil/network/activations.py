"""Layers that keep the shape of their input: activations (A6, B6, E10), dropout, layer normalisation.

Formulas and derivatives of the activations are in ``graph/activations.py``.
"""

from collections.abc import Callable
from typing import Any, final

import numpy as np

from postil import kernels
from postil.arrays import Array, checked_floats
from postil.errors import ConfigurationError
from postil.graph import Parameter
from postil.graph.activations import Activated, hardtanh, leaky_relu, parametric_relu, relu, sigmoid, softsign, tanh
from postil.kernels import Noise
from postil.kernels.plain_layers import kept_elements
from postil.network.layer import (
    Layer,
    LayerPullback,
    Rng,
    Run,
    by_parameter,
    checked_rows,
    checked_sizes,
    new_parameter,
    ones,
    zeros,
)

ACTIVATIONS: dict[str, Callable[[Array], Activated]] = {
    "hardtanh": hardtanh,
    "sigmoid": sigmoid,
    "tanh": tanh,
    "softsign": softsign,
    "relu": relu,
    "leaky-relu": leaky_relu,
}


@final
class Activation(Layer):
    """Applies one of ACTIVATIONS, by name, to every element."""

    def __init__(self, function: str) -> None:
        if function not in ACTIVATIONS:
            raise ConfigurationError("activation", expected=f"one of {', '.join(ACTIVATIONS)}", got=repr(function))
        self.function = function

    @property
    def name(self) -> str:
        return self.function

    def forward(self, X: Array, run: Run) -> tuple[Array, LayerPullback]:
        Y, back = ACTIVATIONS[self.function](checked_floats(X, where=self.name))
        return Y, lambda dY: (back(dY), {})


@final
class ParametricReLU(Layer):
    """ReLU whose slope on the negative side is learned, one per feature (E10)."""

    def __init__(self, D: int, *, slope: float = 0.25, dtype: Any = np.float32) -> None:
        self.slope = Parameter(np.full(checked_sizes((D,), "slope"), slope, dtype), "slope", decays=False)

    def forward(self, X: Array, run: Run) -> tuple[Array, LayerPullback]:
        return by_parameter(parametric_relu(checked_rows(X, self.name, self.slope), self.slope.value), self.slope)


# ------------------------------------------------------------------------------------------------ dropout
# It acts only if a forward pass carries an ``rng``, that is, in training.


def noise_of(rate: float, rng: Rng) -> Noise:
    """Drop a share ``rate``, rounded to 2⁻³². One number is drawn; the bits of the elements are made from it."""
    dropped = min(round(rate * 2**32), 2**32 - 1)
    return Noise(int(rng.integers(0, 2**64 - 1, dtype=np.uint64, endpoint=True)) if dropped else 0, dropped)


def dropout(X: Array, rate: float, rows: bool, rng: Rng) -> tuple[Array, Callable[[Array], Array]]:
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


# ------------------------------------------------------------------------------------------------ layer normalisation


EPSILON = 1e-5  # inside the root, against rows without variance


def layer_norm(X: Array, gain: Array, bias: Array) -> tuple[Array, Callable[[Array], tuple[Array, Array, Array]]]:
    """Y = gain ∘ (X - mean) / sqrt(variance + ε) + bias, mean and variance per row.  X (N, D), gain, bias (D,)."""
    Y, Z, deviation = kernels.normalise_rows(X, gain, bias, EPSILON)
    return Y, lambda dY: kernels.normalise_rows_back(dY, Z, deviation, gain)


@final
class LayerNorm(Layer):
    """Normalises each row to mean 0 and variance 1, then applies a learned gain and bias. (N, D) to (N, D)."""

    def __init__(self, D: int, *, rng: Rng, dtype: Any = np.float32) -> None:
        self.gain = new_parameter("gain", (D,), ones, rng, dtype, decays=False)
        self.bias = new_parameter("bias", (D,), zeros, rng, dtype, decays=False)

    def forward(self, X: Array, run: Run) -> tuple[Array, LayerPullback]:
        checked_rows(X, self.name, self.gain)
        return by_parameter(layer_norm(X, self.gain.value, self.bias.value), self.gain, self.bias)
