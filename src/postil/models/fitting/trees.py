"""From labelled trees to a fitted tree classifier."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, final

import numpy as np

from postil.arrays import Array
from postil.errors import DataError
from postil.features.inputs import InputFeatures, batches_of_similar_length
from postil.features.vectors import coded
from postil.features.words import WordFeatureConfig
from postil.models.config import BALANCED, UNWEIGHTED, explicit_weights
from postil.models.decoding.tree_labels import NO_LABEL, TreeLabels, balanced_weights, named_weights
from postil.models.estimator import Estimator
from postil.models.fitting.fitting import Batches, Fitting, about, in_shards, scaled_vectors
from postil.models.model import new_model
from postil.models.networks.network import MAIN
from postil.models.networks.tree_network import TreeExample, TreeInputs
from postil.optimisation.loop import Batch
from postil.text.trees.tree import Tree


@final
class TreeFitting(Fitting):
    """One training of a tree classifier, as Fitting describes it; the trees are binary."""

    def __init__(
        self,
        estimator: Estimator,
        trees: Sequence[Tree],
        dev: Sequence[Tree] | None = None,
        *,
        checkpoint: Path | None = None,
        resume: bool = False,
    ) -> None:
        estimator.check()
        config = estimator._configured(estimator.settings)
        if config.batch_trees is None:
            config = replace(config, batch_trees=max(8, min(32, len(trees) // 90)))
        if not trees:
            raise DataError("nothing to learn from", expected="at least one tree", got="none")
        vectors = None
        if estimator.vectors is not None:
            vectors = coded(scaled_vectors(estimator.vectors, config.vector_scale), exact=config.exact_vectors)
        features = InputFeatures.build(WordFeatureConfig.of(config), [tree.tokens for tree in trees], vectors=vectors)
        labels, rng = TreeLabels.of(trees, config.loss), np.random.default_rng(estimator.seed)
        table, segmentation = vectors.matrix if vectors is not None else None, estimator.segmenter
        model = new_model(estimator._network, config, {MAIN: labels}, features, table, rng, segmentation=segmentation)
        self._inputs = TreeInputs.of(trees, features.words)
        if config.loss == "all":  # (N,) the labels that are learned from, NO_LABEL at all other nodes
            self._gold = np.concatenate(labels.numbers([tree.labels for tree in trees]))
        else:
            self._gold = np.full(sum(len(tree) for tree in trees), NO_LABEL)
            roots = np.cumsum([len(tree) for tree in trees]) - 1
            self._gold[roots] = labels.numbers([[tree.root_label for tree in trees]])[0]
        self._weights = None  # (L,)
        if config.class_weights == BALANCED:
            self._weights = balanced_weights(self._gold[self._gold != NO_LABEL], len(labels.labels))
        elif config.class_weights != UNWEIGHTED:
            self._weights = named_weights(explicit_weights(config), labels.labels)
        self._judge: Any = estimator._with_model(model)
        self._dev = dev
        origin = about(estimator, [tree.tokens for tree in trees], _digest(trees))
        model.about |= {"composition": config.composition} | origin
        digests = [_digest(data) for data in (trees, dev or ())] if checkpoint is not None else []
        super().__init__(estimator, model, judged=bool(dev), checkpoint=checkpoint, digests=digests, resume=resume)

    def _batches(self, rng: np.random.Generator) -> Sequence[Batch[TreeExample]]:
        order = batches_of_similar_length(np.ones(len(self._inputs.forest)), self.model.config.batch_trees, rng)
        return Batches(self._batch, order)

    def _batch(self, trees: Array) -> Batch[TreeExample]:
        kept = in_shards(self.model.network, trees, self.model.config.shards, self._example)
        tokens = int((self._inputs.forest.sizes[trees] + 1).sum()) // 2
        return Batch([shard for shard, _ in kept], [share for _, share in kept], tokens)

    def _example(self, trees: Array) -> TreeExample:
        batch = self._inputs.selected(trees)
        gold = self._gold[batch.plan.nodes]
        labelled = gold != NO_LABEL
        rows = None if labelled.all() else np.flatnonzero(labelled)
        gold = gold[labelled]
        weights = None if self._weights is None else self._weights[gold]
        return TreeExample(batch=batch, rows=rows, gold=gold, weights=weights)

    def _score(self) -> float:
        return float(self._judge.score(self._dev or ()))


def _digest(trees: Sequence[Tree]) -> str:
    digest = hashlib.sha256()
    for tree in trees:
        digest.update(repr((tree.labels, tree.words, tree.children)).encode("utf8", "surrogatepass"))
    return digest.hexdigest()
