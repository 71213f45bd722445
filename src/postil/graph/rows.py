"""Gradients, dense or sparse. Those of lookup tables are sparse: the rows that occur, added up per row (A2)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np

from postil import kernels
from postil.arrays import Array


@final
@dataclass(frozen=True, slots=True, eq=False)
class RowGradient:
    """A gradient of shape ``shape`` (V, …) that is zero except in ``rows`` (R,), which are sorted and distinct."""

    rows: Array
    values: Array
    shape: tuple[int, ...]

    @classmethod
    def from_occurrences(cls, ids: Array, dY: Array, shape: tuple[int, ...]) -> "RowGradient":
        """Sum ``dY`` (N, …) by row; ``ids`` (N,) are the rows, in any order."""
        rows, sums = kernels.sums_of_occurrences(ids, dY.reshape(len(ids), math.prod(shape[1:])))
        return cls(rows, sums.reshape(len(rows), *shape[1:]), shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.values.dtype

    @classmethod
    def total(cls, parts: Sequence["RowGradient"]) -> "RowGradient":
        """The sum of one or more gradients of the same table."""
        if len(parts) == 1:
            return parts[0]
        rows, values = (np.concatenate(arrays) for arrays in zip(*((p.rows, p.values) for p in parts), strict=True))
        return cls.from_occurrences(rows, values, parts[0].shape)

    def dense(self) -> Array:
        """The same gradient as a dense array (V, …)."""
        array = np.zeros(self.shape, self.values.dtype)
        array[self.rows] = self.values
        return array


Gradient: TypeAlias = Array | RowGradient


def dense(gradient: Gradient) -> Array:
    """A gradient as an array of its parameter's shape."""
    return gradient.dense() if isinstance(gradient, RowGradient) else gradient


def sum_of_two(a: Gradient, b: Gradient) -> Gradient:
    """A new gradient, sparse only where both are sparse."""
    if isinstance(a, RowGradient) and isinstance(b, RowGradient):
        return RowGradient.total([a, b])
    total: Array = dense(a) + dense(b)
    return total
