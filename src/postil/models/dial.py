"""Precision and recall of one tagger on labelled sentences, at any decoding bias."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from postil.arrays import Array
from postil.errors import ConfigurationError, DataError
from postil.features.inputs import Token
from postil.metrics.counts import check_same_shape
from postil.models.distribution import Distribution
from postil.models.tuning import Point, counts_of
from postil.text import recognise, spans_from_labels

if TYPE_CHECKING:
    from postil.models.tagger import Tagger

LOWEST = 0.001  # probability of spans that are worth a look


@final
class Dial:
    """The network scores the sentences once; only the choice of labels is made anew for each bias.

    Counted are entities, or where labels spell no spans, tokens with another label than O.
    """

    def __init__(self, believed: list[Distribution], gold: list[set[Any]]) -> None:
        self._believed, self._gold = believed, gold

    @classmethod
    def of(cls, tagger: "Tagger", X: Sequence[Sequence[Token]], y: Sequence[Sequence[str]]) -> "Dial":
        check_same_shape(X, y)
        labelling = tagger.labelling
        if labelling.outside is None:
            raise ConfigurationError(
                "nothing to tune", expected="a model of spans, or with a label O", got="labels for every token"
            )
        if labelling.has_spans:
            scheme = recognise(y)
            gold: list[set[Any]] = [set(spans_from_labels(labels, scheme)) for labels in y] if scheme != "none" else []
        else:
            gold = [{(t, label) for t, label in enumerate(labels) if label != "O"} for labels in y]
        if not any(gold):
            raise DataError("nothing to tune on", expected="data with entities of the model's kind", got="none")
        return cls(list(tagger.distributions(X)), gold)

    def counts(self, bias: float) -> Array:
        """(B, 3) correct, predicted and gold things of each sentence."""
        found: list[set[Any]] = [set() for _ in self._gold]
        for believed in self._believed:
            labelling = believed.labelling
            for i, numbers in zip(believed.which, believed.best(bias), strict=True):
                if labelling.has_spans:
                    found[i] = set(labelling.spans(numbers))
                else:
                    opens = np.flatnonzero(labelling.opens_entity[numbers])
                    found[i] = {(int(t), labelling.labels[numbers[t]]) for t in opens}
        return counts_of(self._gold, found)

    def hint(self, figure: str, wanted: float, margin: float) -> str:
        """What else reaches the figure: for recall, spans that may overlap."""
        if figure == "recall" and self._believed[0].labelling.has_spans:
            for lowest in 2.0 ** -np.arange(1, 10):
                point = self.overlapping(float(lowest))
                if point.surely("recall", margin) >= wanted:
                    return f"overlapping spans do, those above {lowest:.2g} (precision {100 * point.precision:.1f})"
        return "the model has to become better"

    def overlapping(self, lowest: float) -> Point:
        """Precision and recall of all spans with at least this probability, which may overlap."""
        found: list[set[Any]] = [set() for _ in self._gold]
        for believed, spans in zip(self._believed, self._spans, strict=True):
            for row, span, probability in spans:
                if probability >= lowest:
                    found[believed.which[row]].add(span)
        return Point.of(0.0, counts_of(self._gold, found))

    @cached_property
    def _spans(self) -> list[Any]:
        return [believed.spans_above(LOWEST) for believed in self._believed]
