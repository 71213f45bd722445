"""The gradient check of a fitted tree classifier (B4): its own parameters, on made-up trees of its own words."""

from dataclasses import replace
from itertools import cycle

import numpy as np

from postil.gradcheck import Report, examine
from postil.graph import Node
from postil.models.checking import made_up_sentences
from postil.models.parts import Parts
from postil.models.tree_classifier import tree_inputs
from postil.models.tree_labels import TreeLabels
from postil.models.tree_network import TreeExample, TreeInputs, TreeNetwork
from postil.text.tree import balanced, right_branching

# Wider steps than usual: a phrase deep in a tree moves the loss by so little that rounding would hide it.
_EPSILONS = (1e-3, 1e-4)
_NOISE = 11  # the seed of dropout: the same noise at every evaluation


def examine_tree_parts(parts: Parts[TreeLabels, TreeNetwork], rng: np.random.Generator) -> Report:
    """Compare the gradients of the model's loss with central differences, in float64; gold labels are random."""
    shapes = zip(cycle([balanced, right_branching]), made_up_sentences(parts.features, rng), strict=False)
    trees = [shape([str(token) for token in tokens]) for shape, tokens in shapes]
    network, inputs = _cut_down(parts, tree_inputs(parts.features, trees))
    batch = inputs.selected(np.arange(len(trees)))
    gold = rng.integers(len(parts.labelling.labels), size=len(batch.plan.nodes))

    def loss() -> Node:
        example = TreeExample(batch=batch, rows=None, gold=gold)
        return network.loss(example, rng=np.random.default_rng(_NOISE))

    parameters = network.parameters()
    return examine(loss, parameters=parameters, name="the model's loss", rng=rng, epsilons=_EPSILONS)


def _cut_down(parts: Parts[TreeLabels, TreeNetwork], inputs: TreeInputs) -> tuple[TreeNetwork, TreeInputs]:
    """The network in float64 with only those rows of its tables that the inputs use, and the inputs' new ids."""
    whole = parts.network
    rows, words = np.unique(np.append(inputs.words, 0), return_inverse=True)  # 0 is the unknown word
    vector_rows, vectors = np.unique(inputs.vectors, return_inverse=True)
    network = TreeNetwork(
        whole.config,
        len(parts.labelling.labels),
        word_counts=whole.word_counts[rows],
        vectors=None if whole.vectors is None else np.asarray(whole.vectors[vector_rows], np.float64),
        rng=None,
        dtype=np.float64,
    )
    for name, parameter in whole.parameters().items():
        value = parameter.value[rows] if name.startswith("words.") else parameter.value
        network.parameters()[name].value = np.array(value, np.float64)
    return network, replace(inputs, words=words[:-1], vectors=vectors)
