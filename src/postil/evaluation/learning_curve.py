"""Learning curves: the score for more and more labelled sentences, and where it is going.

The error of a model that learns from n sentences is close to a power law: score(n) = ceiling - b · n^-c. Fitted to the
scores of models trained on parts of the data, it says what more data of the same kind would bring.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from postil.arrays import Array
from postil.errors import ConfigurationError, DataError
from postil.evaluation.cross_validation import Progress, check_scorable, held_out_fifth, run_all, unfitted
from postil.features.inputs import Sentences
from postil.html.fragments import fragment, note
from postil.metrics.tables import Cell, Table, drawn_table
from postil.models.inputs import checked_dev, checked_labelled
from postil.models.tagger import Tagger
from postil.text import with_marks
from postil.text.labels import schemes
from postil.text.labels.partial import Labels

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
        lines = [
            f"{point.sentences:>9,} sentences  {100 * point.mean:6.2f}"
            + (f" ± {100 * np.std(point.scores, ddof=1):.2f}" if len(point.scores) > 1 else "")
            for point in self.points
        ]
        lines += [
            f"{one.sentences:>9,} sentences  {100 * one.score:6.2f} expected"
            f" (80 % range: {100 * one.low:.2f} to {100 * one.high:.2f})"
            for one in self.forecasts
        ]
        return "\n".join([*lines, self.summary()])

    def table(self) -> Table:
        """Measured scores, then expected ones with their range."""
        rows: list[tuple[Cell, ...]] = [(p.sentences, p.tokens, 100 * p.mean, "measured") for p in self.points]
        rows += [
            (f.sentences, None, 100 * f.score, f"expected, {100 * f.low:.2f} to {100 * f.high:.2f}")
            for f in self.forecasts
        ]
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
            "forecasts": [
                {"sentences": f.sentences, "score": 100 * f.score, "low": 100 * f.low, "high": 100 * f.high}
                for f in self.forecasts
            ],
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
    if sizes < 3 or repeats < 1:
        what, got = ("sizes", sizes) if sizes < 3 else ("repeats", repeats)
        raise ConfigurationError(what, expected=f"must be at least {3 if what == 'sizes' else 1}", got=got)
    X, y = checked_labelled(X, y)
    labels = [*with_marks(y, X)]
    schemes.check(labels, where="y")
    held_out: tuple[list[Any], list[Any]] | None = checked_dev(dev)
    rng = np.random.default_rng(seed)
    if held_out is None:
        part = held_out_fifth([len(tokens) for tokens in X], rng, "a learning curve")
        held_out = [X[i] for i in part.held_out], [labels[i] for i in part.held_out]
        X, labels = [X[i] for i in part.train], [labels[i] for i in part.train]
    check_scorable(labels, held_out[1], "a learning curve")
    largest = min(len(X), most or len(X))
    numbers = sorted({round(largest / 2 ** (step / 2)) for step in range(sizes)})
    if numbers[0] < 2:
        raise DataError("a learning curve", expected=f"needs more sentences for {sizes} sizes", got=len(X))
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
    laws = [
        fit(sizes, fitted + rng.choice(noise, (len(sizes), scores.shape[1])).mean(axis=1)) for _ in range(_RESAMPLES)
    ]
    last = sentences or int(sizes[-1])
    forecasts = [
        Forecast(number, law(number), *_range([one(number) for one in laws])) for number in (2 * last, 4 * last)
    ]
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
