"""Learning from teachers: fitted taggers label raw text, and their posterior is what a student learns.

The scores of several teachers are averaged before forward-backward, so they make one lattice. What the student learns
from a sentence is that lattice's whole posterior, not only its best labelling: where the teachers are unsure, so may
the student be. A labelled sentence among them has a lattice with one path. Where its labels are known in part, the
teachers choose among those that are left open.
"""

import hashlib
from collections.abc import Sequence
from typing import Any, Protocol, final

import numpy as np

from postil.arrays import Array, offsets_from_lengths
from postil.errors import ConfigurationError, DataError
from postil.features.inputs import Token
from postil.models.answers.labelling import Labelling
from postil.models.answers.posteriors import Posteriors
from postil.models.inputs import checked_sentences, listed_sentences
from postil.models.parts import Parts
from postil.objectives.lattice import ChainScores, Lattice

MOST_REPEATS = 8


class Teacher(Protocol):
    """What is asked of a fitted tagger to learn from it."""

    @property
    def labelling(self) -> Labelling: ...
    @property
    def _posteriors(self) -> Posteriors: ...


class Student(Protocol):
    """What is asked of an estimator that learns from teachers."""

    @property
    def settings(self) -> dict[str, Any]: ...
    def _configured(self, settings: Any) -> Any: ...


def checked_lesson(
    student: Student,
    unlabelled: Sequence[Sequence[Token]] | None,
    teachers: Sequence[Teacher],
    word_key: str | None = None,
) -> list[Sequence[Token]]:
    """The raw sentences that have words; none where there is nothing to learn from teachers."""
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
        _order(teacher.labelling, labels)


def missing_half(name: str) -> ConfigurationError:
    """The error where a lesson has raw text and no teachers, or the other way round."""
    return ConfigurationError(f"{name}: needed where the other is given", expected="unlabelled and teachers")


@final
class Lesson:
    """What a student learns from R raw sentences and G labelled ones, which are repeated to balance them.

    The learnt sentences are numbered: first the labelled ones, ``repeats`` times, then the raw ones.
    """

    def __init__(
        self,
        teachers: Sequence[Teacher],
        raw: Sequence[Sequence[Token]],
        labelled: Sequence[Sequence[Token]],
        gold: Sequence[Array],
        student: Parts[Any, Any],
    ) -> None:
        labels = student.labelling.labels
        # A third of what is learnt is labelled by people, as far as few repetitions reach.
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
        """The lattice of some of the learnt sentences; ``gold`` has the labels of all that are labelled."""
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
        """For the model file: what was learnt beside the labelled data."""
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
        order = _order(teacher.labelling, labels)
        for which, lattice in teacher._posteriors.lattices(X):
            for place, scores in zip(which, np.split(lattice.unary, lattice.offsets[1:-1]), strict=True):
                mean[place] += (scores[:, order] / len(teachers)).astype(np.float32)
        chains.append(_reordered(lattice.chain, order))
    return mean, chains


def _order(teacher: Labelling, labels: Sequence[str]) -> Array:
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
