"""Max over time (A5): one vector per sentence, whatever its length."""

from collections.abc import Callable
from typing import final

import numpy as np

from postil import kernels
from postil.arrays import Array, checked_finite
from postil.errors import ShapeError
from postil.graph.kinks import note_branches
from postil.network.layer import Layer, LayerPullback, Run, checked_rows, needed_offsets


def max_over_time(X: Array, offsets: Array) -> tuple[Array, Callable[[Array], Array]]:
    """The largest value of each feature in each sentence.  X (N, D) -> Y (B, D).

    The gradient goes to the position of the maximum only, to the first one among equals.
    """
    Y, winners = first_maxima(X, offsets)  # 1

    def pullback(dY: Array) -> Array:
        dX = np.zeros_like(X)
        np.put_along_axis(dX, winners, dY, axis=0)  # undoes 1; no two sentences share a row
        return dX

    return Y, pullback


def first_maxima(X: Array, offsets: Array) -> tuple[Array, Array]:
    """The largest value of each feature in each sentence, (B, D), and the first row that has it, (B, D)."""
    lengths = np.diff(offsets)
    if (lengths == 0).any():
        where = f"sentence {int(np.argmin(lengths != 0))} of the batch"
        raise ShapeError("max over time", expected="at least one word", got="an empty sentence", where=where)
    Y, winners = kernels.first_maxima(X, offsets)
    if (winners == len(X)).any() and len(X):  # no row equals a maximum that is NaN
        checked_finite(X, where="max over time")
    note_branches(winners)
    return Y, winners


@final
class MaxOverTime(Layer):
    """The maximum of each feature over the words of a sentence: (N, D), divided into B sentences, to (B, D)."""

    def forward(self, X: Array, run: Run) -> tuple[Array, LayerPullback]:
        Y, back = max_over_time(checked_rows(X, self.name), needed_offsets(run, self.name))
        return Y, lambda dY: (back(dY), {})

    def offsets_after(self, offsets: Array | None) -> None:
        return None
