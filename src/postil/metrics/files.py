"""Predicted labels against gold labels, file by file: scores, their uncertainty, seen and unseen words, two systems."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, final

import numpy as np

from postil.errors import DataError
from postil.metrics import significance
from postil.metrics.calibration import Reliability
from postil.metrics.detection import DetectionScores
from postil.metrics.evaluation import Compared, Evaluation, LeftOut, evaluate_compared, prepare
from postil.metrics.spans import Spans, SpanScores, spans_by
from postil.metrics.tokens import TokenScores, score_tokens
from postil.metrics.trees import TreeScores
from postil.text.labelled import LabelledFile
from postil.text.labels import schemes
from postil.text.labels.schemes import PartialLabel, Span

RESAMPLES = 1000
"""Of the bootstrap."""


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class FileScores:
    """Everything that is reported about predictions on a file."""

    gold: str
    """Name of the file with the gold labels."""
    predicted: str
    """Name of the predictions: a file or a model."""
    compared: Compared
    evaluation: Evaluation
    interval: significance.Interval
    broken: dict[str, int] = field(default_factory=dict)
    """How many labels violate their scheme, of gold and of predicted labels."""
    span_parts: dict[str, SpanScores] = field(default_factory=dict)
    word_parts: dict[str, TokenScores] = field(default_factory=dict)
    reliability: Reliability | None = None

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        report = self.evaluation.to_dict() | {"interval": self.interval.to_dict(), "broken_labels": self.broken}
        if self.span_parts:
            report["novelty"] = {
                name: part.overall.to_dict() | {"errors": part.errors()} for name, part in self.span_parts.items()
            }
        if self.word_parts:
            report["word_novelty"] = {name: part.to_dict() for name, part in self.word_parts.items()}
        if self.reliability is not None:
            report["calibration"] = self.reliability.to_dict()
        return report


@final
@dataclass(frozen=True, slots=True)
class ModelScores:
    """The scores of a detector on a file, or of a tree classifier, with a confidence interval."""

    model: str
    data: str
    scores: DetectionScores | TreeScores
    interval: significance.Interval | None = None

    def to_dict(self) -> dict[str, Any]:
        return self.scores.to_dict() | ({} if self.interval is None else {"interval": self.interval.to_dict()})


def score_compared(
    gold: str, predicted: str, compared: Compared, rng: np.random.Generator, resamples: int = RESAMPLES, **others: Any
) -> FileScores:
    """The scores of predictions with a bootstrap interval; ``others`` are further fields of `FileScores`."""
    counts, statistic = compared.sentence_counts()
    return FileScores(
        gold=gold,
        predicted=predicted,
        compared=compared,
        evaluation=evaluate_compared(compared),
        interval=significance.bootstrap_interval(counts, statistic, rng=rng, resamples=resamples),
        **others,
    )


def score_groups(
    gold: str, predicted: str, groups: Sequence[Compared], rng: np.random.Generator, resamples: int = RESAMPLES
) -> FileScores:
    """The scores of all groups of classes together: the same sentences, of which each group has its own spans.

    A token is correct if it is in all groups.
    """

    def whole(name: str) -> list[Any]:
        return [of_sentence for group in groups for of_sentence in getattr(group, name)]

    def side_by_side(name: str) -> list[list[str]]:
        sentences = zip(*(getattr(group, name) for group in groups), strict=True)
        return [[_tuple_of(labels) for labels in zip(*of_groups, strict=True)] for of_groups in sentences]

    first = groups[0]
    left_out = LeftOut(*(sum(numbers) for numbers in zip(*(group.left_out for group in groups), strict=True)))
    labels, spans = (whole("gold"), whole("predicted")), (whole("gold_spans"), whole("predicted_spans"))
    compared = Compared(first.scheme, first.predicted_scheme, *labels, *spans, left_out)
    tokens = score_tokens(side_by_side("gold"), side_by_side("predicted"))
    counts = np.sum([group.sentence_counts()[0] for group in groups], axis=0)
    return FileScores(
        gold=gold,
        predicted=predicted,
        compared=compared,
        evaluation=replace(evaluate_compared(compared), sentences=len(first.gold), tokens=tokens),
        interval=significance.bootstrap_interval(counts, significance.f1, rng=rng, resamples=resamples),
    )


def _tuple_of(labels: Sequence[str]) -> str:
    """The labels of a token in all groups as one; a mark if one of them is."""
    kind = PartialLabel if any(isinstance(label, PartialLabel) for label in labels) else str
    return kind(" ".join(labels))


def compare_files(gold: LabelledFile, predicted: LabelledFile, scheme: str, predicted_scheme: str) -> Compared:
    """The labels of two files with the same tokens, ready to be scored; a scheme "" is recognised."""
    try:
        compared = prepare(gold.labels, predicted.labels, scheme, predicted_scheme)
    except DataError as error:
        raise DataError(error.what, expected=error.expected, got=error.got, where=predicted.path) from error
    if compared.scheme == "none" and not scheme:
        recognised = schemes.recognise(predicted.labels)
        if recognised != "none":  # parts of speech next to names: the wrong column or the wrong file
            expected = f"labels without a scheme as in {gold.path} (--scheme none compares any labels)"
            raise DataError(f"predicted labels are {recognised.upper()}", expected=expected, where=predicted.path)
    return compared


# ---------------------------------------------------------------------------------------------------- seen and unseen
# Scores apart for what the training data had and for what it had not:
#
#     seen entity       the same words with the same class stood in the training data
#     new entity        a new combination, or a new class, of words that all stood there
#     unseen word       at least one of its words never stood there

SPAN_NOVELTIES = ("seen entity", "new entity", "unseen word")
WORD_NOVELTIES = ("seen word", "unseen word")


class Known(NamedTuple):
    """The words of the training data, and its entities as (class, words)."""

    words: frozenset[str]
    entities: frozenset[tuple[str, tuple[str, ...]]]


def known_from(tokens: Sequence[Sequence[str]], spans: Spans = ()) -> Known:
    """Collect the words, and the entities if there are spans, of the training data."""
    entities = (
        (span.label, tuple(words[span.start : span.end]))
        for words, sentence in zip(tokens, spans, strict=False)
        for span in sentence
    )
    return Known(frozenset(word for words in tokens for word in words), frozenset(entities))


def span_novelty(words: Sequence[str], span: Span, known: Known) -> str:
    """One of `SPAN_NOVELTIES`."""
    covered = tuple(words[span.start : span.end])
    if (span.label, covered) in known.entities:
        return "seen entity"
    return "new entity" if known.words.issuperset(covered) else "unseen word"


def spans_by_novelty(
    tokens: Sequence[Sequence[str]], gold: Spans, predicted: Spans, known: Known
) -> dict[str, SpanScores]:
    """Scores by novelty; they add up to the whole. A pair is counted in the group of its gold span."""
    found = spans_by(gold, predicted, lambda number, span: span_novelty(tokens[number], span, known))
    return {novelty: found.get(novelty, SpanScores()) for novelty in SPAN_NOVELTIES}


def tokens_by_novelty(
    tokens: Sequence[Sequence[str]], gold: Iterable[Sequence[str]], predicted: Iterable[Sequence[str]], known: Known
) -> dict[str, TokenScores]:
    """Separate token scores for words that do and do not occur in the training data."""
    cells: dict[str, Counter[tuple[str, str]]] = {novelty: Counter() for novelty in WORD_NOVELTIES}
    for words, *columns in zip(tokens, gold, predicted, strict=True):
        for word, one, other in zip(words, *columns, strict=True):
            if isinstance(one, PartialLabel):
                continue
            cells["seen word" if word in known.words else "unseen word"][one, other] += 1
    return {novelty: TokenScores(counter) for novelty, counter in cells.items()}


def novelty_parts(
    gold: LabelledFile, compared: Compared, train: LabelledFile
) -> tuple[dict[str, SpanScores], dict[str, TokenScores]]:
    """Scores of spans and of tokens, separately for those that occur in ``train`` and those that do not."""
    has_spans = compared.scheme != "none"
    known_spans: list[list[Span]] = []
    if has_spans:
        scheme = schemes.recognise(train.labels)
        if scheme == "none":
            expected = "spans as in the gold labels"
            raise DataError("training labels have no labelling scheme", expected=expected, where=train.path)
        known_spans = [schemes.spans_from_labels(labels, scheme) for labels in train.labels]
    known = known_from(train.tokens, known_spans)
    words = tokens_by_novelty(gold.tokens, compared.gold, compared.predicted, known)
    if not has_spans:
        return {}, words
    return spans_by_novelty(gold.tokens, compared.gold_spans, compared.predicted_spans, known), words
