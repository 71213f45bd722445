"""The linear layer (A3; equations (13) to (15))."""

from collections.abc import Callable
from typing import Any, final

import numpy as np

from postil.arrays import Array
from postil.graph import Parameter
from postil.network.finish import Finish, finished
from postil.network.initialisers import Initialiser, new_parameter, xavier, zeros
from postil.network.layer import Layer, LayerPullback, Run, checked_rows


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
        self,
        D: int,
        H: int,
        *,
        rng: "np.random.Generator",
        initialise: Initialiser = xavier,
        bias: bool = True,
        dtype: Any = np.float32,
    ) -> None:
        self.W = new_parameter("W", (H, D), initialise, rng, dtype, fan_in=D)
        self.b = new_parameter("b", (H,), zeros, rng, dtype, fan_in=D, decays=False) if bias else None

    def forward(self, X: Array, run: Run, finish: Finish | None = None) -> tuple[Array, LayerPullback]:
        """With ``finish``, the layers after it are fused into the same pass."""
        Y, back = linear(checked_rows(X, self.name, self.W), self.W.value, self.bias(), finish)

        def pullback(dY: Array) -> tuple[Array, dict[Parameter, Any]]:
            dX, dW, db = back(dY)
            return dX, {self.W: dW} | ({self.b: db} if self.b is not None else {})

        return Y, pullback

    def bias(self) -> Array:
        """b, zeros where the layer has none."""
        return self.b.value if self.b is not None else np.zeros(len(self.W.value), self.W.dtype)
