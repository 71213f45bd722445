"""The list of checked gradients: everything differentiable in Postil, on small inputs (B4).

A test walks through the package and fails on anything differentiable that no row here covers.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from postil import graph, kernels, network, objectives
from postil.arrays import Ragged
from postil.features.inputs import Inputs
from postil.features.trees import Forest
from postil.gradcheck import Report, examine
from postil.graph import Node
from postil.models.config import configured
from postil.models.scoring.detector_network import DetectorNetwork
from postil.models.scoring.network import Example
from postil.models.scoring.tagger_network import TaggerNetwork
from postil.models.scoring.tree_network import TreeBatch, TreeExample, TreeNetwork
from postil.models.tree_config import configured_tree
from postil.network.finish import Finish
from postil.network.shared_windows import shared_windows
from postil.objectives.margin import NORMALISATIONS
from postil.text import Tree, balanced, right_branching, transition_mask

Rng: TypeAlias = np.random.Generator


@dataclass(frozen=True, kw_only=True)
class GradientCheck:
    """One row: what is checked, the equations it stands for, and what it covers (functions, classes or names)."""

    name: str
    equations: tuple[str, ...]
    covers: tuple[Any, ...]
    examine: Callable[[Rng], Report]

    def run(self) -> Report:
        return self.examine(np.random.default_rng(7))


def gradient_checks() -> list[GradientCheck]:
    """All rows, in the order of the data's way."""
    return [
        *_operations(),
        *_layers(),
        *_activations(),
        *_compositions(),
        *_tree_compositions(),
        *_objectives(),
        *_networks(),
        *_tree_networks(),
    ]


def _row(name: str, equations: str, covers: Any, examine: Callable[[Rng], Report]) -> GradientCheck:
    covered = covers if isinstance(covers, tuple) else (covers,)
    return GradientCheck(name=name, equations=tuple(equations.split()), covers=covered, examine=examine)


# ------------------------------------------------------------------------------------------------ array operations


def _operations() -> Iterator[GradientCheck]:
    def on(function: Callable[..., Node], *shapes: tuple[int, ...], positive: bool = False) -> Callable[[Rng], Report]:
        def run(rng: Rng) -> Report:
            arrays = [rng.uniform(0.5, 2, s) if positive else rng.normal(size=s) for s in shapes]
            return examine(function, *arrays)

        return run

    yield _row("add", "E8", graph.add, on(graph.add, (3, 4), (4,)))
    yield _row("subtract", "E8", graph.subtract, on(graph.subtract, (3, 1), (1, 4)))
    yield _row("multiply", "E8", graph.multiply, on(graph.multiply, (2, 3, 4), (3, 1)))
    yield _row("divide", "E8", graph.divide, on(graph.divide, (3, 4), (4,), positive=True))
    yield _row("power", "E8", graph.power, on(graph.power, (3, 4), (4,), positive=True))
    yield _row("negative", "E8", graph.negative, on(graph.negative, (3, 4)))
    yield _row("matmul of matrices", "E5 E8", graph.matmul, on(graph.matmul, (3, 4), (4, 2)))
    yield _row("matmul with vectors", "E5 E8", graph.matmul, on(lambda u, W, x: u @ (W @ x), (3,), (3, 4), (4,)))
    yield _row("matmul of stacks", "E8", graph.matmul, on(graph.matmul, (2, 1, 3, 4), (5, 4, 2)))
    yield _row("exp", "E8", graph.exp, on(graph.exp, (3, 4)))
    yield _row("log", "E8", graph.log, on(graph.log, (3, 4), positive=True))
    yield _row("sqrt", "E8", graph.sqrt, on(graph.sqrt, (3, 4), positive=True))
    yield _row("tanh", "E8 E10", graph.tanh, on(graph.tanh, (3, 4)))
    yield _row("sum", "E8", graph.sum, on(lambda x: graph.sum(x, axis=(0, 2)), (2, 3, 4)))
    yield _row("mean", "E8", graph.mean, on(lambda x: graph.mean(x, axis=-1), (3, 4)))
    yield _row("max", "E8 A5", graph.max, on(lambda x: graph.max(x, axis=1), (3, 4)))
    yield _row("reshape", "E8", graph.reshape, on(lambda x: graph.reshape(x, 2, 6), (3, 4)))
    yield _row("transpose", "E8", graph.transpose, on(lambda x: graph.transpose(x, 1, 2, 0), (2, 3, 4)))
    yield _row("concatenate", "E8", graph.concatenate, on(lambda a, b: graph.concatenate([a, b], 1), (3, 2), (3, 4)))
    yield _row("index", "E8", graph.getitem, on(lambda x: x[[0, 0, 2], 1:], (3, 4)))
    yield _row("take rows", "A2 E8", graph.take_rows, on(lambda W: graph.take_rows(W, np.array([4, 0, 4])), (5, 3)))


# ------------------------------------------------------------------------------------------------ layers


def _sentences(rng: Rng, D: int) -> Ragged:
    """Sentences of one, three and six words."""
    return Ragged(rng.normal(size=(10, D)), np.array([0, 1, 4, 10]))


def _features(rng: Rng, *sizes: int) -> Ragged:
    columns = [rng.integers(0, V, 10) for V in sizes]
    return Ragged(np.stack(columns, axis=1) if len(columns) > 1 else columns[0], np.array([0, 1, 4, 10]))


def _layers() -> Iterator[GradientCheck]:
    def row(name: str, equations: str, kind: Any, make: Callable[[Rng], network.Layer]) -> GradientCheck:
        return _row(name, equations, kind, lambda rng: examine(make(rng), _sentences(rng, 5)))

    yield _row(
        "lookup table",
        "A2",
        network.LookupTable,
        lambda rng: examine(network.LookupTable(6, 3, rng=rng), _features(rng, 6)),
    )
    yield _row(
        "lookup tables, concatenated",
        "A2",
        network.LookupTables,
        lambda rng: examine(network.LookupTables([(6, 3), (4, 2)], rng=rng), _features(rng, 6, 4)),
    )
    yield row("linear", "A3 B3 E5", network.Linear, lambda rng: network.Linear(5, 4, rng=rng))
    yield row("linear, no bias", "B1", network.Linear, lambda rng: network.Linear(5, 4, bias=False, rng=rng))
    yield row("window", "A4 E3", network.Window, lambda rng: network.Window(5, 3, rng=rng))
    yield row("convolution", "A4", network.convolution, lambda rng: network.convolution(5, 4, 5, rng=rng))
    yield _row("windows over shared rows", "A4", shared_windows, _shared_windows)
    for name in kernels.ACTIVATIONS[1:]:
        yield _row(f"hidden layer in one pass, {name}", "A3 A6 B6", network.Chain, _hidden_layer(name))
        yield _row(
            f"shared rows and hidden layer in one pass, {name}", "A4 A6 B6", shared_windows, _finished_windows(name)
        )
    yield row("window average", "E2", network.WindowAverage, lambda rng: network.WindowAverage(5))
    yield row("max over time", "A5", network.MaxOverTime, lambda rng: network.MaxOverTime())
    yield row("sentence approach", "A12", network.SentenceConvolution, _sentence_convolution)
    yield row("parametric ReLU", "E10", network.ParametricReLU, lambda rng: network.ParametricReLU(5))
    yield row("layer normalisation", "A1", network.LayerNorm, lambda rng: network.LayerNorm(5, rng=rng))
    for rows in (False, True):
        yield _row(
            f"dropout of {'rows' if rows else 'elements'}",
            "A1",
            network.Dropout,
            _dropout(rows),
        )


def _shared_windows(rng: Rng, finish: Callable[[], Finish] | None = None) -> Report:
    """Repeated rows, sentences shorter than the window, an empty one."""
    window, linear = (layer for layer in network.convolution(5, 4, 5, rng=rng, dtype=np.float64).layers)
    assert isinstance(window, network.Window) and isinstance(linear, network.Linear)
    window.padding.value = rng.normal(size=5)
    places, offsets = rng.integers(0, 6, 9), np.array([0, 1, 1, 3, 9])
    return examine(
        lambda x: shared_windows(x, places, offsets, window, linear, finish() if finish is not None else None),
        rng.normal(size=(6, 5)),
        parameters=window.parameters() | linear.parameters(),
    )


def _finished_windows(activation: str) -> Callable[[Rng], Report]:
    def finish() -> Finish:
        return Finish(activation=activation, rate=0.4, rng=np.random.default_rng(3))

    return lambda rng: _shared_windows(rng, finish)


def _hidden_layer(activation: str) -> Callable[[Rng], Report]:
    def check(rng: Rng) -> Report:
        linear = network.Linear(5, 4, rng=rng, dtype=np.float64)
        chain = network.Chain(linear, network.Activation(activation), network.Dropout(0.4))
        return examine(
            lambda x: chain(x, rng=np.random.default_rng(3)), _sentences(rng, 5), parameters=chain.parameters()
        )

    return check


def _sentence_convolution(rng: Rng) -> network.Layer:
    return network.SentenceConvolution(5, 4, 3, distance_dim=2, longest_distance=4, rng=rng)


def _dropout(rows: bool) -> Callable[[Rng], Report]:
    layer = network.Dropout(0.4, rows=rows)

    def with_the_same_noise(x: Node) -> Node:
        return layer(x, rng=np.random.default_rng(3))

    return lambda rng: examine(with_the_same_noise, _sentences(rng, 5))


def _activations() -> Iterator[GradientCheck]:
    equations = {"hardtanh": "A6", "relu": "B6 E10", "leaky-relu": "B6 E10", "softsign": "B6"}

    def on_wide_values(name: str) -> Callable[[Rng], Report]:
        return lambda rng: examine(network.Activation(name), rng.normal(scale=1.5, size=(6, 5)))

    for name in network.ACTIVATIONS:
        covers = (name, network.Activation)
        yield _row(f"activation {name}", equations.get(name, "B6 E10"), covers, on_wide_values(name))


def _compositions() -> Iterator[GradientCheck]:
    def twice(rng: Rng) -> Report:
        shared = network.Linear(5, 5, rng=rng)
        return examine(network.Chain(shared, network.Activation("tanh"), shared), _sentences(rng, 5))

    def side_by_side(rng: Rng) -> Report:
        layer = network.Concatenation(network.Linear(5, 2, rng=rng), network.WindowAverage(3))
        return examine(layer, _sentences(rng, 5))

    def shortcut(rng: Rng) -> Report:
        layer = network.Chain(network.convolution(5, 5, 3, rng=rng), network.Activation("tanh"))
        return examine(network.Residual(layer), _sentences(rng, 5))

    yield _row("chain that uses a layer twice", "A1 E8", network.Chain, twice)
    yield _row("concatenation of layers", "A1", network.Concatenation, side_by_side)
    yield _row("residual", "A1", network.Residual, shortcut)


# ------------------------------------------------------------------------------------------------ trees


def _some_trees() -> list[Tree]:
    """Bushy, deep and of one word; a word that comes again and a phrase of twice the same word."""
    return [balanced(list("abcab")), right_branching(list("cdca")), balanced(["b"]), balanced(["d", "d"])]


def _tree_compositions() -> Iterator[GradientCheck]:
    equations = {"sum": "D1 D3"}
    for name, kind in network.COMPOSITIONS.items():
        covers = (kind, network.Composition)
        yield _row(f"tree composition {name}", equations.get(name, "D3"), covers, _tree_composition(name, "tanh"))
    for activation in network.ACTIVATIONS:
        if activation != "tanh":
            run = _tree_composition("concatenation", activation)
            yield _row(f"tree composition with {activation}", "D3 E10", network.AffineComposition, run)


def _tree_composition(name: str, activation: str) -> Callable[[Rng], Report]:
    plan = Forest.of(_some_trees()).schedule(np.array([1, 0, 3, 2]))

    def run(rng: Rng) -> Report:
        H = 4 if name == "tree-lstm" else 3
        composition = network.new_composition(name, 3, H, rng=rng, activation=activation, dtype=np.float64)
        for parameter in composition.parameters().values():
            parameter.value[...] = rng.normal(scale=0.7, size=parameter.shape)
        leaves = rng.normal(size=(plan.leaves, 3))
        return examine(lambda X: composition(X, plan), leaves, parameters=composition.parameters())

    return run


def _tree_networks() -> Iterator[GradientCheck]:
    settings: dict[str, dict[str, Any]] = {
        "loss at all nodes": {},
        "loss at roots": {"loss": "root"},
        "vectors, weights of classes": {"class_weights": '{"1": 3}'},
    }
    for composition in network.COMPOSITIONS:
        for name, setting in settings.items():
            run = _tree_network(composition, setting)
            yield _row(f"tree classifier {composition}, {name}", "D1 D2 D3 E9", TreeNetwork, run)


def _tree_network(composition: str, settings: dict[str, Any]) -> Callable[[Rng], Report]:
    """The whole loss: word vectors, dropout, recursion, softmax at the nodes, regulariser."""
    common = {"hidden": 3, "word_dim": 2, "l2": 0.01, "hidden_dropout": 0.2, "input_dropout": 0.2}

    def run(rng: Rng) -> Report:
        config = configured_tree(composition, {**common, **settings})
        weighted = config.class_weights != "none"
        vectors = rng.normal(size=(4, 2)) if weighted else None
        made = TreeNetwork(config, 3, word_counts=np.arange(4), vectors=vectors, rng=rng, dtype=np.float64)
        for parameter in made.parameters().values():
            parameter.value[...] = rng.normal(scale=0.7, size=parameter.shape)
        plan = Forest.of(_some_trees()).schedule(np.arange(4))
        words = rng.integers(0, 4, plan.leaves)
        rows = plan.roots if config.loss == "root" else None
        gold = rng.integers(0, 3, len(plan.nodes) if rows is None else len(rows))
        weights = np.array([1.0, 3.0, 1.0])[gold] if weighted else None
        batch = TreeBatch(plan=plan, words=words, vectors=words)
        example = TreeExample(batch=batch, rows=rows, gold=gold, weights=weights)

        def loss() -> Node:  # the same noise at every evaluation
            return made.loss(example, rng=np.random.default_rng(3))

        return examine(loss, parameters=made.parameters())

    return run


# ------------------------------------------------------------------------------------------------ objectives


def _objectives() -> Iterator[GradientCheck]:
    def cross_entropy(rng: Rng) -> Report:
        return examine(objectives.softmax_cross_entropy, rng.normal(size=(7, 4)), rng.integers(0, 4, 7))

    def several_labels(rng: Rng) -> Report:  # partial annotation, also a word of which nothing is known
        allowed = np.eye(4, dtype=bool)[rng.integers(0, 4, 7)] | (rng.random((7, 4)) < 0.3)
        allowed[2] = True
        return examine(objectives.softmax_cross_entropy, rng.normal(size=(7, 4)), allowed)

    def margin(normalise: str) -> Callable[[Rng], Report]:
        def hinge(true: Node, corrupt: Node) -> Node:
            return objectives.max_margin(true, corrupt, margin=1.3, normalise=normalise)

        return lambda rng: examine(hinge, rng.normal(size=8), rng.normal(size=(8, 3)))

    def penalty(rng: Rng) -> Report:
        layer, words = network.Linear(5, 4, rng=rng), network.LookupTable(6, 3, rng=rng)
        named = {**layer.parameters(), **words.parameters()}
        touched = {words.table: np.array([1, 4, 1])}
        return examine(lambda: objectives.l2(named.values(), 0.3, touched=touched), parameters=named)

    def weighted(rng: Rng) -> Report:
        gold, weights = rng.integers(0, 4, 7), rng.uniform(0, 2, 7)
        return examine(lambda S: objectives.softmax_cross_entropy(S, gold, weights), rng.normal(size=(7, 4)))

    yield _row("softmax cross-entropy", "A7 D2 E3", objectives.softmax_cross_entropy, cross_entropy)
    yield _row("softmax cross-entropy, weighted", "A7 D2 E3", objectives.softmax_cross_entropy, weighted)
    yield _row("softmax cross-entropy, several labels", "A7 E3", objectives.softmax_cross_entropy, several_labels)
    yield _row("max-margin, mean over pairs", "B2 E4", objectives.max_margin, margin("mean"))
    yield _row("max-margin, sum over pairs", "E4", objectives.max_margin, margin("sum"))
    yield _row("L2 penalty", "B5 E9 C1", objectives.l2, penalty)
    yield from _conditional_random_fields()


def _conditional_random_fields() -> Iterator[GradientCheck]:
    gold = np.array([0, 1, 2, 0, 2, 2, 1, 0, 1, 0])
    several = np.eye(3, dtype=bool)[gold] | (np.arange(30).reshape(10, 3) % 4 == 0)  # partial annotation

    def crf(rng: Rng, **options: Any) -> objectives.CRF:
        made = objectives.CRF(3, **options)
        for parameter in made.parameters().values():
            parameter.value[...] = rng.normal(size=parameter.shape)
        return made

    def masked(rng: Rng) -> Report:
        mask = np.array([[True, True, False], [True, False, True], [True, True, True]])
        return examine(crf(rng, allowed_transitions=mask, normalise="tokens"), _sentences(rng, 3), gold)

    def three_offsets(rng: Rng) -> Report:
        objective = crf(rng)
        tables = [_sentences(rng, 3) for _ in range(3)]
        return examine(lambda *nodes: objective.loss(nodes, gold), *tables, parameters=objective.parameters())

    def far_apart(rng: Rng) -> Report:  # too far for scaled probabilities: the gradient comes from logarithms
        scores = _sentences(rng, 3)
        scores.data[5:7] = [[300, 0, -300], [0, 300, 301]]
        return examine(crf(rng), scores, gold)

    covers = objectives.CRF
    yield _row("CRF", "A8 C3 C5", covers, lambda rng: examine(crf(rng), _sentences(rng, 3), gold))
    yield _row("CRF under a mask", "A8 C5", covers, masked)
    yield _row("CRF, partial annotation", "C3 C5", covers, lambda rng: examine(crf(rng), _sentences(rng, 3), several))
    yield _row("CRF, scores far apart", "A8", covers, far_apart)
    yield _row("CRF on three offsets", "C2 C5 C6", (covers, objectives.offset_scores), three_offsets)
    yield _row("log-odds of an entity", "C4 C5 E6", objectives.summed_log_odds, _log_odds)


def _log_odds(rng: Rng) -> Report:
    """Of the first two tokens of every sentence, under a mask and learnt transitions."""
    chain = objectives.ChainScores.under_mask(
        3,
        transitions=rng.normal(size=(3, 3)),
        start=rng.normal(size=3),
        end=rng.normal(size=3),
        allowed_transitions=~np.eye(3, k=1, dtype=bool),
    )
    allowed = np.ones((10, 3), bool)
    allowed[[0, 1, 4]], allowed[[2, 5]] = [False, False, True], [True, False, True]
    return examine(lambda scores: objectives.summed_log_odds(scores, chain, allowed), _sentences(rng, 3))


# ------------------------------------------------------------------------------------------------ whole networks

PRESET_EQUATIONS = {
    "average-softmax": "E2 A7 E9",
    "window-softmax": "E3 A7 E9",
    "window-wll": "A12 A7",
    "window-sll": "A12 A8",
    "sentence-wll": "A12 A4 A5 A7",
    "sentence-sll": "A12 A4 A5 A8",
    "linear-crf": "C6 C3 C5",
    "neural-crf": "C2 C3 C5",
    "fast": "A12 A8",
    "accurate": "A4 A8",
}


def _networks() -> Iterator[GradientCheck]:
    yield _row("score uᵀ tanh(W x + b)", "B1 B3 E5 E6", (), _score)
    yield _row("two hidden layers, regularised", "E7 E9 E3", (), _two_hidden_layers)
    yield _row("window network of full size", "A12 E3", (), _full_size)
    yield _row("sentence network of full size", "A4 A5 A12", (), _sentence_network)
    for preset, equations in PRESET_EQUATIONS.items():
        yield _row(f"tagger {preset}, regularised", equations, TaggerNetwork, _tagger(preset))
    for pairs in NORMALISATIONS:
        yield _row(f"detector, {pairs} over pairs, regularised", "B1 B2 E4 B5", DetectorNetwork, _detector(pairs))


def _score(rng: Rng) -> Report:
    def score(u: Node, W: Node, x: Node, b: Node) -> Node:
        return u.T @ graph.tanh(W @ x + b)

    return examine(score, rng.normal(size=8), rng.normal(size=(8, 20)), rng.normal(size=20), rng.normal(size=8))


def _two_hidden_layers(rng: Rng) -> Report:
    net = network.Chain(
        network.Linear(5, 6, rng=rng),
        network.Activation("sigmoid"),
        network.Linear(6, 4, rng=rng),
        network.Activation("softsign"),
        network.Linear(4, 3, rng=rng),
    )
    gold = rng.integers(0, 3, 10)

    def loss(X: Node) -> Node:
        return objectives.softmax_cross_entropy(net(X), gold) + objectives.l2(net.parameters().values(), 0.01)

    return examine(loss, _sentences(rng, 5), parameters=net.parameters())


def _full_size(rng: Rng) -> Report:
    net = network.Chain(
        network.LookupTables([(200, 50), (6, 5)], rng=rng),
        network.Window(55, 5, rng=rng),
        network.Linear(275, 300, rng=rng),
        network.Activation("hardtanh"),
        network.Linear(300, 17, rng=rng),
    )
    return _loss_on_tokens(net, rng, labels=17)


def _sentence_network(rng: Rng) -> Report:
    net = network.Chain(
        network.LookupTables([(200, 50), (6, 5)], rng=rng),
        network.convolution(55, 100, 3, rng=rng),
        network.MaxOverTime(),
        network.Linear(100, 60, rng=rng),
        network.Activation("hardtanh"),
        network.Linear(60, 9, rng=rng),
    )
    return _loss_on_tokens(net, rng, labels=9)


def _tagger(preset: str) -> Callable[[Rng], Report]:
    """The whole loss of a preset: word features, extra columns, fixed vectors, dropout, objective, regulariser."""

    def run(rng: Rng) -> Report:
        labels = ["O", "B-A", "I-A", "E-A", "S-A"]
        config = configured(preset, {"hidden": 3, "position_dim": 1, "l2": 0.01, "hidden_dropout": 0.2})
        tagger = TaggerNetwork(
            config, **_sizes_of_a_model(rng), mask=transition_mask(labels, "iobes"), rng=rng, dtype=np.float64
        )
        for parameter in tagger.parameters().values():
            if not parameter.value.any():  # a bias of 0 puts a ReLU whose inputs were all dropped just at its kink
                parameter.value = rng.normal(scale=0.3, size=parameter.shape)
        example = Example(inputs=_inputs_of_a_model(rng), gold=np.array([0, 1, 3, 4, 0, 1, 2, 3, 0, 4]))

        def loss() -> Node:  # the same noise at every evaluation
            return tagger.loss(example, rng=np.random.default_rng(3))

        return examine(loss, parameters=tagger.parameters())

    return run


def _sizes_of_a_model(rng: Rng) -> dict[str, Any]:
    return {
        "form_sizes": [(7, 2), (3, 1)],
        "extra_sizes": [(4, 1)],
        "vectors": rng.normal(size=(7, 2)),
        "word_counts": np.arange(7),
    }


def _inputs_of_a_model(rng: Rng) -> Inputs:
    return Inputs(
        forms=np.stack([np.arange(7), np.arange(7) % 3], axis=1),
        vectors=np.arange(7),
        places=rng.integers(0, 7, 10),
        extra=rng.integers(0, 4, (10, 1)),
        offsets=np.array([0, 1, 4, 10]),
    )


def _detector(pairs: str) -> Callable[[Rng], Report]:
    """A whole detector: all word features, extra columns, fixed vectors, dropout, sampled corrupt windows."""

    def run(rng: Rng) -> Report:
        config = configured("margin", {"hidden": 9, "corrupt": 4, "pairs": pairs, "l2": 0.01, "activation": "tanh"})
        detector = DetectorNetwork(config, **_sizes_of_a_model(rng), rng=rng, dtype=np.float64)
        example = Example(inputs=_inputs_of_a_model(rng), gold=np.array([0, 0, 1, 0, 1, 1, 0, 0, 0, 1]), share=0.5)

        def loss() -> Node:  # the same noise and the same pairs at every evaluation
            return detector.loss(example, rng=np.random.default_rng(3))

        return examine(loss, parameters=detector.parameters())

    return run


def _loss_on_tokens(net: network.Layer, rng: Rng, labels: int) -> Report:
    ids = _features(rng, 200, 6)
    gold = rng.integers(0, labels, len(net(ids).value))
    return examine(lambda: objectives.softmax_cross_entropy(net(ids), gold), parameters=net.parameters())
