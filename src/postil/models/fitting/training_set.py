"""Labelled sentences as a training run takes them: batches in shards, each with its share of the mean loss."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol, final

import numpy as np

from postil.arrays import Array, offsets_from_lengths
from postil.errors import ConfigurationError, DataError
from postil.features.inputs import Inputs, Token, batches_of_similar_length
from postil.models.config import TaggerConfig
from postil.models.decoding.codec import LabelCodec
from postil.models.decoding.posteriors import Posteriors
from postil.models.inputs import checked_sentences, listed_sentences
from postil.models.model import FittedModel
from postil.models.networks.network import Example
from postil.objectives.crf import ChainScores, Lattice
from postil.optimisation.loop import Batch

# --------------------------------------------------------------------------- Mentions replaced by others of their class
#
# Sentences are sequences of tokens of the training data, by their numbers. So a mention that moves takes everything
# along that is known of its tokens: their words, extra columns, gazetteer codes and labels.


class _Mentions(NamedTuple):
    """Tokens first … end - 1 of the training data, each (M,), in their order, and the classes."""

    first: Array
    end: Array
    classes: Array


@final
class MentionReplacement:
    """Draws sentences in which a share of the mentions are replaced."""

    def __init__(self, gold: Sequence[Array], codec: LabelCodec, share: float) -> None:
        """``gold``: labels (T,) of each sentence; one with partial labels, (T, L), neither takes nor gives mentions."""
        self._share = share
        self._offsets = offsets_from_lengths([len(labels) for labels in gold])
        self._mentions = _mentions(gold, self._offsets, codec)
        self._of_class = [np.flatnonzero(self._mentions.classes == number) for number in range(len(codec.classes))]

    def draw(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Numbers of tokens (N',) and offsets (B + 1,): each mention is another one with the probability ``share``."""
        mentions = self._mentions
        chosen = np.arange(len(mentions.first))
        replaced = rng.random(len(chosen)) < self._share
        for of_class in self._of_class:
            places = of_class[replaced[of_class]]
            chosen[places] = rng.choice(of_class, len(places)) if len(places) else places
        # Between two mentions, and before the first and after the last of them, tokens stay.
        N = int(self._offsets[-1])
        starts = np.column_stack([np.concatenate([[0], mentions.end]), np.append(mentions.first[chosen], N)]).ravel()
        ends = np.column_stack([np.append(mentions.first, N), np.append(mentions.end[chosen], N)]).ravel()
        tokens = _ranges(starts, ends)
        growth = np.zeros(len(self._offsets) - 1, np.int64)
        lengths = mentions.end - mentions.first
        sentences = np.searchsorted(self._offsets, mentions.first, side="right") - 1
        np.add.at(growth, sentences, lengths[chosen] - lengths)
        return tokens, offsets_from_lengths(np.diff(self._offsets) + growth)


def _mentions(gold: Sequence[Array], offsets: Array, codec: LabelCodec) -> _Mentions:
    """All mentions of sentences with one label for every token. A mention ends where no label continues it."""
    begins, classes = codec.begins_and_classes
    outside = int(np.flatnonzero(classes < 0)[0])
    numbers = np.concatenate([labels if labels.ndim == 1 else np.full(len(labels), outside) for labels in gold])
    in_mention = classes[numbers] >= 0
    first = np.flatnonzero(begins[numbers] & in_mention)
    # It ends before the next token that begins one, is outside, or is the first of a sentence.
    breaks = begins[numbers] | ~in_mention
    breaks[offsets[:-1][np.diff(offsets) > 0]] = True
    edges = np.append(np.flatnonzero(breaks), len(numbers))
    return _Mentions(first, edges[np.searchsorted(edges, first, side="right")], classes[numbers[first]])


def _ranges(starts: Array, ends: Array) -> Array:
    """start, start + 1, … end - 1 of every pair, one after the other."""
    lengths = ends - starts
    shifts = starts - (np.cumsum(lengths) - lengths)
    return np.asarray(np.repeat(shifts, lengths) + np.arange(int(lengths.sum())))


# ----------------------------------------------------------------------------------------------- Learning from teachers
#
# The scores of several teachers are averaged before forward-backward, so they make one lattice. What the student learns
# from a sentence is that lattice's whole posterior, not only its best labelling: where the teachers are unsure, so may
# the student be. A labelled sentence among them has a lattice with one path. Where its labels are known in part, the
# teachers choose among those that are left open.


MOST_REPEATS = 8


class Teacher(Protocol):
    """The interface of a fitted tagger that can be a teacher."""

    @property
    def model(self) -> FittedModel: ...
    @property
    def _posteriors(self) -> Posteriors: ...


class Student(Protocol):
    """The interface of an estimator that learns from teachers."""

    @property
    def settings(self) -> dict[str, Any]: ...
    def _configured(self, settings: Any) -> Any: ...


def checked_lesson(
    student: Student,
    unlabelled: Sequence[Sequence[Token]] | None,
    teachers: Sequence[Teacher],
    word_key: str | None = None,
) -> list[Sequence[Token]]:
    """The raw sentences that have words; none if there is nothing to learn from teachers."""
    if unlabelled is None and not teachers:
        return []
    if unlabelled is None or not teachers:
        raise missing_half("unlabelled" if unlabelled is None else "teachers")
    check_student(student)
    sentences = listed_sentences(unlabelled, word_key=word_key)
    checked_sentences(sentences)
    kept: list[Sequence[Token]] = [tokens for tokens in sentences if len(tokens)]
    if not kept:
        raise DataError("unlabelled text", expected="at least one sentence with a word", got="none")
    return kept


def check_student(student: Student, teachers: Sequence[Teacher] = (), labels: Sequence[str] = ()) -> None:
    """Raise ConfigurationError if the student cannot learn ``labels`` from these teachers: the work of a moment."""
    if student._configured(student.settings).objective != "crf":
        raise ConfigurationError("objective of a student", expected="crf", got="another")
    for teacher in teachers:
        _order(teacher.model.codec, labels)


def missing_half(name: str) -> ConfigurationError:
    """The error if a lesson has raw text and no teachers, or the other way round."""
    return ConfigurationError(f"{name}: needed where the other is given", expected="unlabelled and teachers")


@final
class Lesson:
    """Training targets of a student for R raw sentences and G labelled ones, which are repeated to balance them.

    The learned sentences are numbered: first the labelled ones, ``repeats`` times, then the raw ones.
    """

    def __init__(
        self,
        teachers: Sequence[Teacher],
        raw: Sequence[Sequence[Token]],
        labelled: Sequence[Sequence[Token]],
        gold: Sequence[Array],
        student: FittedModel,
    ) -> None:
        labels = student.codec.labels
        # A third of what is learned is labelled by people, as far as few repetitions reach.
        balance = sum(map(len, raw)) / (2 * max(1, sum(map(len, gold))))
        self.repeats = max(1, min(MOST_REPEATS, round(balance)))
        self._labelled, self._first_raw = len(gold), self.repeats * len(gold)
        partial = [i for i, numbers in enumerate(gold) if numbers.ndim == 2]
        scores, chains = _mean_scores(teachers, [*raw, *(labelled[i] for i in partial)], labels)
        self._of_raw = scores[: len(raw)]
        self._of_partial = {
            i: np.where(gold[i], of_sentence, np.float32(-np.inf))
            for i, of_sentence in zip(partial, scores[len(raw) :], strict=True)
        }
        self._chain = _mean(chains, student.network.chain())

    def lattice(self, which: Array, gold: Sequence[Array]) -> Lattice:
        """The lattice of some of the learned sentences; ``gold`` has the labels of all that are labelled."""
        scores = [self._scores(i, gold) for i in which.tolist()]
        offsets = offsets_from_lengths([len(of_sentence) for of_sentence in scores])
        return Lattice(unary=np.concatenate(scores).astype(np.float64), offsets=offsets, chain=self._chain)

    def _scores(self, i: int, gold: Sequence[Array]) -> Array:
        if i >= self._first_raw:
            return self._of_raw[i - self._first_raw]
        numbers, L = gold[i], self._chain.labels
        if numbers.ndim == 2:
            return self._of_partial[i % self._labelled]
        return np.where(np.eye(L, dtype=bool)[numbers], np.float32(0), np.float32(-np.inf))

    def about(self) -> dict[str, Any]:
        """For the model file: the training data other than labelled sentences."""
        return {"unlabelled": {"sentences": len(self._of_raw), "tokens": sum(map(len, self._of_raw))}}

    def digest(self) -> str:
        """Of everything that teachers say."""
        digest = hashlib.sha256(self._chain.transitions.tobytes())
        for scores in (*self._of_raw, *self._of_partial.values()):
            digest.update(scores.data)
        return digest.hexdigest()


def _mean_scores(
    teachers: Sequence[Teacher], X: Sequence[Sequence[Token]], labels: Sequence[str]
) -> tuple[list[Array], list[ChainScores]]:
    """The mean of the teachers' scores (T, L) of each sentence, and each teacher's chain, in the student's order."""
    mean, chains = [np.zeros((len(sentence), len(labels)), np.float32) for sentence in X], []
    for teacher in teachers:
        order = _order(teacher.model.codec, labels)
        for which, lattice in teacher._posteriors.lattices(X):
            for place, scores in zip(which, np.split(lattice.unary, lattice.offsets[1:-1]), strict=True):
                mean[place] += (scores[:, order] / len(teachers)).astype(np.float32)
        chains.append(_reordered(lattice.chain, order))
    return mean, chains


def _order(teacher: LabelCodec, labels: Sequence[str]) -> Array:
    """Where each of the student's labels stands among the teacher's."""
    number = {label: place for place, label in enumerate(teacher.labels)}
    if set(number) != set(labels):
        expected, got = (", ".join(sorted(names)) for names in (labels, number))
        raise ConfigurationError("labels of the teacher", expected=f"those of the data: {expected}", got=got)
    return np.array([number[label] for label in labels])


def _reordered(chain: ChainScores, order: Array) -> ChainScores:
    return ChainScores(
        transitions=chain.transitions[np.ix_(order, order)], start=chain.start[order], end=chain.end[order]
    )


def _mean(chains: Sequence[ChainScores], student: ChainScores) -> ChainScores:
    """The mean of the teachers' chains; what the student can never answer is impossible."""

    def mean(name: str) -> Array:
        of_teachers = np.mean([getattr(chain, name) for chain in chains], axis=0)
        return np.where(np.isfinite(getattr(student, name)), of_teachers, -np.inf)

    return ChainScores(transitions=mean("transitions"), start=mean("start"), end=mean("end"))


# ---------------------- Labels that marks leave open in a sentence, learned from the posterior of a model that has them
#
# A training run on marks (``O|B-PER``) sums over what they leave open, so a student that leans to one side leans to it
# ever more. Where a fitted tagger knows the open classes, its posterior over the labellings that agree with the marks
# is a better target: the student then keeps the probabilities of the teacher. To the teacher, entities of classes
# that it does not know are O.


@final
class Completion:
    """Lattices of the sentences ``which``, in the labels of the student, as the teacher scores them.

    ``gold`` has what each of these sentences allows: (T, L) boolean, or (T,) label numbers.
    """

    def __init__(
        self,
        teacher: Teacher,
        X: Sequence[Sequence[Token]],
        gold: Sequence[Array],
        which: Sequence[int],
        student: FittedModel,
    ) -> None:
        L = len(student.codec.labels)
        seen_as = _seen_as(teacher.model.codec, student.codec.labels)
        self._scores: dict[int, Array] = {}
        chain = None
        for places, lattice in teacher._posteriors.lattices([X[i] for i in which]):
            chain = lattice.chain
            for place, scores in zip(places, np.split(lattice.unary, lattice.offsets[1:-1]), strict=True):
                i = which[place]
                allowed = gold[i] if gold[i].ndim == 2 else np.eye(L, dtype=bool)[gold[i]]
                self._scores[i] = np.where(allowed, scores[:, seen_as], -np.inf).astype(np.float32)
        self._chain = None if chain is None else _under_mask(chain, seen_as, student.network.chain())

    def __contains__(self, sentence: int) -> bool:
        return sentence in self._scores

    def lattice(self, which: Array) -> Lattice:
        """All labellings of some of the sentences that agree with their marks."""
        assert self._chain is not None, "there are sentences"
        scores = [self._scores[i] for i in which.tolist()]
        offsets = offsets_from_lengths([len(of_sentence) for of_sentence in scores])
        return Lattice(unary=np.concatenate(scores).astype(np.float64), offsets=offsets, chain=self._chain)


def _seen_as(teacher: LabelCodec, labels: Sequence[str]) -> Array:
    """(L,) the teacher's label for each of the student's: O where it does not know the class."""
    number = {label: place for place, label in enumerate(teacher.labels)}
    return np.array([number.get(label, teacher.outside) for label in labels])


def _under_mask(chain: ChainScores, seen_as: Array, student: ChainScores) -> ChainScores:
    """The teacher's scores of transitions; what the student can never answer is impossible."""

    def masked(scores: Array, of_student: Array) -> Array:
        return np.where(np.isfinite(of_student), scores, -np.inf)

    return ChainScores(
        transitions=masked(chain.transitions[np.ix_(seen_as, seen_as)], student.transitions),
        start=masked(chain.start[seen_as], student.start),
        end=masked(chain.end[seen_as], student.end),
    )


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
    learned as it says.
    """

    def __init__(
        self,
        model: FittedModel,
        sentences: Sequence[Sequence[Token]],
        gold: Sequence[Array],
        lesson: Lesson | None = None,
        task: str = "",
        completion: Completion | None = None,
    ) -> None:
        self._model, self._lesson, self._task, self._completion = model, lesson, task, completion
        if lesson is not None:  # the raw sentences come after the labelled ones; nothing is known about their labels
            labelled = [*gold] * lesson.repeats
            gold = [*labelled, *(np.zeros((len(tokens), 0)) for tokens in sentences[len(labelled) :])]
        self._learnt = self._whole = _Learnt(model.features.inputs(sentences), gold)
        self._replacement = _replacement(model.config, gold, model.codec)

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
        """Before an epoch: if the config asks for it, mentions are replaced by others of their class."""
        if self._replacement is not None:
            self._learnt = self._whole.redrawn(*self._replacement.draw(rng))

    def batch(self, which: Array) -> Batch[Example]:
        """A batch in shards, each with its share of the mean; one that has no share is left out."""
        count = min(self._model.config.shards, len(which))
        pieces = np.array_split(which, count) if count > 1 else [which]
        shards = [
            Example(inputs=self._learnt.inputs.selected(p), gold=self._gold_of(p), task=self._task) for p in pieces
        ]
        weights = [self._model.network.weight(shard) for shard in shards]
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
        single = np.eye(len(self._model.codec.labels), dtype=bool)
        return np.concatenate([labels if labels.ndim == 2 else single[labels] for labels in gold])


def _replacement(config: TaggerConfig, gold: Sequence[Array], codec: Any) -> MentionReplacement | None:
    """Only for spans: detectors and labels of words have no mentions."""
    if not config.mention_replacement or config.objective == "margin" or not codec.has_spans:
        return None
    return MentionReplacement(gold, codec, config.mention_replacement)
