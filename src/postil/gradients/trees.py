"""Checks of recursive networks: compositions alone, and the loss that a tree classifier trains."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from postil import network
from postil.features.trees import Forest
from postil.gradcheck import Report, examine
from postil.gradients.model_requirements import TREES, model, setting, tree_inputs, unused_settings
from postil.gradients.models import EPSILONS, SAMPLING, Loss, first_loss, small_sizes, vector_file
from postil.gradients.rows import Examine, GradientCheck, Rng, of, row
from postil.models import TreeClassifier, TreeConfig
from postil.models.scoring.tree_network import TreeNetwork
from postil.models.tree_config import configured_tree
from postil.text import Tree, balanced, right_branching


def tree_checks() -> Iterator[GradientCheck]:
    for name, kind in network.COMPOSITIONS.items():
        equations = "D1 D3" if name == "sum" else "D3"
        yield row(f"tree composition {name}", equations, of(kind), _composition(name, "tanh"))
        if name != "tree-lstm":  # whose activations are fixed
            for activation in [other for other in network.ACTIVATIONS if other != "tanh"]:
                covers, run = of(kind, f"activation={activation}"), _composition(name, activation)
                yield row(f"tree composition {name} with {activation}", "D3 E10", covers, run)
    yield row("word vectors in the width of phrases", "D1", of(TreeNetwork.mapped), _mapped)
    for name in network.COMPOSITIONS:
        for inputs in tree_inputs():
            covers, run = model(TreeClassifier, name, inputs), _examined(name, inputs, {})
            yield row(f"tree classifier {name}, {inputs}", "D1 D2 D3", covers, run)
    for name, value in unused_settings(TreeConfig):
        covers, run = setting(TreeConfig, name, value), _examined("concatenation", TREES, {name: value})
        yield row(f"tree classifier with {name}={value}", "E9" if name == "l2" else "D3", covers, run)


# ------------------------------------------------------------------------------------------------ compositions


def _some_trees() -> list[Tree]:
    """Bushy, deep and of one word; a word that comes again and a phrase of twice the same word."""
    return [balanced(list("abcab")), right_branching(list("cdca")), balanced(["b"]), balanced(["d", "d"])]


def _composition(name: str, activation: str) -> Examine:
    def run(rng: Rng) -> Report:
        plan = Forest.of(_some_trees()).schedule(np.array([1, 0, 3, 2]))
        H = 4 if name == "tree-lstm" else 3
        composition = network.new_composition(name, 3, H, rng=rng, activation=activation, dtype=np.float64)
        for parameter in composition.parameters().values():
            parameter.value[...] = rng.normal(scale=0.6, size=parameter.shape)
        leaves = rng.normal(size=(plan.leaves, 3))
        return examine(lambda X: composition(X, plan), leaves, parameters=composition.parameters())

    return run


def _mapped(rng: Rng) -> Report:
    config = configured_tree("sum", {"word_dim": 2, "hidden": 3})
    made = TreeNetwork(config, 3, word_counts=np.arange(4), vectors=None, rng=rng)
    assert made.leaf_map is not None
    return examine(made.mapped, rng.normal(size=(5, 2)), parameters=made.leaf_map.parameters())


# ------------------------------------------------------------------------------------------------ tree classifiers

_TREES: list[Any] = [
    ("3", ("2", "the"), ("3", ("2", "not"), ("1", "bad"))),
    ("1", ("1", ("2", "not"), ("3", "good")), ("2", ("2", "the"), ("2", "the"))),
    ("3", "good"),
]


def _examined(composition: str, inputs: str, settings: Mapping[str, Any]) -> Examine:
    def run(rng: Rng) -> Report:
        loss = tree_loss(composition, inputs, settings, rng)
        return examine(loss.node, parameters=loss.parameters, rng=rng, sampling=SAMPLING, epsilons=EPSILONS)

    return run


def tree_loss(composition: str, inputs: str, settings: Mapping[str, Any], rng: Rng) -> Loss:
    """The loss of a tree classifier's first batch, as ``fit`` begins with it. ``inputs``: one of ``tree_inputs()``."""
    name, _, value = inputs.partition("=")
    chosen = {name: value == "True" if value in ("True", "False") else value} if value else {}
    with TemporaryDirectory() as folder:
        needs_vectors = inputs == "vectors" or name == "learn_vectors"
        vectors = vector_file(Path(folder)) if needs_vectors else None
        # As by default, words and phrases have one width; vectors, of width 2, need a map.
        sizes = {**small_sizes(configured_tree(composition, {})), "word_dim": 3, "hidden": 3}
        classifier = TreeClassifier(composition=composition, vectors=vectors, **{**sizes, **chosen, **settings})
        return first_loss(classifier.fitting(_TREES), rng)
