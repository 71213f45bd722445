"""Cross-validation: every sentence is labelled by a model that has not seen it.

Folds say which sentences are held out together; the training runs are independent of each other, so joblib runs them
on several cores or, through its backends, on several machines.
"""

import os
import threading
import time
import warnings
from collections.abc import Callable, Hashable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any, NamedTuple, TypeVar, final

import joblib
import numpy as np

from postil.arrays import Array
from postil.errors import ConfigurationError, DataError, SchemeWarning, TrainingInterruptedWarning
from postil.features.inputs import Sentences, Token
from postil.html.fragments import fragment
from postil.metrics import evaluate
from postil.metrics.evaluation import Evaluation
from postil.metrics.tables import Cell, Table, drawn_table, text
from postil.models.estimator import Estimator
from postil.models.inputs import checked_labelled
from postil.models.tagger import Tagger
from postil.text import with_marks
from postil.text.document import OUTSIDE, Sentence
from postil.text.labels import schemes
from postil.text.labels.partial import Labels
from postil.text.labels.schemes import PartialLabel

_T = TypeVar("_T")
Progress = Callable[[int, int], None]
"""Called with the number of finished runs and the number of all runs."""
FIFTH = 5

# ------------------------------------------------------------------------------------------------ folds


class Fold(NamedTuple):
    """Indices of sentences in ascending order: those to train on and those that are held out."""

    train: Array
    held_out: Array


def folds(sizes: Sequence[int], number: int, rng: np.random.Generator, groups: Sequence[Hashable] = ()) -> list[Fold]:
    """Divide sentences with ``sizes`` tokens (B,) into ``number`` parts, each of which is held out once.

    Sentences of one group (B,), such as a document, stay together. Groups are dealt out in random order, each to the
    part that has the fewest tokens so far, so the parts are about equally large.
    """
    _, member = np.unique([str(group) for group in groups] or np.arange(len(sizes)), return_inverse=True)
    count = int(member.max(initial=-1)) + 1
    if not 2 <= number <= count:
        what = "groups" if groups else "sentences"
        if count < 2:
            raise DataError("folds", expected=f"needs at least 2 {what}", got=count)
        raise ConfigurationError("folds", expected=f"must be from 2 to {count:,}, the number of {what}", got=number)
    weights = np.bincount(member, np.maximum(np.asarray(sizes), 1), count)
    filled, part_of = np.zeros(number), np.empty(count, np.int64)
    for group in rng.permutation(count):
        part = int(filled.argmin())
        part_of[group], filled[part] = part, filled[part] + weights[group]
    parts = part_of[member]
    return [Fold(np.flatnonzero(parts != part), np.flatnonzero(parts == part)) for part in range(number)]


def held_out_fifth(sizes: Sequence[int], rng: np.random.Generator, what: str) -> Fold:
    """Hold out a fifth of the sentences with ``sizes`` tokens (B,); the error names ``what`` needs it."""
    if len(sizes) < FIFTH:
        raise DataError(what, expected=f"needs held-out data, or at least {FIFTH} sentences", got=len(sizes))
    return folds(sizes, FIFTH, rng)[0]


def groups_of(documents: Sequence[int]) -> Sequence[int]:
    """Return the documents as groups to hold out together; none if everything is one document."""
    return documents if len(set(documents)) > 1 else ()


def documents_of(sentences: Sequence[Sentence]) -> list[int]:
    """Return the number of each sentence's document (B,); empty if no document is marked."""
    starts = [sentence.document is not None for sentence in sentences]
    return np.cumsum(starts).tolist() if any(starts) else []


# ------------------------------------------------------------------------------------------------ independent runs


def run_all(
    function: Callable[..., _T], tasks: Sequence[tuple[Any, ...]], threads: int = 1, progress: Progress | None = None
) -> list[_T]:
    """Return ``function(*task)`` of every task, in their order, running ``threads`` at a time.

    ``with joblib.parallel_config("ray"):`` sends them to a cluster, as it does scikit-learn's.
    """
    calls = (joblib.delayed(_uninterrupted)(os.getpid(), function, *task) for task in tasks)
    try:
        results = joblib.Parallel(n_jobs=threads, return_as="generator", pre_dispatch="n_jobs")(calls)
    except ValueError:  # Ray's backend returns lists only: one call per worker at a time
        workers = joblib.Parallel(n_jobs=threads)
        rounds = iter(lambda: list(islice(calls, joblib.effective_n_jobs(threads))), [])
        results = (result for some in rounds for result in workers(some))
    done: list[_T] = []
    for result in results:
        done.append(result)
        if progress is not None:
            progress(len(done), len(tasks))
    return done


def _uninterrupted(caller: int, function: Callable[..., _T], *task: Any) -> _T:
    """Run a task to its end. A training run that Ctrl-C cut short ends everything: no table may contain its score."""
    _end_with(caller)
    with warnings.catch_warnings():
        warnings.simplefilter("error", TrainingInterruptedWarning)
        warnings.simplefilter("ignore", SchemeWarning)  # the caller has warned once for all runs
        try:
            return function(*task)
        except TrainingInterruptedWarning:
            raise KeyboardInterrupt from None


@cache
def _end_with(caller: int) -> None:
    """End this worker process soon after the process that started it is killed, not when its training is done."""

    def watch() -> None:
        while os.getppid() == caller:
            time.sleep(1)
        os._exit(1)

    if os.getppid() == caller:
        threading.Thread(target=watch, daemon=True).start()


def unfitted(estimator: Estimator, **changes: Any) -> Any:
    """Return an unfitted estimator with the same hyperparameters and these changes."""
    return type(estimator)(**{**copy(estimator.get_params()), **changes})


# ------------------------------------------------------------------------------------------------ cross-validation


@final
@dataclass(frozen=True, slots=True)
class CrossValidation:
    """The scores of each fold, and the scores of all out-of-fold predictions together."""

    folds: list[Evaluation]
    pooled: Evaluation
    predictions: list[list[str]]
    """The labels of every sentence, predicted by the model that did not see it."""
    fold_of: list[int]
    """The fold in which each sentence was held out."""

    @property
    def mean(self) -> float:
        """Mean of the main score (F1 of spans, else accuracy) over folds, 0 to 1."""
        return float(np.mean([fold.main_score for fold in self.folds]))

    @property
    def spread(self) -> float:
        """Standard deviation of the main score over folds."""
        return float(np.std([fold.main_score for fold in self.folds], ddof=1))

    def __str__(self) -> str:
        return f"{text(self.table())}\n\nall answers together: {self.pooled}"

    def table(self) -> Table:
        """The main score, precision and recall of every fold, and of all predictions together."""
        rows: list[tuple[Cell, ...]] = []
        for name, fold in [*((str(number), fold) for number, fold in enumerate(self.folds, 1)), ("all", self.pooled)]:
            spans = None if fold.spans is None else fold.spans.overall
            ratios = () if spans is None else (100 * spans.precision, 100 * spans.recall)
            rows.append((name, *ratios, 100 * fold.main_score, fold.sentences))
        names = ("accuracy",) if self.pooled.spans is None else ("precision", "recall", "F1")
        note = f"{names[-1]} {100 * self.mean:.2f} ± {100 * self.spread:.2f} over {len(self.folds)} folds"
        return Table("Folds", ("fold", *names, "sentences"), rows, note, has_total=True)

    def _repr_html_(self) -> str:
        return fragment(drawn_table(self.table(), bars=("precision", "recall", "F1", "accuracy")))

    def to_dict(self) -> dict[str, Any]:
        """Return the scores in percent, ready for JSON."""
        return {
            "mean": 100 * self.mean,
            "spread": 100 * self.spread,
            "pooled": self.pooled.to_dict(),
            "folds": [fold.to_dict() for fold in self.folds],
        }


_folds = folds  # crossval has an argument of this name


def crossval(
    estimator: Tagger,
    X: Sentences,
    y: Labels,
    *,
    folds: int = 5,
    groups: Sequence[Hashable] = (),
    seed: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
) -> CrossValidation:
    """Train several times, each time without one part of the sentences, and score the predictions on that part.

    Parameters
    ----------
    estimator : Tagger
        Only its hyperparameters are used.
    X, y : sequences
        Sentences of tokens, and their labels.
    folds : int, default=5
        Number of parts.
    groups : sequence, optional
        The document, author or source of each sentence. Sentences of one group are held out together.
    seed : int, default=0
        Seed of the division into parts.
    threads : int, default=1
        Training runs at a time. Does not change the result.
    progress : callable, optional
        Called with the number of finished and of all training runs.

    Returns
    -------
    CrossValidation
        Scores of each part and of all predictions together.
    """
    X, y = checked_labelled(X, y)
    gold = with_marks(y, X)
    schemes.check(gold, where="y")
    check_entities(gold, "cross-validation")
    scheme = schemes.recognise(gold)
    parts = _folds([len(tokens) for tokens in X], folds, np.random.default_rng(seed), groups)
    tasks = [
        (estimator, [X[i] for i in part.train], [gold[i] for i in part.train], [X[i] for i in part.held_out])
        for part in parts
    ]
    predictions: list[list[str]] = [[] for _ in X]
    scores: list[Evaluation] = []
    fold_of = np.zeros(len(X), np.int64)
    for part, predicted in zip(parts, run_all(_predictions, tasks, threads, progress), strict=True):
        for i, labels in zip(part.held_out, predicted, strict=True):
            predictions[i] = labels
        fold_of[part.held_out] = len(scores)
        scores.append(evaluate([gold[i] for i in part.held_out], predicted, scheme=scheme))
    return CrossValidation(scores, evaluate(gold, predictions, scheme=scheme), predictions, fold_of.tolist())


def _predictions(
    estimator: Tagger, X: list[list[Token]], y: list[list[str]], held_out: list[list[Token]]
) -> list[list[str]]:
    return list(map(list, unfitted(estimator, threads=1).fit(X, y).predict(held_out)))


def check_scorable(y: Labels, held_out: Labels, what: str) -> None:
    """Raise DataError if models trained on y cannot be scored on ``held_out``: no entities, or spans in only one."""
    check_entities(y, what)
    check_entities(held_out, what, "in the sentences to score on")
    has_spans = [schemes.recognise(labels) != "none" for labels in (y, held_out)]
    if has_spans[0] != has_spans[1]:
        kinds = {True: "spans, as B-PER", False: "labels without a scheme"}
        expected = f"needs {kinds[has_spans[0]]}, in the sentences to score on as well"
        raise DataError(what, expected=expected, got=kinds[has_spans[1]])


def check_entities(y: Labels, what: str, where: str = "in the data") -> None:
    """Raise DataError if all labels are O: every score would be 0."""
    if all(label == OUTSIDE and not isinstance(label, PartialLabel) for labels in y for label in labels):
        raise DataError(what, expected=f"needs entities {where}", got="no label but O")
