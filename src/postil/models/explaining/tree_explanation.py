"""Which words and phrases moved the label of a sentence.

Two answers, which agree where the network is nearly linear:

- *gradient times input* of a word: ∂ log p(label) / ∂x · x, what the label's log-probability gains from the word's
  vector as far as the slope at this point tells (E6); one downward pass for all words;
- *left out*: p(label) less what it is without the phrase. The phrase and the node above it are taken out of the tree,
  so that the phrase's sister stands in its parent's place, and the tree is computed anew.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias, final

import numpy as np

from postil import graph
from postil.arrays import Array
from postil.errors import DataError
from postil.graph import gradients
from postil.models.answers.tree_labels import TreeLabels
from postil.models.parts import Parts
from postil.models.scoring.tree_network import TreeBatch, TreeInputs, TreeNetwork
from postil.objectives import softmax_cross_entropy
from postil.text.tree import Tree

_NODES_AT_ONCE = 500_000  # of trees with something left out

RootProbabilities: TypeAlias = Callable[[Sequence[Tree]], Array]
"""Trees -> (B, C) the probabilities of the labels that a root can get."""


@final
@dataclass(frozen=True)
class WordEffect:
    """A word, its place in the sentence, and the gradient times input."""

    word: str
    position: int
    effect: float


@final
@dataclass(frozen=True)
class PhraseEffect:
    """The words ``start:end``, their node in post-order, and by how much p(label) is higher with them than without."""

    text: str
    start: int
    end: int
    node: int
    effect: float


@final
@dataclass(frozen=True)
class TreeExplanation:
    """Why ``label`` has its ``probability`` at the root: the effect of every word and of every phrase but the whole."""

    label: str
    probability: float
    words: tuple[WordEffect, ...]
    phrases: tuple[PhraseEffect, ...]

    def as_dict(self) -> dict[str, Any]:
        """The explanation as a dict, ready for JSON."""
        return asdict(self) | {"words": list(map(asdict, self.words)), "phrases": list(map(asdict, self.phrases))}


def explained(
    parts: Parts[TreeLabels, TreeNetwork], probabilities: RootProbabilities, tree: Tree, label: str | None
) -> TreeExplanation:
    """The explanation of ``label``, by default of the most probable one, for a binary tree."""
    labels = parts.labelling
    (now,) = probabilities([tree])
    chosen = labels.at_roots[int(now.argmax())] if label is None else label
    if chosen not in labels.at_roots:
        known = ", ".join(labels.at_roots)
        raise DataError("label to explain", expected=f"one of {known}", got=repr(label))
    column = labels.at_roots.index(chosen)
    phrases = range(len(tree) - 1)  # all but the root
    without = _without_each(probabilities, tree, phrases, len(labels.at_roots))[:, column]
    columns = np.array([labels.labels.index(name) for name in labels.at_roots])
    batch = TreeInputs.of([tree], parts.features.words).selected(np.zeros(1, np.int64))
    effects = _gradient_times_input(parts.network, batch, columns, column)
    tokens, spans = tree.tokens, tree.spans
    return TreeExplanation(
        label=chosen,
        probability=float(now[column]),
        words=tuple(WordEffect(word, i, float(effects[i])) for i, word in enumerate(tokens)),
        phrases=tuple(
            PhraseEffect(" ".join(tokens[slice(*spans[node])]), *spans[node], node, float(now[column] - without[node]))
            for node in phrases
        ),
    )


def without_phrase(tree: Tree, node: int) -> Tree:
    """The binary tree without the phrase at ``node``, which is not the root: its sister takes its parent's place."""
    parent = next(i for i, pair in enumerate(tree.children) if node in pair)
    (sister,) = (child for child in tree.children[parent] if child != node)
    dropped = {parent, *_beneath(tree, node)}
    kept = [i for i in range(len(tree)) if i not in dropped]
    new = {old: i for i, old in enumerate(kept)}
    new[parent] = new[sister]
    return Tree(
        [tree.labels[i] for i in kept],
        [tree.words[i] for i in kept],
        [tuple(new[child] for child in tree.children[i]) for i in kept],
    )


def _beneath(tree: Tree, node: int) -> list[int]:
    """The node and all nodes beneath it."""
    nodes, todo = [], [node]
    while todo:
        nodes.append(todo.pop())
        todo += tree.children[nodes[-1]]
    return nodes


def _without_each(probabilities: RootProbabilities, tree: Tree, nodes: Sequence[int], C: int) -> Array:
    """(B, C): the tree without each of the nodes in turn, in blocks, so that memory does not grow with their number."""
    if not len(nodes):
        return np.zeros((0, C))
    size = max(1, _NODES_AT_ONCE // len(tree))
    blocks = [nodes[i : i + size] for i in range(0, len(nodes), size)]
    return np.concatenate([probabilities([without_phrase(tree, node) for node in block]) for block in blocks])


def _gradient_times_input(network: TreeNetwork, batch: TreeBatch, columns: Array, label: int) -> Array:
    """(T,) of a batch of one tree. ``columns`` are the labels that compete at a root, ``label`` is one of them."""
    words = network.word_vectors(batch.words, batch.vectors)
    X = network.composition(network.mapped(words), batch.plan)
    scores = network.output(graph.take_rows(X, batch.plan.roots))
    loss = softmax_cross_entropy(graph.getitem(scores, (slice(None), columns)), np.array([label]))
    dwords = graph.dense(gradients(loss, words)[words])
    return np.asarray(-(dwords * words.value).sum(axis=1))[np.argsort(batch.plan.nodes[: batch.plan.leaves])]
