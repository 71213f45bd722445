"""Layers on plain arrays without gradients, their memory-bound steps fused.

The same numbers as ``layer.forward`` up to rounding. Any layer that is not listed here runs its ``forward``.
"""

from collections.abc import Sequence

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.network.activations import ACTIVATIONS, Activation
from postil.network.containers import Chain, Residual
from postil.network.dropout import Dropout
from postil.network.layer import Layer, Run
from postil.network.linear import Linear
from postil.network.normalisation import EPSILON, LayerNorm
from postil.network.window import Window


def infer(layers: Sequence[Layer], X: Array, offsets: Array) -> Array:
    """X (N, D) float32 through the layers; X itself may be overwritten."""
    steps = [layer for layer in layers if not isinstance(layer, Dropout)]
    while steps:
        used, X = _next(steps, X, offsets)
        steps = steps[used:]
    return X


def infer_linear(X: Array, linear: Linear, activation: str = "identity") -> Array:
    """f(X Wᵀ + b)."""
    Y: Array = X @ linear.W.value.T
    if linear.b is not None:
        kernels.add_bias(Y, linear.b.value, activation, Y, add=False)
    return Y


def activate(Y: Array, function: str) -> Array:
    """f(Y); Y may be overwritten."""
    return np.maximum(Y, 0, out=Y) if function == "relu" else ACTIVATIONS[function](Y)[0]


def is_fused(layer: Layer | None) -> bool:
    """Whether the kernels can fuse this activation with the step before it."""
    return isinstance(layer, Activation) and layer.function in kernels.ACTIVATIONS


def _next(steps: list[Layer], X: Array, offsets: Array) -> tuple[int, Array]:
    """The first of the steps, fused with those after it where that is possible: how many were done, and the result."""
    first, second = steps[0], steps[1] if len(steps) > 1 else None
    if isinstance(first, Linear) and first.b is not None and isinstance(second, Activation) and is_fused(second):
        return 2, infer_linear(X, first, second.function)
    if isinstance(first, LayerNorm):
        return 1, _normalised(first, X)
    if isinstance(first, Activation):
        return 1, activate(X, first.function)
    if isinstance(first, Residual):
        return 1, _residual(first, X, offsets)
    return 1, first.forward(X, Run(offsets=offsets))[0]


def _normalised(norm: LayerNorm, X: Array) -> Array:
    gain, bias = norm.gain.value, norm.bias.value
    return kernels.normalise_windows(X, gain, bias, bias, np.array([0, len(X)]), 1, EPSILON, X)


def _residual(residual: Residual, X: Array, offsets: Array) -> Array:
    inner = residual.layer
    steps = [s for s in inner.layers if not isinstance(s, Dropout)] if isinstance(inner, Chain) else []
    match steps:
        case [LayerNorm() as norm, Window() as window, Linear() as linear, Activation() as activation] if (
            linear.b is not None and is_fused(activation)
        ):
            windows = np.empty((len(X), window.size * X.shape[1]), X.dtype)
            gain, bias, padding = norm.gain.value, norm.bias.value, window.padding.value
            kernels.normalise_windows(X, gain, bias, padding, offsets, window.size, EPSILON, windows)
            Y = windows @ linear.W.value.T
            return kernels.add_bias(Y, linear.b.value, activation.function, X, add=True)
    return residual.forward(X, Run(offsets=offsets))[0]
