"""How honest a tagger's probabilities are on labelled data."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

from postil.features.inputs import Token
from postil.metrics import Calibration, calibrate
from postil.metrics.counts import check_same_shape
from postil.text import recognise, spans_from_labels
from postil.text.schemes import Span

if TYPE_CHECKING:
    from postil.models.tagger import Tagger


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Reliability:
    """Of the network's own probabilities, and of those that the model gives; the same where it was not calibrated."""

    before: Calibration
    after: Calibration
    temperature: float
    shift: float

    @property
    def is_calibrated(self) -> bool:
        return self.temperature != 1 or bool(self.shift)

    def as_dict(self) -> dict[str, Any]:
        return {
            "temperature": self.temperature,
            "shift": self.shift,
            "before": self.before.as_dict(),
            "after": self.after.as_dict(),
        }


def reliability(tagger: "Tagger", X: Sequence[Sequence[Token]], y: Sequence[Sequence[str]]) -> Reliability:
    """Tables of entity probabilities before and after calibration."""
    parts, decoding = tagger.fitted_parts(), tagger.decoding
    as_learnt = tagger.around(replace(parts, decoding=decoding.uncalibrated))
    after = entity_calibration(tagger, X, y)
    is_same = decoding.uncalibrated == decoding
    return Reliability(
        before=after if is_same else entity_calibration(as_learnt, X, y),
        after=after,
        temperature=decoding.temperature,
        shift=decoding.shift,
    )


def entity_calibration(tagger: "Tagger", X: Sequence[Sequence[Token]], y: Sequence[Sequence[str]]) -> Calibration:
    """Of the entities that a tagger finds, how probable they were said to be and how many are right.

    Where labels spell no spans, of the tokens' labels.
    """
    check_same_shape(X, y)
    probabilities: list[float] = []
    right: list[bool] = []
    if not tagger.labelling.has_spans:
        for labels, found, sure in zip(y, *tagger.predict_with_probabilities(X), strict=True):
            probabilities += sure.tolist()
            right += [one == other for one, other in zip(labels, found, strict=True)]
        return calibrate(probabilities, right)
    scheme = recognise(y)
    gold: list[list[Span]] = [spans_from_labels(labels, scheme) if scheme != "none" else [] for labels in y]
    for believed in tagger.distributions(X):
        for row, span, probability in tagger.answered(believed)[1]:
            probabilities.append(probability)
            right.append(span in gold[believed.which[row]])
    return calibrate(probabilities, right)
