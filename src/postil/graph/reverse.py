"""The reverse pass: gradients of one node at the leaves, or at any nodes, that it was computed from (E8, B3, E11)."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from postil.arrays import Array, checked_finite, checked_floats, describe
from postil.errors import DtypeError, ShapeError
from postil.graph.node import Gradient, Node, Result, RowGradient, ancestors, check_node, dense, sum_of_two


def gradients(
    output: Node, wrt: Node | Iterable[Node] | None = None, *, seed: ArrayLike | None = None
) -> dict[Node, Gradient]:
    """The gradient of ``output`` at every leaf it depends on, or at the node or nodes ``wrt``.

    ``output`` is a single number, unless ``seed``, an array of its shape, says how the gradient of its elements
    begins. Every node sends its gradient to its parents once, after all its successors have sent theirs: one visit and
    one pullback per node (E8, E11). Nodes ``wrt`` that the output does not depend on get zeros.

    Pullbacks read the parameters' values as they are now: take the gradients before an optimiser changes them. The
    arrays returned may be shared with each other or read-only: copy one before changing it in place.
    """
    check_node(output, "output of the reverse pass")
    nodes = [] if wrt is None else [wrt] if isinstance(wrt, Node) else list(wrt)
    for node in nodes:
        check_node(node, "wrt, what to differentiate by")
    wanted = None if wrt is None else dict.fromkeys(nodes)
    order = ancestors(output)
    if wanted is not None:  # only nodes that lead there
        leads = set(wanted)
        for node in order:
            if any(parent in leads for parent in node.parents):
                leads.add(node)
        order = [node for node in order if node in leads]
    arrived = _Arrived(output, _checked_seed(output, seed))
    at_wanted: dict[Node, Gradient] = {}
    # Floating-point errors are notes and no more: some BLAS builds raise flags for valid products, so only the numbers
    # can tell.
    flags: list[str] = []
    with np.errstate(all="call", under="ignore", call=lambda kind, _: flags.append(kind)):
        for result in reversed(order):
            if type(result) is not Result:
                continue
            dY = dense(arrived.take(result))
            if wanted and result in wanted:
                at_wanted[result] = dY
            arrived.add(result, result.pullback(dY), flags)
            flags.clear()
        leaves = dict.fromkeys([*arrived.dense, *arrived.sparse]) if wanted is None else wanted
        total = {node: at_wanted[node] if node in at_wanted else arrived.take(node) for node in leaves}
        if flags:  # sparse gradients are added up only now
            for leaf, gradient in total.items():
                _check_finite(gradient, where=f"gradient of {leaf.name or 'an input'}")
    return total


def jacobian(y: Node, x: Node) -> Array:
    """∂y/∂x as an array of shape ``y.shape + x.shape`` (E5): one reverse pass per element of ``y``."""
    rows = np.zeros((y.value.size, *x.shape), y.dtype)
    for i in range(y.value.size):
        seed = np.zeros(y.value.size, y.dtype)
        seed[i] = 1
        rows[i] = dense(gradients(y, [x], seed=seed.reshape(y.shape))[x])
    return rows.reshape(y.shape + x.shape)


class _Arrived:
    """The gradients that have arrived at nodes so far, added up per node."""

    def __init__(self, output: Node, seed: Array) -> None:
        self.dense: dict[Node, Array] = {output: seed}
        # Sparse gradients wait here and are added up once, at the end: adding each to the sum of those before would
        # cost the square of the number of uses of a table (E11).
        self.sparse: dict[Node, list[RowGradient]] = {}
        # Nodes whose sum was allocated here. Only those may be added to in place: an array that a pullback returned
        # may be shared with another node or with the caller.
        self._own: set[Node] = set()

    def add(self, sender: Result, sent: object, flags: list[str]) -> None:
        """What a pullback returned for the parents of its node; None stands for zero."""
        where = f"node {sender.name}"
        if not isinstance(sent, list | tuple) or len(sent) != len(sender.parents):
            raise ShapeError(
                "the pullback of a node",
                expected=f"must return a list with a gradient, or None, for each of its {len(sender.parents)} parents",
                got=f"{len(sent)} of them" if isinstance(sent, list | tuple) else describe(sent),
                where=where,
            )
        for node, gradient in zip(sender.parents, sent, strict=True):
            if gradient is None:
                continue
            if gradient.shape != node.shape or gradient.dtype != node.dtype:
                what, got = "a pullback returned a gradient that does not fit", f"{gradient.dtype} {gradient.shape}"
                expected = f"{node.dtype} {node.shape} for {node.name or 'a parent'}"
                raise ShapeError(f"{what} its parent", expected=expected, got=got, where=where)
            if isinstance(gradient, RowGradient):
                self.sparse.setdefault(node, []).append(gradient)
            elif node in self._own:
                self.dense[node] += gradient
            elif node in self.dense:
                self.dense[node] = self.dense[node] + gradient
                self._own.add(node)
            else:
                self.dense[node] = gradient
        for node in sender.parents if flags else ():
            for part in [*self.sparse.get(node, ()), self.dense.get(node)]:
                if part is not None:
                    _check_finite(part, where=f"gradient that {where} sends to {node.name or 'a parent'}")

    def take(self, node: Node) -> Gradient:
        """The sum of what arrived at ``node``, sparse only where all of it was; zeros where nothing did."""
        sparse, total = self.sparse.pop(node, None), self.dense.pop(node, None)
        if sparse is None:
            return np.zeros_like(node.value) if total is None else total
        rows = RowGradient.total(sparse)
        return rows if total is None else sum_of_two(total, rows)


def _check_finite(gradient: Gradient, where: str) -> None:
    checked_finite(gradient.values if isinstance(gradient, RowGradient) else gradient, where)


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
