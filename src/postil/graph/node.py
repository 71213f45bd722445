"""The flow graph: nodes that remember where their value came from, and the reverse pass over them (E8, A1, B3, E7).

    Node                 a value
    ├── Input            a leaf made by the user: its gradient can be asked for (E6)
    ├── Parameter        a leaf that learning changes
    └── Result           made from its parents; its pullback carries a gradient back to them

The graph is defined by running: computing a value makes its node, so parents always exist before their children and
the order of creation is a topological order. The reverse pass walks it backwards. Nothing is stored on the nodes: the
same parameters can serve several graphs in several threads at once.
"""

from abc import ABC
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike

from postil.arrays import Array, checked_finite, checked_floats, checked_offsets, describe
from postil.errors import DtypeError, ShapeError
from postil.graph.rows import RowGradient

Gradient: TypeAlias = Array | RowGradient
Gradients: TypeAlias = Mapping["Node", Gradient]
# A pullback takes the gradient of the node's value and gives one gradient per parent; None stands for zero.
Pullback: TypeAlias = Callable[[Array], Sequence[Gradient | None]]


class Node(ABC):
    """A value in the flow graph. ``offsets`` (B + 1,) is set if the rows of the value form a ragged batch."""

    __slots__ = ("name", "offsets", "value")
    # NumPy must leave `array + node` to Node.__radd__ instead of adding elements one by one.
    __array_ufunc__ = None

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


def gradients(
    output: Node, wrt: Node | Iterable[Node] | None = None, *, seed: ArrayLike | None = None
) -> dict[Node, Gradient]:
    """The gradient of ``output`` at every leaf it depends on, or at the node or nodes ``wrt``.

    ``output`` is a single number, unless ``seed``, an array of its shape, gives the initial gradient of its elements.
    Every node sends its gradient to its parents once, after all its successors have sent theirs: one visit and
    one pullback per node (E8, E11). Nodes ``wrt`` that the output does not depend on get zeros.

    Pullbacks read the current values of the parameters, so compute the gradients before an optimiser changes them. The
    returned arrays may be shared with each other or read-only: copy one before changing it in place.
    """
    check_node(output, "output of the reverse pass")
    wanted = None if wrt is None else _checked_wanted(wrt)
    arrived = _Arrived()
    arrived.start(output, _checked_seed(output, seed))
    kept: dict[Node, Gradient] = {}
    with _noted_flags() as flags:
        for node in _results_in_reverse(output, wanted):
            dY = dense(arrived.take(node))
            if wanted and node in wanted:
                kept[node] = dY
            for parent, gradient in zip(node.parents, node.pullback(dY), strict=True):
                if gradient is not None:
                    arrived.add(parent, gradient, sender=node)
            if flags:
                arrived.check_finite(sender=node)
                flags.clear()
        found = arrived.take_all() if wanted is None else {n: kept[n] if n in kept else arrived.take(n) for n in wanted}
        if flags:  # sparse gradients are added up only now
            for leaf, gradient in found.items():
                _check_finite(gradient, where=f"gradient of {leaf.name or 'an input'}")
    return found


def jacobian(y: Node, x: Node) -> Array:
    """∂y/∂x as an array of shape ``y.shape + x.shape`` (E5): one reverse pass per element of ``y``."""
    rows = np.zeros((y.value.size, *x.shape), y.dtype)
    for i in range(y.value.size):
        seed = np.zeros(y.value.size, y.dtype)
        seed[i] = 1
        rows[i] = dense(gradients(y, [x], seed=seed.reshape(y.shape))[x])
    return rows.reshape(y.shape + x.shape)


def dense(gradient: Gradient) -> Array:
    """A gradient as an array of its parameter's shape."""
    return gradient.dense() if isinstance(gradient, RowGradient) else gradient


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


class _Arrived:
    """The gradients that have arrived at nodes so far, added up per node."""

    def __init__(self) -> None:
        self._dense: dict[Node, Array] = {}
        # Sparse gradients wait here and are added up once, at the end: adding each to the sum of those before would
        # cost the square of the number of uses of a table (E11).
        self._sparse: dict[Node, list[RowGradient]] = {}
        # Nodes whose sum was allocated here. Only those may be added to in place: an array that a pullback returned
        # may be shared with another node or with the caller.
        self._own: set[Node] = set()

    def start(self, node: Node, seed: Array) -> None:
        self._dense[node] = seed

    def add(self, node: Node, gradient: Gradient, sender: Node) -> None:
        if gradient.shape != node.shape or gradient.dtype != node.dtype:
            raise ShapeError(
                "a pullback gave a gradient that does not fit its parent",
                expected=f"{node.dtype} {node.shape} for {node.name or 'a parent'}",
                got=f"{gradient.dtype} {gradient.shape}",
                where=f"node {sender.name}",
            )
        if isinstance(gradient, RowGradient):
            self._sparse.setdefault(node, []).append(gradient)
        elif node in self._own:
            self._dense[node] += gradient
        elif node in self._dense:
            self._dense[node] = self._dense[node] + gradient
            self._own.add(node)
        else:
            self._dense[node] = gradient

    def check_finite(self, sender: Node) -> None:
        """An error if something that is not finite has arrived at the parents of ``sender``."""
        for parent in sender.parents:
            for part in [*self._sparse.get(parent, ()), self._dense.get(parent)]:
                if part is not None:
                    _check_finite(part, where=f"gradient that node {sender.name} sends to {parent.name or 'a parent'}")

    def take(self, node: Node) -> Gradient:
        """The sum of what arrived at ``node``, sparse only where all of it was; zeros where nothing did."""
        sparse, total = self._sparse.pop(node, None), self._dense.pop(node, None)
        if sparse is None:
            return np.zeros_like(node.value) if total is None else total
        rows = RowGradient.total(sparse)
        return rows if total is None else sum_of_two(total, rows)

    def take_all(self) -> dict[Node, Gradient]:
        return {node: self.take(node) for node in dict.fromkeys([*self._dense, *self._sparse])}


def sum_of_two(a: Gradient, b: Gradient) -> Gradient:
    """A new gradient, sparse only where both are sparse."""
    if isinstance(a, RowGradient) and isinstance(b, RowGradient):
        return RowGradient.total([a, b])
    total: Array = dense(a) + dense(b)
    return total


def _check_finite(gradient: Gradient, where: str) -> None:
    checked_finite(gradient.values if isinstance(gradient, RowGradient) else gradient, where)


def _results_in_reverse(output: Node, wanted: Iterable[Node] | None) -> list[Result]:
    """The results that the reverse pass must visit, last one first. With ``wanted``: only those that lead there."""
    order = ancestors(output)
    if wanted is not None:
        leads = set(wanted)
        for node in order:
            if any(parent in leads for parent in node.parents):
                leads.add(node)
        order = [node for node in order if node in leads]
    return [node for node in reversed(order) if type(node) is Result]


@contextmanager
def _noted_flags() -> Iterator[list[str]]:
    """The floating-point errors of everything computed inside the ``with`` block, as they come.

    They are notes and no more: some BLAS builds raise flags for valid products, so only the numbers can tell.
    """
    flags: list[str] = []
    with np.errstate(all="call", under="ignore", call=lambda kind, _: flags.append(kind)):
        yield flags


def check_node(value: Any, what: str) -> None:
    """An error if ``value`` is not a node. An array will not do: no gradient could come back to it."""
    if not isinstance(value, Node):
        raise DtypeError(what, expected="a node, such as Input(array)", got=describe(value))


def _checked_wanted(wrt: Node | Iterable[Node]) -> dict[Node, None]:
    nodes = [wrt] if isinstance(wrt, Node) else list(wrt)
    for node in nodes:
        check_node(node, "wrt, what to differentiate by")
    return dict.fromkeys(nodes)


def _checked_seed(output: Node, seed: ArrayLike | None) -> Array:
    if seed is None:
        if output.value.size != 1:
            raise ShapeError(
                "the gradient of a node with several values needs a seed",
                expected="a single number, or seed=array",
                got=describe(output.value),
                where=f"node {output.name}",
            )
        return np.ones_like(output.value)
    if not isinstance(seed, np.ndarray):  # numbers and lists of them take the output's float type
        seed = checked_floats(seed, where="seed of the reverse pass").astype(output.dtype)
    if seed.shape != output.shape:
        raise ShapeError("seed of the reverse pass", expected=output.shape, got=seed.shape)
    if seed.dtype != output.dtype:
        raise DtypeError("seed of the reverse pass", expected=output.dtype, got=seed.dtype)
    return seed
