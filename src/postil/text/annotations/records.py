"""One line of JSON to text, tokens, spans and labels, whichever tool wrote it; every field is checked."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from postil.errors import DataError
from postil.reading import DoubleKey, TooDeep, parsed_json
from postil.text.annotations.alignment import CharacterSpan
from postil.text.document import Rest
from postil.text.labels.partial_label import SEPARATOR, UNKNOWN, PartialLabel
from postil.text.lines import shortened
from postil.text.splitting.tokenise import Tokens, tokenise

SPAN_FIELDS = ("spans", "label", "labels", "entities", "annotations")
LABEL_FIELDS = ("labels", "tags", "ner_tags")
NUMBERED = "spans labelled by a number, as no names of labels were given"
NOT_ACCEPTED = ("reject", "ignore")
"""Values of Prodigy's field "answer"."""
_OFFSET_NAMES = (("start", "end"), ("start_offset", "end_offset"))


@dataclass(frozen=True, slots=True)
class Record(Rest):
    """What a JSON object holds besides text and labels. All sentences of the object share it."""

    fields: dict[str, Any]
    """Fields of the user's own, such as id and meta."""
    span_fields: dict[CharacterSpan, dict[str, Any]] = field(default_factory=dict)
    """Other keys of single spans."""
    tokens: list[Any] | None = None
    """The tokens as they were given; None: the text was tokenised here."""

    def lost(self) -> Mapping[str, int]:
        lost = {f"JSON field {name!r}": 1 for name in self.fields}
        return {**lost, "other keys of spans": len(self.span_fields)}


class Content(NamedTuple):
    """The parts of a JSON object, which has spans or labels but not both."""

    tokens: Tokens
    spans: list[CharacterSpan] | None
    labels: list[str] | None
    columns: list[tuple[str, ...]] | None
    document: str | None
    comments: list[str]
    record: Record
    borders: frozenset[int] = frozenset()
    """Tokens at which a sentence begins, whatever the rules for sentences say."""


def parse(line: str, where: str) -> dict[str, Any]:
    """The JSON object of a line."""
    return as_record(decode(line, where, "one object a line"), where)


def as_record(value: Any, where: str) -> dict[str, Any]:
    """A JSON value as a record: an object, or spaCy's ["text", {"entities": …}]."""
    if isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], dict):
        value = {"text": value[0]} | value[1]
    if not isinstance(value, dict):
        expected = '{"text": …} or ["text", {"entities": …}]'
        raise DataError("not a JSON object", expected=expected, got=_shown(value), where=where)
    return value


def decode(text: str, where: str, expected: str) -> Any:
    """The JSON value that a text is. Deep nesting, double keys and half characters are mistakes, too."""
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
    """What the parser says, and the place where it says it."""
    if not isinstance(error, json.JSONDecodeError):
        return str(error).split(";")[0].lower(), shortened(line)
    near = line[max(0, error.pos - 20) : error.pos + 20]
    what = error.msg.lower().removesuffix(" at").removesuffix(" starting")  # Python's text ends where its place begins
    return f"{what} at character {error.pos + 1}", shortened(near)


def _refuse_half_characters(value: Any, where: str) -> None:
    """\\ud83d without its second half is no character: it could not be written again."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = f"\\u{ord(error.object[error.start]):04x}"
        raise DataError("half of a surrogate pair", expected="whole characters", got=half, where=where) from None


def take_apart(
    fields: dict[str, Any],
    where: str,
    cut: Callable[[str], Tokens] = tokenise,
    names: Mapping[int, str] | None = None,
    numbers: Counter[str] | None = None,
) -> Content:
    """Text, tokens, spans or labels of a record; all that is not understood stays in its ``record``.

    ``cut`` makes tokens of a text that comes without them, ``names`` are those of labels that are numbers. Spans whose
    number has no name are counted in ``numbers``; tokens must have names. Without ``numbers`` nobody needs names.
    """
    fields = dict(fields)
    given = fields.pop("tokens", None)
    tokens = _tokens(fields.pop("text", None), given, where, cut)
    naming = _Naming(names, numbers)
    labels = _take_labels(fields, tokens, naming, where)
    spans, span_fields = _take_spans(fields, tokens, naming, where)
    if labels is not None:
        spans = None  # our writer adds labels where spans alone would not give them back
    columns = _take_columns(fields, tokens, where)
    document = fields.pop("newdoc") if isinstance(fields.get("newdoc"), str) else None
    comments = fields.pop("comments") if _is_list_of(fields.get("comments"), str) else []
    return Content(tokens, spans, labels, columns, document, comments, Record(fields, span_fields, given))


def _tokens(text: Any, given: Any, where: str, cut: Callable[[str], Tokens]) -> Tokens:
    if text is None and _is_list_of(given, str):
        text = " ".join(given)
    if not isinstance(text, str):
        got = "no field text" if text is None else f"text: {_shown(text)}"
        raise DataError("the text is missing", expected='{"text": "…"}', got=got, where=where)
    if given is None:
        return cut(text)
    if not isinstance(given, list):
        raise DataError("tokens", expected="a list", got=_shown(given), where=where)
    starts, ends = [0], [0]
    for token in given:
        start, end = _token_place(token, text, ends[-1])
        if not (starts[-1] <= start <= end <= len(text) and ends[-1] <= end):
            raise DataError(
                "a token does not occur in the text",
                expected="tokens in the order of the text, with start and end in characters",
                got=_shown(token),
                where=where,
            )
        starts.append(start)
        ends.append(end)
    starts, ends = starts[1:], ends[1:]
    return Tokens(text, [text[start:end] for start, end in zip(starts, ends, strict=True)], starts, ends)


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
    if not _is_number(start) or not _is_number(end) or token.get("text", text[start:end]) != text[start:end]:
        return -1, -1
    return start, end


class _Naming(NamedTuple):
    """Names of the labels that are numbers, and where those without one are counted."""

    names: Mapping[int, str] | None
    counts: Counter[str] | None

    def name(self, label: Any, where: str) -> Any:
        """The name of a number; anything else as it is."""
        if not _is_number(label):
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
    fields: dict[str, Any], tokens: Tokens, naming: _Naming, where: str
) -> tuple[list[CharacterSpan] | None, dict[CharacterSpan, dict[str, Any]]]:
    """The labelled stretches and the other keys of each."""
    names = [name for name in SPAN_FIELDS if _holds_spans(name, fields.get(name))]
    filled = [name for name in names if fields[name]]
    if len(filled) > 1:
        raise DataError("two fields with spans", expected="one of them", got=" and ".join(filled), where=where)
    if not names:
        _refuse_odd_spans(fields, where)
        return None, {}
    spans = []
    others = {}
    for value in fields.pop((filled or names)[0]):
        span, other = _span(_with_offsets(value, tokens), tokens.text, naming, where)
        spans.append(span)
        if other:
            others[span] = other
    return spans, others


def _holds_spans(name: str, value: Any) -> bool:
    """Whether a field has spans; annotations could be anything, so they must look like doccano's."""
    if name == "annotations":
        return _is_list_of(value, dict) and all("start_offset" in one for one in value)
    return _is_list_of(value, (dict, list))


def _refuse_odd_spans(fields: dict[str, Any], where: str) -> None:
    """A field that must hold spans and holds something else; null counts as absent."""
    odd = fields.get("spans")
    if odd is not None:
        raise DataError(
            "spans is not a list of spans",
            expected='[{"start": …, "end": …, "label": …}]',
            got=_shown(odd),
            where=where,
        )


def _with_offsets(value: Any, tokens: Tokens) -> Any:
    """A span of Prodigy that has only its tokens, of which the last is inside, with its characters."""
    if not isinstance(value, dict) or "token_start" not in value or {"start", "start_offset"} & value.keys():
        return value
    first: Any = value["token_start"]
    last: Any = value.get("token_end")
    if not (_is_number(first) and _is_number(last) and 0 <= first <= last < len(tokens)):
        return value
    return {**value, "start": tokens.starts[first], "end": tokens.ends[last]}


def _span(value: Any, text: str, naming: _Naming, where: str) -> tuple[CharacterSpan, dict[str, Any]]:
    """A span from an object or a triple, and the keys that are not its own."""
    other: dict[str, Any] = {}
    if isinstance(value, dict):
        names = next((names for names in _OFFSET_NAMES if names[0] in value), _OFFSET_NAMES[0])
        parts: list[Any] = [value.get(name) for name in (*names, "label")]
        other = {key: item for key, item in value.items() if key not in (*names, "label")}
    else:
        parts = list(value)
    if len(parts) == 3:
        parts[2] = naming.name(parts[2], where)
    if len(parts) != 3 or not _is_number(parts[0]) or not _is_number(parts[1]) or not _is_span_label(parts[2]):
        expected = '{"start": number, "end": number, "label": "…"} or [start, end, "label"]'
        raise DataError("not a span", expected=expected, got=_shown(value), where=where)
    span = CharacterSpan(parts[0], parts[1], _span_label(parts[2]))
    if not 0 <= span.start < span.end <= len(text):
        expected = f"0 <= start < end <= {len(text)} (the length of the text)"
        raise DataError("a span that is empty or outside its text", expected=expected, got=_shown(value), where=where)
    if not span.label.strip():
        raise DataError("a span without a label", expected="a label", got=_shown(value), where=where)
    return span, other


def _is_span_label(value: Any) -> bool:
    """A label, or a list of labels of which one is right."""
    return isinstance(value, str) or (bool(value) and _is_list_of(value, str) and all(map(str.strip, value)))


def _span_label(value: Any) -> str:
    if isinstance(value, list):
        return PartialLabel(SEPARATOR.join(value)) if len(value) > 1 else str(value[0])
    return PartialLabel(value) if value == UNKNOWN else str(value)


def _take_labels(fields: dict[str, Any], tokens: Tokens, naming: _Naming, where: str) -> list[str] | None:
    """One label for each given token."""
    for field_name in LABEL_FIELDS if naming != (None, None) else ():
        numbers = fields.get(field_name)
        if numbers and isinstance(numbers, list) and all(map(_is_number, numbers)):
            fields[field_name] = _named_labels(numbers, naming.names, where)
    name = next((name for name in LABEL_FIELDS if fields.get(name) and _is_list_of(fields[name], str)), None)
    if name is None:
        return None
    labels: list[str] = fields.pop(name)
    if len(labels) != len(tokens.tokens):
        expected = f"{len(tokens.tokens)}, one a token"
        raise DataError("wrong number of labels", expected=expected, got=len(labels), where=where)
    if not all(labels):
        raise DataError("a label is empty", expected="a label for each token", got=_shown(labels), where=where)
    return labels


def _named_labels(numbers: list[int], names: Mapping[int, str] | None, where: str) -> list[str]:
    if names is None:
        raise DataError(
            "the labels are numbers", expected="their names (--label-names)", got=_shown(numbers), where=where
        )
    return [name_of(number, names, where) for number in numbers]


def _take_columns(fields: dict[str, Any], tokens: Tokens, where: str) -> list[tuple[str, ...]] | None:
    """Extra columns as our writer keeps them: a list of cells for each token."""
    columns = fields.get("columns")
    if not columns or not _is_list_of(columns, list) or not all(_is_list_of(cells, str) for cells in columns):
        return None
    if len(columns) != len(tokens.tokens) or len({len(cells) for cells in columns}) != 1:
        expected = f"{len(tokens.tokens)} lists of one length, one a token"
        raise DataError("columns do not match the tokens", expected=expected, got=len(columns), where=where)
    return [tuple(cells) for cells in fields.pop("columns")]


def _is_list_of(value: Any, kind: type | tuple[type, ...]) -> bool:
    return isinstance(value, list) and all(isinstance(item, kind) for item in value)


def _is_number(value: Any) -> bool:
    return type(value) is int  # True is an int, too


def _shown(value: Any) -> str:
    return shortened(json.dumps(value, ensure_ascii=False))
