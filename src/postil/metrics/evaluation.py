"""All scores of a set of predictions at once: what `postil evaluate` reports."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from postil.errors import DataError
from postil.metrics import significance, tables
from postil.metrics.counts import check_same_shape
from postil.metrics.spans import Labels, Pair, Spans, SpanScores, align, compare_spans, sentence_counts
from postil.metrics.tables import Scores
from postil.metrics.tokens import TokenScores, score_tokens, sentence_token_counts
from postil.text import PossibleSpans
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
        gold, predicted = self.gold[sentence], self.predicted[sentence]
        return [Span(one, t, t + 1) for t, one in enumerate(gold)], [
            Span(one, t, t + 1) for t, one in enumerate(predicted)
        ]

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
    if scheme not in ("bio", "iob1"):
        gold, predicted = _in_iobes_letters(gold), _in_iobes_letters(predicted)
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


def _in_iobes_letters(sequences: Labels) -> Labels:
    """BILOU and BMEWO must not differ from IOBES when tokens are compared."""
    return [
        [label if isinstance(label, PartialLabel) else schemes.in_iobes_letters(label) for label in labels]
        for labels in sequences
    ]


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
