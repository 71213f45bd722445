"""What operations compute with: operands of one float type, and NumPy's errors as those of Postil."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from postil.arrays import FLOATS, Array, checked_finite, describe
from postil.errors import DtypeError, NumericalError, ShapeError
from postil.graph.node import Node

Operand: TypeAlias = Node | Array | float


def values_of(name: str, *operands: Operand) -> list[Any]:
    """The operands' arrays, all of one float type. Python numbers stay numbers: they take the arrays' type."""
    values = [operand.value if isinstance(operand, Node) else operand for operand in operands]
    dtypes = {np.asarray(v).dtype for v in values if not isinstance(v, int | float) or isinstance(v, np.generic)}
    if len(dtypes) > 1 or not dtypes <= set(FLOATS):
        raise DtypeError(
            f"operands of {name}",
            expected="all float32 or all float64",
            got=", ".join(describe(v) for v in values),
        )
    return values


def computed(name: str, function: Callable[..., Any], *arrays: Any) -> Any:
    """``function(*arrays)``, with NumPy's errors about domains and shapes as Postil's."""
    try:
        with np.errstate(all="raise", under="ignore"):
            return _outcome(name, function, *arrays)
    except FloatingPointError as error:
        raise NumericalError(
            f"result of {name}", expected="must be finite", got=str(error), where=_described(arrays)
        ) from None


def _outcome(name: str, function: Callable[..., Any], *arrays: Any) -> Any:
    """``function(*arrays)``, with NumPy's errors about shapes as Postil's."""
    try:
        return function(*arrays)
    except (ValueError, TypeError, np.exceptions.AxisError) as error:
        raise ShapeError(f"{name}: {error}", got=_described(arrays)) from None


def product(A: Array, B: Array) -> Array:
    """A @ B. Its numbers tell whether it is finite: some BLAS builds raise floating-point flags for valid products."""
    with np.errstate(all="ignore"):
        Y = np.asarray(_outcome("matmul", np.matmul, A, B))
    return checked_finite(Y, where="matmul")


def _described(arrays: Sequence[Any]) -> str:
    return ", ".join(describe(array) for array in arrays)
