"""The linear layer (A3; equations (13) to (15))."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.graph.node import listening, note_branches
from postil.network.activations import Activation, Dropout, noise_of
from postil.network.layer import (
    Initialiser,
    Layer,
    LayerPullback,
    Rng,
    Run,
    by_parameter,
    checked_rows,
    new_parameter,
    xavier,
    zeros,
)

# ----------------------------------------------------------------------------- bias, activation and dropout in one pass
# What follows a matrix product in training, in one pass instead of three.


@final
@dataclass(frozen=True, kw_only=True)
class Finish:
    """An activation that the kernels can fuse, and the share of elements to drop."""

    activation: str
    rate: float
    rng: Rng


def finish_of(layers: Sequence[Layer], run: Run) -> tuple[int, Finish | None]:
    """How many of the layers after a linear one are fused with it, and what they do."""
    match layers:
        case [Activation() as f, *rest] if run.rng is not None and f.function in kernels.ACTIVATIONS:
            match rest:
                case [Dropout(rows=False) as noise, *_]:
                    return 2, Finish(activation=f.function, rate=noise.rate, rng=run.rng)
            return 1, Finish(activation=f.function, rate=0.0, rng=run.rng)
    return 0, None


def finished(Z: Array, b: Array, finish: Finish | None) -> tuple[Array, Callable[[Array], tuple[Array, Array]]]:
    """Y = dropout(f(Z + b)), written over Z.  Z (N, H), b (H,). Its pullback returns dZ and db."""
    if finish is None:
        Z += b
        return Z, lambda dY: (dY, dY.sum(axis=0))
    slopes = kernels.activate(Z, b, finish.activation, noise_of(finish.rate, finish.rng), out=Z)  # 1
    if listening():
        note_branches(slopes != 0)  # a dropped element has slope 0 on either side of its kink

    def pullback(dY: Array) -> tuple[Array, Any]:
        dZ = dY * slopes  # undoes 1
        return dZ, dZ.sum(axis=0)

    return Z, pullback


# ------------------------------------------------------------------------------------------------ the linear layer


def linear(
    X: Array, W: Array, b: Array, finish: Finish | None = None
) -> tuple[Array, Callable[[Array], tuple[Array, Array, Array]]]:
    """Y = X Wᵀ + b, for every row, with ``finish`` applied.  X (N, D), W (H, D), b (H,) -> Y (N, H)."""
    Z = X @ W.T  # 1
    Y, unfinished = finished(Z, b, finish)  # 2

    def pullback(dY: Array) -> tuple[Array, Array, Array]:
        dZ, db = unfinished(dY)  # undoes 2: (14)
        dW = dZ.T @ X  # undoes 1: (14)
        dX = dZ @ W  # undoes 1: (15)
        return dX, dW, db

    return Y, pullback


@final
class Linear(Layer):
    """Maps rows of D features to rows of H features.

    Without ``bias``, b is 0: for scores of which only differences count.
    """

    def __init__(
        self, D: int, H: int, *, rng: Rng, initialise: Initialiser = xavier, bias: bool = True, dtype: Any = np.float32
    ) -> None:
        self.W = new_parameter("W", (H, D), initialise, rng, dtype, fan_in=D)
        self.b = new_parameter("b", (H,), zeros, rng, dtype, fan_in=D, decays=False) if bias else None

    def forward(self, X: Array, run: Run, finish: Finish | None = None) -> tuple[Array, LayerPullback]:
        """With ``finish``, the layers after it are fused into the same pass."""
        checked_rows(X, self.name, self.W)
        return by_parameter(linear(X, self.W.value, self.bias(), finish), self.W, self.b)

    def bias(self) -> Array:
        """b, zeros if the layer has none."""
        return self.b.value if self.b is not None else np.zeros(len(self.W.value), self.W.dtype)
