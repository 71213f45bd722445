"""Training of several tasks in one network, each on sentences of its own.

A batch has sentences of one task; it teaches the head of this task, and what all heads share. An epoch has as many
batches as the corpora have together. They are divided among the tasks in proportion to the square root of their number
of sentences: a corpus of a hundredth of the size still has a tenth of the batches. In an epoch, sentences of a small
corpus come several times, and of a large one some are drawn.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias, final

import numpy as np

from postil.arrays import Array
from postil.errors import ConfigurationError, DataError, ForgettingWarning
from postil.features.batching import batches_of_similar_length
from postil.features.inputs import Token, forms_of
from postil.graph import Parameter
from postil.models.answers.labelling import Labelling
from postil.models.answers.task_labels import TaskLabels, checked_tasks
from postil.models.config import TaggerConfig, adapted, patience_in_epochs
from postil.models.fitting.fitting import Batches, Fitting, about
from postil.models.fitting.sentences import (
    Data,
    FittedTrainee,
    WordTrainee,
    checked_held_out,
    checked_training_data,
    data_digest,
    new_features,
    pretrained_encoder,
)
from postil.models.fitting.teaching import Lesson, Teacher, checked_lesson, missing_half
from postil.models.fitting.training_set import TrainingSet
from postil.models.fitting.warm_start import continued, take_over_encoder, take_over_heads
from postil.models.inputs import checked_dev, checked_labelled, described
from postil.models.parts import MAIN, Parts, heads_of, is_encoder
from postil.models.scoring.network import Example
from postil.models.scoring.pieces import warn_of_long_sentences
from postil.models.sentences import CHARACTERS, INPUT
from postil.models.task_parts import task_parts
from postil.text.labels.partial import Annotates, count_marks, is_partial
from postil.text.splitting.characters import are_characters
from postil.training.loop import Batch

Corpora: TypeAlias = Mapping[str, Sequence[Sequence[Token]]] | Sequence[Sequence[Token]]
"""The sentences of each task, or the same sentences for all tasks."""


class TaskTrainee(WordTrainee, Protocol):
    """What a training of several tasks asks of its estimator."""

    def _head(self, parts: Parts[Any, Any]) -> Any: ...


class _Corpus(NamedTuple):
    """The training data of one task."""

    X: Sequence[Sequence[Token]]
    y: Sequence[Sequence[str]]
    annotates: Annotates


@final
class TaskFitting(Fitting):
    """One training of several tasks, as Fitting describes it; its arguments are those of ``MultiTaskTagger.fit``.

    The score of an epoch is the ``joint_score`` of the tasks that have held-out data.
    """

    def __init__(
        self,
        estimator: TaskTrainee,
        X: Corpora,
        y: Mapping[str, Sequence[Sequence[str]]],
        dev: Mapping[str, Data] | None = None,
        *,
        checkpoint: Path | None = None,
        resume: bool = False,
        warm_start: FittedTrainee | None = None,
        freeze_encoder: bool = False,
        partial: bool | None = None,
        annotates: Mapping[str, Annotates] | None = None,
        unlabelled: Corpora | None = None,
        teachers: Mapping[str, Sequence[Teacher]] | None = None,
    ) -> None:
        estimator.check()
        corpora = _checked_corpora(X, y, partial, annotates or {})
        raw = _checked_raw(estimator, unlabelled, teachers or {}, list(corpora))
        known = _checked_known(pretrained_encoder(estimator, warm_start) or warm_start, freeze_encoder)
        self._is_frozen = freeze_encoder
        all_sentences = [tokens for corpus in corpora.values() for tokens in corpus.X]
        all_sentences += [tokens for sentences in raw.values() for tokens in sentences]
        config = adapted(
            estimator._configured(estimator.settings),
            len(all_sentences),
            sum(map(len, all_sentences)),
            continued=known is not None and not is_encoder(known),
            known_words=known is not None and is_encoder(known),
        )
        parts = _new_parts(estimator, config, corpora, all_sentences, known, freeze_encoder)
        held_out = _checked_held_out(dev or {}, corpora, parts, partial)
        warn_of_long_sentences(config, map(len, all_sentences))
        labelled = {task: _widened(corpus, parts.heads[task].labelling) for task, corpus in corpora.items()}
        gold = {task: parts.heads[task].labelling.numbers(y) for task, (_, y) in labelled.items()}
        lessons = {
            task: Lesson((teachers or {})[task], sentences, corpora[task].X, gold[task], parts.heads[task])
            for task, sentences in raw.items()
        }
        self.training_sets = {
            task: _training_set(task, parts.heads[task], X, gold[task], raw.get(task, ()), lessons.get(task))
            for task, (X, _) in labelled.items()
        }
        self._judges = {task: estimator._head(parts.heads[task]) for task in held_out}
        self._held_out = held_out
        digests = {task: data_digest(*data) for task, data in labelled.items()}
        parts.about |= {"preset": estimator.preset} | about(estimator, all_sentences, _joined(digests))
        parts.about["data"]["tasks"] = {
            task: _counts(*data) | (lessons[task].about() if task in lessons else {}) for task, data in labelled.items()
        }
        if are_characters(map(forms_of, all_sentences)):
            parts.about[INPUT] = CHARACTERS
        if checkpoint is not None:
            digests |= {f"dev {task}": data_digest(*data) for task, data in held_out.items()}
            digests |= {f"lesson {task}": lesson.digest() for task, lesson in lessons.items()}
        super().__init__(
            estimator,
            parts,
            judged=bool(held_out),
            checkpoint=checkpoint,
            digests=[f"{name} {digest}" for name, digest in digests.items()] + [f"frozen: {freeze_encoder}"],
            resume=resume,
        )

    def _learnt_parameters(self) -> dict[str, Parameter]:
        if self._is_frozen:
            parameters: dict[str, Parameter] = self.parts.network.head_parameters()
            return parameters
        return super()._learnt_parameters()

    def _batches(self, rng: np.random.Generator) -> Sequence[Batch[Example]]:
        for examples in self.training_sets.values():
            examples.redraw(rng)
        lengths = {task: examples.lengths for task, examples in self.training_sets.items()}
        order = batches_by_task(lengths, self.parts.config.batch_sentences, rng)
        return Batches(self._batch, order)

    def _batch(self, of_task: Any) -> Batch[Example]:
        task, which = of_task
        return self.training_sets[task].batch(which)

    def _patience(self) -> int | None:
        return patience_in_epochs(
            self.parts.config, sum(len(examples.lengths) for examples in self.training_sets.values())
        )

    def _score(self) -> float:
        return joint_score([float(judge.score(*self._held_out[task])) for task, judge in self._judges.items()])

    def _calibrate(self) -> None:
        for task, judge in self._judges.items():
            judge._calibrate_after_fit(*self._held_out[task], held_out=True)


def joint_score(scores: Sequence[float]) -> float:
    """One less the geometric mean of the tasks' errors, so that a tenth of an error counts alike in every task.

    With the mean of the scores, a hard task with little held-out data would choose the epoch by its chance alone.
    """
    if len(scores) == 1:
        return scores[0]
    return float(1 - np.exp(np.mean(np.log(np.maximum(1 - np.asarray(scores), LEAST_ERROR)))))


LEAST_ERROR = 1e-4
"""A task without any error must not decide alone."""


def batches_by_task(lengths: Mapping[str, Array], size: int, rng: np.random.Generator) -> list[tuple[str, Array]]:
    """The batches of an epoch: the task of each, and which of its sentences (b,) it has.

    ``lengths`` are those of the sentences of each task.
    """
    shares = batch_shares({task: len(of_task) for task, of_task in lengths.items()}, size)
    found = []
    for task, of_task in lengths.items():
        coming = _endless(of_task, size, rng)
        found += [(task, next(coming)) for _ in range(shares[task])]
    return [found[i] for i in rng.permutation(len(found))] if len(lengths) > 1 else found


def batch_shares(sentences: Mapping[str, int], size: int) -> dict[str, int]:
    """The number of batches of each task in an epoch: in proportion to the square root of its number of sentences."""
    total = sum(-(-count // size) for count in sentences.values())
    roots = {task: float(np.sqrt(count)) for task, count in sentences.items()}
    return {task: max(1, round(total * root / sum(roots.values()))) for task, root in roots.items()}


def _endless(lengths: Array, size: int, rng: np.random.Generator) -> Iterator[Array]:
    while True:
        yield from batches_of_similar_length(lengths, size, rng)


# ------------------------------------------------------------------------------------------------ data


def _checked_corpora(
    X: Corpora, y: Mapping[str, Sequence[Sequence[str]]], partial: bool | None, annotates: Mapping[str, Annotates]
) -> dict[str, _Corpus]:
    if not isinstance(y, Mapping):
        raise DataError("y", expected="must be a dict: the labels of each task", got=described(y))
    tasks = checked_tasks(y)
    sentences = by_task(X, tasks)
    _refuse_others("annotates", annotates, tasks)
    return {
        task: _Corpus(
            *checked_training_data(
                *checked_labelled(sentences[task], y[task], (f"X of {task!r}", f"y of {task!r}")),
                partial,
                annotates.get(task),
                f"y of {task!r}",
            )
        )
        for task in tasks
    }


def by_task(X: Corpora, tasks: Sequence[str], what: str = "X", which: str = "the tasks of y") -> dict[str, Any]:
    """The sentences of each task."""
    if not isinstance(X, Mapping):
        return dict.fromkeys(tasks, X)
    if set(X) != set(tasks):
        raise DataError(what, expected=f"{which}: " + ", ".join(tasks), got=", ".join(map(str, X)) or "none")
    return {task: X[task] for task in tasks}


def _checked_raw(
    estimator: TaskTrainee,
    unlabelled: Corpora | None,
    teachers: Mapping[str, Sequence[Teacher]],
    tasks: Sequence[str],
) -> dict[str, Sequence[Sequence[Token]]]:
    """The raw sentences of each task that has teachers."""
    _refuse_others("teachers", teachers, tasks)
    if unlabelled is None and not teachers:
        return {}
    if unlabelled is None or not teachers or not all(teachers.values()):
        raise missing_half("unlabelled" if unlabelled is None else "teachers")
    sentences = by_task(unlabelled, [*teachers], "unlabelled", "those of teachers")
    return {task: checked_lesson(estimator, sentences[task], of_task) for task, of_task in teachers.items()}


def _training_set(
    task: str,
    head: Parts[Any, Any],
    X: Sequence[Sequence[Token]],
    gold: Sequence[Array],
    raw: Sequence[Sequence[Token]],
    lesson: Lesson | None,
) -> TrainingSet:
    learnt = X if lesson is None else [*list(X) * lesson.repeats, *raw]
    return TrainingSet(head, learnt, gold, lesson, task=task)


def _refuse_others(what: str, of_tasks: Mapping[str, Any], tasks: Sequence[str]) -> None:
    if not isinstance(of_tasks, Mapping):
        raise DataError(what, expected="must be a dict by task", got=described(of_tasks))
    for task in of_tasks:
        if task not in tasks:
            raise DataError(what, expected="the tasks " + ", ".join(tasks), got=repr(task)[:80])


def _widened(corpus: _Corpus, labelling: Labelling) -> tuple[Sequence[Sequence[Token]], Sequence[Sequence[str]]]:
    return corpus.X, corpus.y if corpus.annotates is None else labelling.widened(corpus.y, corpus.annotates)


def _checked_held_out(
    dev: Mapping[str, Data], corpora: Mapping[str, _Corpus], parts: Parts[Any, Any], partial: bool | None
) -> dict[str, Data]:
    """Held-out data of tasks, which may be tasks that only a warm start knows."""
    _refuse_others("dev", dev, list(parts.heads))
    held_out: dict[str, Data] = {}
    for task in parts.heads:
        checked = checked_dev(dev.get(task))
        if checked is not None:
            held_out[task] = checked_held_out(checked, parts.heads[task].labelling, partial, f"dev of {task!r}")
    return held_out


def _counts(X: Sequence[Sequence[Token]], y: Sequence[Sequence[str]]) -> dict[str, Any]:
    counts = {"sentences": len(X), "tokens": sum(map(len, X))}
    return counts | ({"partial": count_marks(y)} if any(map(is_partial, y)) else {})


def _joined(digests: Mapping[str, str]) -> str:
    return data_digest([list(digests)], [list(digests.values())])


# ------------------------------------------------------------------------------------------------ parts


def _checked_known(warm_start: FittedTrainee | None, freeze_encoder: bool) -> Parts[Any, Any] | None:
    if warm_start is None:
        if freeze_encoder:
            raise ConfigurationError("freeze_encoder", expected="needs a model to start from (warm_start)", got="none")
        return None
    known = warm_start.fitted_parts()
    if not all(isinstance(head.labelling, Labelling) for head in heads_of(known).values()):
        raise ConfigurationError("warm start", expected="a tagger", got=f"a {warm_start.KIND}")
    if known.config.ensemble > 1 and not is_encoder(known):  # of an encoder, one member is enough
        raise ConfigurationError("warm start of several tasks", expected="a tagger", got="an ensemble")
    return known


def _new_parts(
    estimator: TaskTrainee,
    config: TaggerConfig,
    corpora: Mapping[str, _Corpus],
    sentences: Sequence[Sequence[Token]],
    known: Parts[Any, Any] | None,
    freeze_encoder: bool,
) -> Parts[Any, Any]:
    """Heads for the tasks of the corpora, after those of a known model: its tasks stay."""
    before = heads_of(known) if known is not None and not is_encoder(known) else {}
    tasks = checked_tasks([*before, *(task for task in corpora if task not in before)])
    if known is not None:
        config = continued(known.config, config, with_labels=bool(before))
        _warn_of_forgetting([task for task in before if task not in corpora], freeze_encoder)
    if known is not None and freeze_encoder:
        features, vectors = known.features, known.network.vectors
    else:
        features, vectors = new_features(estimator, config, sentences, known)
    labellings = {task: _labelling(before.get(task), corpora.get(task)) for task in tasks}
    rng = np.random.default_rng(estimator.seed)
    network = estimator._network(config, features, TaskLabels(labellings), vectors, rng)
    decodings = {task: head.decoding for task, head in before.items()}
    parts = task_parts(config, labellings, features, network, decodings)
    if known is not None and not before:
        take_over_encoder(known, parts.heads[tasks[0]])  # all heads share it
    take_over_heads(before, parts.heads)
    return parts


def _labelling(before: Parts[Any, Any] | None, corpus: _Corpus | None) -> Labelling:
    if before is None:
        assert corpus is not None, "a task has data or is known"
        return Labelling.of(corpus.y)
    labelling: Labelling = before.labelling if corpus is None else before.labelling.extended(corpus.y)
    return labelling


def _warn_of_forgetting(tasks: Sequence[str], freeze_encoder: bool) -> None:
    if tasks and not freeze_encoder:
        names = ", ".join("the tagger's own task, main" if task == MAIN else task for task in tasks)
        what = f"no data for {names}: its answers change with the encoder; freezing the encoder keeps them"
        warnings.warn(what, ForgettingWarning, stacklevel=4)
