"""Fused bias, activation and dropout: what follows a matrix product in training, in one pass instead of three."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.graph.kinks import listening, note_branches
from postil.network.activations import Activation
from postil.network.dropout import Dropout, noise_of
from postil.network.layer import Layer, Run


@final
@dataclass(frozen=True, kw_only=True)
class Finish:
    """An activation that the kernels can fuse, and the share of elements to drop."""

    activation: str
    rate: float
    rng: "np.random.Generator"


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
