"""Layers made of layers (A1, E7): one after the other, side by side, around a shortcut."""

from typing import final

import numpy as np

from postil.arrays import Array
from postil.errors import ConfigurationError, ShapeError
from postil.network.layer import (
    Layer,
    LayerPullback,
    ParameterGradients,
    Run,
    add_gradients,
    checked_forward,
    checked_layer,
)
from postil.network.linear import Linear, finish_of

# Paths that the data choose: each is a row of the gradient list (tests/oracles/requirements.py).
MODES = {"Chain": ("layer used twice",)}


@final
class Chain(Layer):
    """Layers one after the other: f_L(… f_2(f_1(X)))."""

    def __init__(self, *layers: Layer) -> None:
        self.layers = [checked_layer(layer, "part of a chain") for layer in layers]

    @property
    def name(self) -> str:
        return " → ".join(layer.name for layer in self.layers)

    def forward(self, X: Array, run: Run) -> tuple[Array, LayerPullback]:
        backs: list[LayerPullback] = []
        waiting = self.layers
        while waiting:
            layer, *waiting = waiting
            if isinstance(layer, Linear):
                fused, finish = finish_of(waiting, run)
                X, back = layer.forward(X, run, finish)
                waiting = waiting[fused:]
            else:
                X, back = checked_forward(layer, X, run)
                run = Run(offsets=layer.offsets_after(run.offsets), rng=run.rng)
            backs.append(back)

        def pullback(dY: Array) -> tuple[Array | None, ParameterGradients]:
            total: ParameterGradients = {}
            dX: Array | None = dY
            for back in reversed(backs):
                if dX is None:
                    raise ShapeError("a lookup table can only be the first of a chain", where=self.name)
                dX, gradients = back(dX)  # (11) and (12)
                add_gradients(gradients, out=total)
            return dX, total

        return X, pullback

    def offsets_after(self, offsets: Array | None) -> Array | None:
        for layer in self.layers:
            offsets = layer.offsets_after(offsets)
        return offsets


@final
class Concatenation(Layer):
    """Layers on the same input, their outputs side by side: (N, H1 + H2 + …)."""

    def __init__(self, *layers: Layer) -> None:
        if not layers:
            raise ConfigurationError("concatenation of layers", expected="at least one layer", got="none")
        self.layers = [checked_layer(layer, "part of a concatenation") for layer in layers]

    def forward(self, X: Array, run: Run) -> tuple[Array, LayerPullback]:
        outputs, backs = zip(*(checked_forward(layer, X, run) for layer in self.layers), strict=True)  # 1
        # Rows of words and rows of sentences do not fit side by side, even if there are as many of both.
        pooled = [layer.offsets_after(run.offsets) is None for layer in self.layers]
        if len(set(pooled)) > 1 or len({len(Y) for Y in outputs}) > 1 or any(Y.ndim != 2 for Y in outputs):
            got = ", ".join(f"{layer.name} {Y.shape}" for layer, Y in zip(self.layers, outputs, strict=True))
            raise ShapeError("layers side by side", expected="a row per word, or per sentence, from each", got=got)
        ends = np.cumsum([Y.shape[1] for Y in outputs])[:-1]

        def pullback(dY: Array) -> tuple[Array | None, ParameterGradients]:
            dX: Array | None = None
            total: ParameterGradients = {}
            for back, dpart in zip(backs, np.split(dY, ends, axis=1), strict=True):  # undoes 2
                dX_part, gradients = back(dpart)  # undoes 1
                add_gradients(gradients, out=total)
                dX = dX_part if dX is None or dX_part is None else dX + dX_part
            return dX, total

        return np.concatenate(outputs, axis=1), pullback  # 2

    def offsets_after(self, offsets: Array | None) -> Array | None:
        return self.layers[0].offsets_after(offsets)


@final
class Residual(Layer):
    """Y = X + f(X): a shortcut around a layer that keeps the width."""

    def __init__(self, layer: Layer) -> None:
        self.layer = checked_layer(layer, "layer of Residual")

    @property
    def name(self) -> str:
        return f"X + ({self.layer.name})"

    def forward(self, X: Array, run: Run) -> tuple[Array, LayerPullback]:
        Y, back = checked_forward(self.layer, X, run)
        if Y.shape != X.shape:
            raise ShapeError("shortcut around a layer", expected=f"output {X.shape} like the input", got=Y.shape)

        def pullback(dY: Array) -> tuple[Array | None, ParameterGradients]:
            dX, gradients = back(dY)
            return dY if dX is None else dY + dX, gradients

        return X + Y, pullback
