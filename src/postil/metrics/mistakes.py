"""Every mistake of some predictions with its sentence, ready for JSON: what a page or another program lists."""

from collections.abc import Sequence
from typing import Any

from postil.metrics.evaluation import Compared
from postil.text.labels.schemes import PartialLabel, Span


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
