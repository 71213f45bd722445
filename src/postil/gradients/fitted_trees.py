"""The gradient check of a fitted tree classifier (B4): its own parameters, on made-up trees of its own words."""

from typing import Any

import numpy as np

from postil.arrays import Array
from postil.features.trees import Forest
from postil.gradcheck import Report, Sampling, examine
from postil.graph import Node
from postil.models.parts import Parts
from postil.models.scoring.tree_network import TreeBatch, TreeExample, TreeNetwork
from postil.text.trees.tree import balanced, right_branching

# Wider steps than usual: a phrase deep in a tree moves the loss by so little that rounding would hide it.
_EPSILONS = (1e-3, 1e-4)
_NOISE = 11  # the seed of dropout: the same noise at every evaluation
# A model has dozens of arrays. A wrong entry shows in every random direction, so few arrays need a look at each entry.
SAMPLING = Sampling(every_entry_up_to=60, entries=30, directions=30)


def examine_tree_parts(parts: Parts[Any, Any], rng: np.random.Generator) -> Report:
    """Compare the gradients of the model's loss with central differences, in float64; labels are random."""
    network = parts.network
    trees = [shape(["w"] * T) for T in (1, 2, 5) for shape in (balanced, right_branching)]
    plan = Forest.of(trees).schedule(np.arange(len(trees)))
    words, word_rows = _drawn(len(network.word_counts), plan.leaves, rng)
    vectors, vector_rows = _drawn(1 if network.vectors is None else len(network.vectors), plan.leaves, rng)
    small = _cut_down(network, len(parts.labelling.labels), word_rows, vector_rows)
    rows = plan.roots if parts.config.loss == "root" else np.arange(len(plan.nodes))
    gold = rng.integers(0, len(parts.labelling.labels), len(rows))
    example = TreeExample(batch=TreeBatch(plan=plan, words=words, vectors=vectors), rows=rows, gold=gold)

    def loss() -> Node:
        return small.loss(example, rng=np.random.default_rng(_NOISE))

    return examine(
        loss,
        parameters=small.parameters(),
        name="the model's loss",
        rng=rng,
        epsilons=_EPSILONS,
        sampling=SAMPLING,
    )


def _drawn(V: int, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Random rows of a table (count,), numbered among those that occur and row 0; and which these are."""
    ids = rng.integers(0, V, count)
    rows = np.unique(np.append(ids, 0))
    return np.searchsorted(rows, ids), rows


def _cut_down(network: TreeNetwork, L: int, word_rows: Array, vector_rows: Array) -> TreeNetwork:
    """The same network with only some rows of its tables: a model with a million words is checked as fast."""
    vectors = None if network.vectors is None else network.vectors[vector_rows]
    small = TreeNetwork(network.config, L, word_counts=network.word_counts[word_rows], vectors=vectors, rng=None)
    for name, parameter in network.parameters().items():
        value = parameter.value[word_rows] if name == "words.table" else parameter.value
        small.parameters()[name].value = np.array(value)
    return small
