"""Checks of the array operations of the flow graph (E8)."""

from collections.abc import Callable, Iterator

import numpy as np

from postil import graph
from postil.gradcheck import Report, examine
from postil.gradients.rows import Examine, GradientCheck, Rng, of, row
from postil.graph import Node


def _on(function: Callable[..., Node], *shapes: tuple[int, ...], positive: bool = False) -> Examine:
    def run(rng: Rng) -> Report:
        return examine(function, *(rng.uniform(0.5, 2, s) if positive else rng.normal(size=s) for s in shapes))

    return run


def operation_checks() -> Iterator[GradientCheck]:
    yield from _arithmetic()
    yield from _functions()
    yield from _reductions()
    yield from _selections()


def _arithmetic() -> Iterator[GradientCheck]:
    yield row("add", "E8", of(graph.add), _on(graph.add, (3, 4), (4,)))
    yield row("subtract", "E8", of(graph.subtract), _on(graph.subtract, (3, 1), (1, 4)))
    yield row("multiply", "E8", of(graph.multiply), _on(graph.multiply, (2, 3, 4), (3, 1)))
    yield row("divide", "E8", of(graph.divide), _on(graph.divide, (3, 4), (4,), positive=True))
    yield row("power", "E8", of(graph.power), _on(graph.power, (3, 4), (4,), positive=True))
    cube = _on(lambda x: graph.power(x, 3.0), (3, 4))
    yield row("power, constant exponent", "E8", of(graph.power, "constant exponent"), cube)
    yield row("negative", "E8", of(graph.negative), _on(graph.negative, (3, 4)))
    yield row("matmul of matrices", "E5 E8", of(graph.matmul), _on(graph.matmul, (3, 4), (4, 2)))
    yield row("matmul with vectors: uᵀ tanh(W x + b)", "B1 B3 E5", of(graph.matmul, "vectors"), _score)
    yield row("matmul of stacks", "E8", of(graph.matmul, "stacks"), _on(graph.matmul, (2, 1, 3, 4), (5, 4, 2)))


def _score(rng: Rng) -> Report:
    def score(u: Node, W: Node, x: Node, b: Node) -> Node:
        return u.T @ graph.tanh(W @ x + b)

    return examine(score, rng.normal(size=3), rng.normal(size=(3, 4)), rng.normal(size=4), rng.normal(size=3))


def _functions() -> Iterator[GradientCheck]:
    yield row("exp", "E8", of(graph.exp), _on(graph.exp, (3, 4)))
    yield row("log", "E8", of(graph.log), _on(graph.log, (3, 4), positive=True))
    yield row("sqrt", "E8", of(graph.sqrt), _on(graph.sqrt, (3, 4), positive=True))
    yield row("tanh", "E8 E10", of(graph.tanh), _on(graph.tanh, (3, 4)))
    yield row("sigmoid", "B6 E10", of(graph.sigmoid), _on(graph.sigmoid, (3, 4)))
    yield row("relu", "B6 E10", of(graph.relu), _on(graph.relu, (3, 4)))
    yield row("softmax", "A7 E3", of(graph.softmax), _on(lambda x: graph.softmax(x, axis=1), (2, 3, 4)))


def _reductions() -> Iterator[GradientCheck]:
    for name, reduce in (("sum", graph.sum), ("mean", graph.mean), ("max", graph.max)):
        axes = {"sum": (0, 2), "mean": -1, "max": 1}[name]
        equations = "E8 A5" if name == "max" else "E8"
        along = _on(lambda x, reduce=reduce, axes=axes: reduce(x, axis=axes), (2, 3, 4))
        kept = _on(lambda x, reduce=reduce: reduce(x, axis=1, keepdims=True) * x, (3, 4))
        yield row(f"{name} of everything", equations, of(reduce), _on(reduce, (3, 4)))
        yield row(f"{name} along axes", equations, of(reduce, "axis"), along)
        yield row(f"{name} that keeps its axes", equations, of(reduce, "keepdims=True"), kept)


def _selections() -> Iterator[GradientCheck]:
    ids = np.array([4, 0, 4])
    yield row("reshape", "E8", of(graph.reshape), _on(lambda x: graph.reshape(x, 2, 6), (3, 4)))
    yield row("transpose", "E8", of(graph.transpose), _on(graph.transpose, (3, 4)))
    turned = _on(lambda x: graph.transpose(x, 1, 2, 0), (2, 3, 4))
    yield row("transpose to an order of axes", "E8", of(graph.transpose, "axes"), turned)
    beside = _on(lambda a, b: graph.concatenate([a, b], 1), (3, 2), (3, 4))
    yield row("concatenate", "E8", of(graph.concatenate), beside)
    yield row("index", "E8", of(graph.getitem), _on(lambda x: x[[0, 0, 2], 1:], (3, 4)))
    yield row("index of rows", "A2 E8", of(graph.getitem, "rows"), _on(lambda x: x[[-1, 0, -1]], (3, 4)))
    yield row("take rows", "A2 E8", of(graph.take_rows), _on(lambda W: graph.take_rows(W, ids), (5, 3)))
