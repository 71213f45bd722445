"""Many training runs: cross-validation, in which every sentence is labelled by a model that has not seen it, and
learning curves, the score for more and more sentences.

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
from postil.html.fragments import fragment, note
from postil.metrics import evaluate
from postil.metrics.evaluation import Evaluation
from postil.metrics.tables import Cell, Table, drawn_table, text
from postil.models.estimator import Estimator
from postil.models.inputs import checked_dev, checked_labelled
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
    calls = (joblib.delayed(_run)(os.getpid(), function, *task) for task in tasks)
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


def _run(caller: int, function: Callable[..., _T], *task: Any) -> _T:
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


# ----------------------------------------------------------------------------------------------- learning curves
# The error of a model that learns from n sentences is close to a power law: score(n) = ceiling - b · n^-c. Fitted to
# the scores of models trained on parts of the data, it says what more data of the same kind would bring.


_POWERS = np.arange(0.05, 1.525, 0.025)
_RESAMPLES = 500


class CurvePoint(NamedTuple):
    """The scores (0 to 1) of models trained on this many sentences and tokens, one for each repetition."""

    sentences: int
    tokens: int
    scores: tuple[float, ...]

    @property
    def mean(self) -> float:
        return float(np.mean(self.scores))


class PowerLaw(NamedTuple):
    """score(n) = ceiling - b · n^-c."""

    ceiling: float
    b: float
    c: float

    def __call__(self, sentences: float) -> float:
        return float(self.ceiling - self.b * sentences**-self.c)

    def sentences_for(self, score: float) -> float:
        """How many sentences it takes; infinite if no number does."""
        if score >= self.ceiling or self.b <= 0:
            return np.inf
        with np.errstate(over="ignore"):
            return float(np.float64(self.b / (self.ceiling - score)) ** (1 / self.c))


class Forecast(NamedTuple):
    """The score expected for this many sentences, with the range of 80 % of the resampled fits."""

    sentences: int
    score: float
    low: float
    high: float


@final
@dataclass(frozen=True, slots=True)
class LearningCurve:
    """Scores by the number of sentences, the law fitted to them, and forecasts."""

    points: list[CurvePoint]
    law: PowerLaw
    forecasts: list[Forecast]
    for_one_point: tuple[float, float, float]
    """How many more sentences one more point takes: the estimate, and the range of 80 % of the resampled fits."""

    def summary(self) -> str:
        """The forecast in one line."""
        estimate, low, high = (_rounded(number) for number in self.for_one_point)
        if estimate is None:
            return "more sentences of this kind are not expected to bring another point"
        most = f"{high:,}" if high is not None else "no number at all"
        return f"about {estimate:,} more sentences for one more point (80 % range: {low or 0:,} to {most})"

    def __str__(self) -> str:
        return f"{text(self.table())}\n\n{self.summary()}"

    def table(self) -> Table:
        """Measured scores, with their standard deviation over repetitions; then expected ones with their range."""
        rows: list[tuple[Cell, ...]] = []
        for p in self.points:
            spread = f" ± {100 * np.std(p.scores, ddof=1):.2f}" if len(p.scores) > 1 else ""
            rows.append((p.sentences, p.tokens, 100 * p.mean, f"measured{spread}"))
        for f in self.forecasts:
            rows.append((f.sentences, None, 100 * f.score, f"expected, {100 * f.low:.2f} to {100 * f.high:.2f}"))
        return Table("Scores", ("sentences", "tokens", "score", ""), rows)

    def _repr_html_(self) -> str:
        return fragment(drawn_table(self.table(), bars=("score",)), note(self.summary()))

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON, scores in percent; None stands for no number of sentences."""
        return {
            "points": [
                {"sentences": p.sentences, "tokens": p.tokens, "scores": [100 * score for score in p.scores]}
                for p in self.points
            ],
            "law": {"ceiling": 100 * self.law.ceiling, "b": 100 * self.law.b, "c": self.law.c},
            "forecasts": [dict(zip(f._fields, (f[0], *(100 * x for x in f[1:])), strict=True)) for f in self.forecasts],
            "for_one_point": dict(zip(("estimate", "low", "high"), map(_rounded, self.for_one_point), strict=True)),
        }


def curve(
    estimator: Tagger,
    X: Sentences,
    y: Labels,
    dev: tuple[Sentences, Labels] | None = None,
    *,
    sizes: int = 6,
    repeats: int = 3,
    seed: int = 0,
    threads: int = 1,
    progress: Progress | None = None,
    most: int | None = None,
) -> LearningCurve:
    """Train on growing parts of the sentences, score on ``dev``, and forecast the gain from more sentences.

    Parameters
    ----------
    estimator : Tagger
        Only its hyperparameters are used.
    X, y : sequences
        Sentences of tokens, and their labels.
    dev : pair (X_dev, y_dev), optional
        Data to score on. Without it, a fifth of the sentences is held out.
    sizes : int, default=6
        Number of parts, each √2 times as large as the one before.
    repeats : int, default=3
        Training runs for each size. In each, the parts are drawn anew, the smaller ones from the larger ones.
    seed : int, default=0
        Seed of the parts.
    threads : int, default=1
        Training runs at a time. Does not change the result.
    progress : callable, optional
        Called with the number of finished and of all training runs.
    most : int, optional
        Limit on the sentences of the largest part.

    Returns
    -------
    LearningCurve
        The score at each size, and the forecast of a power law.
    """
    for name, value, least in (("sizes", sizes, 3), ("repeats", repeats, 1)):
        if value < least:
            raise ConfigurationError(name, expected=f"must be at least {least}", got=value)
    X, y = checked_labelled(X, y)
    labels = [*with_marks(y, X)]
    schemes.check(labels, where="y")
    held_out: tuple[list[Any], list[Any]] | None = checked_dev(dev)
    what, rng = "a learning curve", np.random.default_rng(seed)
    if held_out is None:
        if len(X) < FIFTH:
            raise DataError(what, expected=f"needs held-out data, or at least {FIFTH} sentences", got=len(X))
        part = folds([len(tokens) for tokens in X], FIFTH, rng)[0]
        held_out = [X[i] for i in part.held_out], [labels[i] for i in part.held_out]
        X, labels = [X[i] for i in part.train], [labels[i] for i in part.train]
    check_scorable(labels, held_out[1], what)
    largest = min(len(X), most or len(X))
    numbers = sorted({round(largest / 2 ** (step / 2)) for step in range(sizes)})
    if numbers[0] < 2:
        raise DataError(what, expected=f"needs more sentences for {sizes} sizes", got=len(X))
    orders = [rng.permutation(len(X)) for _ in range(repeats)]
    tasks = [
        (estimator, [X[i] for i in order[:number]], [labels[i] for i in order[:number]], held_out, seed + repeat)
        for number in numbers
        for repeat, order in enumerate(orders)
    ]
    scores = np.array(run_all(_score, tasks, threads, progress)).reshape(len(numbers), repeats)
    tokens = [round(np.mean([sum(len(X[i]) for i in order[:number]) for order in orders])) for number in numbers]
    points = [CurvePoint(*row) for row in zip(numbers, tokens, map(tuple, scores.tolist()), strict=True)]
    return forecast(points, rng, len(X))


def _score(estimator: Tagger, X: list[Any], y: list[Any], held_out: tuple[list[Any], list[Any]], seed: int) -> float:
    return float(unfitted(estimator, threads=1, seed=seed).fit(X, y).score(*held_out))


def forecast(points: list[CurvePoint], rng: np.random.Generator, sentences: int | None = None) -> LearningCurve:
    """Fit the law to the points, and again to resamples of their scores: the spread of those is the uncertainty.

    Forecasts are for more than ``sentences``, by default those of the last point.
    """
    sizes = np.array([point.sentences for point in points], float)
    scores = np.array([point.scores for point in points])
    law = fit(sizes, scores.mean(axis=1))
    fitted = np.array([law(n) for n in sizes])
    # How far single scores are from the law, made as wide as if nothing had been fitted.
    residuals = (scores - fitted[:, None]).ravel()
    noise = residuals * np.sqrt(len(residuals) / max(1, len(residuals) - 3))
    shape = len(sizes), scores.shape[1]
    laws = [fit(sizes, fitted + rng.choice(noise, shape).mean(axis=1)) for _ in range(_RESAMPLES)]
    last = sentences or int(sizes[-1])
    forecasts = [Forecast(n, law(n), *_range([one(n) for one in laws])) for n in (2 * last, 4 * last)]
    more = [one.sentences_for(one(last) + 0.01) - last for one in (law, *laws)]
    return LearningCurve(points, law, forecasts, (more[0], *_range(more[1:])))


def fit(sizes: Array, scores: Array) -> PowerLaw:
    """The law with the smallest squared error: for each power c the rest is linear. It never falls."""
    x = -(sizes ** -_POWERS[:, None])  # (powers, sizes): scores ≈ ceiling + b x, a straight line for each power
    around = x - x.mean(axis=1, keepdims=True)
    b = around @ scores / np.maximum(np.sum(around**2, axis=1), 1e-300)
    ceiling = scores.mean() - b * x.mean(axis=1)
    above = ceiling > 1  # more than everything right: the best law through 1 instead
    b = np.where(above, x @ (scores - 1) / np.sum(x**2, axis=1), b)
    ceiling = np.where(above, 1.0, ceiling)
    errors = np.sum((scores - (ceiling + b * x.T).T) ** 2, axis=1)
    rising = np.flatnonzero(b >= 0)
    if not len(rising):
        return PowerLaw(float(scores.mean()), 0.0, 1.0)
    best = rising[np.argmin(errors[rising])]
    return PowerLaw(float(ceiling[best]), float(b[best]), float(_POWERS[best]))


def _range(values: Sequence[float]) -> tuple[float, float]:
    """The bounds of the middle 80 % of the values, which may be infinite."""
    ordered = sorted(values)
    return float(ordered[len(ordered) // 10]), float(ordered[-1 - len(ordered) // 10])


def _rounded(number: float) -> int | None:
    """To two digits: more would pretend."""
    if not np.isfinite(number) or number > 1e9:
        return None
    digits = max(0, len(str(int(number))) - 2)
    return int(round(number, -digits))
