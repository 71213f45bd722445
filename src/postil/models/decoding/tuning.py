"""Decoding fitted to held-out data: the dial between precision and recall, and calibrated probabilities.

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
from itertools import chain
from typing import Any, NamedTuple, final

import numpy as np

from postil.arrays import Array
from postil.errors import ConfigurationError, DataError
from postil.features.inputs import Sentences
from postil.html.fragments import figure, folded, fragment
from postil.html.svg import Curve, curve_chart
from postil.metrics import Calibration, calibrate, tables
from postil.metrics.calibration import ReliabilityCurve
from postil.metrics.counts import check_same_shape, f_score, ratio
from postil.metrics.evaluation import prepare
from postil.metrics.tables import drawn_table, headline
from postil.models.decoding.codec import OUTSIDE, LabelCodec, joined_numbers
from postil.models.decoding.distribution import Decoding, LabelPosterior, calibrated_lattice
from postil.models.decoding.posteriors import Posteriors
from postil.models.model import FittedModel
from postil.objectives.crf import Lattice, Posterior, path_scores
from postil.text import Span, recognise, spans_from_labels, with_marks
from postil.text.labels.partial import Labels, is_partial
from postil.text.labels.schemes import PartialLabel

POSITIONS = np.concatenate([np.arange(-19, 0) / 20, np.arange(0, 8.01, 0.5)])  # where the curve is measured
HALVINGS = 12  # of the step between two of them
BIASES = np.arange(0, 3.01, 0.25)  # among which the one for the best F1 is chosen


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
        return f"{self.summary()}\n\n{tables.text(self.table())}"

    def _repr_html_(self) -> str:
        main, _, more = self.summary().partition(": ")
        top = headline(main, more.replace("\n", "; "), f"for {self.target}")
        numbers = folded("As a table", drawn_table(self.table(), bars=("precision", "recall", "F1")))
        points = [(point.recall, point.precision) for point in self.curve]
        curve = Curve("settings", points, "var(--strong)", (self.chosen.recall, self.chosen.precision))
        drawn = curve_chart("Precision against recall", [curve], x_name="recall", y_name="precision")
        return fragment(top, figure("Every point is a setting; the ring is the chosen one", drawn), numbers)

    @property
    def target(self) -> str:
        """The requested target, in words."""
        return f"the best {self.figure}" if self.wanted is None else f"{self.figure} {100 * self.wanted:g}"

    @property
    def wish(self) -> str:
        """The target with its margin, in words."""
        return f"{self.target}, with a margin of {standard_errors(self.margin)}"

    def summary(self) -> str:
        """The chosen setting with what is to be expected of it, and the figures without one, in two lines."""
        chosen, before = self.chosen, self.before
        setting = f"threshold {chosen.threshold:.3f}" if chosen.threshold else f"bias {chosen.bias:+.3f}"
        figures = f"precision {100 * chosen.precision:.2f}, recall {100 * chosen.recall:.2f}, F1 {100 * chosen.f1:.2f}"
        met = "the target is already met, nothing changes: " if self.is_met else ""
        untuned = f"untuned: precision {100 * before.precision:.2f}, recall {100 * before.recall:.2f}"
        return f"{met}{setting}: {figures} expected\n{untuned}, F1 {100 * before.f1:.2f}"

    def table(self, name: str = "chosen") -> tables.Table:
        """The curve up to its highest recall, beyond which precision falls as well; ``name``: of the chosen point."""
        highest = max(range(len(self.curve)), key=lambda i: self.curve[i].recall)
        neutral = next(i for i, point in enumerate(self.curve) if point.position == 0)
        rows: list[tuple[tables.Cell, ...]] = []
        points = {*self.curve[: max(highest, neutral) + 1], self.chosen}
        for point in sorted(points, key=lambda point: point.position):
            figures = (100 * point.precision, 100 * point.recall, 100 * point.f1)
            mark = name if point == self.chosen else "untuned" if point.position == 0 else ""
            if rows and rows[-1][2:] == (*figures, mark):  # thresholds below all probabilities
                rows.pop()
            rows.append((f"{point.threshold:.2f}", f"{point.bias:+.2f}", *figures, mark))
        return tables.Table("Settings", ("threshold", "bias", "precision", "recall", "F1", ""), rows)

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
    asked = {"recall": recall, "precision": precision}
    given: dict[str, float | None] = {name: value for name, value in asked.items() if value is not None}
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
            expected = "a model of spans, or with a label O"
            raise ConfigurationError("nothing to tune", expected=expected, got="labels for every token")
        y = with_marks(y, X, known=codec.answers)
        known = [i for i, labels in enumerate(y) if not is_partial(labels)]
        X, y = [X[i] for i in known], [y[i] for i in known]
        gold: list[set[Any]] = [set() for _ in y]
        if not codec.has_spans:
            gold = [{(t, label) for t, label in enumerate(labels) if label != OUTSIDE} for labels in y]
        elif (scheme := recognise(y)) != "none":
            gold = [set(spans_from_labels(labels, scheme)) for labels in y]
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
                if codec.has_spans:
                    predicted[i] = set(codec.spans(numbers))
                else:
                    opens = np.flatnonzero(codec.opens_entity[numbers]).tolist()
                    predicted[i] = {(t, codec.labels[numbers[t]]) for t in opens}
        return counts_of(self._gold, predicted)

    def _entities(self, bias: float) -> list[tuple[int, Span, float]]:
        """The entities of the best labellings with this bias, with their probabilities."""
        classes, found = self._codec.classes, []
        for one in self._posteriors:
            spans, probabilities = one.spans_of(one.best(bias))
            for (row, start, end, kind), p in zip(spans.tolist(), probabilities.tolist(), strict=True):
                found.append((one.which[row], Span(classes[kind], start, end), p))
        return found

    def hint(self, figure: str, wanted: float, margin: float) -> str:
        """Suggest another way to reach the figure: for recall, spans that may overlap."""
        if figure == "recall" and self._codec.has_spans:
            lowest, predicted = 1.0, [set[Any]() for _ in self._gold]
            probable = [
                (i, span, p)
                for one in self._posteriors
                for i, spans in zip(one.which, one.spans_above(LOWEST), strict=True)
                for span, p in spans
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


# ------------------------------------------------------------------------------------------- the probabilities
# A temperature and a shift of O are fitted to held-out data by the likelihood of the labellings. With a = 1/temperature
# and c = shift the model is an exponential family,
#
#     p(y) ∝ exp(a s(y) + c n(y)),    n(y) tokens that are not O,
#
# so the negative log-likelihood is convex in (a, c), and its slope is what the model expects less what the data have:
# Σ E[s] - s(gold) and Σ E[n] - n(gold). At the minimum the model expects as many tokens of entities as there are. Where
# labels are known in part, the data have what the model expects among the labellings that they leave open.
#
# Measured on held-out corpora, why both: a temperature alone makes a model that misses many names unsure of those that
# it finds, because the misses need a higher temperature. And why the likelihood of whole labellings, not of entities
# found: it learns from all tokens, so it depends less on which few sentences were held out.

PRIOR = 4.0  # how strongly a and c are held at 1 and 0: some labels' worth, so that little data change little
STEPS = 30
COLDEST, HOTTEST = 0.1, 10.0  # temperatures
_H = 1e-4  # of differences of slopes


@final
@dataclass(frozen=True, eq=False)
class LabelledLattices:
    """Lattices of the network's own scores, and the gold label numbers (N,) of each, or what is allowed (N, L)."""

    lattices: Sequence[Lattice]
    gold: Sequence[Array]
    codec: LabelCodec

    @classmethod
    def of(cls, posteriors: Posteriors, X: Sentences, y: Labels) -> "LabelledLattices":
        """Labelled sentences; those with labels that the model does not know are left out."""
        check_same_shape(X, y)
        codec = posteriors.codec
        numbers = known_labels(codec, with_marks(y, X, known=codec.answers))
        known = [(tokens, labels) for tokens, labels in zip(X, numbers, strict=True) if labels is not None]
        lattices, gold = [], []
        for which, lattice in posteriors.lattices([tokens for tokens, _ in known], calibrated=False):
            lattices.append(lattice)
            gold.append(joined_numbers([known[i][1] for i in which], len(codec.labels)))
        return cls(lattices, gold, codec)

    def value(self, at: Array) -> float:
        """The negative log-likelihood at (a, c), held to (1, 0) by the prior."""
        total = PRIOR * float(((at - _ORIGIN) ** 2).sum()) / 2
        for lattice, gold in zip(self.lattices, self.gold, strict=True):
            scaled = calibrated_lattice(lattice, self.codec, _decoding(at))
            of_gold = path_scores(scaled, gold) if gold.ndim == 1 else _within(scaled, gold).log_partition
            total += float(Posterior.of(scaled).log_partition.sum() - of_gold.sum())
        return total

    def slope(self, at: Array) -> Array:
        """(2,) its derivatives by a and c."""
        total: Array = PRIOR * (at - _ORIGIN)
        for lattice, gold in zip(self.lattices, self.gold, strict=True):
            scaled = calibrated_lattice(lattice, self.codec, _decoding(at))
            total += self._expected(lattice, Posterior.of(scaled))
            if gold.ndim == 2:
                total -= self._expected(lattice, _within(scaled, gold))
            else:
                outside = self.codec.outside
                named = 0 if outside is None else (gold != outside).sum()
                total -= np.array([path_scores(lattice, gold).sum(), named])
        return total

    def _expected(self, lattice: Lattice, posterior: Posterior) -> Array:
        """(2,) Σ E[s] of the network's own scores, and Σ E[n], 0 where the labels have no O."""
        marginals, outside, steps = posterior.marginals(), self.codec.outside, lattice.chain
        named = 0.0 if outside is None else float(len(marginals) - marginals[:, outside].sum())
        expected = sum(
            float((np.where(weights > 0, scores, 0.0) * weights).sum())
            for scores, weights in (
                (lattice.unary, marginals),
                (steps.transitions, posterior.transition_counts()),
                (steps.start, marginals[lattice.sentences.first].sum(axis=0)),
                (steps.end, marginals[lattice.sentences.last].sum(axis=0)),
            )
        )
        return np.array([expected, named])

    def curvature(self, at: Array) -> Array:
        """(2, 2) by central differences of the slope, made symmetric."""
        columns = [(self.slope(at + step) - self.slope(at - step)) / (2 * _H) for step in _H * np.eye(2)]
        table = np.stack(columns)
        return np.asarray((table + table.T) / 2)


_ORIGIN = np.array([1.0, 0.0])


def calibrated(decoding: Decoding, data: LabelledLattices) -> Decoding:
    """The decoding with the temperature and the shift that fit the data; unchanged if there are none."""
    if not data.gold:
        return decoding
    at, value = _ORIGIN, data.value(_ORIGIN)
    for _ in range(STEPS):  # Newton's method; half the step until it is downhill
        step = np.linalg.solve(data.curvature(at), data.slope(at))
        new, new_value = at, value
        for shorter in 0.5 ** np.arange(20):
            new = at - shorter * step
            new[0] = np.clip(new[0], 1 / HOTTEST, 1 / COLDEST)
            new_value = data.value(new)
            if new_value < value:
                break
        if not value - new_value > 1e-6:
            break
        at, value = new, new_value
    fitted = _decoding(at)
    return replace(decoding, temperature=fitted.temperature, shift=fitted.shift)


def known_labels(codec: LabelCodec, y: Labels) -> list[Array | None]:
    """Label numbers (T,) of each sentence, or what is allowed (T, L); None if the model does not know a label."""
    known: list[Array | None] = []
    for labels in y:
        try:
            known.append(codec.numbers([labels])[0] if len(labels) else None)
        except DataError:
            known.append(None)
    return known


def _within(lattice: Lattice, allowed: Array) -> Posterior:
    """The posterior of the labellings that (N, L) allows."""
    return Posterior.of(replace(lattice, unary=np.where(allowed, lattice.unary, -np.inf)))


def _decoding(at: Array) -> Decoding:
    return Decoding(temperature=float(1 / at[0]), shift=float(at[1]))


# ----------------------------------------------- How well the probabilities of a tagger are calibrated on labelled data


def reliability(model: FittedModel, X: Sentences, y: Labels) -> ReliabilityCurve:
    """Tables of entity probabilities before and after the calibration of a fitted tagger."""
    decoding = model.decoding
    after = entity_calibration(Posteriors(model), X, y)
    is_same = decoding.uncalibrated == decoding
    return ReliabilityCurve(
        before=after if is_same else entity_calibration(Posteriors(model, decoding.uncalibrated), X, y),
        after=after,
        temperature=decoding.temperature,
        shift=decoding.shift,
    )


def entity_calibration(posteriors: Posteriors, X: Sentences, y: Labels) -> Calibration:
    """Of the entities that are answered: the probabilities that were stated, and the share that is right.

    If labels spell no spans, of the tokens' labels. What unknown labels leave open is not counted.
    """
    check_same_shape(X, y)
    codec = posteriors.codec
    gold = with_marks(y, X, known=codec.answers)
    decoded = posteriors.decode(X, label_probabilities=not codec.has_spans)
    judged: list[tuple[float, bool]]  # probabilities, and whether the answers are right
    if not codec.has_spans:
        pairs = zip(chain.from_iterable(gold), chain.from_iterable(decoded.texts()), strict=True)
        assert decoded.label_probabilities is not None, "asked for"
        figures = zip(decoded.label_probabilities.tolist(), pairs, strict=True)
        judged = [(p, label == answer) for p, (label, answer) in figures if not isinstance(label, PartialLabel)]
    else:
        assert decoded.spans is not None and decoded.span_probabilities is not None, "asked for"
        rows = zip(decoded.spans.tolist(), decoded.span_probabilities.tolist(), strict=True)
        entities = [(i, Span(codec.classes[kind], start, end), p) for (i, start, end, kind), p in rows]
        if recognise(gold) == "none":  # labels of another kind: nothing is right
            judged = [(p, False) for _, _, p in entities]
        else:
            compared = prepare(gold, decoded.texts(), recognise(gold), codec.scheme)
            decided, right = [list(map(set, side)) for side in (compared.predicted_spans, compared.gold_spans)]
            judged = [(p, span in right[i]) for i, span, p in entities if span in decided[i]]
    return calibrate([p for p, _ in judged], [is_right for _, is_right in judged])
