"""How well the probabilities of a tagger are calibrated on labelled data."""

from collections.abc import Sequence
from typing import Any

from postil.features.inputs import Token
from postil.metrics import Calibration, calibrate
from postil.metrics.counts import check_same_shape
from postil.metrics.evaluation import prepare
from postil.metrics.reliability import Reliability
from postil.models.answers.labelling import Labelling
from postil.models.answers.posteriors import Posteriors
from postil.models.parts import Parts
from postil.text import recognise, with_marks
from postil.text.labels.partial import Labels
from postil.text.labels.partial_label import PartialLabel
from postil.text.labels.schemes import Span


def reliability(parts: Parts[Labelling, Any], X: Sequence[Sequence[Token]], y: Sequence[Sequence[str]]) -> Reliability:
    """Tables of entity probabilities before and after the calibration of a fitted tagger."""
    decoding = parts.decoding
    after = entity_calibration(Posteriors(parts), X, y)
    is_same = decoding.uncalibrated == decoding
    return Reliability(
        before=after if is_same else entity_calibration(Posteriors(parts, decoding.uncalibrated), X, y),
        after=after,
        temperature=decoding.temperature,
        shift=decoding.shift,
    )


def entity_calibration(posteriors: Posteriors, X: Sequence[Sequence[Token]], y: Sequence[Sequence[str]]) -> Calibration:
    """Of the entities that are answered: the probabilities that were stated, and the share that is right.

    Where labels spell no spans, of the tokens' labels. What unknown labels leave open is not counted.
    """
    check_same_shape(X, y)
    labelling = posteriors.labelling
    gold = with_marks(y, X, known=labelling.data_labels())
    judged = _judged_spans(posteriors, X, gold) if labelling.has_spans else _judged_tokens(posteriors, X, gold)
    return calibrate([probability for probability, _ in judged], [is_right for _, is_right in judged])


def _judged_tokens(posteriors: Posteriors, X: Sequence[Sequence[Token]], gold: Labels) -> list[tuple[float, bool]]:
    """The probability of every token's label, and whether it is right."""
    judged: list[list[tuple[float, bool]]] = [[] for _ in X]
    for posterior in posteriors.of(X):
        numbers = posteriors.labels(posterior)
        probabilities = posterior.by_sentence(posterior.label_probabilities(numbers))
        for i, answers, sure in zip(posterior.which, posterior.texts(numbers), probabilities, strict=True):
            judged[i] = [
                (float(probability), label == answer)
                for label, answer, probability in zip(gold[i], answers, sure, strict=True)
                if not isinstance(label, PartialLabel)
            ]
    return [pair for pairs in judged for pair in pairs]


def _judged_spans(posteriors: Posteriors, X: Sequence[Sequence[Token]], gold: Labels) -> list[tuple[float, bool]]:
    """The probability of every entity, and whether it is right; without those that unknown labels leave open."""
    scheme = recognise(gold)
    answers: list[list[str]] = [[] for _ in X]
    entities: list[tuple[int, Span, float]] = []
    for posterior in posteriors.of(X):
        numbers, spans = posteriors.labels_and_spans(posterior)
        for i, labels in zip(posterior.which, posterior.texts(numbers), strict=True):
            answers[i] = labels
        entities += [(posterior.which[row], span, probability) for row, span, probability in spans]
    if scheme == "none":  # labels of another kind: nothing is right
        return [(probability, False) for _, _, probability in entities]
    compared = prepare(gold, answers, scheme, posteriors.labelling.scheme)
    decided, right = [[set(spans) for spans in side] for side in (compared.predicted_spans, compared.gold_spans)]
    return [(probability, span in right[i]) for i, span, probability in entities if span in decided[i]]
