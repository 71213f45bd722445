"""Precision and recall of a tagger on labelled sentences, at any position of the dial."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, final

import numpy as np

from postil.arrays import Array
from postil.errors import ConfigurationError, DataError
from postil.features.inputs import Token
from postil.metrics.counts import check_same_shape
from postil.models.answers.decoding import Decoding
from postil.models.answers.distribution import Distribution
from postil.models.answers.labelling import OUTSIDE, Labelling
from postil.models.answers.posteriors import Posteriors
from postil.models.answers.tuning import Point, Setting, counts_of
from postil.text import Span, recognise, spans_from_labels, with_marks
from postil.text.labels.partial import is_partial

LOWEST = 0.001  # probability of spans that are worth a look
AGAINST = 8.0  # the bias against labels that stands for a threshold of 1


@final
class Dial:
    """The network scores the sentences once; only the labels are chosen again for each bias.

    Counted are entities, or where labels spell no spans, tokens with another label than O.
    """

    def __init__(self, labelling: Labelling, posteriors: list[Distribution], gold: list[set[Any]]) -> None:
        self._labelling, self._posteriors, self._gold = labelling, posteriors, gold

    @classmethod
    def of(cls, posteriors: Posteriors, X: Sequence[Sequence[Token]], y: Sequence[Sequence[str]]) -> "Dial":
        """Sentences with unknown labels are left out."""
        check_same_shape(X, y)
        labelling = posteriors.labelling
        if labelling.outside is None:
            raise ConfigurationError(
                "nothing to tune", expected="a model of spans, or with a label O", got="labels for every token"
            )
        y = with_marks(y, X, known=labelling.data_labels())
        known = [i for i, labels in enumerate(y) if not is_partial(labels)]
        X, y = [X[i] for i in known], [y[i] for i in known]
        scheme = recognise(y) if labelling.has_spans else "none"
        gold: list[set[Any]] = [set() for _ in y]
        if scheme != "none":
            gold = [set(spans_from_labels(labels, scheme)) for labels in y]
        elif not labelling.has_spans:
            gold = [{(t, label) for t, label in enumerate(labels) if label != OUTSIDE} for labels in y]
        if not any(gold):
            raise DataError("nothing to tune on", expected="data with entities of the model's kind", got="none")
        return cls(labelling, list(posteriors.of(X)), gold)

    def decoding(self, setting: Setting, decoding: Decoding) -> Decoding:
        """The decoding at this setting. Where there are no spans, a bias against labels stands for the threshold."""
        if not self._labelling.has_spans:
            return replace(decoding, bias=setting.bias - AGAINST * setting.threshold)
        thresholds = dict.fromkeys(self._labelling.classes, setting.threshold) if setting.threshold else {}
        return replace(decoding, bias=setting.bias, thresholds=thresholds)

    def present(self, decoding: Decoding) -> Point:
        """Precision and recall as the model decodes now, wherever its dial stands."""
        setting = Setting(decoding.bias, max(decoding.thresholds.values(), default=0.0))
        if not self._labelling.has_spans:
            setting = Setting(max(decoding.bias, 0.0), max(-decoding.bias, 0.0) / AGAINST)
        return Point.of(setting, self._counts(decoding))

    def counts(self, setting: Setting) -> Array:
        """(B, 3) correct, predicted and gold things of each sentence."""
        return self._counts(self.decoding(setting, Decoding()))

    def _counts(self, decoding: Decoding) -> Array:
        predicted: list[set[Any]] = [set() for _ in self._gold]
        if decoding.thresholds:
            for i, span, probability in self._found(decoding.bias) if decoding.bias else self._unbiased:
                if probability >= decoding.thresholds.get(span.label, 0.0):
                    predicted[i].add(span)
            return counts_of(self._gold, predicted)
        for posterior in self._posteriors:
            labels = posterior.by_sentence(posterior.best(decoding.bias))
            for i, numbers in zip(posterior.which, labels, strict=True):
                predicted[i] = _things(self._labelling, numbers)
        return counts_of(self._gold, predicted)

    @cached_property
    def _unbiased(self) -> list[tuple[int, Span, float]]:
        return self._found(0.0)  # all thresholds of the dial ask for them

    def _found(self, bias: float) -> list[tuple[int, Span, float]]:
        """The entities of the best labellings with this bias, with their probabilities."""
        return [
            (posterior.which[row], span, probability)
            for posterior in self._posteriors
            for row, span, probability in posterior.spans_of(posterior.best(bias))
        ]

    def hint(self, figure: str, wanted: float, margin: float) -> str:
        """What else reaches the figure: for recall, spans that may overlap."""
        if figure == "recall" and self._labelling.has_spans:
            for lowest in 2.0 ** -np.arange(1, 10):
                point = self.overlapping(float(lowest))
                if point.surely("recall", margin) >= wanted:
                    precision = f"precision {100 * point.precision:.1f}"
                    return f"overlapping spans do: tag --all-above {lowest:.2g}, spans_above in Python ({precision})"
        return "the model has to become better"

    def overlapping(self, lowest: float) -> Point:
        """Precision and recall of all spans with at least this probability, which may overlap."""
        predicted: list[set[Any]] = [set() for _ in self._gold]
        for posterior, spans in zip(self._posteriors, self._spans, strict=True):
            for row, span, probability in spans:
                if probability >= lowest:
                    predicted[posterior.which[row]].add(span)
        return Point.of(Setting(0.0, lowest), counts_of(self._gold, predicted))

    @cached_property
    def _spans(self) -> list[Any]:
        return [posterior.spans_above(LOWEST) for posterior in self._posteriors]


def _things(labelling: Labelling, numbers: Array) -> set[Any]:
    """Spans, or (token, label) of labels that are not O."""
    if labelling.has_spans:
        return set(labelling.spans(numbers))
    return {(int(t), labelling.labels[numbers[t]]) for t in np.flatnonzero(labelling.opens_entity[numbers])}
