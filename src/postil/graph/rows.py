"""Sparse gradients of lookup tables: the rows that occur and their values, added up per row (A2)."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from postil.arrays import Array


@final
@dataclass(frozen=True, slots=True, eq=False)
class RowGradient:
    """A gradient of shape ``shape`` (V, …) that is zero except in ``rows`` (R,), which rise and do not repeat."""

    rows: Array
    values: Array
    shape: tuple[int, ...]

    @classmethod
    def from_occurrences(cls, ids: Array, dY: Array, shape: tuple[int, ...]) -> "RowGradient":
        """``dY`` (N, …) belongs to rows ``ids`` (N,), in any order; what belongs to one row is added up."""
        if len(ids) == 0:
            return cls(np.empty(0, np.int64), np.empty((0, *shape[1:]), dY.dtype), shape)
        order = np.argsort(ids, kind="stable")
        ordered = ids[order]
        starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
        return cls(ordered[starts], np.add.reduceat(dY[order], starts, axis=0), shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.values.dtype

    def plus(self, other: "RowGradient") -> "RowGradient":
        return RowGradient.from_occurrences(
            np.concatenate((self.rows, other.rows)), np.concatenate((self.values, other.values)), self.shape
        )

    def dense(self) -> Array:
        """The same gradient with its zeros written out, (V, …)."""
        array = np.zeros(self.shape, self.values.dtype)
        array[self.rows] = self.values
        return array
