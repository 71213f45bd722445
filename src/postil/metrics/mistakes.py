"""Every mistake of some predictions with its sentence, ready for JSON: what a page or another program lists."""

from collections.abc import Sequence
from typing import Any

from postil.metrics.evaluation import Compared
from postil.metrics.spans import align
from postil.text.labels.schemes import PartialLabel, Span

LABEL = "type"
"""The kind of a token's wrong label, as of a span at its right place."""


def mistakes_as_json(compared: Compared, tokens: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    """One object per mistake: its kind (`spans.KINDS`), the sentence and its tokens, gold and predicted span.

    Spans are in tokens; null if there is none. Labels without a scheme are spans of one token.
    """
    mistakes: list[tuple[int, str, Span | None, Span | None]] = []
    if compared.scheme == "none":
        for number, sides in enumerate(zip(compared.gold, compared.predicted, strict=True)):
            for place, (one, other) in enumerate(zip(*sides, strict=True)):
                if one != other and not isinstance(one, PartialLabel):
                    mistakes.append((number, LABEL, Span(one, place, place + 1), Span(other, place, place + 1)))
    else:
        for number, spans in enumerate(zip(compared.gold_spans, compared.predicted_spans, strict=True)):
            for pair in sorted(align(*spans), key=lambda pair: min(span.start for span in pair if span is not None)):
                if pair.outcome.kind != "correct":
                    mistakes.append((number, pair.outcome.kind, *pair))
    return [
        {
            "kind": kind,
            "sentence": number,
            "tokens": list(tokens[number]),
            "gold": _as_json(gold),
            "predicted": _as_json(predicted),
        }
        for number, kind, gold, predicted in mistakes
    ]


def _as_json(span: Span | None) -> dict[str, Any] | None:
    return None if span is None else {"start": span.start, "end": span.end, "label": span.label}
