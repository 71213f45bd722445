"""The list of checked gradients of the mathematics: everything differentiable, on small inputs (B4).

The tests derive from the package what the list must cover (tests/oracles/requirements.py) and fail if a row is missing.
The rows of whole models are in ``models/gradients.py``.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, final

import numpy as np

from postil import graph, kernels, network, objectives
from postil.arrays import Ragged
from postil.gradcheck import GradientReport, Sampling, examine
from postil.graph import Input, Node
from postil.kernels import Attributes
from postil.network.layer import Finish
from postil.network.lookup import weighted_rows
from postil.network.tree import Forest
from postil.network.window import shared_windows
from postil.objectives import CRF, softmax_cross_entropy
from postil.objectives.crf import expected_counts

Rng: TypeAlias = np.random.Generator
Examine: TypeAlias = Callable[[Rng], GradientReport]
FUSED = tuple(name for name in kernels.ACTIVATIONS if name in network.ACTIVATIONS)
"""Activations that kernels apply in the same pass as a bias."""


@final
@dataclass(frozen=True, kw_only=True)
class GradientCheck:
    """A check, the equations it stands for, and the requirements it covers."""

    name: str
    equations: tuple[str, ...]
    covers: tuple[str, ...]
    examine: Examine

    def run(self) -> GradientReport:
        # With some other seeds a slope is so small that it drowns in rounding.
        return self.examine(np.random.default_rng(5))


def row(name: str, equations: str, covers: str, examine: Examine) -> GradientCheck:
    return GradientCheck(name=name, equations=tuple(equations.split()), covers=(covers,), examine=examine)


def of(thing: Any, mode: str = "") -> str:
    """The name of a requirement: a function, class or method of the package, in one of its modes."""
    name = f"{thing.__module__}.{thing.__qualname__}".removeprefix("postil.")
    return f"{name}: {mode}" if mode else name


def sentences(rng: Rng, D: int) -> Ragged:
    """Sentences of one, three and six words with random vectors."""
    return Ragged(rng.normal(size=(10, D)), np.array([0, 1, 4, 10]))


def checks_of_mathematics() -> Iterator[GradientCheck]:
    """Operations, layers, objectives and compositions, in the order in which data pass through them."""
    for checks in (_operations, _layers, _fused_layers, _losses, _conditional_random_fields, _compositions):
        yield from checks()


# ------------------------------------------------------------------------------------------------ operations


def _on(function: Callable[..., Node], *shapes: tuple[int, ...], positive: bool = False) -> Examine:
    """A check of a function of nodes on random arrays of these shapes."""
    return lambda rng: examine(
        function, *(rng.uniform(0.5, 2, shape) if positive else rng.normal(size=shape) for shape in shapes)
    )


def _operations() -> Iterator[GradientCheck]:
    def score(u: Node, W: Node, x: Node, b: Node) -> Node:
        return u.T @ graph.tanh(W @ x + b)

    yield row("add", "E8", of(graph.add), _on(graph.add, (3, 4), (4,)))
    yield row("subtract", "E8", of(graph.subtract), _on(graph.subtract, (3, 1), (1, 4)))
    yield row("multiply", "E8", of(graph.multiply), _on(graph.multiply, (2, 3, 4), (3, 1)))
    yield row("divide", "E8", of(graph.divide), _on(graph.divide, (3, 4), (4,), positive=True))
    yield row("power", "E8", of(graph.power), _on(graph.power, (3, 4), (4,), positive=True))
    cube = _on(lambda x: graph.power(x, 3.0), (3, 4))
    yield row("power, constant exponent", "E8", of(graph.power, "constant exponent"), cube)
    yield row("negative", "E8", of(graph.negative), _on(graph.negative, (3, 4)))
    yield row("matmul of matrices", "E5 E8", of(graph.matmul), _on(graph.matmul, (3, 4), (4, 2)))
    vectors = _on(score, (3,), (3, 4), (4,), (3,))
    yield row("matmul with vectors: uᵀ tanh(W x + b)", "B1 B3 E5", of(graph.matmul, "vectors"), vectors)
    yield row("matmul of stacks", "E8", of(graph.matmul, "stacks"), _on(graph.matmul, (2, 1, 3, 4), (5, 4, 2)))

    yield row("exp", "E8", of(graph.exp), _on(graph.exp, (3, 4)))
    yield row("log", "E8", of(graph.log), _on(graph.log, (3, 4), positive=True))
    yield row("sqrt", "E8", of(graph.sqrt), _on(graph.sqrt, (3, 4), positive=True))
    yield row("tanh", "E8 E10", of(graph.tanh), _on(graph.tanh, (3, 4)))
    yield row("sigmoid", "B6 E10", of(graph.sigmoid), _on(graph.sigmoid, (3, 4)))
    yield row("relu", "B6 E10", of(graph.relu), _on(graph.relu, (3, 4)))
    yield row("softmax", "A7 E3", of(graph.softmax), _on(lambda x: graph.softmax(x, axis=1), (2, 3, 4)))

    reductions: list[tuple[Any, str, Any]] = [(graph.sum, "E8", (0, 2)), (graph.mean, "E8", -1)]
    for reduce, equations, axes in [*reductions, (graph.max, "E8 A5", 1)]:
        name = reduce.__name__
        along = _on(lambda x, reduce=reduce, axes=axes: reduce(x, axis=axes), (2, 3, 4))
        kept = _on(lambda x, reduce=reduce: reduce(x, axis=1, keepdims=True) * x, (3, 4))
        yield row(f"{name} of everything", equations, of(reduce), _on(reduce, (3, 4)))
        yield row(f"{name} along axes", equations, of(reduce, "axis"), along)
        yield row(f"{name} that keeps its axes", equations, of(reduce, "keepdims=True"), kept)

    ids = np.array([4, 0, 4])
    turned = _on(lambda x: graph.transpose(x, 1, 2, 0), (2, 3, 4))
    in_columns = _on(lambda a, b: graph.concatenate([a, b], 1), (3, 2), (3, 4))
    yield row("reshape", "E8", of(graph.reshape), _on(lambda x: graph.reshape(x, 2, 6), (3, 4)))
    yield row("transpose", "E8", of(graph.transpose), _on(graph.transpose, (3, 4)))
    yield row("transpose to an order of axes", "E8", of(graph.transpose, "axes"), turned)
    yield row("concatenate", "E8", of(graph.concatenate), in_columns)
    yield row("index", "E8", of(graph.getitem), _on(lambda x: x[[0, 0, 2], 1:], (3, 4)))
    yield row("index of rows", "A2 E8", of(graph.getitem, "rows"), _on(lambda x: x[[-1, 0, -1]], (3, 4)))
    yield row("take rows", "A2 E8", of(graph.take_rows), _on(lambda W: graph.take_rows(W, ids), (5, 3)))


# ------------------------------------------------------------------------------------------------ layers


def _layers() -> Iterator[GradientCheck]:
    def tables(*sizes: tuple[int, int]) -> Examine:
        def check(rng: Rng) -> GradientReport:
            layer = network.LookupTables(sizes, rng=rng)
            columns = np.stack([rng.integers(0, V, 10) for V, _ in sizes], axis=1)
            return examine(layer, Ragged(columns, np.array([0, 1, 4, 10])))

        return check

    def attributes(has_values: bool) -> Examine:
        """Three tokens, the second without an attribute, the last with one twice."""

        def check(rng: Rng) -> GradientReport:
            values = rng.normal(size=5) if has_values else None
            found = Attributes(np.array([4, 0, 1, 4, 4], np.int32), values, np.array([0, 2, 2, 5]))
            return examine(lambda W: weighted_rows(W, found), rng.normal(size=(6, 3)))

        return check

    def table(rng: Rng) -> GradientReport:
        layer = network.LookupTable(6, 3, rng=rng)
        return examine(layer, Ragged(rng.integers(0, 6, 10), np.array([0, 1, 4, 10])))

    words, kind = np.array([[1, 4, 2, 6], [3, 0, 0, 0], [0, 0, 0, 0], [5, 5, 1, 0]]), network.LookupTables

    def characters(rng: Rng) -> GradientReport:
        return examine(network.CharacterConvolution(6, 5, D=3, rng=rng), words)

    yield row("characters of words", "A2 A4 A5", of(network.CharacterConvolution), characters)
    yield row("lookup table", "A2", of(network.LookupTable), table)
    yield row("lookup tables, concatenated", "A2", of(kind), tables((6, 3), (4, 2)))
    yield row("lookup tables of one width", "A2", of(kind, "tables of one width"), tables((6, 2), (4, 2), (3, 1)))
    yield row("sums of rows", "A2", of(weighted_rows), attributes(has_values=False))
    yield row("weighted sums of rows", "A2", of(weighted_rows, "values other than 1"), attributes(has_values=True))

    def layer(
        name: str, equations: str, thing: Any, make: Callable[[Rng], network.Layer], mode: str = ""
    ) -> GradientCheck:
        return row(name, equations, of(thing, mode), lambda rng: examine(make(rng), sentences(rng, 5)))

    def of_sentence(rng: Rng) -> network.Layer:
        return network.SentenceConvolution(5, 4, 3, distance_dim=2, longest_distance=4, rng=rng)

    linear = network.Linear
    yield layer("linear", "A3 B3 E5", linear, lambda rng: linear(5, 4, rng=rng))
    yield layer("linear, no bias", "B1", linear, lambda rng: linear(5, 4, bias=False, rng=rng), "bias=False")
    yield layer("window", "A4 E3", network.Window, lambda rng: network.Window(5, 3, rng=rng))
    wide = lambda rng: network.Window(5, 3, dilation=2, rng=rng)  # noqa: E731
    yield layer("window, dilated", "A4", network.Window, wide, "dilation")
    yield layer("window average", "E2", network.WindowAverage, lambda rng: network.WindowAverage(5))
    yield layer("convolution", "A4", network.convolution, lambda rng: network.convolution(5, 4, 5, rng=rng))
    yield layer("max over time", "A5", network.MaxOverTime, lambda rng: network.MaxOverTime())
    yield layer("sentence approach", "A12", network.SentenceConvolution, of_sentence)
    yield layer("parametric ReLU", "E10", network.ParametricReLU, lambda rng: network.ParametricReLU(5))
    yield layer("layer normalisation", "A1", network.LayerNorm, lambda rng: network.LayerNorm(5, rng=rng))

    def dropout(rng: Rng, rows: bool) -> GradientReport:
        drop = network.Dropout(0.4, rows=rows)
        return examine(lambda x: drop(x, rng=np.random.default_rng(3)), sentences(rng, 5))

    yield row("dropout of elements", "A1", of(network.Dropout), partial(dropout, rows=False))
    yield row("dropout of rows", "A1", of(network.Dropout, "rows=True"), partial(dropout, rows=True))

    def activation(name: str) -> Examine:
        return lambda rng: examine(network.Activation(name), rng.normal(scale=1.5, size=(6, 5)))

    equations = {"hardtanh": "A6", "softsign": "B6"}
    for name in network.ACTIVATIONS:
        covers = of(network.Activation, f"function={name}")
        yield row(f"activation {name}", equations.get(name, "B6 E10"), covers, activation(name))

    def deep(rng: Rng) -> network.Layer:
        pairs = [(linear(D, H, rng=rng), network.Activation("sigmoid")) for D, H in ((5, 6), (6, 4), (4, 3))]
        return network.Chain(*(part for pair in pairs for part in pair))

    def twice(rng: Rng) -> network.Layer:
        shared = linear(5, 5, rng=rng)
        return network.Chain(shared, network.Activation("tanh"), shared)

    def side_by_side(rng: Rng) -> network.Layer:
        return network.Concatenation(linear(5, 2, rng=rng), network.WindowAverage(3))

    def shortcut(rng: Rng) -> network.Layer:
        return network.Residual(network.Chain(network.convolution(5, 5, 3, rng=rng), network.Activation("tanh")))

    yield layer("chain of hidden layers", "A1 E7", network.Chain, deep)
    yield layer("chain that uses a layer twice", "A1 E8", network.Chain, twice, "layer used twice")
    yield layer("concatenation of layers", "A1", network.Concatenation, side_by_side)
    yield layer("residual", "A1", network.Residual, shortcut)


def _fused_layers() -> Iterator[GradientCheck]:
    def hidden_layer(activation: str) -> Examine:
        def check(rng: Rng) -> GradientReport:
            chain = network.Chain(network.Linear(5, 4, rng=rng), network.Activation(activation), network.Dropout(0.4))
            own = chain.parameters()
            return examine(lambda x: chain(x, rng=np.random.default_rng(3)), sentences(rng, 5), parameters=own)

        return check

    def windows(*, D: int = 5, bias: bool = True, activation: str | None = None) -> Examine:
        """Repeated rows, sentences shorter than the window, an empty one."""

        def check(rng: Rng) -> GradientReport:
            window = network.Window(D, 5, rng=rng, dtype=np.float64)
            linear = network.Linear(5 * D, 4, bias=bias, rng=rng, dtype=np.float64)
            window.padding.value = rng.normal(size=D)
            places, offsets = rng.integers(0, 6, 9), np.array([0, 1, 1, 3, 9])

            def node(x: Node) -> Node:
                finish: Any = activation and Finish(activation=activation, rate=0.4, rng=np.random.default_rng(3))
                return shared_windows(x, places, offsets, window, linear, finish)

            return examine(node, rng.normal(size=(6, D)), parameters=window.parameters() | linear.parameters())

        return check

    yield row("shared windows", "A4", of(shared_windows), windows())
    yield row("shared windows, wide rows", "A4", of(shared_windows, "wide rows"), windows(D=17))
    yield row("shared windows, no bias", "A4", of(shared_windows, "no bias"), windows(bias=False))
    for name in FUSED:
        finish = f"finish={name}"
        yield row(f"fused hidden layer, {name}", "A3 A6 B6", of(network.Linear, finish), hidden_layer(name))
        fused = windows(activation=name)
        yield row(f"shared windows with fused {name}", "A4 A6 B6", of(shared_windows, finish), fused)


# ------------------------------------------------------------------------------------------------ objectives


def _losses() -> Iterator[GradientCheck]:
    def one_label(rng: Rng) -> GradientReport:
        return examine(softmax_cross_entropy, rng.normal(size=(7, 4)), rng.integers(0, 4, 7))

    def weighted(rng: Rng) -> GradientReport:
        gold, weights = rng.integers(0, 4, 7), rng.uniform(0, 2, 7)
        return examine(lambda S: softmax_cross_entropy(S, gold, weights), rng.normal(size=(7, 4)))

    def allowed_labels(rng: Rng) -> GradientReport:  # also a word of which nothing is known
        allowed = np.eye(4, dtype=bool)[rng.integers(0, 4, 7)] | (rng.random((7, 4)) < 0.3)
        allowed[2] = True
        return examine(softmax_cross_entropy, rng.normal(size=(7, 4)), allowed)

    def l2(rng: Rng, touch: bool) -> GradientReport:
        layer, words = network.Linear(5, 4, rng=rng), network.LookupTable(6, 3, rng=rng)
        named = {**layer.parameters(), **words.parameters()}
        touched = {words.table: np.array([1, 4, 1])} if touch else None
        # Biases never decay, tables only at the rows that are touched.
        zero = ["b"] if touch else ["b", "table"]
        penalty = partial(objectives.l2, named.values(), 0.3, touched=touched)
        return examine(penalty, name="l2", parameters=named, expect_zero=zero)

    several = of(softmax_cross_entropy, "allowed labels")
    yield row("softmax cross-entropy", "A7 D2 E3", of(softmax_cross_entropy), one_label)
    yield row("softmax cross-entropy, weighted", "A7 D2 E3", of(softmax_cross_entropy, "weights"), weighted)
    yield row("softmax cross-entropy, partial labels", "A7 E3", several, allowed_labels)
    hinge = partial(objectives.max_margin, margin=1.3)
    mean, summed = (_on(partial(hinge, normalise=how), (8,), (8, 3)) for how in ("mean", "sum"))
    yield row("max-margin, mean over pairs", "B2 E4", of(objectives.max_margin), mean)
    yield row("max-margin, sum over pairs", "E4", of(objectives.max_margin, "normalise=sum"), summed)
    yield row("L2 penalty", "B5 E9 C1", of(objectives.l2), partial(l2, touch=False))
    yield row("L2 penalty on rows of a table", "B5 E9", of(objectives.l2, "touched"), partial(l2, touch=True))


_GOLD = np.array([0, 1, 2, 0, 2, 2, 1, 0, 1, 0])
_ALLOWED = np.eye(3, dtype=bool)[_GOLD] | (np.arange(30).reshape(10, 3) % 4 == 0)  # partial labels
_STEPS = np.array([[True, True, False], [True, False, True], [True, True, True]])


def _conditional_random_fields() -> Iterator[GradientCheck]:
    def crf(rng: Rng, L: int = 3, **options: Any) -> CRF:
        made = CRF(L, **options)
        for parameter in made.parameters().values():
            parameter.value[...] = rng.normal(size=parameter.shape)
        return made

    def loss(gold: Any = _GOLD, **options: Any) -> Examine:
        return lambda rng: examine(crf(rng, **options), sentences(rng, 3), gold)

    def teacher(rng: Rng) -> GradientReport:
        scores = sentences(rng, 3)
        student, teaching = (crf(rng, allowed_transitions=_STEPS) for _ in range(2))
        return examine(student, scores, teaching.lattice(rng.normal(size=scores.data.shape), scores.offsets))

    def counts(rng: Rng) -> GradientReport:
        scores = sentences(rng, 3)
        teaching = crf(rng).lattice(rng.normal(size=scores.data.shape), scores.offsets)
        return examine(crf(rng), scores, expected_counts(teaching))

    def offset_scores(rng: Rng) -> GradientReport:  # also at a sentence without a token
        offsets = np.array([0, 1, 1, 4, 10])
        tables = [Input(rng.normal(size=(10, 3)), name, offsets) for name in ("centre", "previous", "following")]
        return examine(objectives.offset_scores, *tables)

    def far_apart(rng: Rng) -> GradientReport:  # too far for scaled probabilities
        scores = sentences(rng, 3)
        scores.data[5:7] = [[300, 0, -300], [0, 300, 301]]
        return examine(crf(rng), scores, _GOLD)

    def of_size(T: int, L: int) -> Examine:
        few = Sampling(every_entry_up_to=0, entries=4, directions=4)

        def check(rng: Rng) -> GradientReport:
            scores = Input(rng.normal(size=(2 * T, L)), "scores", np.array([0, T, 2 * T]))
            return examine(crf(rng, L), scores, rng.integers(0, L, 2 * T), sampling=few, epsilons=(1e-3, 1e-4))

        return check

    def log_odds(rng: Rng) -> GradientReport:
        """Of the first two tokens of every sentence, under a mask and learned transitions."""
        tables = {"transitions": rng.normal(size=(3, 3)), "start": rng.normal(size=3), "end": rng.normal(size=3)}
        mask = ~np.eye(3, k=1, dtype=bool)
        chain = objectives.ChainScores.under_mask(3, **tables, allowed_transitions=mask)
        allowed = np.ones((10, 3), bool)
        allowed[[0, 1, 4]], allowed[[2, 5]] = [False, False, True], [True, False, True]
        return examine(lambda scores: objectives.summed_log_odds(scores, chain, allowed), sentences(rng, 3))

    def mentions(rng: Rng) -> GradientReport:
        """Two mentions, one of them certain, that share a sentence; labels O, B, I."""
        tables = {"transitions": rng.normal(size=(3, 3)), "start": rng.normal(size=3), "end": rng.normal(size=3)}
        steps, first = np.ones((3, 3), bool), np.array([True, True, False])
        steps[0, 2] = False  # no I after O
        chain = objectives.ChainScores.under_mask(3, **tables, allowed_transitions=steps, allowed_start=first)
        entities = [objectives.EntityLabels.bio(3, begin=1, inside=2)]
        said = [
            objectives.Mention([(0, 0, 1), (1, 1, 3), (2, 2, 4)], 0),
            objectives.Mention([(2, 0, 1), (2, 3, 4)], 0, 0.2),
        ]
        return examine(lambda scores: objectives.mention_loss(scores, chain, said, entities), sentences(rng, 3))

    begins = np.array([0, 0, 2, 1, 2, 1, 1, 0, 1, 0])
    start = loss(begins, allowed_start=np.array([True, False, True]))
    end = loss(begins, allowed_end=np.array([True, True, False]))
    steps = loss(allowed_transitions=_STEPS)
    yield row("CRF", "A8 C3 C5", of(CRF), loss())
    yield row("CRF, forbidden transitions", "A8 C5", of(CRF, "allowed_transitions"), steps)
    yield row("CRF, forbidden first labels", "A8 C5", of(CRF, "allowed_start"), start)
    yield row("CRF, forbidden last labels", "A8 C5", of(CRF, "allowed_end"), end)
    yield row("CRF, partial labels", "C3 C5", of(CRF, "allowed labels"), loss(_ALLOWED))
    yield row("CRF, a teacher's lattice", "C3 C5", of(CRF, "a teacher's lattice"), teacher)
    yield row("CRF, a teacher's expected counts", "C3 C5", of(CRF, "a teacher's expected counts"), counts)
    yield row("scores of neighbouring tokens", "C2 C5 C6", of(objectives.offset_scores), offset_scores)
    yield row("CRF, scores far apart", "A8", of(CRF, "scores far apart"), far_apart)
    yield row("CRF, long sentences", "A8 C5", of(CRF, "long sentences"), of_size(400, 3))
    yield row("CRF, more labels than kernels take", "A8 C5", of(CRF, "more labels than kernels take"), of_size(3, 104))
    yield row("log-odds of an entity", "C4 C5 E6", of(objectives.summed_log_odds), log_odds)
    yield row("at least one of some spans", "C4 C5", of(objectives.mention_loss), mentions)


# ------------------------------------------------------------------------------------------------ compositions of trees


# The children of each node of trees: bushy, deep, of one word, and of two; in post-order, leaves have no children.
_TREES: list[list[list[int]]] = [
    [[], [], [0, 1], [], [], [], [4, 5], [3, 6], [2, 7]],
    [[], [], [], [], [2, 3], [1, 4], [0, 5]],
    [[]],
    [[], [], [0, 1]],
]


def _compositions() -> Iterator[GradientCheck]:
    def check(rng: Rng, name: str, activation: str) -> GradientReport:
        plan = Forest.of(_TREES).schedule(np.array([1, 0, 3, 2]))
        H = 4 if name == "tree-lstm" else 3
        composition = network.new_composition(name, 3, H, rng=rng, activation=activation, dtype=np.float64)
        for parameter in composition.parameters().values():
            parameter.value[...] = rng.normal(scale=0.6, size=parameter.shape)
        leaves = rng.normal(size=(plan.leaves, 3))
        return examine(lambda X: composition(X, plan), leaves, parameters=composition.parameters())

    for name, kind in network.COMPOSITIONS.items():
        equations, by_default = "D1 D3" if name == "sum" else "D3", partial(check, name=name, activation="tanh")
        yield row(f"tree composition {name}", equations, of(kind), by_default)
        if name != "tree-lstm":  # whose activations are fixed
            for activation in [other for other in network.ACTIVATIONS if other != "tanh"]:
                covers, run = of(kind, f"activation={activation}"), partial(check, name=name, activation=activation)
                yield row(f"tree composition {name} with {activation}", "D3 E10", covers, run)
