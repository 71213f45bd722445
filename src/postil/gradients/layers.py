"""Checks of layers, of activations and of the passes that do several layers at once."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from postil import network
from postil.arrays import Ragged
from postil.gradcheck import Report, examine
from postil.gradients.requirements import FUSED
from postil.gradients.rows import Examine, GradientCheck, Rng, of, row, sentences
from postil.graph import Node
from postil.kernels import Attributes
from postil.network.attributes import weighted_rows
from postil.network.finish import Finish
from postil.network.shared_windows import shared_windows


def layer_checks() -> Iterator[GradientCheck]:
    yield from _tables()
    yield from _simple_layers()
    yield from _dropout()
    yield from _activations()
    yield from _layers_of_layers()
    yield from _fused()


def _layer(name: str, equations: str, covers: str, make: Callable[[Rng], network.Layer]) -> GradientCheck:
    return row(name, equations, covers, lambda rng: examine(make(rng), sentences(rng, 5)))


# ------------------------------------------------------------------------------------------------ layers


def _features(rng: Rng, *sizes: int) -> Ragged:
    columns = [rng.integers(0, V, 10) for V in sizes]
    return Ragged(np.stack(columns, axis=1) if len(columns) > 1 else columns[0], np.array([0, 1, 4, 10]))


def _tables() -> Iterator[GradientCheck]:
    def table(rng: Rng) -> Report:
        return examine(network.LookupTable(6, 3, rng=rng), _features(rng, 6))

    def tables(*sizes: tuple[int, int]) -> Examine:
        rows = [V for V, _ in sizes]
        return lambda rng: examine(network.LookupTables(sizes, rng=rng), _features(rng, *rows))

    def characters(rng: Rng) -> Report:
        words = np.array([[1, 4, 2, 6], [3, 0, 0, 0], [0, 0, 0, 0], [5, 5, 1, 0]])
        return examine(network.CharacterConvolution(6, 5, D=3, rng=rng), words)

    kind = network.LookupTables
    yield row("characters of words", "A2 A4 A5", of(network.CharacterConvolution), characters)
    yield row("lookup table", "A2", of(network.LookupTable), table)
    yield row("lookup tables, concatenated", "A2", of(kind), tables((6, 3), (4, 2)))
    yield row("lookup tables of one width", "A2", of(kind, "tables of one width"), tables((6, 2), (4, 2), (3, 1)))
    yield row("sums of rows", "A2", of(weighted_rows), _attributes(has_values=False))
    yield row("weighted sums of rows", "A2", of(weighted_rows, "values other than 1"), _attributes(has_values=True))


def _attributes(*, has_values: bool) -> Examine:
    """Three tokens, the second without an attribute, the last with one twice."""

    def run(rng: Rng) -> Report:
        values = rng.normal(size=5) if has_values else None
        attributes = Attributes(np.array([4, 0, 1, 4, 4], np.int32), values, np.array([0, 2, 2, 5]))
        return examine(lambda W: weighted_rows(W, attributes), rng.normal(size=(6, 3)))

    return run


def _simple_layers() -> Iterator[GradientCheck]:
    yield _layer("linear", "A3 B3 E5", of(network.Linear), lambda rng: network.Linear(5, 4, rng=rng))
    without = of(network.Linear, "bias=False")
    yield _layer("linear, no bias", "B1", without, lambda rng: network.Linear(5, 4, bias=False, rng=rng))
    yield _layer("window", "A4 E3", of(network.Window), lambda rng: network.Window(5, 3, rng=rng))
    yield _layer("window average", "E2", of(network.WindowAverage), lambda rng: network.WindowAverage(5))
    yield _layer("convolution", "A4", of(network.convolution), lambda rng: network.convolution(5, 4, 5, rng=rng))
    yield _layer("max over time", "A5", of(network.MaxOverTime), lambda rng: network.MaxOverTime())
    yield _layer("sentence approach", "A12", of(network.SentenceConvolution), _sentence_convolution)
    yield _layer("parametric ReLU", "E10", of(network.ParametricReLU), lambda rng: network.ParametricReLU(5))
    yield _layer("layer normalisation", "A1", of(network.LayerNorm), lambda rng: network.LayerNorm(5, rng=rng))


def _sentence_convolution(rng: Rng) -> network.Layer:
    return network.SentenceConvolution(5, 4, 3, distance_dim=2, longest_distance=4, rng=rng)


def _dropout() -> Iterator[GradientCheck]:
    def run(rows: bool) -> Examine:
        def check(rng: Rng) -> Report:
            layer = network.Dropout(0.4, rows=rows)
            return examine(lambda x: _with_the_same_noise(layer, x), sentences(rng, 5))

        return check

    yield row("dropout of elements", "A1", of(network.Dropout), run(False))
    yield row("dropout of rows", "A1", of(network.Dropout, "rows=True"), run(True))


def _with_the_same_noise(layer: network.Layer, x: Node) -> Node:
    return layer(x, rng=np.random.default_rng(3))


def _activations() -> Iterator[GradientCheck]:
    equations = {"hardtanh": "A6", "relu": "B6 E10", "leaky-relu": "B6 E10", "softsign": "B6"}

    def on_wide_values(name: str) -> Examine:
        return lambda rng: examine(network.Activation(name), rng.normal(scale=1.5, size=(6, 5)))

    for name in network.ACTIVATIONS:
        covers = of(network.Activation, f"function={name}")
        yield row(f"activation {name}", equations.get(name, "B6 E10"), covers, on_wide_values(name))


# ------------------------------------------------------------------------------------------------ layers of layers


def _layers_of_layers() -> Iterator[GradientCheck]:
    def deep(rng: Rng) -> network.Layer:
        widths = ((5, 6), (6, 4), (4, 3))
        layers = [(network.Linear(D, H, rng=rng), network.Activation("sigmoid")) for D, H in widths]
        return network.Chain(*(layer for pair in layers for layer in pair))

    def twice(rng: Rng) -> network.Layer:
        shared = network.Linear(5, 5, rng=rng)
        return network.Chain(shared, network.Activation("tanh"), shared)

    def side_by_side(rng: Rng) -> network.Layer:
        return network.Concatenation(network.Linear(5, 2, rng=rng), network.WindowAverage(3))

    def shortcut(rng: Rng) -> network.Layer:
        layer = network.Chain(network.convolution(5, 5, 3, rng=rng), network.Activation("tanh"))
        return network.Residual(layer)

    yield _layer("chain of hidden layers", "A1 E7", of(network.Chain), deep)
    yield _layer("chain that uses a layer twice", "A1 E8", of(network.Chain, "layer used twice"), twice)
    yield _layer("concatenation of layers", "A1", of(network.Concatenation), side_by_side)
    yield _layer("residual", "A1", of(network.Residual), shortcut)


# ------------------------------------------------------------------------------------------------ fused layers


def _fused() -> Iterator[GradientCheck]:
    yield row("shared windows", "A4", of(shared_windows), _shared_windows())
    yield row("shared windows, wide rows", "A4", of(shared_windows, "wide rows"), _shared_windows(D=17))
    yield row("shared windows, no bias", "A4", of(shared_windows, "no bias"), _shared_windows(bias=False))
    for name in FUSED:
        hidden, windows = of(network.Linear, f"finish={name}"), of(shared_windows, f"finish={name}")
        yield row(f"fused hidden layer, {name}", "A3 A6 B6", hidden, _hidden_layer(name))
        yield row(f"shared windows with fused {name}", "A4 A6 B6", windows, _shared_windows(activation=name))


def _hidden_layer(activation: str) -> Examine:
    def run(rng: Rng) -> Report:
        linear = network.Linear(5, 4, rng=rng)
        chain = network.Chain(linear, network.Activation(activation), network.Dropout(0.4))
        own = chain.parameters()
        return examine(lambda x: _with_the_same_noise(chain, x), sentences(rng, 5), parameters=own)

    return run


def _shared_windows(*, D: int = 5, bias: bool = True, activation: str | None = None) -> Examine:
    """Repeated rows, sentences shorter than the window, an empty one."""

    def run(rng: Rng) -> Report:
        window = network.Window(D, 5, rng=rng, dtype=np.float64)
        linear = network.Linear(5 * D, 4, bias=bias, rng=rng, dtype=np.float64)
        window.padding.value = rng.normal(size=D)
        places, offsets = rng.integers(0, 6, 9), np.array([0, 1, 1, 3, 9])

        def node(x: Node) -> Node:
            finish: Any = activation and Finish(activation=activation, rate=0.4, rng=np.random.default_rng(3))
            return shared_windows(x, places, offsets, window, linear, finish)

        own = window.parameters() | linear.parameters()
        return examine(node, rng.normal(size=(6, D)), parameters=own)

    return run
