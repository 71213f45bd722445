"""Spans that are shown to a person who labels a record, before anything is said about it."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from postil.curation.journal import Answer
from postil.curation.pool import PoolRecord
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
    """What a model proposes, and what else is not improbable."""
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
    """What the pool itself says about a record."""
    probabilities = {span: record.probabilities.get(span) for span in record.spans or ()}
    return [Proposal(span, probability, _state(probability, sure)) for span, probability in probabilities.items()]


def of_answer(answer: Answer) -> list[Proposal]:
    """What the person has said before."""
    return [Proposal(span, None, "sure") for span in answer.spans]


def _state(probability: float | None, sure: float) -> str:
    return "sure" if probability is not None and probability >= sure else "asked"


def _overlap(one: Span, other: Span) -> bool:
    return one.start < other.end and other.start < one.end
