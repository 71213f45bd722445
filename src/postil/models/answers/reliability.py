"""How honest a tagger's probabilities are on labelled data."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from postil.features.inputs import Token
from postil.metrics import Calibration, calibrate
from postil.metrics.counts import check_same_shape
from postil.metrics.evaluation import prepare
from postil.metrics.reliability import Reliability
from postil.text import recognise, with_marks
from postil.text.partial import Labels
from postil.text.partial_label import PartialLabel
from postil.text.schemes import Span

if TYPE_CHECKING:
    from postil.models.tagger import Tagger


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

    Where labels spell no spans, of the tokens' labels. What unknown labels leave open is not counted.
    """
    check_same_shape(X, y)
    gold = with_marks(y, X, known=tagger.labelling.data_labels())
    judged = _judged_spans(tagger, X, gold) if tagger.labelling.has_spans else _judged_tokens(tagger, X, gold)
    return calibrate([probability for probability, _ in judged], [is_right for _, is_right in judged])


def _judged_tokens(tagger: "Tagger", X: Sequence[Sequence[Token]], gold: Labels) -> list[tuple[float, bool]]:
    """The probability of every token's label, and whether it is right."""
    return [
        (float(probability), label == answer)
        for labels, answers, sure in zip(gold, *tagger.predict_with_probabilities(X), strict=True)
        for label, answer, probability in zip(labels, answers, sure, strict=True)
        if not isinstance(label, PartialLabel)
    ]


def _judged_spans(tagger: "Tagger", X: Sequence[Sequence[Token]], gold: Labels) -> list[tuple[float, bool]]:
    """The probability of every entity, and whether it is right; without those that unknown labels leave open."""
    scheme = recognise(gold)
    answers: list[list[str]] = [[] for _ in X]
    found: list[tuple[int, Span, float]] = []
    for believed in tagger.distributions(X):
        numbers, spans = tagger.answered(believed)
        for i, labels in zip(believed.which, believed.texts(numbers), strict=True):
            answers[i] = labels
        found += [(believed.which[row], span, probability) for row, span, probability in spans]
    if scheme == "none":  # labels of another kind: nothing is right
        return [(probability, False) for _, _, probability in found]
    compared = prepare(gold, answers, scheme, tagger.labelling.scheme)
    decided, right = [[set(spans) for spans in side] for side in (compared.predicted_spans, compared.gold_spans)]
    return [(probability, span in right[i]) for i, span, probability in found if span in decided[i]]
