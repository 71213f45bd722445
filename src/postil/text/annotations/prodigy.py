"""Prodigy's JSON Lines: a text with its tokens, and spans that know their tokens. Read by ``spans.py``.

    {"text": "Anna left.", "tokens": [{"text": "Anna", "start": 0, "end": 4, "id": 0, "ws": true}, …],
     "spans": [{"start": 0, "end": 4, "token_start": 0, "token_end": 0, "label": "PER"}], "answer": "accept"}

``token_end`` is the last token of the span, not the one after it.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from postil.text.annotations.alignment import TokenisedText
from postil.text.annotations.annotated import AnnotatedSpan, AnnotatedText, count_document, count_fragments
from postil.text.annotations.spans import one_line
from postil.text.options import WriteOptions
from postil.text.report import Report
from postil.text.splitting.tokenise import tokenise

_OWN = ("text", "tokens", "spans")
_SPAN_KEYS = ("start", "end", "token_start", "token_end", "label")


def write_prodigy(texts: Iterable[AnnotatedText], options: WriteOptions, report: Report) -> Iterator[str]:
    """The lines of a file for ``prodigy db-in`` or as the source of a recipe."""
    for text in texts:
        count_fragments(text, report)
        count_document(text, report)
        fields = {"text": text.text, "tokens": [], **{k: v for k, v in text.fields.items() if k not in _OWN}}
        place = _place(text)
        fields["tokens"] = _tokens(place)
        if text.spans is not None:
            fields["spans"] = [_span(span, place, report) for span in text.spans]
            fields.setdefault("answer", "accept")
        yield one_line(json.dumps(fields, ensure_ascii=False))


def _place(text: AnnotatedText) -> TokenisedText:
    if text.tokens is None:
        tokens = tokenise(text.text)
        return TokenisedText(text.text, tokens.starts, tokens.ends, "")
    return TokenisedText(text.text, [start for start, _ in text.tokens], [end for _, end in text.tokens], "")


def _tokens(place: TokenisedText) -> list[dict[str, Any]]:
    following = [*place.starts[1:], len(place.text)]
    return [
        {"text": place.text[start:end], "start": start, "end": end, "id": number, "ws": end < after}
        for number, (start, end, after) in enumerate(zip(place.starts, place.ends, following, strict=True))
    ]


def _span(span: AnnotatedSpan, place: TokenisedText, report: Report) -> dict[str, Any]:
    fields: dict[str, Any] = {"start": span.start, "end": span.end}
    first, last = place.touched(span.start, span.end)
    if place.fits(span.start, span.end):
        fields |= {"token_start": first, "token_end": last - 1}
    else:
        report.changed["spans that do not fit the tokens, written without token_start and token_end"] += 1
    return {**fields, "label": span.label, **{k: v for k, v in span.fields.items() if k not in _SPAN_KEYS}}
