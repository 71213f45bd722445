"""The nodes of the flow graph: values that know what they were computed from (E8, A1, B3, E7).

    Node                 a value
    ├── Input            a leaf from the user: its gradient can be asked for (E6)
    ├── Parameter        a leaf that learning changes
    └── Result           computed from its parents; its pullback carries a gradient back to them

The graph is defined by running: computing a value makes its node, so parents always exist before their children and
the order of creation is a topological order. The reverse pass (``reverse.py``) walks it backwards. Nothing is stored on
the nodes: the same parameters can serve several graphs in several threads at once.
"""

import math
from abc import ABC
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, final

import numpy as np

from postil import kernels
from postil.arrays import Array, checked_floats, checked_offsets, describe
from postil.errors import DtypeError

# ------------------------------------------------------------------------------------------------ gradients
# A gradient is dense, or sparse: that of a lookup table has only the rows that occur, added up per row (A2).


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


Gradient: TypeAlias = Array | RowGradient


def dense(gradient: Gradient) -> Array:
    """A gradient as an array of its parameter's shape."""
    if not isinstance(gradient, RowGradient):
        return gradient
    array = np.zeros(gradient.shape, gradient.dtype)
    array[gradient.rows] = gradient.values
    return array


def sum_of_two(a: Gradient, b: Gradient) -> Gradient:
    """A new gradient, sparse only where both are sparse."""
    if isinstance(a, RowGradient) and isinstance(b, RowGradient):
        return RowGradient.total([a, b])
    total: Array = dense(a) + dense(b)
    return total


# ------------------------------------------------------------------------------------------------ nodes


Gradients: TypeAlias = Mapping["Node", Gradient]
# A pullback takes the gradient of the node's value and returns one gradient per parent; None stands for zero.
Pullback: TypeAlias = Callable[[Array], Sequence[Gradient | None]]
# NumPy's functions that work on nodes, with the operation of the flow graph for each: operations.py fills it.
NUMPY_FUNCTIONS: dict[np.ufunc, Callable[..., "Node"]] = {}


class Node(ABC):
    """A value in the flow graph. ``offsets`` (B + 1,) is set if the rows of the value form a ragged batch."""

    __slots__ = ("name", "offsets", "value")

    value: Array
    name: str
    offsets: Array | None
    parents: tuple["Node", ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    @property
    def ndim(self) -> int:
        return self.value.ndim

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.value.dtype

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name or '(unnamed)'}: {describe(self.value)}>"

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: Any, **options: Any) -> "Node":
        """``np.tanh(node)`` and ``array + node``: the operation of the flow graph."""
        operation, what = NUMPY_FUNCTIONS.get(ufunc), f"numpy.{ufunc.__name__} of a node"
        if method != "__call__" or operation is None:
            raise self._no_array(what)
        if options:
            raise self._no_array(f"{what} with {', '.join(options)} (as in array += node)")
        return operation(*operands)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> "Node":
        raise self._no_array(f"numpy.{function.__name__} of a node")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        """A node is not converted silently: no gradient would come back to it."""
        raise self._no_array("a node instead of an array")

    def _no_array(self, what: str) -> DtypeError:
        return DtypeError(what, expected="an operation of postil.graph, or the array node.value", got=repr(self))

    if TYPE_CHECKING:  # operations.py puts these on the class, each next to its rule
        Operand: TypeAlias = "Node | Array | float"

        def __add__(self, other: Operand) -> "Result": ...

        __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __pow__ = __rpow__ = __add__

        def __matmul__(self, other: "Node | Array") -> "Result": ...

        __rmatmul__ = __matmul__

        def __neg__(self) -> "Result": ...
        def __getitem__(self, index: Any) -> "Result": ...
        @property
        def T(self) -> "Result": ...
        def sum(self, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> "Result": ...
        def mean(self, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> "Result": ...
        def max(self, axis: int | None = None, keepdims: bool = False) -> "Result": ...
        def reshape(self, *shape: int) -> "Result": ...
        def transpose(self, *axes: int) -> "Result": ...


@final
class Input(Node):
    """A leaf created by the user, for example the word vectors of one sentence."""

    __slots__ = ()

    def __init__(self, value: Any, name: str = "", offsets: Any = None) -> None:
        self.value = checked_floats(value, where=f"input {name}".strip())
        self.name = name
        self.offsets = None if offsets is None else checked_offsets(offsets, rows=len(self.value))


@final
class Parameter(Node):
    """A leaf that training changes.

    ``fan_in`` is the number of inputs of each output (A10, A11, B8); it is 1 for a lookup table.
    ``decays`` says whether L2 regularisation applies (B5): never to biases, by default not to lookup tables.
    ``pace`` multiplies the learning rate for this parameter.
    """

    __slots__ = ("decays", "fan_in", "pace")

    def __init__(self, value: Any, name: str, *, fan_in: int = 1, decays: bool = True, pace: float = 1.0) -> None:
        self.value = checked_floats(value, where=f"parameter {name}")
        self.name = name
        self.offsets = None
        self.fan_in = fan_in
        self.decays = decays
        self.pace = pace


_serial_numbers = count()


@final
class Result(Node):
    """A value computed from its parents.

    ``serial`` increases with creation, so it is a topological order. ``is_layer`` marks a node that stands for a whole
    layer or objective; its parameters are drawn inside its box.
    """

    __slots__ = ("is_layer", "parents", "pullback", "serial")

    def __init__(
        self,
        value: Array,
        parents: tuple[Node, ...],
        pullback: Pullback,
        name: str,
        *,
        offsets: Array | None = None,
        is_layer: bool = False,
    ) -> None:
        self.value = value
        self.parents = parents
        self.pullback = pullback
        self.name = name
        self.offsets = offsets
        self.is_layer = is_layer
        self.serial = next(_serial_numbers)


def ancestors(output: Node) -> list[Node]:
    """``output`` and all nodes it depends on, parents before children; leaves come first."""
    seen = {output: None}  # a dict keeps the order of discovery, so that drawings and sums repeat
    stack: list[Node] = [output]
    while stack:
        for parent in stack.pop().parents:
            if parent not in seen:
                seen[parent] = None
                stack.append(parent)
    return sorted(seen, key=lambda node: node.serial if type(node) is Result else -1)


def check_node(value: Any, what: str) -> None:
    """An error if ``value`` is not a node. An array will not do: no gradient could come back to it."""
    if not isinstance(value, Node):
        raise DtypeError(what, expected="a node, such as Input(array)", got=describe(value))


# ------------------------------------------------------------------------------------------------ parameters
# An owner declares its parameters, and the parts that have parameters, as plain attributes. Nobody lists them a second
# time, so none can be left out of a model file, an optimiser or a gradient check. The path of a parameter is that of
# the attributes that lead to it, ``encoder.layers.1.W``: the name under which a model file stores it.


class Parameterised:
    """Something with parameters: a parameter, an owner of parameters, or a list, tuple or dict of these, by attribute.

    ``PATHS`` names the attributes whose path differs from their name; ``{}`` stands for the number of a list's item.
    """

    PATHS: ClassVar[Mapping[str, str]] = {}

    def parameters(self) -> dict[str, Parameter]:
        """Every parameter once, by the first path that leads to it, in the order in which they were declared."""
        path_of: dict[Parameter, str] = {}
        for path, parameter in _walk(self, ""):
            path_of.setdefault(parameter, path)
        return {path: parameter for parameter, path in path_of.items()}


_WITHOUT_PARAMETERS = frozenset([int, float, str, bool, type(None), np.ndarray])


def _walk(value: Any, path: str) -> Iterator[tuple[str, Parameter]]:
    if type(value) in _WITHOUT_PARAMETERS:  # most attributes: the other questions would take longer
        return
    if isinstance(value, Parameter):
        yield path, value
    elif isinstance(value, Parameterised):
        for name, attribute in vars(value).items():
            yield from _walk(attribute, f"{path}.{value.PATHS.get(name, name)}".lstrip("."))
    elif isinstance(value, list | tuple):
        for i, item in enumerate(value):
            yield from _walk(item, path.format(i) if "{}" in path else f"{path}.{i}")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _walk(item, f"{path}.{key}")


# ------------------------------------------------------------------------------------------------ branches at kinks
# Central differences are meaningless when the interval crosses a kink (hardtanh, ReLU, max, hinge). Every piecewise
# function notes the branch that each of its elements took, so that a gradient check can leave out crossings. While
# nobody listens, a note costs next to nothing.


_listener: ContextVar[list[Array] | None] = ContextVar("listener", default=None)


def note_branches(branches: Array) -> None:
    """Called by a piecewise function with an array that tells, per element, on which piece it is."""
    notes = _listener.get()
    if notes is not None:
        notes.append(np.array(branches))


def listening() -> bool:
    """Whether a note would be heard: for functions whose branches cost something to find out."""
    return _listener.get() is not None


@contextmanager
def recorded_branches() -> Iterator[list[Array]]:
    """The notes of everything computed inside the ``with`` block, in order."""
    notes: list[Array] = []
    token = _listener.set(notes)
    try:
        yield notes
    finally:
        _listener.reset(token)
