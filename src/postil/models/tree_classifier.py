"""The tree classifier: labels on sentences and on all their phrases, by a recursive network (D1 to D4)."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, final

import numpy as np

from postil.arrays import Array
from postil.errors import DataError
from postil.features.inputs import InputFeatures
from postil.metrics import TreeScores, score_trees
from postil.models.config import DEFAULTS, TreeConfig, TreeParameters, configured_tree
from postil.models.decoding.tree_labels import NodeLabel, NodeLabels, TreeAnswers, TreeLabels
from postil.models.estimator import Estimator
from postil.models.explaining.tree_explanation import TreeExplanation, explained
from postil.models.inputs import checked_root_labels, checked_trees
from postil.models.networks.network import MAIN
from postil.models.networks.tree_network import TreeInputs, TreeNetwork
from postil.models.settings import takes
from postil.network.tree import TreeSchedule
from postil.objectives import softmax
from postil.text.trees.tree import Tree, widths_of_nodes
from postil.threads import one_blas_thread

if TYPE_CHECKING:
    from postil.models.fitting.trees import TreeFitting

# What users give for a tree: a Tree, nested tuples (label, child, …), an nltk.Tree, or plain tokens.
TreeLike: TypeAlias = Any
Dev: TypeAlias = list[TreeLike] | tuple[Sequence[TreeLike], Sequence[str] | None]


@final
class TreeClassifier(Estimator):
    """Labels sentences and all their phrases, by a recursive network over their trees.

    A tree is a Tree, nested tuples ``("3", ("2", "good"), ("2", "film"))``, an nltk.Tree or a list of tokens, which
    gets a tree of the shape ``tree``. Hyperparameters that are not set have the values of the composition. Follows
    scikit-learn's estimator rules.

    Examples
    --------
    >>> from postil import TreeClassifier
    >>> trees = [("3", ("2", "a"), ("3", "good")), ("1", ("2", "a"), ("1", "bad"))] * 20
    >>> classifier = TreeClassifier(composition="tree-lstm", hidden=10, seed=0).fit(trees)
    >>> classifier.predict(trees[:2])
    ['3', '1']
    >>> [[node.label for node in nodes] for nodes in classifier.predict_nodes(trees[:1])]
    [['2', '3', '3']]
    """

    composition: str

    @takes(TreeParameters)
    def __init__(self, **parameters: Any) -> None:
        self._store(parameters)

    # -------------------------------------------------------------------------------------------- its kind of model

    KIND: ClassVar[str] = "tree-classifier"
    _CONFIG: ClassVar[type] = TreeConfig
    _ROW: ClassVar[str] = "composition"
    _LABELS: ClassVar[Any] = TreeLabels

    @classmethod
    def _rows(cls) -> dict[str, TreeConfig]:
        return {composition: configured_tree(composition, {}) for composition in DEFAULTS}

    def _configured(self, settings: Mapping[str, Any]) -> TreeConfig:
        return configured_tree(self.composition, settings)

    @classmethod
    def _network(
        cls, config: TreeConfig, features: InputFeatures, labels: Mapping[str, Any], vectors: Any, rng: Any
    ) -> TreeNetwork:
        L = len(labels[MAIN].labels)
        return TreeNetwork(config, L, word_counts=features.words.counts, vectors=vectors, rng=rng)

    @property
    def classes_(self) -> list[str]:
        """The labels that a sentence can get."""
        return list(self.model.codec.at_roots)

    # -------------------------------------------------------------------------------------------- learning

    def fit(
        self,
        trees: Sequence[TreeLike],
        y: Sequence[str] | None = None,
        dev: Dev | None = None,
        *,
        verbose: bool = False,
    ) -> Self:
        """Learn from trees; ``y`` takes the place of the labels of their roots.

        With ``dev``, a list of trees or a pair (trees, labels), the best epoch on it is kept; without, the last one.

        With ``verbose``, the progress is shown in the terminal or the notebook. Programs can read it from the logger
        "postil". Ctrl-C after the first epoch ends the training early, with a warning: the best epoch so far is kept.
        """
        from postil.models.fitting.fitting import run  # training code is loaded only to train

        run(self.fitting(trees, y, dev), verbose=verbose)
        return self

    def fitting(
        self,
        trees: Sequence[TreeLike],
        y: Sequence[str] | None = None,
        dev: Dev | None = None,
        *,
        checkpoint: Path | None = None,
        resume: bool = False,
    ) -> "TreeFitting":
        """``fit`` step by step: iterating trains and yields the events of the training loop.

        With ``checkpoint`` the state of the training is written to that file after every epoch; with ``resume`` it goes
        on from there. This estimator is fitted when the last event has come.
        """
        from postil.models.fitting.trees import TreeFitting  # training code is loaded only to train

        config = self._configured(self.settings)  # of a model that was fitted before, config is the old one
        held_out, labels = dev if isinstance(dev, tuple) and len(dev) == 2 else (dev, None)
        dev_trees = _binarised(held_out, labels, config) if held_out is not None else None
        return TreeFitting(self, _binarised(trees, y, config), dev_trees, checkpoint=checkpoint, resume=resume)

    def trees(self, trees: Sequence[TreeLike], y: Sequence[str] | None = None) -> list[Tree]:
        """Trees in any form as the binary trees that the model sees; ``y`` takes the place of the labels of roots."""
        return _binarised(trees, y, self.config)

    # -------------------------------------------------------------------------------------------- answers

    def predict(self, trees: Sequence[TreeLike]) -> list[str]:
        """The label of every tree."""
        labels = self.model.codec.labels
        return [labels[i] for i in self._root_scores(trees).argmax(axis=1).tolist()]

    def predict_proba(self, trees: Sequence[TreeLike]) -> Array:
        """(B, C) probabilities of the labels of every tree, in the order of ``classes_``."""
        labels = self.model.codec
        columns = [labels.labels.index(label) for label in labels.at_roots]
        return softmax(self._root_scores(trees)[:, columns])

    def predict_nodes(self, trees: Sequence[TreeLike]) -> TreeAnswers:
        """A label and all probabilities for every node of every tree, in post-order: the last one is the root.

        Nodes are those of the binary tree (``classifier.trees(trees)``). The lists are drawn in notebooks.
        """
        labels, binary, answers = self.model.codec.labels, self.trees(trees), []
        for tree, P in zip(binary, self.node_probabilities(binary), strict=True):
            rows = [dict(zip(labels, row, strict=True)) for row in P.tolist()]
            best = [labels[i] for i in P.argmax(axis=1).tolist()]
            answers.append(NodeLabels(map(NodeLabel, best, rows), tree))
        return TreeAnswers(answers)

    def node_probabilities(self, trees: Sequence[TreeLike]) -> list[Array]:
        """(nodes, L) per tree; at roots the labels that no root had in training have the probability 0."""
        model, trees = self.model, checked_trees(trees)
        inputs = self._inputs(trees)
        P = np.zeros((len(inputs.forms), len(model.codec.labels)), model.network.dtype)
        for _, plan, X in self._blocks(inputs):
            scores = model.network.scores(X)
            scores[np.ix_(plan.roots, model.codec.not_at_roots)] = -np.inf
            P[plan.nodes] = softmax(scores)
        return np.split(P, inputs.forest.offsets[1:-1]) if len(inputs.forest) else []

    def score(self, trees: Sequence[TreeLike], y: Sequence[str] | None = None) -> float:
        """Share of the labelled trees whose root gets its label, 0 to 1."""
        binary = self.trees(trees, y)
        labelled = [tree for tree in binary if tree.root_label is not None]
        if not labelled:
            raise DataError("nothing to score", expected="at least one tree with a label at its root", got="none")
        return float(np.mean([a == tree.root_label for a, tree in zip(self.predict(labelled), labelled, strict=True)]))

    def evaluate(self, trees: Sequence[TreeLike], y: Sequence[str] | None = None) -> TreeScores:
        """All scores, at the roots and at all nodes of the binary trees that the model sees.

        If the model has learned the labels of roots only, other labels of inner nodes are not counted.
        """
        binary, labels = self.trees(trees, y), set(self.model.codec.labels)
        if self.config.loss == "root":
            binary = [
                tree.with_labels([*(label if label in labels else None for label in tree.labels[:-1]), tree.root_label])
                for tree in binary
            ]
        return score_trees(binary, self.predict_nodes(binary))

    def explain(self, tree: TreeLike, label: str | None = None) -> TreeExplanation:
        """Which words and phrases contributed to a label of the root, by default the predicted one."""
        (binary,) = self.trees([tree])
        return explained(self.model, self.predict_proba, binary, label)

    def _root_scores(self, trees: Sequence[TreeLike]) -> Array:
        """(B, L); labels that no root had in training are impossible."""
        model, trees = self.model, checked_trees(trees)
        scores = np.zeros((len(trees), len(model.codec.labels)), model.network.dtype)
        for which, plan, X in self._blocks(self._inputs(trees)):
            scores[which] = model.network.scores(X[plan.roots])
        scores[:, model.codec.not_at_roots] = -np.inf
        return scores

    def _inputs(self, trees: Sequence[TreeLike]) -> TreeInputs:
        """The arrays of trees in any form."""
        words = self.model.features.words
        if all(type(tree) is Tree for tree in trees):
            try:
                return TreeInputs.of(trees, words)
            except DataError:  # not all of them are binary
                pass
        return TreeInputs.of(self.trees(trees), words)

    def _blocks(self, inputs: TreeInputs) -> Iterator[tuple[Array, TreeSchedule, Array]]:
        """Trees of similar height: their places, their rows, and the vectors (M, H) of their nodes."""
        network = self.model.network
        with one_blas_thread():
            composed = network.composer(inputs)
            forest = inputs.forest
            order = np.argsort(forest.tree_heights, kind="stable")
            block_of = np.cumsum(forest.sizes[order]) // network.composition.nodes_per_block
            for which in np.split(order, np.flatnonzero(np.diff(block_of)) + 1) if len(forest) else ():
                plan = inputs.forest.schedule(which)
                forms = inputs.forms[plan.nodes[: plan.leaves]]
                yield which, plan, composed(forms, plan)


def _binarised(trees: Sequence[TreeLike], y: Sequence[str] | None, config: Any) -> list[Tree]:
    trees = checked_trees(trees)
    are_binary = all(type(tree) is Tree for tree in trees) and widths_of_nodes(trees) is not None
    binary = list(trees) if are_binary else []
    for i, tree in enumerate(() if are_binary else trees):
        try:
            binary.append(Tree.of(tree, config.tree).binarised(config.binarise))
        except DataError as error:
            raise DataError(error.what, expected=error.expected, got=error.got, where=f"tree {i}") from None
    if y is None:
        return binary
    labels = checked_root_labels(y, len(binary))
    return [tree.with_labels([*tree.labels[:-1], label]) for tree, label in zip(binary, labels, strict=True)]
