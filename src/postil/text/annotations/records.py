"""JSON records: one object a line or the items of one array, with a text and labelled stretches of its characters.

    our own     {"text": "…", "spans": [{"start": 0, "end": 5, "label": "LOC"}]}
    spaCy       ["…", {"entities": [[0, 5, "LOC"]]}]
    doccano     {"text": "…", "label": [[0, 5, "LOC"]]}    also "labels"; "entities" and "annotations" with start_offset
    Prodigy     our own with "tokens": [{"text": "…", "start": 0, "end": 5, "id": 0}, …] and "answer"
    per token   {"tokens": ["…"], "labels": ["O", …]}      with or without "text"
    layers      {"text": "…", "layers": {"names": {"spans": […]}, "upos": {"tokens": [{"start": 0, …}]}}}

The label of a span may be a list, of which one is right, or "?": nothing is known about its tokens. A record that
brings its tokens is one sentence; a raw text is tokenised and cut into sentences. Rows of a table are such records too
(`tables`).
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from postil.errors import DataError
from postil.kernels.plain_records import ESCAPED
from postil.reading import DoubleKey, TooDeep, parsed_json
from postil.text.annotations.annotated import AnnotatedSpan, AnnotatedText, placed_tokens
from postil.text.labels.schemes import SEPARATOR, UNKNOWN, PartialLabel
from postil.text.lines import NumberedLines, shortened
from postil.text.offsets import offsets_in
from postil.text.options import ReadOptions, WriteOptions
from postil.text.report import Report
from postil.text.splitting.segmenter import Segmenter, Tokens

Records = Iterator[tuple[int, dict[str, Any]]]
"""The number of the line of each record, and its fields."""
SPAN_FIELDS = ("spans", "label", "labels", "entities", "annotations")
LABEL_FIELDS = ("labels", "tags", "ner_tags")
NUMBERED = "spans labelled by a number, as no names of labels were given"
NOT_ACCEPTED = ("reject", "ignore")
"""Values of Prodigy's field "answer"."""
_SPECIAL = frozenset((*SPAN_FIELDS, *LABEL_FIELDS, "tokens", "columns", "newdoc", "comments", "constraints")) | {
    "labelling_probabilities",
    "probabilities",
    "nbest",
    "spans_above",
}
"""Fields of a record that a reader or an answer knows."""
_OFFSET_NAMES = (("start", "end"), ("start_offset", "end_offset"))


def read_json_lines(lines: NumberedLines, options: ReadOptions, report: Report) -> Iterator[AnnotatedText]:
    """The texts of JSON Lines."""
    records = (
        (number, parse(line, lines.where(number)))
        for first, batch in lines
        for number, line in enumerate(batch, first)
        if line
    )
    return texts_of_records(records, lines, options, report)


def read_json_array(lines: NumberedLines, options: ReadOptions, report: Report) -> Iterator[AnnotatedText]:
    """The texts of one JSON array."""
    records = ((number, as_record(value, lines.where(number))) for number, value in json_items(lines, "{["))
    return texts_of_records(records, lines, options, report)


def texts_of_records(
    records: Records, lines: NumberedLines, options: ReadOptions, report: Report
) -> Iterator[AnnotatedText]:
    """The text of each record; one that was not accepted is left out and counted."""
    for number, fields in records:
        answer = fields.get("answer")
        if answer in NOT_ACCEPTED and not options.every_record:
            report.dropped[f"records whose answer is {answer!r}"] += 1
        else:
            yield take_apart(fields, lines.where(number), number, options, report)


# ------------------------------------------------------------------------------------------------------- JSON to values


def parse(line: str, where: str) -> dict[str, Any]:
    """The JSON object of a line."""
    return as_record(decode(line, where, "one object a line"), where)


def is_plain_record(record: dict[str, Any]) -> bool:
    """Whether a JSON object has a text, and otherwise only fields of the user's own."""
    return isinstance(record.get("text"), str) and record.keys().isdisjoint(_SPECIAL)


def as_record(value: Any, where: str) -> dict[str, Any]:
    """A JSON value as a record: an object, or spaCy's ["text", {"entities": …}]."""
    if isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], dict):
        value = {"text": value[0]} | value[1]
    if not isinstance(value, dict):
        expected = '{"text": …} or ["text", {"entities": …}]'
        raise DataError("not a JSON object", expected=expected, got=shown(value), where=where)
    return value


def decode(text: str, where: str, expected: str) -> Any:
    """The JSON value that a text is. Deep nesting, double keys and half characters are also errors."""
    try:
        value = parsed_json(text, finite=False)
    except TooDeep:
        raise DataError("JSON nested too deeply", expected=expected, where=where) from None
    except DoubleKey as error:
        what, got = "the same key twice in an object", shortened(error.key)
        raise DataError(what, expected="one value", got=got, where=where) from None
    except ValueError as error:  # also numbers with thousands of digits
        what, got = _json_mistake(error, text)
        raise DataError(f"not valid JSON: {what}", expected=expected, got=got, where=where) from None
    if "\\u" in text:
        _refuse_half_characters(value, where)
    return value


def _json_mistake(error: ValueError, line: str) -> tuple[str, str]:
    """The parser's message, and the text around the error."""
    if not isinstance(error, json.JSONDecodeError):
        return str(error).split(";")[0].lower(), shortened(line)
    near = line[max(0, error.pos - 20) : error.pos + 20]
    what = error.msg.lower().removesuffix(" at").removesuffix(" starting")  # Python's text ends where its place begins
    return f"{what} at character {error.pos + 1}", shortened(near)


def _refuse_half_characters(value: Any, where: str) -> None:
    """\\ud83d without its second half is not a character: it could not be written again."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = f"\\u{ord(error.object[error.start]):04x}"
        raise DataError("half of a surrogate pair", expected="whole characters", got=half, where=where) from None


_ARRAY = "an array of objects: [{…}, {…}]"
_EDGE = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]', re.DOTALL)
"""A string, in which brackets mean nothing, or a bracket."""


def json_items(lines: NumberedLines, brackets: str = "{") -> Iterator[tuple[int, Any]]:
    """Number of the first line and value of each object of a JSON array or of JSON Lines; of lists for ``{[``."""
    text = "\n".join(line for _, batch in lines for line in batch)
    position = _skip(text, 0)
    is_array = text[position : position + 1] == "["
    position = _skip(text, position + is_array)
    line, counted, several = 1, 0, False
    while position < len(text) and text[position] != "]":
        line += text.count("\n", counted, position)
        counted = position
        where = lines.where(line)
        if text[position] not in brackets:
            raise DataError("not a JSON object", expected=_ARRAY, got=shortened(text[position:]), where=where)
        end = _end_of_item(text, position)
        yield line, decode(text[position:end], where, _ARRAY)
        position = _skip(text, end)
        several = text[position : position + 1] == ","
        if is_array and not several and text[position : position + 1] != "]":
            where = lines.where(line + text.count("\n", counted, position))
            raise DataError("not valid JSON: no comma between objects", expected=_ARRAY, where=where)
        position = _skip(text, position + several)
    _check_end(text, position, is_array, several, lines)


def _check_end(text: str, position: int, is_array: bool, comma: bool, lines: NumberedLines) -> None:
    where = lines.where(1 + text.count("\n", 0, position))
    if is_array and (position >= len(text) or comma):
        raise DataError("not valid JSON: the array has no end", expected=_ARRAY, where=where)
    rest = text[position + is_array :].strip()
    if rest:
        raise DataError("not valid JSON: text after the array", expected=_ARRAY, got=shortened(rest), where=where)


def _skip(text: str, position: int) -> int:
    while text[position : position + 1] in (" ", "\t", "\n", "\r"):
        position += 1
    return position


def _end_of_item(text: str, start: int) -> int:
    """The end of the object or list that begins at ``start``.

    It is that of the text if the item has none: the decoder says what is wrong.
    """
    depth = 0
    for match in _EDGE.finditer(text, start):
        edge = match.group()
        depth += 1 if edge in ("{", "[") else -1 if edge in ("}", "]") else 0
        if not depth:
            return match.end()
    return len(text)


# ------------------------------------------------------------------------------------------------------ values to texts


def take_apart(
    fields: dict[str, Any], where: str, line: int = 0, options: ReadOptions | None = None, report: Report | None = None
) -> AnnotatedText:
    """Text, tokens, spans or labels of a record; all that is not understood stays in its fields.

    Spans whose label is a number without a name are counted; tokens must have names. With ``every_record`` nobody needs
    the labels of the text.
    """
    options, report = options or ReadOptions(), report or Report()
    fields = _of_layer(fields, options, where) if options.layer is not None else dict(fields)
    given = fields.pop("tokens", None)
    text = _text(fields.pop("text", None), given, where)
    places = None if given is None else _token_places(text, given, where)
    naming = _Naming(options.label_names, None if options.every_record else report.changed)
    labels = _take_labels(fields, text, places, naming, options.segmenter, where)
    spans = _take_spans(fields, text, places, naming, options.segmenter, report, where)
    columns = _take_columns(fields, text, places, options.segmenter, where)
    document = fields.pop("newdoc") if isinstance(fields.get("newdoc"), str) else None
    comments = fields.pop("comments") if _is_list_of(fields.get("comments"), str) else []
    return AnnotatedText(
        text,
        spans if labels is None else None,  # our writer adds labels if spans alone would not give them back
        places,
        fields=fields,
        document=document,
        line=line,
        where=where,
        labels=labels,
        columns=columns,
        comments=comments,
        token_fields=given,
    )


def _text(text: Any, given: Any, where: str) -> str:
    if text is None and _is_list_of(given, str):
        return " ".join(given)
    if not isinstance(text, str):
        got = "no field text" if text is None else f"text: {shown(text)}"
        raise DataError("the text is missing", expected='{"text": "…"}', got=got, where=where)
    return text


def _token_places(text: str, given: Any, where: str) -> list[tuple[int, int]]:
    if not isinstance(given, list):
        raise DataError("tokens", expected="a list", got=shown(given), where=where)
    places = []
    before = (0, 0)
    for token in given:
        start, end = _token_place(token, text, before[1])
        if not (before[0] <= start <= end <= len(text) and before[1] <= end):
            raise DataError(
                "a token does not occur in the text",
                expected="tokens in the order of the text, with start and end in characters",
                got=shown(token),
                where=where,
            )
        before = (start, end)
        places.append(before)
    return places


def _token_place(token: Any, text: str, position: int) -> tuple[int, int]:
    """The position of a token, (-1, -1) if it does not occur after the previous token and blanks."""
    if isinstance(token, str):
        at = text.find(token, position)
        fits = at >= 0 and not text[position:at].strip()
        return (at, at + len(token)) if fits else (-1, -1)
    if not isinstance(token, dict):
        return -1, -1
    start: Any = token.get("start")
    end: Any = token.get("end")
    if not is_number(start) or not is_number(end) or token.get("text", text[start:end]) != text[start:end]:
        return -1, -1
    return start, end


class _Naming(NamedTuple):
    """Names of the labels that are numbers, and where those without one are counted."""

    names: Mapping[int, str] | None
    counts: Counter[str] | None

    def name(self, label: Any, where: str) -> Any:
        """The name of a number; anything else as it is."""
        if not is_number(label):
            return label
        if self.names is not None:
            return name_of(label, self.names, where)
        if self.counts is not None:
            self.counts[NUMBERED] += 1
        return str(label)


def name_of(number: int, names: Mapping[int, str], where: str) -> str:
    """The name of a label that is a number."""
    if number not in names:
        known = f"one of the {len(names)} numbers that have a name"
        raise DataError("the number of a label has no name", expected=known, got=number, where=where)
    return names[number]


def _take_spans(
    fields: dict[str, Any],
    text: str,
    places: list[tuple[int, int]] | None,
    naming: _Naming,
    segmenter: Segmenter,
    report: Report,
    where: str,
) -> list[AnnotatedSpan] | None:
    """The labelled stretches, with the other keys of each."""
    names = [name for name in SPAN_FIELDS if _holds_spans(name, fields.get(name))]
    filled = [name for name in names if fields[name]]
    if len(filled) > 1:
        raise DataError("two fields with spans", expected="one of them", got=" and ".join(filled), where=where)
    if not names:
        odd = fields.get("spans")  # null counts as absent
        if odd is not None:
            expected = '[{"start": …, "end": …, "label": …}]'
            raise DataError("spans is not a list of spans", expected=expected, got=shown(odd), where=where)
        return None
    spans = []
    for value in fields.pop((filled or names)[0]):
        if isinstance(value, dict) and "token_start" in value and not {"start", "start_offset"} & value.keys():
            value = _with_offsets(value, _tokens(text, places, segmenter))
        spans.append(_span(value, text, naming, report, where))
    return spans


def _tokens(text: str, places: list[tuple[int, int]] | None, segmenter: Segmenter) -> Tokens:
    return segmenter.tokenise(text) if places is None else placed_tokens(text, places)


def _holds_spans(name: str, value: Any) -> bool:
    """Whether a field has spans; annotations could be anything, so they must look like doccano's."""
    if name == "annotations":
        return _is_list_of(value, dict) and all("start_offset" in one for one in value)
    return _is_list_of(value, (dict, list))


def _with_offsets(value: dict[str, Any], tokens: Tokens) -> dict[str, Any]:
    """A span of Prodigy that has only its tokens, of which the last is inside, with its characters."""
    first: Any = value["token_start"]
    last: Any = value.get("token_end")
    if not (is_number(first) and is_number(last) and 0 <= first <= last < len(tokens)):
        return value
    return {**value, "start": tokens.starts[first], "end": tokens.ends[last]}


def _span(value: Any, text: str, naming: _Naming, report: Report, where: str) -> AnnotatedSpan:
    """A span from an object or a triple."""
    other: dict[str, Any] = {}
    if isinstance(value, dict):
        names = next((names for names in _OFFSET_NAMES if names[0] in value), _OFFSET_NAMES[0])
        parts: list[Any] = [value.get(name) for name in (*names, "label")]
        other = {key: item for key, item in value.items() if key not in (*names, "label")}
    else:
        parts = list(value)
    if len(parts) == 3:
        parts[2] = naming.name(parts[2], where)
        decimals = [isinstance(part, float) and part.is_integer() for part in parts[:2]]
        if any(decimals):  # 4.0, from a column with gaps
            parts[:2] = [int(part) if isinstance(part, float) and part.is_integer() else part for part in parts[:2]]
            report.repaired["offsets written as decimals"] += 1
    if len(parts) != 3 or not is_number(parts[0]) or not is_number(parts[1]) or not _is_span_label(parts[2]):
        expected = '{"start": number, "end": number, "label": "…"} or [start, end, "label"]'
        raise DataError("not a span", expected=expected, got=shown(value), where=where)
    label = parts[2]
    if isinstance(label, list):
        label = PartialLabel(SEPARATOR.join(label)) if len(label) > 1 else str(label[0])
    elif label == UNKNOWN:
        label = PartialLabel(label)
    start, end = parts[:2]
    if not 0 <= start < end <= len(text):
        expected = f"0 <= start < end <= {len(text)} (the length of the text)"
        raise DataError("a span that is empty or outside its text", expected=expected, got=shown(value), where=where)
    if not label.strip():
        raise DataError("a span without a label", expected="a label", got=shown(value), where=where)
    return AnnotatedSpan(start, end, label, other)


def _is_span_label(value: Any) -> bool:
    """A label, or a list of labels of which one is right."""
    return isinstance(value, str) or (bool(value) and _is_list_of(value, str) and all(map(str.strip, value)))


def _take_labels(
    fields: dict[str, Any],
    text: str,
    places: list[tuple[int, int]] | None,
    naming: _Naming,
    segmenter: Segmenter,
    where: str,
) -> list[str] | None:
    """One label for each given token."""
    for field_name in LABEL_FIELDS if naming != (None, None) else ():
        numbers = fields.get(field_name)
        if numbers and isinstance(numbers, list) and all(map(is_number, numbers)):
            if naming.names is None:
                expected = "their names (--label-names)"
                raise DataError("the labels are numbers", expected=expected, got=shown(numbers), where=where)
            fields[field_name] = [name_of(number, naming.names, where) for number in numbers]
    name = next((name for name in LABEL_FIELDS if fields.get(name) and _is_list_of(fields[name], str)), None)
    if name is None:
        return None
    labels: list[str] = fields.pop(name)
    number = len(_tokens(text, places, segmenter))
    if len(labels) != number:
        raise DataError("wrong number of labels", expected=f"{number}, one a token", got=len(labels), where=where)
    if not all(labels):
        raise DataError("a label is empty", expected="a label for each token", got=shown(labels), where=where)
    return labels


def _take_columns(
    fields: dict[str, Any], text: str, places: list[tuple[int, int]] | None, segmenter: Segmenter, where: str
) -> list[tuple[str, ...]] | None:
    """Extra columns as our writer keeps them: a list of cells for each token."""
    columns = fields.get("columns")
    if not columns or not _is_list_of(columns, list) or not all(_is_list_of(cells, str) for cells in columns):
        return None
    number = len(_tokens(text, places, segmenter))
    if len(columns) != number or len({len(cells) for cells in columns}) != 1:
        expected = f"{number} lists of one length, one a token"
        raise DataError("columns do not match the tokens", expected=expected, got=len(columns), where=where)
    return [tuple(cells) for cells in fields.pop("columns")]


def _is_list_of(value: Any, kind: type | tuple[type, ...]) -> bool:
    return isinstance(value, list) and all(isinstance(item, kind) for item in value)


def is_number(value: Any) -> bool:
    return type(value) is int  # True is an int too


def shown(value: Any) -> str:
    """A JSON value, cut so that it fits into a message."""
    return shortened(json.dumps(value, ensure_ascii=False))


def _of_layer(fields: dict[str, Any], options: ReadOptions, where: str) -> dict[str, Any]:
    """The record with the labels of one layer and no others; a record without layers as it is.

    Tokens of a layer that are those into which the text is cut are left out: then the text is cut into sentences, as it
    was before it was labelled.
    """
    layers, layer = fields.get("layers"), options.layer
    if not isinstance(layers, dict):
        return dict(fields)
    content = layers.get(layer)
    if not isinstance(content, dict):
        got = ", ".join(layers) or "none"
        raise DataError(f"no layer {layer!r}", expected="one of the layers of the record", got=got, where=where)
    others = {name: value for name, value in fields.items() if name not in (*SPAN_FIELDS, *LABEL_FIELDS, "layers")}
    tokens = content.get("tokens")
    if tokens is None:
        return others | {"spans": content.get("spans")}
    if not isinstance(tokens, list):
        raise DataError(f"tokens of the layer {layer!r}", expected="a list", got=shortened(repr(tokens)), where=where)
    for token in tokens:
        if not isinstance(token, dict) or not isinstance(token.get("label"), str):
            what, expected = f"a token of the layer {layer!r}", '{"start": …, "end": …, "label": "…"}'
            raise DataError(what, expected=expected, got=shortened(repr(token)), where=where)
    if not tokens:
        return others | {"spans": []}
    labels = [token["label"] for token in tokens]
    text = fields.get("text")
    if "tokens" not in fields and isinstance(text, str):
        cut = options.segmenter.tokenise(text)
        if [*zip(cut.starts, cut.ends, strict=True)] == [(token.get("start"), token.get("end")) for token in tokens]:
            return others | {"labels": labels}
    places = [{name: token[name] for name in ("text", "start", "end") if name in token} for token in tokens]
    return others | {"tokens": places, "labels": labels}


# -------------------------------------------------------------------------------------------------------------- writing


def write_json_lines(texts: Iterable[AnnotatedText], options: WriteOptions, report: Report) -> Iterator[str]:
    """The lines of a JSON Lines file of our own."""
    for text in texts:
        fields: dict[str, Any] = {"text": text.text}
        if text.token_fields is not None and text.tokens is not None:
            given = text.token_fields
            fields["tokens"] = given if len(given) == len(text.tokens) else token_objects(text.text, text.tokens)
        if text.labels is not None:
            fields["labels"] = text.labels
        elif text.spans is not None:
            fields["spans"] = [
                {**span.key._asdict(), "label": _written(span.label), **span.fields} for span in text.spans
            ]
        if text.columns is not None:
            fields["columns"] = [list(cells) for cells in text.columns]
        if text.document is not None:
            fields["newdoc"] = text.document
        if text.comments:
            fields["comments"] = list(text.comments)
        fields |= text.fields
        if options.offsets != "characters":
            fields = _counted(fields, text.text, options.offsets)
        yield json_line(fields)


def _written(label: str) -> str | list[str]:
    """The label of a span; of several, of which one is right, a list."""
    return list(label.alternatives) or UNKNOWN if isinstance(label, PartialLabel) else label


def token_objects(text: str, places: Iterable[tuple[int, int]]) -> list[dict[str, Any]]:
    """Tokens as Prodigy writes them."""
    return [{"text": text[start:end], "start": start, "end": end, "id": n} for n, (start, end) in enumerate(places)]


def json_line(fields: Mapping[str, Any]) -> str:
    """A JSON object as one line, whatever a program takes for the end of a line."""
    return json.dumps(fields, ensure_ascii=False).translate(ESCAPED) + "\n"


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
