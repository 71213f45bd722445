"""Activations as layers (A6, B6, E10); formulas and derivatives are in ``graph/activations.py``."""

from collections.abc import Callable
from typing import Any, final

import numpy as np

from postil.arrays import Array, checked_floats
from postil.errors import ConfigurationError
from postil.graph import Parameter
from postil.graph.activations import (
    Activated,
    hardtanh,
    leaky_relu,
    parametric_relu,
    relu,
    sigmoid,
    softsign,
    tanh,
)
from postil.network.initialisers import checked_sizes
from postil.network.layer import Layer, LayerPullback, Run, checked_rows

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
    """ReLU whose slope on the negative side is learnt, one per feature (E10)."""

    def __init__(self, D: int, *, slope: float = 0.25, dtype: Any = np.float32) -> None:
        self.slope = Parameter(np.full(checked_sizes((D,), "slope"), slope, dtype), "slope", decays=False)

    def forward(self, X: Array, run: Run) -> tuple[Array, LayerPullback]:
        Y, back = parametric_relu(checked_rows(X, self.name, self.slope), self.slope.value)

        def pullback(dY: Array) -> tuple[Array, dict[Parameter, Any]]:
            dX, dslope = back(dY)
            return dX, {self.slope: dslope}

        return Y, pullback
