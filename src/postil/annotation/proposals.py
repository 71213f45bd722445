"""Spans that are shown to a person who labels a record, before anything is said about it."""

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from postil.annotation.journal import Answer
from postil.annotation.pool import PoolRecord
from postil.models.tagger import Tagger
from postil.text import Sentence, Span

MAYBE = 0.3
"""Spans at least this probable are asked about even where the model's best labelling does not have them."""

Wanted = Callable[[Span], bool]
"""Whether a span is of a class that is labelled."""


class Proposal(NamedTuple):
    """A span that is shown before the person has said anything."""

    span: Span
    probability: float | None
    state: str
    """``sure``: taken for right; ``asked``: proposed; ``maybe``: not proposed, but not improbable either."""

    def to_dict(self) -> dict[str, Any]:
        probability = None if self.probability is None else round(self.probability, 4)
        return {**self.span._asdict(), "probability": probability, "state": self.state}


def predicted(tagger: Tagger, tokens: Sequence[str], wanted: Wanted) -> dict[Span, float | None]:
    """The spans of the model's best labelling, with their probabilities."""
    (entities,) = tagger.annotate([Sentence(list(tokens))])
    spans = {Span(one.label, one.start, one.end): one.probability for one in entities}
    return {span: probability for span, probability in spans.items() if wanted(span)}


def of_model(tagger: Tagger, tokens: Sequence[str], sure: float, wanted: Wanted) -> list[Proposal]:
    """The spans that a model predicts, and further spans that are not improbable."""
    best = predicted(tagger, tokens, wanted)
    found = [Proposal(span, probability, _state(probability, sure)) for span, probability in best.items()]
    taken = list(best)
    for entity in sorted(tagger.spans_above(tokens, MAYBE), key=lambda one: -(one.probability or 0.0)):
        span = Span(entity.label, entity.start, entity.end)
        if wanted(span) and not any(_overlap(span, other) for other in taken):
            found.append(Proposal(span, entity.probability, "maybe"))
            taken.append(span)
    return sorted(found, key=lambda one: one.span.start)


def of_pool(record: PoolRecord, sure: float) -> list[Proposal]:
    """The spans that the pool gives for a record."""
    probabilities = {span: record.probabilities.get(span) for span in record.spans or ()}
    return [Proposal(span, probability, _state(probability, sure)) for span, probability in probabilities.items()]


def of_answer(answer: Answer) -> list[Proposal]:
    """The spans of the annotator's earlier answer."""
    return [Proposal(span, None, "sure") for span in answer.spans]


def _state(probability: float | None, sure: float) -> str:
    return "sure" if probability is not None and probability >= sure else "asked"


def _overlap(one: Span, other: Span) -> bool:
    return one.start < other.end and other.start < one.end


# ------------------------------------------------------------------------------------------------ what is shown


CONTEXT = 240
"""Characters of the text around a sentence that are shown."""


def cut_out(text: str, starts: Sequence[int], ends: Sequence[int]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """A sentence without the text around it."""
    left = starts[0]
    return text[left : ends[-1]], tuple((start - left, end - left) for start, end in zip(starts, ends, strict=True))


def view(text: str, starts: Sequence[int], ends: Sequence[int]) -> dict[str, Any]:
    """Words and gaps instead of offsets: a browser counts characters otherwise."""
    return {
        "words": [text[start:end] for start, end in zip(starts, ends, strict=True)],
        "gaps": [text[end:start] for end, start in zip(ends, islice(starts, 1, None), strict=False)],
        "before": text[max(0, starts[0] - CONTEXT) : starts[0]],
        "after": text[ends[-1] : ends[-1] + CONTEXT],
    }


def about(fields: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The pool's notes on a record: its source, and the doubts of a review."""
    doubts = fields.get("doubts")
    return {
        "where": str(fields.get("where") or where),
        "doubts": [
            {"data": str(doubt.get("in the data", "")), "models": str(doubt.get("models", ""))}
            for doubt in (doubts if isinstance(doubts, list) else ())
            if isinstance(doubt, dict)
        ],
    }
