"""Labelled texts as JSON Lines in Python: the twin of records.c."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast, final

import numpy as np

from postil.arrays import Array, checked_offsets
from postil.errors import IndexRangeError
from postil.kernels.checking import contiguous
from postil.kernels.plain_characters import character_offsets
from postil.kernels.plain_columns import checked_cells, checked_shares
from postil.kernels.plain_tokens import checked_documents

ESCAPED = {code: f"\\u{code:04x}" for code in (0x85, 0x2028, 0x2029)}
"""Legal in JSON, but some programs cut lines at them."""
UNITS = ("characters", "utf16", "bytes")
"""What offsets can count."""


@final
@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Records:
    """D texts with N tokens in B sentences, and what is answered about them: M spans, or labels of tokens."""

    text: bytes  # UTF-8
    documents: Array  # (D, 2) the first byte of each text and the one after its last
    tokens: Array  # (D + 1,) of the texts among the tokens
    cells: Array  # (N, 2) the first byte of each token and the one after its last, in their order
    sentences: Array  # (B + 1,) among the tokens; none is empty, none runs from one text into another
    names: Sequence[str]
    """What spans or tokens are labelled with."""
    spans: Array | None = None
    """(M, 3) first token, end, and place in ``names``, in the order of the text; none overlap. None: labels."""
    probabilities: Array | None = None  # (M,) of spans
    labels: Array | None = None  # (N,) places in ``names``; only without spans
    figures: Array | None = None  # (N,) probabilities of labels
    whole: Array | None = None  # (B,) probabilities of whole labellings
    fields: Sequence[bytes] | None = None
    """What is written of the other fields of each text, in JSON, with a comma and a space before it."""
    units: str = "characters"
    """What offsets count, one of ``UNITS``."""

    def checked(self) -> "Records":
        """Arrays as C expects them."""
        D, N, B = len(self.documents), len(self.cells), len(self.sentences) - 1
        spans = np.zeros((0, 3), np.int64) if self.spans is None else self.spans
        spans = contiguous(spans, np.int64, (len(spans), 3), where="spans")
        if self.fields is not None and len(self.fields) != D:
            raise IndexRangeError("fields", expected=f"{D}, one per text", got=len(self.fields))
        if self.units not in UNITS:
            raise IndexRangeError("units", expected=f"one of {', '.join(UNITS)}", got=self.units)
        sizes = {"probabilities": len(spans), "figures": N, "whole": B}
        given = {name: getattr(self, name) for name in sizes}
        return Records(
            text=self.text,
            documents=checked_documents(self.text, self.documents),
            tokens=checked_offsets(self.tokens, rows=N),
            cells=checked_cells(self.text, self.cells),
            sentences=checked_offsets(self.sentences, rows=N),
            names=self.names,
            spans=spans,
            labels=None if self.labels is None else contiguous(self.labels, np.int64, (N,), where="labels"),
            fields=self.fields,
            units=self.units,
            **{
                name: None if array is None else contiguous(array, np.float64, (sizes[name],), where=name)
                for name, array in given.items()
            },
        )


def json_string(text: str) -> str:
    """A text in quotes, as it is written in JSON Lines."""
    return json.dumps(text, ensure_ascii=False).translate(ESCAPED)


def write_records(records: Records) -> bytes:
    """A line for each text, with its spans; or, where ``labels`` are given, its labels and tokens."""
    r = records.checked()
    _check(r)
    return "".join(_lines(r)).encode()


def _check(r: Records) -> None:
    spans, names = r.spans, len(r.names)
    assert spans is not None, "checked"
    edges = spans[:, :2].ravel()
    ordered = bool((np.diff(edges) >= 0).all() and (spans[:, 0] < spans[:, 1]).all())
    in_range = not len(spans) or (edges[0] >= 0 and edges[-1] <= len(r.cells))
    for d, (first, end) in enumerate(r.documents.tolist()):
        places = r.cells[r.tokens[d] : r.tokens[d + 1]].ravel()
        ordered &= not len(places) or bool(first <= places[0] and places[-1] <= end and (np.diff(places) >= 0).all())
    classes = spans[:, 2] if r.labels is None else np.concatenate([spans[:, 2], r.labels])
    named = not len(classes) or 0 <= classes.min() <= classes.max() < names
    if not (ordered and in_range and named):
        raise IndexRangeError("an index points outside its table", where="records")
    for name in ("probabilities", "figures", "whole"):
        if getattr(r, name) is not None:
            checked_shares(getattr(r, name), name)


def _lines(r: Records) -> Iterator[str]:
    for d, (first, end) in enumerate(r.documents.tolist()):
        text = r.text[first:end]
        low, high = r.tokens[d : d + 2].tolist()
        places = (r.cells[low:high] - first).tolist()
        counted = _counted(text, r.cells[low:high] - first, r.units)
        fields: dict[str, Any] = {"text": text.decode()}
        if r.labels is None:
            fields["spans"] = list(_spans(r, text, places, counted, low, high))
        else:
            fields["labels"] = [r.names[label] for label in r.labels[low:high].tolist()]
        line = json.dumps(fields, ensure_ascii=False).translate(ESCAPED)[:-1]
        line += r.fields[d].decode() if r.fields is not None else ""
        if high > low and r.whole is not None:
            which = slice(*np.searchsorted(r.sentences, [low, high]))
            line += f', "labelling_probabilities": {[round(p, 6) for p in r.whole[which].tolist()]}'
        if high > low and r.labels is not None:
            tokens = list(_tokens(r, text, places, counted, low))
            line += f', "tokens": {json.dumps(tokens, ensure_ascii=False).translate(ESCAPED)}'
        yield line + "}\n"


def _counted(text: bytes, places: Array, units: str) -> list[list[int]]:
    """Places (T, 2) in bytes, counted in other units."""
    if units == "bytes":
        return cast(list[list[int]], places.tolist())
    counted = character_offsets(text, places.ravel())
    if units == "utf16":  # a character of four bytes has two of them
        counted = counted + np.searchsorted(np.flatnonzero(np.frombuffer(text, np.uint8) >= 0xF0), places.ravel())
    return cast(list[list[int]], counted.reshape(-1, 2).tolist())


def _spans(
    r: Records, text: bytes, places: list[list[int]], counted: list[list[int]], low: int, high: int
) -> Iterator[dict[str, Any]]:
    assert r.spans is not None, "checked"
    inside = slice(*np.searchsorted(r.spans[:, 0], [low, high]))
    figures = [None] * len(r.spans) if r.probabilities is None else r.probabilities.tolist()
    for (first, end, kind), figure in zip(r.spans[inside].tolist(), figures[inside], strict=True):
        first, last = first - low, end - 1 - low
        span = {"start": counted[first][0], "end": counted[last][1], "label": r.names[kind]}
        covered = text[places[first][0] : places[last][1]].decode()
        yield span if figure is None else {**span, "text": covered, "probability": round(figure, 6)}


def _tokens(
    r: Records, text: bytes, places: list[list[int]], counted: list[list[int]], low: int
) -> Iterator[dict[str, Any]]:
    assert r.labels is not None, "asked for"
    for number, ((first, last), (start, end)) in enumerate(zip(places, counted, strict=True)):
        place = {"text": text[first:last].decode(), "start": start, "end": end, "id": number}
        figure = {} if r.figures is None else {"probability": round(float(r.figures[low + number]), 6)}
        yield {**place, "label": r.names[r.labels[low + number]], **figure}
