"""Labelled sentences as a training takes them: batches in shards, each with its share of the mean loss."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, final

import numpy as np

from postil.arrays import Array
from postil.features.inputs import Token
from postil.models.fitting.teaching import Lesson
from postil.models.parts import Parts
from postil.models.scoring.network import Example
from postil.objectives.lattice import Lattice
from postil.training.loop import Batch


@final
class TrainingSet:
    """The examples of one task: ``sentences`` with their gold, or with what a ``lesson`` says about them.

    ``parts`` are those of the model, or of the head that learns this ``task``.
    """

    def __init__(
        self,
        parts: Parts[Any, Any],
        sentences: Sequence[Sequence[Token]],
        gold: Sequence[Array],
        lesson: Lesson | None = None,
        task: str = "",
    ) -> None:
        self._parts, self._gold, self._lesson, self._task = parts, gold, lesson, task
        self._inputs = parts.features.inputs(sentences)
        self.lengths: Array = np.array([len(tokens) for tokens in sentences])

    def batch(self, which: Array) -> Batch[Example]:
        """A batch in shards, each with its share of the mean; one that has no share is left out."""
        count = min(self._parts.config.shards, len(which))
        pieces = np.array_split(which, count) if count > 1 else [which]
        shards = [Example(inputs=self._inputs.selected(p), gold=self._gold_of(p), task=self._task) for p in pieces]
        weights = [self._parts.network.weight(shard) for shard in shards]
        shares = [weight / (sum(weights) or 1) for weight in weights]
        kept = [replace(shard, share=share) for shard, share in zip(shards, shares, strict=True) if share]
        return Batch(kept, [shard.share for shard in kept], int(self.lengths[which].sum()))

    def _gold_of(self, which: Array) -> Array | Lattice:
        """(N,) labels; where a sentence has several possible ones, (N, L) for all of them. Or what teachers say."""
        if self._lesson is not None:
            return self._lesson.lattice(which)
        gold = [self._gold[i] for i in which]
        if all(labels.ndim == 1 for labels in gold):
            return np.concatenate(gold)
        single = np.eye(len(self._parts.labelling.labels), dtype=bool)
        return np.concatenate([labels if labels.ndim == 2 else single[labels] for labels in gold])
