"""L2 regularisation (B5, E9, C1): λ Σ θ² with gradient 2λθ, outside the mean of the loss, never on biases."""

from collections.abc import Iterable, Mapping

import numpy as np

from postil.arrays import Array
from postil.errors import ConfigurationError
from postil.graph import Gradient, Parameter, Result, RowGradient


def l2(parameters: Iterable[Parameter], strength: float, *, touched: Mapping[Parameter, Array] | None = None) -> Result:
    """A node with λ Σ θ² over the parameters that decay: weights, not biases, and not lookup tables.

    To regularise a table too, name it in ``touched`` with the rows that the batch uses: only those decay, so that a
    step costs what the rows cost and not what the table costs.
    """
    if strength < 0:
        raise ConfigurationError("strength of L2", expected="0 or more", got=strength)
    rows = {table: np.unique(ids) for table, ids in (touched or {}).items()}
    decaying = [p for p in parameters if p.decays and p not in rows] + list(rows)
    parts = [p.value[rows[p]] if p in rows else p.value for p in decaying]
    dtype = decaying[0].dtype if decaying else np.dtype(np.float32)
    penalty = strength * sum(float(np.vdot(part, part)) for part in parts)

    def pullback(dY: Array) -> list[Gradient]:
        slope = dY * dtype.type(2 * strength)
        return [
            RowGradient(rows[p], slope * part, p.shape) if p in rows else slope * part
            for p, part in zip(decaying, parts, strict=True)
        ]

    return Result(np.asarray(penalty, dtype), tuple(decaying), pullback, "L2", is_layer=True)
