"""Sparse gradients of lookup tables: the rows that occur and their values, added up per row (A2)."""

from collections.abc import Sequence
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
        return cls(ordered[starts], sums_of_runs(dY.take(order, axis=0), starts), shape)

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
        """The same gradient with its zeros written out, (V, …)."""
        array = np.zeros(self.shape, self.values.dtype)
        array[self.rows] = self.values
        return array


def sums_of_runs(values: Array, starts: Array, few: int = 16) -> Array:
    """The sum of every run of rows: run i begins at row starts[i] and ends where the next begins.  (N, …) -> (R, …).

    The same as ``np.add.reduceat``, faster where most runs are short, as the words of a batch are: the second rows of
    all runs are added at once, then the third, until only a few long runs are left.
    """
    lengths = np.diff(starts, append=len(values))
    sums = values.take(starts, axis=0)
    done = 1
    unfinished = np.flatnonzero(lengths > done)
    while len(unfinished) > few:
        sums[unfinished] += values.take(starts[unfinished] + done, axis=0)
        done += 1
        unfinished = unfinished[lengths[unfinished] > done]
    first, end = starts[unfinished] + done, starts[unfinished] + lengths[unfinished]
    for run, a, b in zip(unfinished.tolist(), first.tolist(), end.tolist(), strict=True):
        sums[run] += np.add.reduce(values[a:b], axis=0)
    return sums
