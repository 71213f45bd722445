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
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from postil.errors import DataError
from postil.kernels.plain_records import ESCAPED
from postil.reading import DoubleKey, TooDeep, parsed_json
from postil.text.annotations.annotated import AnnotatedSpan, AnnotatedText, placed_tokens
from postil.text.labels.schemes import SEPARATOR, UNKNOWN, PartialLabel
from postil.text.lines import NumberedLines, shortened
from postil.text.offsets import offsets_in
from postil.text.options import ReadOptions, WriteOptions
from postil.text.report import Report
from postil.text.splitting.segmenter import Tokens

Records = Iterator[tuple[int, dict[str, Any]]]  # the number of the line of each record, and its fields
SPAN_FIELDS = ("spans", "label", "labels", "entities", "annotations")
LABEL_FIELDS = ("labels", "tags", "ner_tags")
NUMBERED = "spans labelled by a number, as no names of labels were given"
NOT_ACCEPTED = ("reject", "ignore")  # values of Prodigy's field "answer"
_SPECIAL = frozenset((*SPAN_FIELDS, *LABEL_FIELDS, "tokens", "columns", "newdoc", "comments", "constraints")) | {
    "labelling_probabilities",
    "probabilities",
    "nbest",
    "spans_above",
}
"""Fields of a record that readers or answers use."""
_OFFSET_NAMES = (("start", "end"), ("start_offset", "end_offset"))


def read_json_lines(lines: NumberedLines, options: ReadOptions, report: Report) -> Iterator[AnnotatedText]:
    """The texts of JSON Lines."""
    return texts_of_records(
        ((number, parse(line, lines.where(number))) for number, line in lines.numbered()), lines, options, report
    )


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
        if "\\u" in text:  # \ud83d without its second half is not a character: it could not be written again
            json.dumps(value, ensure_ascii=False).encode()
        return value
    except TooDeep:
        raise DataError("JSON nested too deeply", expected=expected, where=where) from None
    except DoubleKey as error:
        what, got = "the same key twice in an object", shortened(error.key)
        raise DataError(what, expected="one value", got=got, where=where) from None
    except UnicodeEncodeError as error:
        half = f"\\u{ord(error.object[error.start]):04x}"
        raise DataError("half of a surrogate pair", expected="whole characters", got=half, where=where) from None
    except json.JSONDecodeError as error:
        what = error.msg.lower().removesuffix(" at").removesuffix(" starting")  # its text ends where its place begins
        what, got = f"{what} at character {error.pos + 1}", shortened(text[max(0, error.pos - 20) : error.pos + 20])
        raise DataError(f"not valid JSON: {what}", expected=expected, got=got, where=where) from None
    except ValueError as error:  # numbers with thousands of digits
        what = f"not valid JSON: {str(error).split(';')[0].lower()}"
        raise DataError(what, expected=expected, got=shortened(text), where=where) from None


_ARRAY = "an array of objects: [{…}, {…}]"
_DECODER = json.JSONDecoder()


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
        try:
            _, end = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            end = len(text)  # `decode` says what is wrong
        yield line, decode(text[position:end], where, _ARRAY)
        position = _skip(text, end)
        several = text[position : position + 1] == ","
        if is_array and not several and text[position : position + 1] != "]":
            where = lines.where(line + text.count("\n", counted, position))
            raise DataError("not valid JSON: no comma between objects", expected=_ARRAY, where=where)
        position = _skip(text, position + several)
    where = lines.where(1 + text.count("\n", 0, position))
    if is_array and (position >= len(text) or several):
        raise DataError("not valid JSON: the array has no end", expected=_ARRAY, where=where)
    if rest := text[position + is_array :].strip():
        raise DataError("not valid JSON: text after the array", expected=_ARRAY, got=shortened(rest), where=where)


def _skip(text: str, position: int) -> int:
    while text[position : position + 1] in (" ", "\t", "\n", "\r"):
        position += 1
    return position


def take_apart(
    fields: dict[str, Any], where: str, line: int = 0, options: ReadOptions | None = None, report: Report | None = None
) -> AnnotatedText:
    """Text, tokens, spans or labels of a record; all that is not understood stays in its fields.

    Spans whose label is a number without a name are counted; tokens must have names. With ``every_record`` nobody needs
    the labels of the text.
    """
    options, report = options or ReadOptions(), report or Report()
    fields = _of_layer(fields, options, where) if options.layer is not None else dict(fields)
    given, text = fields.pop("tokens", None), fields.pop("text", None)
    if text is None and is_list_of(given, str):
        text = " ".join(given)
    if not isinstance(text, str):
        got = "no field text" if text is None else f"text: {shown(text)}"
        raise DataError("the text is missing", expected='{"text": "…"}', got=got, where=where)
    places = None if given is None else _token_places(given, text, where)

    @cache
    def tokens() -> Tokens:
        return options.segmenter.tokenise(text) if places is None else placed_tokens(text, places)

    labels = _take_labels(fields, tokens, options, where)
    spans = _take_spans(fields, text, tokens, options, where, report)
    return AnnotatedText(
        text,
        spans if labels is None else None,  # our writer adds labels if spans alone would not give them back
        places,
        columns=_take_columns(fields, tokens, where),
        fields=fields,
        document=fields.pop("newdoc") if isinstance(fields.get("newdoc"), str) else None,
        line=line,
        where=where,
        labels=labels,
        comments=fields.pop("comments") if is_list_of(fields.get("comments"), str) else [],
        token_fields=given,
    )


def _token_places(given: Any, text: str, where: str) -> list[tuple[int, int]]:
    if not isinstance(given, list):
        raise DataError("tokens", expected="a list", got=shown(given), where=where)
    places = [(0, 0)]
    for n, token in enumerate(given):
        start: Any = -1  # if the token does not occur after the one before it and blanks
        end: Any = -1
        if isinstance(token, str):
            at = text.find(token, places[-1][1])
            if at >= 0 and not text[places[-1][1] : at].strip():
                start, end = at, at + len(token)
        elif isinstance(token, dict) and is_number(token.get("start")) and is_number(token.get("end")):
            first, last = token["start"], token["end"]
            # Words of one multiword token share its place, and its text is not theirs.
            around = [other for other in (*given[max(n - 1, 0) : n], *given[n + 1 : n + 2]) if type(other) is dict]
            is_shared = any((other.get("start"), other.get("end")) == (first, last) for other in around)
            if is_shared or token.get("text", text[first:last]) == text[first:last]:
                start, end = first, last
        if not (places[-1][0] <= start <= end <= len(text) and places[-1][1] <= end):
            expected = "tokens in the order of the text, with start and end in characters"
            raise DataError("a token does not occur in the text", expected=expected, got=shown(token), where=where)
        places.append((start, end))
    return places[1:]


def _take_labels(
    fields: dict[str, Any], tokens: Callable[[], Tokens], options: ReadOptions, where: str
) -> list[str] | None:
    names = options.label_names
    for name in LABEL_FIELDS:
        numbers = fields.get(name)
        if numbers and isinstance(numbers, list) and all(map(is_number, numbers)):
            if names is not None:
                fields[name] = [name_of(number, names, where) for number in numbers]
            elif not options.every_record:
                expected = "their names (--label-names)"
                raise DataError("the labels are numbers", expected=expected, got=shown(numbers), where=where)
    found = next((name for name in LABEL_FIELDS if fields.get(name) and is_list_of(fields[name], str)), None)
    if found is None:
        return None
    labels: list[str] = fields.pop(found)
    if len(labels) != len(tokens()):
        expected = f"{len(tokens())}, one a token"
        raise DataError("wrong number of labels", expected=expected, got=len(labels), where=where)
    if not all(labels):
        raise DataError("a label is empty", expected="a label for each token", got=shown(labels), where=where)
    return labels


def _take_columns(fields: dict[str, Any], tokens: Callable[[], Tokens], where: str) -> list[tuple[str, ...]] | None:
    """Extra columns as our writer keeps them: a list of cells for each token."""
    columns = fields.get("columns")
    if not columns or not is_list_of(columns, list) or not all(is_list_of(cells, str) for cells in columns):
        return None
    if len(columns) != len(tokens()) or len({len(cells) for cells in columns}) != 1:
        expected = f"{len(tokens())} lists of one length, one a token"
        raise DataError("columns do not match the tokens", expected=expected, got=len(columns), where=where)
    return [tuple(cells) for cells in fields.pop("columns")]


def _take_spans(
    fields: dict[str, Any], text: str, tokens: Callable[[], Tokens], options: ReadOptions, where: str, report: Report
) -> list[AnnotatedSpan] | None:
    """The labelled stretches, with the other keys of each."""
    names = [name for name in SPAN_FIELDS if is_list_of(fields.get(name), (dict, list))]
    if "annotations" in names and not all(
        isinstance(one, dict) and "start_offset" in one for one in fields["annotations"]
    ):
        names.remove("annotations")  # which could be anything, unless they look like doccano's
    filled = [name for name in names if fields[name]]
    if len(filled) > 1:
        raise DataError("two fields with spans", expected="one of them", got=" and ".join(filled), where=where)
    if names:
        return [_span(value, text, tokens, options, where, report) for value in fields.pop((filled or names)[0])]
    if (odd := fields.get("spans")) is not None:  # null counts as absent
        expected = '[{"start": …, "end": …, "label": …}]'
        raise DataError("spans is not a list of spans", expected=expected, got=shown(odd), where=where)
    return None


def _span(
    value: Any, text: str, tokens: Callable[[], Tokens], options: ReadOptions, where: str, report: Report
) -> AnnotatedSpan:
    other: dict[str, Any] = {}
    if isinstance(value, dict):
        if "token_start" in value and not {"start", "start_offset"} & value.keys():
            # Prodigy: a span that has only its tokens, of which the last is inside.
            first: Any = value["token_start"]
            last: Any = value.get("token_end")
            if is_number(first) and is_number(last) and 0 <= first <= last < len(tokens()):
                value = {**value, "start": tokens().starts[first], "end": tokens().ends[last]}
        names = next((names for names in _OFFSET_NAMES if names[0] in value), _OFFSET_NAMES[0])
        parts: list[Any] = [value.get(name) for name in (*names, "label")]
        other = {key: item for key, item in value.items() if key not in (*names, "label")}
    else:
        parts = list(value)
    if len(parts) == 3:
        if is_number(parts[2]) and options.label_names is not None:
            parts[2] = name_of(parts[2], options.label_names, where)
        elif is_number(parts[2]):
            report.changed[NUMBERED] += not options.every_record
            parts[2] = str(parts[2])
        if any(isinstance(part, float) and part.is_integer() for part in parts[:2]):  # 4.0, from a column with gaps
            parts[:2] = [int(part) if isinstance(part, float) and part.is_integer() else part for part in parts[:2]]
            report.repaired["offsets written as decimals"] += 1
    is_label = len(parts) == 3 and (
        isinstance(parts[2], str) or (parts[2] and is_list_of(parts[2], str) and all(map(str.strip, parts[2])))
    )
    if not is_label or not is_number(parts[0]) or not is_number(parts[1]):
        expected = '{"start": number, "end": number, "label": "…"} or [start, end, "label"]'
        raise DataError("not a span", expected=expected, got=shown(value), where=where)
    start, end, label = parts
    if isinstance(label, list):
        label = PartialLabel(SEPARATOR.join(label)) if len(label) > 1 else str(label[0])
    elif label == UNKNOWN:
        label = PartialLabel(label)
    if not 0 <= start < end <= len(text):
        what, expected = "a span that is empty or outside its text", f"0 <= start < end <= {len(text)}"
        raise DataError(what, expected=f"{expected} (the length of the text)", got=shown(value), where=where)
    if not label.strip():
        raise DataError("a span without a label", expected="a label", got=shown(value), where=where)
    return AnnotatedSpan(start, end, label, other)


def name_of(number: int, names: Mapping[int, str], where: str) -> str:
    """The name of a label that is a number."""
    if number not in names:
        known = f"one of the {len(names)} numbers that have a name"
        raise DataError("the number of a label has no name", expected=known, got=number, where=where)
    return names[number]


def is_list_of(value: Any, kind: type | tuple[type, ...]) -> bool:
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
            fields["spans"] = []
            for span in text.spans:
                label: Any = span.label  # a list of several labels, of which one is right
                if isinstance(span.label, PartialLabel):
                    label = list(span.label.alternatives) or UNKNOWN
                fields["spans"].append({"start": span.start, "end": span.end, "label": label, **span.fields})
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


def token_objects(text: str, places: Iterable[tuple[int, int]]) -> list[dict[str, Any]]:
    """Tokens as Prodigy writes them."""
    return [{"text": text[start:end], "start": start, "end": end, "id": n} for n, (start, end) in enumerate(places)]


def json_line(fields: Mapping[str, Any]) -> str:
    """A JSON object as one line, whatever a program takes for the end of a line."""
    return json.dumps(fields, ensure_ascii=False).translate(ESCAPED) + "\n"


_PLACED = ("spans", "tokens", "spans_above")  # fields whose objects have a start and an end


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
