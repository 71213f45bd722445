"""The dial between precision and recall: which setting reaches a wanted figure, and what is to be expected of it.

The dial has one position. Above 0 it is a decoding bias, which finds more entities. Below 0 it is a threshold, which
drops the least probable ones: measured, precision grows further by that than by a bias against entities.

Figures on the data that a setting was chosen on are luck in part. So the wanted figure must be reached not just there
but with ``margin`` standard errors to spare: with one, other data of the same kind reach it about five times in six. So
the bias for the best F1 is the smallest one that is not worse than the best by more than this margin.

A model that reaches the wanted figure already is not changed. Among settings with equal figures, no tuning at all comes
first, then the smallest change.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple, final

import numpy as np

from postil.arrays import Array
from postil.errors import ConfigurationError, DataError
from postil.features.inputs import Sentences
from postil.html import Markup, svg
from postil.html.fragments import figure, folded, fragment
from postil.metrics import tables
from postil.metrics.counts import check_same_shape, f_score, ratio
from postil.metrics.tables import drawn_table, headline
from postil.models.decoding.codec import OUTSIDE, LabelCodec
from postil.models.decoding.distribution import Decoding, LabelPosterior
from postil.models.decoding.posteriors import Posteriors
from postil.text import Span, recognise, spans_from_labels, with_marks
from postil.text.labels.partial import Labels, is_partial

POSITIONS = np.concatenate([np.arange(-19, 0) / 20, np.arange(0, 8.01, 0.5)])  # where the curve is measured
HALVINGS = 12  # of the step between two of them
BIASES = np.arange(0, 3.01, 0.25)  # among which the one for the best F1 is chosen
FIGURES = ("recall", "precision")


class Point(NamedTuple):
    """Precision, recall and F1 at one setting, 0 to 1, and the standard errors of the first two."""

    bias: float
    threshold: float
    precision: float
    recall: float
    f1: float
    precision_error: float
    recall_error: float

    @classmethod
    def of(cls, bias: float, threshold: float, counts: Array) -> "Point":
        """counts (B, 3): correct, predicted and gold things of each sentence."""
        totals = correct, predicted, gold = counts.sum(axis=0)
        shares = float(ratio(correct, predicted)), float(ratio(correct, gold))
        # Standard errors of ratios of sums over sentences: a sentence's things are right or wrong together.
        errors = [
            float(np.sqrt(((counts[:, 0] - share * counts[:, i]) ** 2).sum()) / totals[i]) if totals[i] else 0.0
            for i, share in enumerate(shares, 1)
        ]
        return cls(bias, threshold, *shares, float(f_score(correct, predicted, gold)), *errors)

    @classmethod
    def at(cls, position: float, counts: Array) -> "Point":
        """The point at this position of the dial."""
        return cls.of(*setting_at(position), counts)

    @property
    def position(self) -> float:
        return self.bias - self.threshold

    def surely(self, figure: str, margin: float) -> float:
        """The figure minus a number of its standard errors."""
        error = self.recall_error if figure == "recall" else self.precision_error
        return float(getattr(self, figure) - margin * error)

    def to_dict(self) -> dict[str, float]:
        """Figures in percent; the threshold is a probability."""
        return {name: value * (1 if name in ("bias", "threshold") else 100) for name, value in self._asdict().items()}


def setting_at(position: float) -> tuple[float, float]:
    """The bias and the threshold at a position of the dial."""
    return max(float(position), 0.0), abs(min(float(position), 0.0))


@final
@dataclass(frozen=True, kw_only=True)
class Tuned:
    """The result of tuning: the target, the chosen point, the point at 0, and the precision-recall curve."""

    figure: str
    wanted: float | None  # None if as much as possible of the figure was asked for
    margin: float
    chosen: Point
    before: Point
    curve: Sequence[Point]
    is_met: bool = False  # whether the model reached the wanted figure before: then its setting is the chosen one

    def __str__(self) -> str:
        """The chosen setting, what is to be expected of it, and the curve."""
        return f"{self._summary()}\n\n{tables.text(self._table())}"

    def _repr_html_(self) -> str:
        main, _, more = self._summary().partition(": ")
        top = headline(main, more.replace("\n", "; "), f"for {self.target}")
        numbers = folded("As a table", drawn_table(self._table(), bars=("precision", "recall", "F1")))
        return fragment(top, figure("Precision against recall", self._drawn_curve()), numbers)

    @property
    def target(self) -> str:
        """The requested target, in words."""
        return f"the best {self.figure}" if self.wanted is None else f"{self.figure} {100 * self.wanted:g}"

    def _summary(self) -> str:
        chosen, before = self.chosen, self.before
        setting = f"threshold {chosen.threshold:.3f}" if chosen.threshold else f"bias {chosen.bias:+.3f}"
        figures = f"precision {100 * chosen.precision:.2f}, recall {100 * chosen.recall:.2f}, F1 {100 * chosen.f1:.2f}"
        met = "the target is already met, nothing changes: " if self.is_met else ""
        untuned = f"untuned: precision {100 * before.precision:.2f}, recall {100 * before.recall:.2f}"
        return f"{met}{setting}: {figures}\n{untuned}, F1 {100 * before.f1:.2f}"

    def _table(self) -> tables.Table:
        rows: list[tuple[tables.Cell, ...]] = []
        for point in sorted({*self.curve, self.chosen}, key=lambda point: point.position):
            figures = (100 * point.precision, 100 * point.recall, 100 * point.f1)
            mark = "chosen" if point == self.chosen else "untuned" if point.position == 0 else ""
            if rows and rows[-1][2:] == (*figures, mark):  # thresholds below all probabilities
                rows.pop()
            rows.append((f"{point.threshold:.2f}", f"{point.bias:+.2f}", *figures, mark))
        return tables.Table("Settings", ("threshold", "bias", "precision", "recall", "F1", ""), rows)

    def _drawn_curve(self) -> Markup:
        """Recall to the right, precision upwards, in percent; the chosen point has a ring."""
        plot = svg.Plot(xs=(0, 100), ys=(0, 100))
        points = [plot.point((100 * point.recall, 100 * point.precision)) for point in self.curve]
        ring = plot.point((100 * self.chosen.recall, 100 * self.chosen.precision))
        plain = plot.point((100 * self.before.recall, 100 * self.before.precision))
        ticks = (0, 20, 40, 60, 80, 100)
        marks = [
            svg.circle(plain, 4, svg.title("untuned"), class_="dot"),
            svg.text((plain[0] - 8, plain[1] + 14), "untuned", anchor="end"),
            svg.circle(ring, 7, svg.title("chosen"), class_="ring"),
            svg.text((ring[0] - 10, ring[1] - 8), "chosen", anchor="end"),
        ]
        axes = plot.axes("recall", "precision", ticks, ticks)
        line = svg.polyline(points, class_="line")
        return svg.drawing(plot.width, plot.height, "Precision against recall", axes, line, *marks)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON, figures in percent."""
        return {
            "wanted": {self.figure: None if self.wanted is None else 100 * self.wanted, "margin": self.margin},
            "already_met": self.is_met,
            **self.chosen.to_dict(),
            "before": self.before.to_dict(),
            "curve": [point.to_dict() for point in self.curve],
        }


def tuned(
    counts: Callable[[float], Array], present: Point, figure: str, wanted: float, margin: float, hint: Callable[[], str]
) -> Tuned:
    """The ``present`` setting if it surely reaches the wanted figure, else one that does, with the most of the other.

    ``counts`` gives (B, 3) correct, predicted and gold of each sentence at a position; ``hint`` what to do if nothing
    is enough.
    """

    def is_enough(point: Point) -> bool:
        return point.surely(figure, margin) >= wanted

    other = "precision" if figure == "recall" else "recall"

    def rank(point: Point) -> tuple[float, bool, float]:
        return float(getattr(point, other)), point.position == 0, -abs(point.position - present.position)

    curve = [Point.at(position, counts(position)) for position in POSITIONS]
    before = next(point for point in curve if point.position == 0)
    is_met = is_enough(present)
    if is_met:
        chosen = next((point for point in curve if point == present), present)
    else:
        # Recall mostly grows along the dial and precision mostly falls: the first point on this way that reaches the
        # one figure has about the most of the other.
        way = curve if figure == "recall" else curve[::-1]
        reached = next((i for i, point in enumerate(way) if is_enough(point)), None)
        if reached is None:
            raise Unreachable(curve, way, figure, wanted, margin, hint())
        low, nearest = way[max(reached - 1, 0)], way[reached]
        for _ in range(HALVINGS if low is not nearest else 0):  # ``low`` is not enough, ``nearest`` is
            position = (low.position + nearest.position) / 2
            middle = Point.at(position, counts(position))
            low, nearest = (low, middle) if is_enough(middle) else (middle, nearest)
        chosen = max([nearest, *filter(is_enough, curve)], key=rank)
    return Tuned(figure=figure, wanted=wanted, margin=margin, chosen=chosen, before=before, curve=curve, is_met=is_met)


def best_f1(counts: Callable[[float], Array], margin: float) -> Tuned:
    """The smallest bias whose F1 is at most ``margin`` standard errors of the difference below the best one."""
    tables = [counts(bias) for bias in BIASES]
    curve = [Point.at(bias, table) for bias, table in zip(BIASES, tables, strict=True)]
    best = max(range(len(curve)), key=lambda i: curve[i].f1)  # the first of equals
    # What each sentence contributes to the deviation of each F1, to first order.
    parts = [
        (2 * table[:, 0] - point.f1 * table[:, 1:].sum(axis=1)) / max(1, table[:, 1:].sum())
        for point, table in zip(curve, tables, strict=True)
    ]
    errors = [float(np.sqrt(((part - parts[best]) ** 2).sum())) for part in parts]  # of the differences
    chosen = next(
        point for point, error in zip(curve, errors, strict=True) if point.f1 >= curve[best].f1 - margin * error
    )
    return Tuned(figure="F1", wanted=None, margin=margin, chosen=chosen, before=curve[0], curve=curve)


def checked_wish(
    recall: float | None, precision: float | None, margin: float, *, f1: bool = False
) -> tuple[str, float | None]:
    """Which figure is wanted, and how high; None: as high as possible."""
    given: dict[str, float | None] = {
        name: value for name, value in zip(FIGURES, (recall, precision), strict=True) if value is not None
    }
    given |= {"F1": None} if f1 else {}
    if len(given) != 1:
        got = " and ".join(given) or "none of them"
        raise ConfigurationError("tuning", expected="needs recall, precision or f1", got=got)
    ((figure, wanted),) = given.items()
    if wanted is not None and not 0 < wanted <= 1:
        raise ConfigurationError(figure, expected="a number above 0, at most 1", got=wanted)
    if not margin >= 0:
        raise ConfigurationError("margin", expected="a number of standard errors, 0 or more", got=margin)
    return figure, None if wanted is None else float(wanted)


@final
class Unreachable(ConfigurationError):
    """No setting is enough. ``tuned`` shows what can be reached: the curve, and as ``chosen`` the best point."""

    def __init__(
        self, curve: Sequence[Point], way: Sequence[Point], figure: str, wanted: float, margin: float, hint: str
    ) -> None:
        best = max(way, key=lambda point: point.surely(figure, margin))
        other = "precision" if figure == "recall" else "recall"
        found = f"{100 * best.surely(figure, margin):.1f} at best ({100 * getattr(best, figure):.1f} on these data"
        spare = f" less {standard_errors(margin)}" if margin else ""
        if margin and max(getattr(point, figure) for point in way) >= wanted:
            hint = f"without the margin it is reached (margin 0), or {hint}"
        got = f"{found}{spare}, {other} {100 * getattr(best, other):.1f}); {hint}"
        what = f"no setting reaches this {figure} with labels that do not overlap"
        super().__init__(what, expected=f"{100 * wanted:g}", got=got)
        before = next(point for point in curve if point.position == 0)
        self.tuned = Tuned(figure=figure, wanted=wanted, margin=margin, chosen=best, before=before, curve=curve)


def standard_errors(margin: float) -> str:
    """So many, in words."""
    return f"{margin:g} standard error{'' if margin == 1 else 's'}"


def counts_of(gold: Sequence[set[Any]], predicted: Iterable[set[Any]]) -> Array:
    """(B, 3) correct, predicted and gold things of each sentence."""
    return np.array([(len(g & f), len(f), len(g)) for g, f in zip(gold, predicted, strict=True)]).reshape(-1, 3)


# ---------------------------------- Precision and recall of a tagger on labelled sentences, at any position of the dial


LOWEST = 0.001  # lowest probability of spans that are considered
AGAINST = 8.0  # the bias against labels that stands for a threshold of 1


@final
class Dial:
    """The network scores the sentences once; only the labels are chosen again for each bias.

    Counted are entities, or if labels spell no spans, tokens with another label than O.
    """

    def __init__(self, codec: LabelCodec, posteriors: list[LabelPosterior], gold: list[set[Any]]) -> None:
        self._codec, self._posteriors, self._gold = codec, posteriors, gold
        self._found = cache(self._entities)  # all thresholds of the dial ask for the same

    @classmethod
    def of(cls, posteriors: Posteriors, X: Sentences, y: Labels) -> "Dial":
        """Sentences with unknown labels are left out."""
        check_same_shape(X, y)
        codec = posteriors.codec
        if codec.outside is None:
            raise ConfigurationError(
                "nothing to tune", expected="a model of spans, or with a label O", got="labels for every token"
            )
        y = with_marks(y, X, known=codec.answers)
        known = [i for i, labels in enumerate(y) if not is_partial(labels)]
        X, y = [X[i] for i in known], [y[i] for i in known]
        scheme = recognise(y) if codec.has_spans else "none"
        gold: list[set[Any]] = [set() for _ in y]
        if scheme != "none":
            gold = [set(spans_from_labels(labels, scheme)) for labels in y]
        elif not codec.has_spans:
            gold = [{(t, label) for t, label in enumerate(labels) if label != OUTSIDE} for labels in y]
        if not any(gold):
            raise DataError("nothing to tune on", expected="data with entities of the model's kind", got="none")
        return cls(codec, list(posteriors.of(X)), gold)

    def decoding(self, bias: float, threshold: float, decoding: Decoding) -> Decoding:
        """The decoding at this setting. Without spans, a bias against labels replaces the threshold."""
        if not self._codec.has_spans:
            return replace(decoding, bias=bias - AGAINST * threshold)
        thresholds = dict.fromkeys(self._codec.classes, threshold) if threshold else {}
        return replace(decoding, bias=bias, thresholds=thresholds)

    def present(self, decoding: Decoding) -> Point:
        """Precision and recall as the model decodes now, wherever its dial stands."""
        setting = decoding.bias, max(decoding.thresholds.values(), default=0.0)
        if not self._codec.has_spans:
            setting = max(decoding.bias, 0.0), max(-decoding.bias, 0.0) / AGAINST
        return Point.of(*setting, self._counts(decoding))

    def counts(self, position: float) -> Array:
        """(B, 3) correct, predicted and gold things of each sentence."""
        return self._counts(self.decoding(*setting_at(position), Decoding()))

    def _counts(self, decoding: Decoding) -> Array:
        predicted: list[set[Any]] = [set() for _ in self._gold]
        if decoding.thresholds:
            for i, span, probability in self._found(decoding.bias):
                if probability >= decoding.thresholds.get(span.label, 0.0):
                    predicted[i].add(span)
            return counts_of(self._gold, predicted)
        for posterior in self._posteriors:
            codec, labels = self._codec, posterior.by_sentence(posterior.best(decoding.bias))
            for i, numbers in zip(posterior.which, labels, strict=True):
                opens = np.flatnonzero(codec.opens_entity[numbers]).tolist()
                words = {(t, codec.labels[numbers[t]]) for t in opens} if not codec.has_spans else set()
                predicted[i] = set(codec.spans(numbers)) if codec.has_spans else words
        return counts_of(self._gold, predicted)

    def _entities(self, bias: float) -> list[tuple[int, Span, float]]:
        """The entities of the best labellings with this bias, with their probabilities."""
        return [
            (posterior.which[row], span, probability)
            for posterior in self._posteriors
            for row, span, probability in posterior.spans_of(posterior.best(bias))
        ]

    def hint(self, figure: str, wanted: float, margin: float) -> str:
        """Suggest another way to reach the figure: for recall, spans that may overlap."""
        if figure == "recall" and self._codec.has_spans:
            lowest, predicted = 1.0, [set[Any]() for _ in self._gold]
            probable = [
                (one.which[row], span, p) for one in self._posteriors for row, span, p in one.spans_above(LOWEST)
            ]
            while lowest > 2 * LOWEST:
                lowest /= 2
                for i, span, probability in probable:
                    if probability >= lowest:
                        predicted[i].add(span)
                point = Point.of(0.0, lowest, counts_of(self._gold, predicted))
                if point.surely("recall", margin) >= wanted:
                    precision = f"precision {100 * point.precision:.1f}"
                    return f"overlapping spans do: tag --all-above {lowest:.2g}, spans_above in Python ({precision})"
        return "the model has to become better"
