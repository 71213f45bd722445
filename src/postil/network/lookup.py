"""Lookup tables over words and over any other discrete feature (A2): caps, suffixes, positions, dictionaries."""

from collections.abc import Callable, Sequence
from itertools import accumulate, groupby
from typing import Any, final

import numpy as np

from postil.arrays import Array, checked_indices, checked_offsets
from postil.errors import ConfigurationError, ShapeError
from postil.graph import Node, Parameter, Result, RowGradient
from postil.kernels import Attributes
from postil.network.layer import Initialiser, Layer, LayerPullback, Rng, Run, fan_in_variance, new_parameter

# Paths that the data choose: each is a row of the gradient list (tests/oracles/requirements.py).
MODES = {"LookupTables": ("tables of one width",), "weighted_rows": ("values other than 1",)}


def lookup(W: Array, ids: Array) -> tuple[Array, Callable[[Array], RowGradient]]:
    """Row ids[t] of the table for every token t.  W (V, D), ids (N,) -> Y (N, D).

    The gradient of row i is the sum of the output gradients at the tokens t with ids[t] = i; rows that do not occur
    have none, and cost nothing.
    """
    return W.take(ids, axis=0), lambda dY: RowGradient.from_occurrences(ids, dY, W.shape)


# Tables are left out of L2 unless asked for (B5): decaying a million rows a step would undo the sparse update.


@final
class LookupTable(Layer):
    """Looks up ids (N,) as rows (N, D) of one table."""

    def __init__(
        self, V: int, D: int, *, rng: Rng, initialise: Initialiser = fan_in_variance, dtype: Any = np.float32
    ) -> None:
        self.table = new_parameter("table", (V, D), initialise, rng, dtype, decays=False)

    def forward(self, X: Array, run: Run) -> tuple[Array, LayerPullback]:
        ids = checked_indices(X, len(self.table.value), where=self.name)
        if ids.ndim != 1:
            raise ShapeError("indices of a lookup table", expected="(N,)", got=ids.shape, where=self.name)
        Y, back = lookup(self.table.value, ids)
        return Y, lambda dY: (None, {self.table: back(dY)})


@final
class LookupTables(Layer):
    """Looks up ids (N, F), one column per feature, in F tables; their rows are concatenated, (N, D1 + … + DF).

    Neighbouring features of the same width share one parameter, with their tables stacked: a batch then costs one
    lookup and one sparse gradient for all of them.
    """

    def __init__(
        self,
        sizes: Sequence[tuple[int, int]],
        *,
        rng: Rng,
        initialise: Initialiser = fan_in_variance,
        dtype: Any = np.float32,
    ) -> None:
        if not sizes:
            raise ConfigurationError("lookup tables", expected="at least one (V, D)", got="none")
        self.sizes = list(sizes)
        self.rows_of_each = np.array([V for V, _ in sizes])
        self.groups = [list(group) for _, group in groupby(range(len(sizes)), key=lambda f: sizes[f][1])]
        shapes = [(sum(sizes[f][0] for f in group), sizes[group[0]][1]) for group in self.groups]
        self.tables = [
            new_parameter(f"table {i}", shape, initialise, rng, dtype, decays=False) for i, shape in enumerate(shapes)
        ]
        # Where the table of each feature begins in the parameter that holds it.
        self.starts = [
            start for group in self.groups for start in accumulate((sizes[f][0] for f in group[:-1]), initial=0)
        ]

    def forward(self, X: Array, run: Run) -> tuple[Array, LayerPullback]:
        N = len(X)
        parts, backs = [], []
        for rows, group, table in zip(self.rows_by_table(X), self.groups, self.tables, strict=True):
            Y, back = lookup(table.value, rows.reshape(-1))  # 1
            parts.append(Y.reshape(N, len(group) * table.shape[1]))
            backs.append(back)
        ends = np.cumsum([Y.shape[1] for Y in parts])[:-1]

        def pullback(dY: Array) -> tuple[None, dict[Parameter, Any]]:
            dparts = np.split(dY, ends, axis=1)  # undoes 2
            return None, {
                table: back(dpart.reshape(-1, table.shape[1]))  # undoes 1
                for table, back, dpart in zip(self.tables, backs, dparts, strict=True)
            }

        return np.concatenate(parts, axis=1), pullback  # 2

    def rows_by_table(self, X: Array) -> list[Array]:
        """(N, features of the table) for each parameter: the rows that hold the features X (N, F)."""
        if X.shape == (0,):  # a batch without a word cannot tell how many features a word has
            X = np.empty((0, len(self.sizes)), np.int64)
        if X.ndim != 2 or X.shape[1] != len(self.sizes):
            expected = f"(N, {len(self.sizes)})"
            raise ShapeError("indices of lookup tables", expected=expected, got=X.shape, where=self.name)
        if X.dtype.kind not in "iu" or (len(X) and (X.min() < 0 or (X.max(axis=0) >= self.rows_of_each).any())):
            for feature, (V, _) in enumerate(self.sizes):
                checked_indices(X[:, feature], V, where=f"{self.name}, feature {feature}")
        rows: Array = X + np.array(self.starts)
        return [np.ascontiguousarray(rows[:, group[0] : group[-1] + 1]) for group in self.groups]


# ------------------------------------------------------------------------------------ sums of rows by sparse attributes
# The linear map of hand-made features, which are many and mostly absent.


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
