"""The nodes of the flow graph: values that know what they were computed from (E8, A1, B3, E7).

    Node                 a value
    ├── Input            a leaf from the user: its gradient can be asked for (E6)
    ├── Parameter        a leaf that learning changes
    └── Result           computed from its parents; its pullback carries a gradient back to them

The graph is defined by running: computing a value makes its node, so parents always exist before their children and
the order of creation is a topological order. The reverse pass (``reverse.py``) walks it backwards. Nothing is stored on
the nodes: the same parameters can serve several graphs in several threads at once.
"""

from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from postil.arrays import Array, checked_floats, checked_offsets, describe
from postil.errors import DtypeError
from postil.graph.rows import Gradient

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
        operation = NUMPY_FUNCTIONS.get(ufunc)
        if method != "__call__" or operation is None:
            raise self._no_array(f"numpy.{ufunc.__name__} of a node")
        if options:
            raise self._no_array(f"numpy.{ufunc.__name__} of a node with {', '.join(options)} (array += node, too)")
        return operation(*operands)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> "Node":
        raise self._no_array(f"numpy.{function.__name__} of a node")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        """A node is not converted silently: no gradient would come back to it."""
        raise self._no_array("a node instead of an array")

    def _no_array(self, what: str) -> DtypeError:
        return DtypeError(what, expected="an operation of postil.graph, or the array node.value", got=repr(self))

    if TYPE_CHECKING:  # operations.py puts these on the class, each beside its rule
        Operand: TypeAlias = "Node | Array | float"

        def __add__(self, other: Operand) -> "Result": ...
        def __radd__(self, other: Operand) -> "Result": ...
        def __sub__(self, other: Operand) -> "Result": ...
        def __rsub__(self, other: Operand) -> "Result": ...
        def __mul__(self, other: Operand) -> "Result": ...
        def __rmul__(self, other: Operand) -> "Result": ...
        def __truediv__(self, other: Operand) -> "Result": ...
        def __rtruediv__(self, other: Operand) -> "Result": ...
        def __matmul__(self, other: "Node | Array") -> "Result": ...
        def __rmatmul__(self, other: "Node | Array") -> "Result": ...
        def __pow__(self, other: Operand) -> "Result": ...
        def __rpow__(self, other: Operand) -> "Result": ...
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
