"""All scores of a set of predictions at once: what `postil evaluate` reports."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from postil.errors import DataError
from postil.metrics import significance, tables
from postil.metrics.calibration import ReliabilityCurve
from postil.metrics.counts import TokenScores, check_same_shape, score_tokens, sentence_token_counts
from postil.metrics.detection import DetectionScores
from postil.metrics.spans import Labels, Pair, Spans, SpanScores, align, compare_spans, sentence_counts, spans_by
from postil.metrics.tables import Scores
from postil.metrics.trees import TreeScores
from postil.text import PossibleSpans
from postil.text.labelled import LabelledFile
from postil.text.labels import schemes
from postil.text.labels.partial import classes_of, count_marks, is_partial
from postil.text.labels.schemes import PartialLabel, Span


class LeftOut(NamedTuple):
    """Counts left out because the gold standard leaves them open: its unknown tokens, and entities on either side
    that some of its possible labellings have and others have not."""

    tokens: int = 0
    gold_entities: int = 0
    predicted_entities: int = 0


NOTHING_LEFT_OUT = LeftOut()


@dataclass(frozen=True, slots=True)
class Evaluation(Scores):
    """Scores of tokens, and of spans if the labels have a scheme."""

    scheme: str
    sentences: int
    tokens: TokenScores
    spans: SpanScores | None
    left_out: LeftOut = NOTHING_LEFT_OUT

    @property
    def main_score(self) -> float:
        """conlleval's F1 for span schemes, else token accuracy; 0 to 1."""
        return self.tokens.accuracy if self.spans is None else self.spans.overall.f1

    def summary(self) -> str:
        """The scores in one line, in percent."""
        if self.spans is None:
            return f"accuracy {100 * self.tokens.accuracy:.2f}"
        return str(self.spans.overall)

    def size(self) -> str:
        """How many sentences and tokens were scored."""
        unknown = f", {self.left_out.tokens:,} tokens not scored" if self.left_out.tokens else ""
        return f"{self.sentences:,} sentences, {self.tokens.tokens:,} tokens{unknown}"

    def tables(self) -> list[tables.Table]:
        """Labels, and mistakes if there are any."""
        if self.spans is None:
            labels = tables.label_table(self.tokens.by_label(), column="label", title="Labels", most=tables.MOST_SHOWN)
            return [labels, tables.mistakes_table(self.tokens.mistakes(), "Confused most often")]
        labels = tables.label_table(self.spans.by_label(), self.spans.overall, most=tables.MOST_SHOWN)
        wrong = any(count for kind, count in self.spans.errors().items() if kind != "correct")
        others = [tables.errors_table(self.spans), tables.confusion_table(self.spans)] if wrong else []
        return [labels, *others]

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON: ``tokens``, ``accuracy``, ``labels``; with spans ``precision``, ``recall``, ``f1`` …"""
        about = {"scheme": self.scheme, "sentences": self.sentences, **self.tokens.to_dict()}
        if any(self.left_out):
            about["left_out"] = self.left_out._asdict()
        if self.spans is not None:
            return about | self.spans.to_dict()
        return about | {
            "labels": {label: counts.to_dict() for label, counts in self.tokens.by_label().items()},
            "confusion": self.tokens.confusion_dict(),
        }


class Compared(NamedTuple):
    """Gold and predicted labels made comparable: same scheme, and spans on both sides (none without a scheme)."""

    scheme: str
    predicted_scheme: str
    gold: Labels
    predicted: Labels
    gold_spans: Spans
    predicted_spans: Spans
    left_out: LeftOut = NOTHING_LEFT_OUT

    def spans_of(self, sentence: int) -> tuple[Sequence[Span], Sequence[Span]]:
        """Gold and predicted spans of a sentence; labels without a scheme are spans of one token each."""
        if self.scheme != "none":
            return self.gold_spans[sentence], self.predicted_spans[sentence]
        sides = self.gold[sentence], self.predicted[sentence]
        gold, predicted = ([Span(label, t, t + 1) for t, label in enumerate(side)] for side in sides)
        return gold, predicted

    def pairs(self, sentence: int) -> list[Pair]:
        """The spans of a sentence, each with the one on the other side that belongs to it."""
        gold, predicted = self.spans_of(sentence)
        return align(gold, predicted) if self.scheme != "none" else list(map(Pair, gold, predicted))

    def sentence_counts(self) -> tuple[NDArray[np.int64], significance.Statistic]:
        """Counts per sentence (B, C) and the main score as a function of their sum; for `significance`."""
        if self.scheme == "none":
            return sentence_token_counts(self.gold, self.predicted), significance.accuracy
        return sentence_counts(self.gold_spans, self.predicted_spans), significance.f1

    def decided(self, spans: Spans) -> Spans:
        """Of any spans of the sentences, those that are certainly right or certainly wrong."""
        if not self.left_out.tokens:
            return spans
        scheme = self.scheme if self.scheme in ("bio", "iob1") else "iobes"  # as `prepare` respells them
        return _decided_spans(self.gold, scheme, self.gold_spans, spans)[1]


def prepare(gold: Labels, predicted: Labels, scheme: str = "", predicted_scheme: str = "") -> Compared:
    """Recognise the schemes (unless given) and read the spans of both sides.

    If the schemes differ the predicted labels are respelt in that of the gold standard. Gold labels may be marks
    (`postil.text.with_marks`): of the spans, only those are kept that are certainly right or certainly wrong.
    """
    check_same_shape(gold, predicted)
    scheme = scheme or schemes.recognise(gold)
    unknown = sum(count_marks(gold).values())
    if scheme == "none":
        return Compared(scheme, "none", gold, predicted, (), (), LeftOut(unknown))
    if not predicted_scheme:
        predicted_scheme = schemes.recognise(predicted)
        if predicted_scheme == "none":
            expected = f"labels like the gold ones ({scheme.upper()})"
            raise DataError("predicted labels have no labelling scheme", expected=expected)
        # Spans that open with I are the commonest mistake of taggers for BIO: not a reason to see IOB1 in them.
        predicted_scheme = "bio" if (scheme, predicted_scheme) == ("bio", "iob1") else predicted_scheme
    gold_spans: Spans = [schemes.spans_from_labels(labels, scheme) for labels in gold]
    predicted_spans: Spans = [schemes.spans_from_labels(labels, predicted_scheme) for labels in predicted]
    if predicted_scheme != scheme:
        predicted = [
            schemes.labels_from_spans(spans, len(labels), scheme)
            for spans, labels in zip(predicted_spans, predicted, strict=True)
        ]
    left_out = NOTHING_LEFT_OUT
    if unknown:
        gold_spans, predicted_spans, left_out = _decided_spans(gold, scheme, gold_spans, predicted_spans)
    if scheme not in ("bio", "iob1"):  # BILOU and BMEWO must not differ from IOBES when tokens are compared
        spelt = schemes.in_iobes_letters
        gold, predicted = (
            [[label if isinstance(label, PartialLabel) else spelt(label) for label in labels] for labels in side]
            for side in (gold, predicted)
        )
    return Compared(scheme, predicted_scheme, gold, predicted, gold_spans, predicted_spans, left_out)


def _decided_spans(
    gold: Labels, scheme: str, gold_spans: Spans, predicted_spans: Spans
) -> tuple[Spans, Spans, LeftOut]:
    """Gold spans that every possible labelling has; predicted spans that are among them or that none of them has."""
    classes = classes_of(gold) | {span.label for spans in predicted_spans for span in spans}
    read = PossibleSpans.reader(sorted(classes), scheme)
    certain, decided = list(gold_spans), list(predicted_spans)
    for i, labels in enumerate(gold):
        if is_partial(labels):
            possible = read(labels)
            certain[i] = possible.certain()
            decided[i] = [span for span in predicted_spans[i] if span in certain[i] or not possible.has(span)]
    gone = [
        sum(map(len, before)) - sum(map(len, after))
        for before, after in ((gold_spans, certain), (predicted_spans, decided))
    ]
    return certain, decided, LeftOut(sum(count_marks(gold).values()), *gone)


def evaluate(gold: Labels, predicted: Labels, scheme: str = "", predicted_scheme: str = "") -> Evaluation:
    """Score predicted labels. Schemes are recognised unless given."""
    return evaluate_compared(prepare(gold, predicted, scheme, predicted_scheme))


def evaluate_compared(compared: Compared) -> Evaluation:
    """Score what `prepare` has made."""
    return Evaluation(
        compared.scheme,
        len(compared.gold),
        score_tokens(compared.gold, compared.predicted),
        None if compared.scheme == "none" else compare_spans(compared.gold_spans, compared.predicted_spans),
        compared.left_out,
    )


def mistakes_as_json(compared: Compared, tokens: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    """One object per mistake: its kind (`spans.KINDS`), the sentence and its tokens, gold and predicted span.

    Spans are in tokens; null if there is none. Labels without a scheme are spans of one token.
    """

    def as_json(span: Span | None) -> dict[str, Any] | None:
        return None if span is None else {"start": span.start, "end": span.end, "label": span.label}

    return [
        {"kind": pair.outcome.kind, "sentence": number, "tokens": list(words)}
        | {"gold": as_json(pair.gold), "predicted": as_json(pair.predicted)}
        for number, words in enumerate(tokens)
        for pair in sorted(
            compared.pairs(number), key=lambda pair: min(span.start for span in pair if span is not None)
        )
        if pair.gold != pair.predicted and not (pair.gold and isinstance(pair.gold.label, PartialLabel))
    ]


# --------------------------------------------------------------------------------------------------------- file by file
# Scores, their uncertainty, seen and unseen words.


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
    reliability: ReliabilityCurve | None = None

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

    def tuple_of(labels: Sequence[str]) -> str:
        """The labels of a token in all groups as one; a mark if one of them is."""
        kind = PartialLabel if any(isinstance(label, PartialLabel) for label in labels) else str
        return kind(" ".join(labels))

    def side_by_side(name: str) -> list[list[str]]:
        sentences = zip(*(getattr(group, name) for group in groups), strict=True)
        return [[tuple_of(labels) for labels in zip(*of_groups, strict=True)] for of_groups in sentences]

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
