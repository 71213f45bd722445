"""Array operations on nodes, each next to the rule that carries its gradient back (E5, E8).

``u.T @ tanh(W @ x + b)`` works as it is written, with NumPy's ``tanh`` as well. Operands may be nodes, arrays of the
same float type, and Python numbers; float32 and float64 never mix silently. Only nodes become parents.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from postil.arrays import FLOATS, Array, checked_finite, checked_indices, describe
from postil.errors import DtypeError, IndexRangeError, NumericalError, ShapeError
from postil.graph import activations
from postil.graph.node import NUMPY_FUNCTIONS, Gradient, Node, Result, RowGradient, check_node, note_branches

Operand: TypeAlias = Node | Array | float
Axis: TypeAlias = int | tuple[int, ...] | None
Rule: TypeAlias = Callable[[Array], Gradient]

# Paths that the operands, not an argument, choose: each is a row of the gradient list (tests/oracles/requirements.py).
MODES = {"matmul": ("vectors", "stacks"), "power": ("constant exponent",), "transpose": ("axes",), "getitem": ("rows",)}


# ------------------------------------------------------------------------------------------------ arithmetic


def add(a: Operand, b: Operand) -> Result:
    """a + b, with broadcasting."""
    A, B = values_of("add", a, b)
    Y = computed("add", np.add, A, B)
    return _result("add", Y, (a, lambda dY: _unbroadcast(dY, A)), (b, lambda dY: _unbroadcast(dY, B)))


def subtract(a: Operand, b: Operand) -> Result:
    """a - b, with broadcasting."""
    A, B = values_of("subtract", a, b)
    Y = computed("subtract", np.subtract, A, B)
    return _result("subtract", Y, (a, lambda dY: _unbroadcast(dY, A)), (b, lambda dY: _unbroadcast(-dY, B)))


def multiply(a: Operand, b: Operand) -> Result:
    """a * b, element by element, with broadcasting."""
    A, B = values_of("multiply", a, b)
    Y = computed("multiply", np.multiply, A, B)
    return _result("multiply", Y, (a, lambda dY: _unbroadcast(dY * B, A)), (b, lambda dY: _unbroadcast(dY * A, B)))


def divide(a: Operand, b: Operand) -> Result:
    """a / b, element by element, with broadcasting."""
    A, B = values_of("divide", a, b)
    Y = computed("divide", np.divide, A, B)
    return _result("divide", Y, (a, lambda dY: _unbroadcast(dY / B, A)), (b, lambda dY: _unbroadcast(-dY * Y / B, B)))


def power(a: Operand, b: Operand) -> Result:
    """a ** b. The exponent has a gradient only if it is a node; the base must then be positive."""
    A, B = values_of("power", a, b)
    Y = computed("power", np.power, A, B)
    log_A = computed("power with a variable exponent", np.log, A) if isinstance(b, Node) else A

    def to_base(dY: Array) -> Array:
        exponent = np.where(B == 0, 0, np.subtract(B, 1, dtype=Y.dtype))  # a⁰ is flat everywhere, also at 0
        return _unbroadcast(dY * B * computed("derivative of power", np.power, A, exponent), A)

    return _result("power", Y, (a, to_base), (b, lambda dY: _unbroadcast(dY * Y * log_A, B)))


def negative(a: Node) -> Result:
    """-a."""
    return _result("negative", -_array(a, "negative"), (a, lambda dY: -dY))


def matmul(a: Node | Array, b: Node | Array) -> Result:
    """a @ b for vectors, matrices and stacks of matrices: ∂C/∂A = dY Bᵀ, ∂C/∂B = Aᵀ dY (B1)."""
    A, B = values_of("matmul", a, b)
    if not (isinstance(A, np.ndarray) and isinstance(B, np.ndarray) and A.ndim and B.ndim):
        raise ShapeError("operands of matmul", expected="vectors or matrices", got=f"{describe(A)} @ {describe(B)}")
    Y = checked_finite(np.asarray(computed("matmul", np.matmul, A, B)), where="matmul")
    # A vector is a matrix with one row on the left and one column on the right.
    A2 = A[None, :] if A.ndim == 1 else A
    B2 = B[:, None] if B.ndim == 1 else B

    def as_matrices(dY: Array) -> Array:
        dY = np.expand_dims(dY, -1) if B.ndim == 1 else dY
        return np.expand_dims(dY, -2) if A.ndim == 1 else dY

    def to_a(dY: Array) -> Array:
        return _unbroadcast(as_matrices(dY) @ B2.swapaxes(-1, -2), A2).reshape(A.shape)

    def to_b(dY: Array) -> Array:
        return _unbroadcast(A2.swapaxes(-1, -2) @ as_matrices(dY), B2).reshape(B.shape)

    return _result("matmul", Y, (a, to_a), (b, to_b))


# ------------------------------------------------------------------------------------------------ elementwise functions


def exp(x: Node) -> Result:
    """The exponential of every element."""
    Y = computed("exp", np.exp, _array(x, "exp"))
    return _result("exp", Y, (x, lambda dY: dY * Y))


def log(x: Node) -> Result:
    """The natural logarithm of every element."""
    X = _array(x, "log")
    return _result("log", computed("log", np.log, X), (x, lambda dY: dY / X))


def sqrt(x: Node) -> Result:
    """The square root of every element."""
    Y = computed("sqrt", np.sqrt, _array(x, "sqrt"))
    return _result("sqrt", Y, (x, lambda dY: computed("derivative of sqrt", np.divide, dY, 2 * Y)))


def tanh(x: Node) -> Result:
    """The hyperbolic tangent of every element: dX = dY (1 - Y²)."""
    return _elementwise("tanh", x, activations.tanh)


def sigmoid(x: Node) -> Result:
    """1 / (1 + exp(-x)) of every element: dX = dY Y (1 - Y)."""
    return _elementwise("sigmoid", x, activations.sigmoid)


def relu(x: Node) -> Result:
    """max(0, x) of every element: dX = dY if x > 0, else 0."""
    return _elementwise("relu", x, activations.relu)


def softmax(x: Node, axis: int = -1) -> Result:
    """exp(x) / Σ exp(x) along ``axis``: dX = Y (dY - Σ dY Y)."""
    X = _array(x, "softmax")
    powers = computed("softmax", lambda X: np.exp(X - X.max(axis=axis, keepdims=True)), X)  # so that nothing overflows
    Y = powers / powers.sum(axis=axis, keepdims=True)
    return _result("softmax", Y, (x, lambda dY: Y * (dY - (dY * Y).sum(axis=axis, keepdims=True))))


def _elementwise(name: str, x: Node, function: Callable[[Array], activations.Activated]) -> Result:
    Y, rule = function(_array(x, name))
    return _result(name, Y, (x, rule))


# ------------------------------------------------------------------------------------------------ reductions


def sum(x: Node, axis: Axis = None, keepdims: bool = False) -> Result:
    """The sum over ``axis``, or over all elements."""
    X = _array(x, "sum")
    Y = computed("sum", partial(np.sum, axis=axis, keepdims=keepdims), X)
    return _result("sum", Y, (x, lambda dY: np.broadcast_to(_spread(dY, X, axis), X.shape)))


def mean(x: Node, axis: Axis = None, keepdims: bool = False) -> Result:
    """The mean over ``axis``, or over all elements."""
    X = _array(x, "mean")
    if X.size == 0:
        raise ShapeError("mean of nothing", expected="at least one value", got=describe(X))
    Y = computed("mean", partial(np.mean, axis=axis, keepdims=keepdims), X)
    share = X.dtype.type(Y.size / X.size)
    return _result("mean", Y, (x, lambda dY: np.broadcast_to(_spread(dY, X, axis) * share, X.shape)))


def max(x: Node, axis: int | None = None, keepdims: bool = False) -> Result:
    """The largest value; the gradient goes to the first one among equals (A5)."""
    X = _array(x, "max")
    if X.size == 0:
        raise ShapeError("max of nothing", expected="at least one value", got=describe(X))
    flat = X.reshape(-1) if axis is None else X
    along = 0 if axis is None else axis
    first = np.expand_dims(computed("max", partial(np.argmax, axis=along), flat), along)
    note_branches(first)
    Y = np.take_along_axis(flat, first, along)

    def pullback(dY: Array) -> Array:
        dX = np.zeros_like(flat)
        np.put_along_axis(dX, first, dY.reshape(Y.shape), along)
        return dX.reshape(X.shape)

    shape = np.max(X, axis=axis, keepdims=keepdims).shape
    return _result("max", Y.reshape(shape), (x, pullback))


# ------------------------------------------------------------------------------------------------ shape and selection


def reshape(x: Node, *shape: int) -> Result:
    """The same elements in another shape."""
    X = _array(x, "reshape")
    return _result("reshape", computed("reshape", lambda X: X.reshape(*shape), X), (x, lambda dY: dY.reshape(X.shape)))


def transpose(x: Node, *axes: int) -> Result:
    """The axes in reverse order, or in the order ``axes``."""
    X = _array(x, "transpose")
    order = axes or tuple(reversed(range(X.ndim)))
    Y = computed("transpose", lambda X: X.transpose(order), X)
    back = np.argsort(np.mod(order, X.ndim or 1))  # an axis may be counted from the end
    return _result("transpose", Y, (x, lambda dY: dY.transpose(*back)))


def concatenate(operands: Sequence[Node | Array], axis: int = 0) -> Result:
    """The operands joined along ``axis``."""
    arrays = values_of("concatenate", *operands)
    Y = computed("concatenate", lambda *parts: np.concatenate(parts, axis=axis), *arrays)
    ends = np.cumsum([array.shape[axis] for array in arrays])
    before = (slice(None),) * (axis % Y.ndim)

    def part(end: int, size: int) -> Rule:
        return lambda dY: dY[(*before, slice(end - size, end))]

    parts = [part(int(end), array.shape[axis]) for end, array in zip(ends, arrays, strict=True)]
    return _result("concatenate", Y, *zip(operands, parts, strict=True))


def getitem(x: Node, index: Any) -> Result:
    """x[index] with any NumPy index. Rows of a matrix selected by integers have a sparse gradient (see take_rows)."""
    X = _array(x, "getitem")
    if X.ndim == 2 and isinstance(index, list | np.ndarray) and np.asarray(index).dtype.kind in "iu":
        ids = np.asarray(index)
        if not ids.size or (ids >= -len(X)).all():  # the others keep their sign, for the message
            ids = np.where(ids < 0, ids + len(X), ids)
        return take_rows(x, ids)
    try:
        Y = X[index]
    except IndexError as error:
        raise IndexRangeError(f"indexing {describe(X)}: {error}") from None

    def pullback(dY: Array) -> Array:
        dX = np.zeros_like(X)
        np.add.at(dX, index, dY)  # an element that was picked twice gets both gradients
        return dX

    return _result("index", np.asarray(Y), (x, pullback))


def take_rows(table: Node, ids: Array) -> Result:
    """Rows ``ids`` (…,) of ``table`` (V, D), as (…, D). The gradient is sparse: only rows that occur (A2)."""
    W = _array(table, "take_rows")
    ids = checked_indices(ids, len(W), where=f"rows of {table.name or 'a table'}")

    def pullback(dY: Array) -> RowGradient:
        return RowGradient.from_occurrences(ids.reshape(-1), dY.reshape(-1, *W.shape[1:]), W.shape)

    return _result("take rows", W[ids], (table, pullback))


# ------------------------------------------------------------------------------------------------ operands and errors
# Operands have one float type, and NumPy's errors become those of Postil.


def values_of(name: str, *operands: Operand) -> list[Any]:
    """The operands' arrays, all of one float type. Python numbers stay numbers: they take the arrays' type."""
    values = [operand.value if isinstance(operand, Node) else operand for operand in operands]
    dtypes = {np.asarray(v).dtype for v in values if not isinstance(v, int | float) or isinstance(v, np.generic)}
    if len(dtypes) > 1 or not dtypes <= set(FLOATS):
        raise DtypeError(f"operands of {name}", expected="all float32 or all float64", got=_described(values))
    return values


def computed(name: str, function: Callable[..., Any], *arrays: Any) -> Any:
    """``function(*arrays)``, with NumPy's errors about domains and shapes as Postil's."""
    try:
        # Of products their numbers tell: some BLAS builds raise floating-point flags for valid ones.
        with np.errstate(all="ignore" if function is np.matmul else "raise", under="ignore"):
            return function(*arrays)
    except FloatingPointError as error:
        where = _described(arrays)
        raise NumericalError(f"result of {name}", expected="must be finite", got=str(error), where=where) from None
    except (ValueError, TypeError, np.exceptions.AxisError) as error:
        raise ShapeError(f"{name}: {error}", got=_described(arrays)) from None


def _described(arrays: Sequence[Any]) -> str:
    return ", ".join(describe(array) for array in arrays)


# ------------------------------------------------------------------------------------------------ rules and methods


def _array(x: Node, operation: str) -> Array:
    check_node(x, f"operand of {operation}")
    return x.value


def _result(name: str, Y: Array, *operands_and_rules: tuple[Operand, Rule]) -> Result:
    """The node for ``Y``; constants drop out, and with them their rules."""
    pairs = [(operand, rule) for operand, rule in operands_and_rules if isinstance(operand, Node)]
    rules = [rule for _, rule in pairs]
    return Result(np.asarray(Y), tuple(node for node, _ in pairs), lambda dY: [rule(dY) for rule in rules], name)


def _unbroadcast(dY: Array, like: Any) -> Array:
    """Add ``dY`` up over the axes along which an operand was stretched, so that it has the operand's shape."""
    shape = np.shape(like)
    if dY.shape == shape:
        return dY
    dY = dY.sum(axis=tuple(range(dY.ndim - len(shape))))
    stretched = tuple(i for i, size in enumerate(shape) if size == 1 and dY.shape[i] != 1)
    return np.asarray(dY.sum(axis=stretched, keepdims=True) if stretched else dY)


def _spread(dY: Array, X: Array, axis: Axis) -> Array:
    """A reduced gradient with its reduced axes back, of size 1, ready to be broadcast."""
    axes = range(X.ndim) if axis is None else np.atleast_1d(axis) % X.ndim
    return dY.reshape([1 if i in axes else size for i, size in enumerate(X.shape)])


_OPERATORS = {"add": add, "sub": subtract, "mul": multiply, "truediv": divide, "matmul": matmul, "pow": power}
for _name, _operation in _OPERATORS.items():
    setattr(Node, f"__{_name}__", _operation)
    setattr(Node, f"__r{_name}__", lambda b, a, operation=_operation: operation(a, b))
_METHODS: dict[str, Any] = {"__neg__": negative, "__getitem__": getitem, "T": property(transpose)}
_METHODS |= {"sum": sum, "mean": mean, "max": max, "reshape": reshape, "transpose": transpose}
for _name, _method in _METHODS.items():
    setattr(Node, _name, _method)
_FUNCTIONS: list[Any] = [add, subtract, multiply, divide, power, negative, matmul, exp, log, sqrt, tanh]
NUMPY_FUNCTIONS.update({getattr(np, function.__name__): function for function in _FUNCTIONS})
