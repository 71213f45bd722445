"""Labelled sentences as a training takes them: batches in shards, each with its share of the mean loss."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, final

import numpy as np

from postil.arrays import Array
from postil.features.batching import batches_of_similar_length
from postil.features.inputs import Inputs, Token
from postil.models.config import TaggerConfig
from postil.models.fitting.completing import Completion
from postil.models.fitting.replacing import MentionReplacement
from postil.models.fitting.teaching import Lesson
from postil.models.parts import Parts
from postil.models.scoring.network import Example
from postil.objectives.lattice import Lattice
from postil.training.loop import Batch


class _Learnt(NamedTuple):
    """Sentences to learn from: inputs, and the label numbers of each, (T,), or (T, …) where they are not known."""

    inputs: Inputs
    gold: Sequence[Array]

    @property
    def lengths(self) -> Array:
        return np.diff(self.inputs.offsets)

    def redrawn(self, tokens: Array, offsets: Array) -> "_Learnt":
        """The same sentences made of other tokens (N,) of theirs; one without known labels must stay as it is."""
        old = self.inputs
        inputs = replace(old, places=old.places[tokens], extra=old.extra[tokens], offsets=offsets)
        flat = np.concatenate([labels if labels.ndim == 1 else np.zeros(len(labels), np.int64) for labels in self.gold])
        drawn = np.split(flat[tokens], offsets[1:-1])
        return _Learnt(inputs, [new if of.ndim == 1 else of for new, of in zip(drawn, self.gold, strict=True)])


@final
class TrainingSet:
    """The examples of one task: ``sentences`` with their gold, or with what a ``lesson`` says about them.

    ``parts`` are those of the model, or of the head that learns this ``task``. The sentences of a ``completion`` are
    learnt as it says.
    """

    def __init__(
        self,
        parts: Parts[Any, Any],
        sentences: Sequence[Sequence[Token]],
        gold: Sequence[Array],
        lesson: Lesson | None = None,
        task: str = "",
        completion: Completion | None = None,
    ) -> None:
        self._parts, self._lesson, self._task, self._completion = parts, lesson, task, completion
        if lesson is not None:  # the raw sentences come after the labelled ones; nothing is known about their labels
            labelled = [*gold] * lesson.repeats
            gold = [*labelled, *(np.zeros((len(tokens), 0)) for tokens in sentences[len(labelled) :])]
        self._learnt = self._whole = _Learnt(parts.features.inputs(sentences), gold)
        self._replacement = _replacement(parts.config, gold, parts.labelling)

    @property
    def lengths(self) -> Array:
        """(B,) of the sentences."""
        return self._learnt.lengths

    def order(self, size: int, rng: np.random.Generator) -> list[Array]:
        """The sentences of an epoch in batches of similar length; those of a completion are never mixed with others."""
        if self._completion is None:
            return batches_of_similar_length(self.lengths, size, rng)
        is_completed = np.array([i in self._completion for i in range(len(self.lengths))])
        kinds = [np.flatnonzero(kind) for kind in (is_completed, ~is_completed)]
        batches = [kind[batch] for kind in kinds for batch in batches_of_similar_length(self.lengths[kind], size, rng)]
        return [batches[i] for i in rng.permutation(len(batches))]

    def redraw(self, rng: np.random.Generator) -> None:
        """Before an epoch: where the config asks for it, mentions are replaced by others of their class."""
        if self._replacement is not None:
            self._learnt = self._whole.redrawn(*self._replacement.draw(rng))

    def batch(self, which: Array) -> Batch[Example]:
        """A batch in shards, each with its share of the mean; one that has no share is left out."""
        count = min(self._parts.config.shards, len(which))
        pieces = np.array_split(which, count) if count > 1 else [which]
        shards = [
            Example(inputs=self._learnt.inputs.selected(p), gold=self._gold_of(p), task=self._task) for p in pieces
        ]
        weights = [self._parts.network.weight(shard) for shard in shards]
        shares = [weight / (sum(weights) or 1) for weight in weights]
        kept = [replace(shard, share=share) for shard, share in zip(shards, shares, strict=True) if share]
        return Batch(kept, [shard.share for shard in kept], int(self.lengths[which].sum()))

    def _gold_of(self, which: Array) -> Array | Lattice:
        """(N,) labels; where a sentence has several possible ones, (N, L) for all of them. Or what teachers say."""
        if self._lesson is not None:
            return self._lesson.lattice(which, self._learnt.gold)
        if self._completion is not None and int(which[0]) in self._completion:
            return self._completion.lattice(which)
        gold = [self._learnt.gold[i] for i in which]
        if all(labels.ndim == 1 for labels in gold):
            return np.concatenate(gold)
        single = np.eye(len(self._parts.labelling.labels), dtype=bool)
        return np.concatenate([labels if labels.ndim == 2 else single[labels] for labels in gold])


def _replacement(config: TaggerConfig, gold: Sequence[Array], labelling: Any) -> MentionReplacement | None:
    """Only for spans: detectors and labels of words have no mentions."""
    if not config.mention_replacement or config.objective == "margin" or not labelling.has_spans:
        return None
    return MentionReplacement(gold, labelling, config.mention_replacement)
