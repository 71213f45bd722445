"""JSON Lines: one JSON object a line, with a text and labelled stretches of its characters.

The same records may be the items of one JSON array, or the rows of a table (`span_table`).

    our own     {"text": "…", "spans": [{"start": 0, "end": 5, "label": "LOC"}]}
    spaCy       ["…", {"entities": [[0, 5, "LOC"]]}]
    doccano     {"text": "…", "label": [[0, 5, "LOC"]]}    also "labels"; "entities" and "annotations" with start_offset
    Prodigy     our own with "tokens": [{"text": "…", "start": 0, "end": 5, "id": 0}, …] and "answer"
    per token   {"tokens": ["…"], "labels": ["O", …]}      with or without "text"

The label of a span may be a list, of which one is right, or "?": nothing is known about its tokens.

A record that brings its tokens is one sentence; a raw text is tokenised and cut into sentences.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from postil.kernels.plain_records import ESCAPED
from postil.text.annotations.alignment import CharacterSpan, TokenisedText
from postil.text.annotations.assembly import Assembler, first_tokens, place_of, records_of
from postil.text.annotations.json_items import json_items
from postil.text.annotations.records import NOT_ACCEPTED, Content, Record, as_record, parse, take_apart
from postil.text.annotations.span_table import table_records
from postil.text.document import Sentence
from postil.text.labels.partial_label import UNKNOWN, looks_like_mark
from postil.text.labels.schemes import spans_from_labels
from postil.text.lines import NumberedLines
from postil.text.offsets import offsets_in
from postil.text.options import ReadOptions, WriteOptions
from postil.text.report import Report
from postil.text.splitting.characters import characters
from postil.text.splitting.tokenise import tokenise

Records = Iterator[tuple[int, dict[str, Any]]]
"""The number of the line of each record, and its fields."""


def json_lines(lines: NumberedLines, options: ReadOptions) -> Records:
    """The objects of JSON Lines."""
    for first, batch in lines:
        for number, line in enumerate(batch, first):
            if line:
                yield number, parse(line, lines.where(number))


def json_array(lines: NumberedLines, options: ReadOptions) -> Records:
    """The items of a JSON array."""
    for number, value in json_items(lines, "{["):
        yield number, as_record(value, lines.where(number))


def contents_of(
    records: Records, lines: NumberedLines, options: ReadOptions, report: Report
) -> Iterator[tuple[int, Content]]:
    """The parts of each record; one that was not accepted is left out and counted."""
    for number, fields in records:
        where = lines.where(number)
        fields = _of_layer(fields, where, options)
        answer = fields.get("answer")
        if answer in NOT_ACCEPTED and not options.every_record:
            report.dropped[f"records whose answer is {answer!r}"] += 1
            continue
        numbers = None if options.every_record else report.changed  # who tags a text needs none of its labels
        cut = characters if options.characters else tokenise
        yield number, take_apart(fields, where, cut, options.label_names, numbers)


def read_jsonl(
    lines: NumberedLines,
    options: ReadOptions,
    report: Report,
    source: Callable[[NumberedLines, ReadOptions], Records] = json_lines,
) -> Iterator[Sentence]:
    """The sentences of records. Spans that must not be taken are all listed before the error is raised."""
    assembler = Assembler(lines, options, report)
    if lines.opening is not None:
        _note_first(assembler, lines.opening)
    for number, content in contents_of(source(lines, options), lines, options, report):
        yield from assembler.sentences(content, number)
    assembler.finish()


def read_json(lines: NumberedLines, options: ReadOptions, report: Report) -> Iterator[Sentence]:
    """The sentences of a JSON array of records."""
    return read_jsonl(lines, options, report, json_array)


def read_span_table(lines: NumberedLines, options: ReadOptions, report: Report) -> Iterator[Sentence]:
    """The sentences of a table of texts with spans."""
    return read_jsonl(lines, options, report, table_records)


def _note_first(assembler: Assembler, opening: NumberedLines) -> None:
    """Note whether the first record of the source, with which these lines do not begin, has labels."""
    for first, batch in opening:
        for number, line in enumerate(batch, first):
            if line and assembler.labelled is None:
                where = opening.where(number)
                names = assembler.options.label_names
                fields = _of_layer(parse(line, where), where, assembler.options)
                assembler.check_labelled(take_apart(fields, where, names=names), where)


def _of_layer(fields: dict[str, Any], where: str, options: ReadOptions) -> dict[str, Any]:
    """The record with the labels of the layer that is asked for."""
    if options.layer is None:
        return fields
    from postil.text.annotations.layers import of_layer  # few files have layers

    return of_layer(fields, options.layer, where, characters if options.characters else tokenise)


def write_jsonl(sentences: Iterable[Sentence], options: WriteOptions, report: Report) -> Iterator[str]:
    """The lines of a JSON Lines file: one for each sentence, or for all the sentences of one record."""
    for group in records_of(sentences):
        rest = group[0].rest
        record = rest if isinstance(rest, Record) else Record({}, tokens=[])
        fields = _fields(group, record, options.scheme, report)
        if options.offsets != "characters":
            fields = _counted(fields, fields["text"], options.offsets)
        yield one_line(json.dumps(fields, ensure_ascii=False))


def one_line(value: str) -> str:
    """A JSON value as one line, whatever a program takes for the end of a line."""
    return value.translate(ESCAPED) + "\n"


def _fields(sentences: list[Sentence], record: Record, scheme: str, report: Report) -> dict[str, Any]:
    first = sentences[0]
    place = place_of(sentences, report)
    fields: dict[str, Any] = {"text": place.text}
    if record.tokens is not None:
        fields["tokens"] = record.tokens if len(record.tokens) == len(place.starts) else _token_fields(place)
    if first.labels is not None:
        fields |= _label_fields(sentences, place, record, scheme)
    if first.columns is not None:
        fields["columns"] = [list(cells) for sentence in sentences for cells in sentence.columns or ()]
    if first.document is not None:
        fields["newdoc"] = first.document
    if first.comments:
        fields["comments"] = first.comments
    return fields | record.fields


_PLACED = ("spans", "tokens", "spans_above")
"""Fields whose objects have a start and an end."""


def _counted(fields: dict[str, Any], text: str, units: str) -> dict[str, Any]:
    """The fields of a record, or of a layer of it, with offsets that count other units than characters."""
    counted = dict(fields)
    for name in _PLACED:
        items: Any = fields.get(name)
        if isinstance(items, list) and items and all(isinstance(item, dict) and "start" in item for item in items):
            ends = offsets_in(units, text, [item[end] for item in items for end in ("start", "end")]).tolist()
            pairs = zip(items, ends[::2], ends[1::2], strict=True)
            counted[name] = [{**item, "start": start, "end": end} for item, start, end in pairs]
    if isinstance(fields.get("layers"), dict):
        layers: dict[str, Any] = fields["layers"]
        counted["layers"] = {
            name: _counted(layer, text, units) if isinstance(layer, dict) else layer for name, layer in layers.items()
        }
    return counted


def _token_fields(place: TokenisedText) -> list[dict[str, Any]]:
    """Tokens as Prodigy writes them."""
    return [
        {"text": place.text[start:end], "start": start, "end": end, "id": number}
        for number, (start, end) in enumerate(zip(place.starts, place.ends, strict=True))
    ]


def _label_fields(sentences: list[Sentence], place: TokenisedText, record: Record, scheme: str) -> dict[str, list[Any]]:
    """Spans; labels as they are where there is no scheme or not all are known, or where a span has no characters."""
    labels = [label for sentence in sentences for label in sentence.labels or ()]
    if scheme == "none" or any(map(looks_like_mark, labels)):
        return {"labels": labels}
    spans = []
    for first, sentence in zip(first_tokens(sentences), sentences, strict=True):
        for label, start, end in spans_from_labels(sentence.labels or (), scheme):
            spans.append(CharacterSpan(place.starts[first + start], place.ends[first + end - 1], label))
            if label == UNKNOWN or place.touched(*spans[-1][:2]) != (first + start, first + end):
                return {"labels": labels}
    return {"spans": [{**span._asdict(), **record.span_fields.get(span, {})} for span in spans]}
