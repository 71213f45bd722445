"""Labelled texts as JSON Lines, in Python: what the kernel of records.c must return."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import numpy as np

from oracles.columns import checked_shares
from postil.arrays import Array, checked_offsets
from postil.errors import IndexRangeError
from postil.kernels.checking import contiguous
from postil.kernels.plain_records import ESCAPED, Records
from postil.kernels.plain_segmentation import checked_documents
from postil.kernels.plain_text import character_offsets, checked_cells


def write_records(records: Records) -> bytes:
    """A line for each text, with its spans; or, where ``labels`` are given, its labels and tokens."""
    r = _checked_shapes(records)
    _check(r)
    return "".join(_lines(r)).encode()


def _checked_shapes(r: Records) -> Records:
    D, N, B = len(r.documents), len(r.cells), len(r.sentences) - 1
    spans = np.zeros((0, 3), np.int64) if r.spans is None else r.spans
    if r.fields is not None and len(r.fields) != D:
        raise IndexRangeError("fields", expected=f"{D}, one per text", got=len(r.fields))
    sizes = {"probabilities": len(spans), "figures": N, "whole": B}
    figures: dict[str, Any] = {
        name: contiguous(getattr(r, name), np.float64, (size,), where=name)
        for name, size in sizes.items()
        if getattr(r, name) is not None
    }
    return replace(
        r,
        documents=checked_documents(r.text, r.documents),
        tokens=checked_offsets(r.tokens, rows=N),
        cells=checked_cells(r.text, r.cells),
        sentences=checked_offsets(r.sentences, rows=N),
        spans=contiguous(spans, np.int64, (len(spans), 3), where="spans"),
        labels=None if r.labels is None else contiguous(r.labels, np.int64, (N,), where="labels"),
        **figures,
    )


def _check(r: Records) -> None:
    spans, names = r.spans, len(r.names)
    assert spans is not None, "checked"
    ordered = bool((np.diff(spans[:, 0]) >= 0).all() and (spans[:, 0] < spans[:, 1]).all())
    in_range = not len(spans) or (spans[:, :2].min() >= 0 and spans[:, :2].max() <= len(r.cells))
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
        if r.lists_tokens or (r.is_layer and r.labels is not None):
            fields["tokens"] = list(_tokens(r, text, places, counted, low))
        if r.labels is None:
            fields["spans"] = list(_spans(r, text, places, counted, low, high))
        elif not r.is_layer:
            fields["labels"] = [r.names[label] for label in r.labels[low:high].tolist()]
        if r.is_layer:
            del fields["text"]
        line = json.dumps(fields, ensure_ascii=False).translate(ESCAPED)[:-1]
        line += r.fields[d].decode() if r.fields is not None else ""
        if high > low and r.whole is not None:
            which = slice(*np.searchsorted(r.sentences, [low, high]))
            line += f', "labelling_probabilities": {[round(p, 6) for p in r.whole[which].tolist()]}'
        if high > low and r.labels is not None and not (r.lists_tokens or r.has_layers or r.is_layer):
            tokens = list(_tokens(r, text, places, counted, low))
            line += f', "tokens": {json.dumps(tokens, ensure_ascii=False).translate(ESCAPED)}'
        yield f", {line[1:]}\n" if r.is_layer else line + "}\n"


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
        span |= {} if r.groups is None else {"group": r.groups[kind]}
        covered = text[places[first][0] : places[last][1]].decode()
        yield span if figure is None else {**span, "text": covered, "probability": round(figure, 6)}


def _tokens(
    r: Records, text: bytes, places: list[list[int]], counted: list[list[int]], low: int
) -> Iterator[dict[str, Any]]:
    for number, ((first, last), (start, end)) in enumerate(zip(places, counted, strict=True)):
        place = {"text": text[first:last].decode(), "start": start, "end": end, "id": number}
        figure = {} if r.figures is None else {"probability": round(float(r.figures[low + number]), 6)}
        label = {} if r.labels is None else {"label": r.names[r.labels[low + number]]}
        yield {**place, **label, **figure}
