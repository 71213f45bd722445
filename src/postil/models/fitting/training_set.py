"""Labelled sentences as a training run takes them: batches in shards, each with its share of the mean loss."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Protocol, final

import numpy as np

from postil.arrays import Array, offsets_from_lengths
from postil.errors import ConfigurationError
from postil.features.inputs import Sentences, batches_of_similar_length
from postil.models.decoding.codec import LabelCodec, joined_numbers, possible
from postil.models.decoding.posteriors import Posteriors
from postil.models.estimator import Trainee
from postil.models.fitting.fitting import in_shards
from postil.models.model import FittedModel
from postil.models.networks.network import Example
from postil.objectives.crf import ChainScores, Lattice, Moments, expected_counts
from postil.objectives.mentions import Change
from postil.optimisation.loop import Batch

# --------------------------------------------------------------------------- Mentions replaced by others of their class
#
# Sentences are sequences of tokens of the training data, by their numbers. So a mention that moves takes everything
# along that is known of its tokens: their words, extra columns, gazetteer codes and labels.


@final
class MentionReplacement:
    """Draws sentences in which a share of the mentions are replaced."""

    def __init__(self, gold: Sequence[Array], codec: LabelCodec, share: float) -> None:
        """``gold``: labels (T,) of each sentence; one with partial labels, (T, L), neither takes nor gives mentions."""
        self._share = share
        self._offsets = offsets = offsets_from_lengths([len(labels) for labels in gold])
        begins, classes = codec.begins_and_classes
        outside = int(np.flatnonzero(classes < 0)[0])
        numbers = np.concatenate([labels if labels.ndim == 1 else np.full(len(labels), outside) for labels in gold])
        in_mention = classes[numbers] >= 0
        # A mention ends before the next token that begins one, is outside, or is the first of a sentence.
        breaks = begins[numbers] | ~in_mention
        breaks[offsets[:-1][np.diff(offsets) > 0]] = True
        edges = np.append(np.flatnonzero(breaks), len(numbers))
        self._first = np.flatnonzero(begins[numbers] & in_mention)  # (M,) tokens first … end - 1
        self._end = edges[np.searchsorted(edges, self._first, side="right")]
        of_mentions = classes[numbers[self._first]]
        self._of_class = [np.flatnonzero(of_mentions == number) for number in range(len(codec.classes))]

    def draw(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Numbers of tokens (N',) and offsets (B + 1,): each mention is another one with the probability ``share``."""
        first, end = self._first, self._end
        chosen = np.arange(len(first))
        replaced = rng.random(len(chosen)) < self._share
        for of_class in self._of_class:
            places = of_class[replaced[of_class]]
            chosen[places] = rng.choice(of_class, len(places)) if len(places) else places
        # Between two mentions, and before the first and after the last of them, tokens stay.
        N = int(self._offsets[-1])
        starts = np.column_stack([np.concatenate([[0], end]), np.append(first[chosen], N)]).ravel()
        ends = np.column_stack([np.append(first, N), np.append(end[chosen], N)]).ravel()
        of_ranges = ends - starts
        shifts = starts - (np.cumsum(of_ranges) - of_ranges)
        tokens = np.repeat(shifts, of_ranges) + np.arange(int(of_ranges.sum()))
        growth = np.zeros(len(self._offsets) - 1, np.int64)
        sentences = np.searchsorted(self._offsets, first, side="right") - 1
        np.add.at(growth, sentences, (end - first)[chosen] - (end - first))
        return tokens, offsets_from_lengths(np.diff(self._offsets) + growth)


# ----------------------------------------------------------------------------------------------- Learning from teachers
#
# The scores of several teachers are averaged before forward-backward, so they make one lattice. What the student learns
# from a sentence is that lattice's whole posterior, not only its best labelling: where the teachers are unsure, so may
# the student be. A labelled sentence among them has a lattice with one path. Where its labels are known in part, the
# teachers choose among those that are left open.
#
# A training run on marks (``O|B-PER``) sums over what they leave open, so a student that leans to one side leans to it
# ever more. Where a fitted tagger knows the open classes, it completes the labels: its posterior over the labellings
# that agree with the marks is a better target. To the teacher, entities of classes that it does not know are O.


MOST_REPEATS = 8


class Teacher(Protocol):
    """The interface of a fitted tagger that can be a teacher."""

    @property
    def model(self) -> FittedModel: ...
    @property
    def _posteriors(self) -> Posteriors: ...


def check_student(student: Trainee, teachers: Sequence[Teacher] = (), labels: Sequence[str] = ()) -> None:
    """Raise ConfigurationError if the student cannot learn ``labels`` from these teachers: the work of a moment."""
    if student._configured(student.settings).objective != "crf":
        raise ConfigurationError("objective of a student", expected="crf", got="another")
    for teacher in teachers:
        _order(teacher.model.codec, labels)


@final
class Lesson:
    """The teachers' predictions for some of the training sentences: lattices in the labels of the student.

    The sentences are numbered: first the labelled ones, ``repeats`` times, then the raw ones.
    """

    def __init__(
        self,
        scores: Mapping[int, Array],
        chain: ChainScores,
        labelled: int,
        repeats: int,
        *,
        has_all: bool,
        changes: Mapping[int, Change] = MappingProxyType({}),
    ) -> None:
        """``scores`` (T, L) of some labelled sentences and the raw ones; ``has_all``: others have one path.

        ``changes`` are added to the expected counts of lattices, for what no lattice can say.
        """
        self._scores, self._chain, self._labelled, self.repeats = scores, chain, labelled, repeats
        self.has_all, self._changes = has_all, changes

    @classmethod
    def of(
        cls,
        teachers: Sequence[Teacher],
        raw: Sentences,
        labelled: Sentences,
        gold: Sequence[Array],
        student: FittedModel,
    ) -> "Lesson":
        """On R raw sentences and G labelled ones, which are repeated to balance them."""
        # A third of what is learned is labelled by people, as far as few repetitions reach.
        balance = sum(map(len, raw)) / (2 * max(1, sum(map(len, gold))))
        repeats = max(1, min(MOST_REPEATS, round(balance)))
        partial = [i for i, numbers in enumerate(gold) if numbers.ndim == 2]
        orders = [_order(teacher.model.codec, student.codec.labels) for teacher in teachers]
        taught = [*raw, *(labelled[i] for i in partial)]
        means, chain = _said(teachers, orders, taught, student)
        numbers = [*range(repeats * len(gold), repeats * len(gold) + len(raw)), *partial]
        scores = dict(zip(numbers, means, strict=True))
        scores |= {i: np.where(gold[i], scores[i], np.float32(-np.inf)) for i in partial}
        order = orders[0]
        changes = {
            numbers[place]: Change(unary[:, order], steps[np.ix_(order, order)])
            for place, (unary, steps) in teachers[0]._posteriors.changes(taught).items()
        }
        return cls(scores, chain, len(gold), repeats, has_all=True, changes=changes)

    @classmethod
    def completing(
        cls, teacher: Teacher, X: Sentences, gold: Sequence[Array], which: Sequence[int], student: FittedModel
    ) -> "Lesson":
        """On the sentences ``which`` alone: all their labellings that agree with what ``gold`` allows."""
        labels, codec = student.codec.labels, teacher.model.codec
        number = {label: place for place, label in enumerate(codec.labels)}
        seen_as = np.array([number.get(label, codec.outside) for label in labels])
        means, chain = _said([teacher], [seen_as], [X[i] for i in which], student)
        scores = {
            i: np.where(possible(gold[i], len(labels)), mean, np.float32(-np.inf))
            for i, mean in zip(which, means, strict=True)
        }
        return cls(scores, chain, len(X), 1, has_all=False)

    def __contains__(self, sentence: int) -> bool:
        return self.has_all or sentence in self._scores

    def target(self, which: Array, gold: Sequence[Array]) -> Lattice | Moments:
        """The lattice of some of the learned sentences, or the counts that it expects if something changes them.

        ``gold`` has the labels of all that are labelled.
        """
        single = np.where(np.eye(self._chain.labels, dtype=bool), np.float32(0), np.float32(-np.inf))
        numbers = [i if i >= self.repeats * self._labelled else i % self._labelled for i in which.tolist()]
        scores = [
            self._scores[number] if number in self._scores else single[gold[i]]
            for i, number in zip(which.tolist(), numbers, strict=True)
        ]
        offsets = offsets_from_lengths([len(of_sentence) for of_sentence in scores])
        lattice = Lattice(unary=np.concatenate(scores).astype(np.float64), offsets=offsets, chain=self._chain)
        changes = [(place, self._changes[i]) for place, i in enumerate(numbers) if i in self._changes]
        if not changes:
            return lattice
        log_weight, unary, transitions = expected_counts(lattice)
        for place, change in changes:
            unary[offsets[place] : offsets[place + 1]] += change.unary
            transitions = transitions + change.transitions
        return Moments(log_weight, np.maximum(unary, 0), np.maximum(transitions, 0))

    def about(self) -> dict[str, Any]:
        """For the model file: the training data other than labelled sentences."""
        raw = [len(scores) for i, scores in self._scores.items() if i >= self.repeats * self._labelled]
        return {"unlabelled": {"sentences": len(raw), "tokens": sum(raw)}} if raw else {}

    def digest(self) -> str:
        """Of everything that teachers say."""
        digest = hashlib.sha256(self._chain.transitions.tobytes())
        for scores in self._scores.values():
            digest.update(scores.data)
        for change in self._changes.values():
            digest.update(change.unary.tobytes())
        return digest.hexdigest()


def _said(
    teachers: Sequence[Teacher], orders: Sequence[Array], X: Sentences, student: FittedModel
) -> tuple[list[Array], ChainScores]:
    """The mean of the teachers' scores (T, L) of each sentence, and of their chains, in the order of the student.

    ``orders``: where each of the student's labels stands among those of each teacher. What the student can never
    answer is impossible.
    """
    L, own, chains = len(student.codec.labels), student.network.chain(), []
    means = [np.zeros((len(sentence), L), np.float32) for sentence in X]
    for teacher, order in zip(teachers, orders, strict=True):
        unaries, chain = teacher._posteriors.unaries(X)
        for mean_scores, scores in zip(means, unaries, strict=True):
            mean_scores += (scores[:, order] / len(teachers)).astype(np.float32)
        assert chain is not None, "there are sentences"
        square = np.ix_(order, order)
        chains.append({"transitions": chain.transitions[square], "start": chain.start[order], "end": chain.end[order]})
    mean = {
        name: np.where(np.isfinite(getattr(own, name)), np.mean([chain[name] for chain in chains], axis=0), -np.inf)
        for name in ("transitions", "start", "end")
    }
    return means, ChainScores(**mean)


def _order(teacher: LabelCodec, labels: Sequence[str]) -> Array:
    """Where each of the student's labels stands among the teacher's."""
    number = {label: place for place, label in enumerate(teacher.labels)}
    if set(number) != set(labels):
        expected, got = (", ".join(sorted(names)) for names in (labels, number))
        raise ConfigurationError("labels of the teacher", expected=f"those of the data: {expected}", got=got)
    return np.array([number[label] for label in labels])


# ----------------------------------------------------------------------------------------------- The examples of a task


@final
class TrainingSet:
    """The examples of the task of a ``model``: ``sentences`` with their gold, or with what a ``lesson`` says."""

    def __init__(
        self, model: FittedModel, sentences: Sentences, gold: Sequence[Array], lesson: Lesson | None = None
    ) -> None:
        self._model, self._lesson = model, lesson
        if lesson is not None:  # the raw sentences come after the labelled ones; nothing is known about their labels
            labelled = [*gold] * lesson.repeats
            gold = [*labelled, *(np.zeros((len(tokens), 0)) for tokens in sentences[len(labelled) :])]
        # Label numbers of each sentence, (T,), or (T, …) where they are not known; the same before any is replaced.
        self._inputs = self._all_inputs = model.features.inputs(sentences)
        self._gold = self._all_gold = gold
        config, codec = model.config, model.codec
        # Only for spans: detectors and labels of words have no mentions.
        replaces = config.mention_replacement and config.objective != "margin" and codec.has_spans
        self._replacement = MentionReplacement(gold, codec, config.mention_replacement) if replaces else None

    @property
    def lengths(self) -> Array:
        """(B,) of the sentences."""
        return np.diff(self._inputs.offsets)

    def order(self, size: int, rng: np.random.Generator) -> list[Array]:
        """The sentences of an epoch in batches of similar length; those of a lesson are never mixed with others."""
        lesson = self._lesson
        if lesson is None or lesson.has_all:
            return batches_of_similar_length(self.lengths, size, rng)
        is_taught = np.array([i in lesson for i in range(len(self.lengths))])
        kinds = [np.flatnonzero(kind) for kind in (is_taught, ~is_taught)]
        batches = [kind[batch] for kind in kinds for batch in batches_of_similar_length(self.lengths[kind], size, rng)]
        return [batches[i] for i in rng.permutation(len(batches))]

    def redraw(self, rng: np.random.Generator) -> None:
        """Before an epoch: if the config asks for it, mentions are replaced by others of their class."""
        if self._replacement is not None:  # a sentence without known labels stays as it is
            tokens, offsets = self._replacement.draw(rng)
            old, gold = self._all_inputs, self._all_gold
            self._inputs = replace(old, places=old.places[tokens], extra=old.extra[tokens], offsets=offsets)
            flat = np.concatenate([labels if labels.ndim == 1 else np.zeros(len(labels), np.int64) for labels in gold])
            drawn = np.split(flat[tokens], offsets[1:-1])
            self._gold = [new if of.ndim == 1 else of for new, of in zip(drawn, gold, strict=True)]

    def batch(self, which: Array) -> Batch[Example]:
        kept = in_shards(self._model.network, which, self._model.config.shards, self._example)
        shards = [replace(shard, share=share) for shard, share in kept]
        return Batch(shards, [share for _, share in kept], int(self.lengths[which].sum()))

    def _example(self, which: Array) -> Example:
        """Its gold: labels (N,), or (N, L) if a sentence has several possible ones; or what teachers say."""
        gold: Array | Lattice | Moments
        if self._lesson is not None and int(which[0]) in self._lesson:
            gold = self._lesson.target(which, self._gold)
        else:
            gold = joined_numbers([self._gold[i] for i in which], len(self._model.codec.labels))
        return Example(inputs=self._inputs.selected(which), gold=gold, task=self._model.task)
