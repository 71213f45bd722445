"""Sums of rows by sparse attributes: the linear map of hand-made features, which are many and mostly absent."""

import numpy as np

from postil.arrays import Array, checked_offsets
from postil.graph import Node, Result, RowGradient
from postil.kernels import Attributes

# Paths that the data choose: each is a row of the gradient list (gradients/requirements.py).
MODES = {"weighted_rows": ("values other than 1",)}


def weighted_rows(table: Node, attributes: Attributes) -> Result:
    """The sum over the attributes of a token of value times row.  table (A, D) -> (N, D).

    The gradient of row a is the sum over its occurrences of value times the token's output gradient; rows that do not
    occur have none, and cost nothing.
    """
    W = table.value
    ids, values = attributes.ids, attributes.values
    sizes = np.diff(checked_offsets(attributes.offsets, rows=len(ids)))
    weights = None if values is None else values.astype(W.dtype)[:, None]

    def pullback(dY: Array) -> list[RowGradient]:
        of_occurrences = np.repeat(dY, sizes, axis=0)
        if weights is not None:
            of_occurrences *= weights
        return [RowGradient.from_occurrences(ids, of_occurrences, W.shape)]

    return Result(sums_of_rows(W, attributes), (table,), pullback, "weighted rows")


def sums_of_rows(W: Array, attributes: Attributes) -> Array:
    """The forward pass of ``weighted_rows`` alone."""
    rows = W.take(attributes.ids, axis=0)
    if attributes.values is not None:
        rows *= attributes.values.astype(W.dtype)[:, None]
    has_some = np.diff(attributes.offsets) > 0  # reduceat would take the next token's row for one without any
    Y = np.zeros((len(has_some), W.shape[1]), W.dtype)
    if len(rows):
        Y[has_some] = np.add.reduceat(rows, attributes.offsets[:-1][has_some], axis=0)
    return Y
