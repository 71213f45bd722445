"""Layer normalisation: every row is centred and scaled to variance 1, then stretched and shifted by learnt vectors."""

from collections.abc import Callable
from typing import Any, final

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.graph import Parameter
from postil.network.initialisers import new_parameter, ones, zeros
from postil.network.layer import Layer, LayerPullback, Run, checked_rows

EPSILON = 1e-5  # inside the root, against rows without variance


def layer_norm(X: Array, gain: Array, bias: Array) -> tuple[Array, Callable[[Array], tuple[Array, Array, Array]]]:
    """Y = gain ∘ (X - mean) / sqrt(variance + ε) + bias, mean and variance per row.  X (N, D), gain, bias (D,)."""
    Y, Z, deviation = kernels.normalise_rows(X, gain, bias, EPSILON)
    return Y, lambda dY: kernels.normalise_rows_back(dY, Z, deviation, gain)


@final
class LayerNorm(Layer):
    """Normalises each row to mean 0 and variance 1, then applies a learnt gain and bias. (N, D) to (N, D)."""

    def __init__(self, D: int, *, rng: "np.random.Generator", dtype: Any = np.float32) -> None:
        self.gain = new_parameter("gain", (D,), ones, rng, dtype, decays=False)
        self.bias = new_parameter("bias", (D,), zeros, rng, dtype, decays=False)

    def forward(self, X: Array, run: Run) -> tuple[Array, LayerPullback]:
        Y, back = layer_norm(checked_rows(X, self.name, self.gain), self.gain.value, self.bias.value)

        def pullback(dY: Array) -> tuple[Array, dict[Parameter, Any]]:
            dX, dgain, dbias = back(dY)
            return dX, {self.gain: dgain, self.bias: dbias}

        return Y, pullback
