"""L2 regularisation (B5, E9, C1): λ Σ θ² with gradient 2λθ, outside the mean of the loss, never on biases."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from postil.arrays import Array, checked_finite, checked_indices, describe, sum_of_squares
from postil.errors import ConfigurationError, DtypeError
from postil.graph import Gradient, Parameter, Result, RowGradient


def l2(parameters: Iterable[Parameter], strength: float, *, touched: Mapping[Parameter, Array] | None = None) -> Result:
    """A node with λ Σ θ² over the parameters that decay: weights, not biases, and not lookup tables.

    To regularise a table too, pass it in ``touched`` with the rows that the batch uses. Only those decay, so a step
    costs as much as the rows, not as much as the table.
    """
    if not 0 <= strength < np.inf:
        raise ConfigurationError("strength of L2", expected="0 or more", got=strength)
    rows = {
        table: np.unique(checked_indices(ids, len(table.value), where=f"touched rows of {table.name}"))
        for table, ids in (touched or {}).items()
    }
    given = list(dict.fromkeys(_checked_parameter(p) for p in [*parameters, *rows]))  # a shared one decays once
    decaying = [p for p in given if p.decays or p in rows]
    parts = [p.value[rows[p]] if p in rows else p.value for p in decaying]
    dtype = _float_type(given)
    with np.errstate(over="ignore"):  # the value tells
        penalty = np.asarray(strength * sum(map(sum_of_squares, parts)), dtype)
    checked_finite(penalty, where="L2 penalty")

    def pullback(dY: Array) -> list[Gradient]:
        slope = dY * dtype.type(2 * strength)
        return [
            RowGradient(rows[p], slope * part, p.shape) if p in rows else slope * part
            for p, part in zip(decaying, parts, strict=True)
        ]

    return Result(penalty, tuple(decaying), pullback, "L2", is_layer=True)


def _checked_parameter(value: Any) -> Parameter:
    if not isinstance(value, Parameter):
        raise DtypeError(
            "parameters of L2", expected="Parameter nodes, as in parameters().values()", got=describe(value)
        )
    return value


def _float_type(parameters: list[Parameter]) -> np.dtype[Any]:
    dtypes = {p.dtype for p in parameters} or {np.dtype(np.float32)}
    if len(dtypes) > 1:
        got = ", ".join(f"{p.name} {p.dtype}" for p in parameters)
        raise DtypeError("parameters of L2", expected="all float32 or all float64", got=got)
    return dtypes.pop()
