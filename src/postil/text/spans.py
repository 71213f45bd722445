"""JSON Lines: one JSON object a line, with a text and labelled stretches of its characters.

    our own     {"text": "…", "spans": [{"start": 0, "end": 5, "label": "LOC"}]}
    doccano     {"text": "…", "label": [[0, 5, "LOC"]]}    also "labels", and "entities" with start_offset, end_offset
    Prodigy     our own with "tokens": [{"text": "…", "start": 0, "end": 5, "id": 0}, …] and "answer"
    per token   {"tokens": ["…"], "labels": ["O", …]}      with or without "text"

A record that brings its tokens is one sentence; a raw text is tokenised and cut into sentences.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

from postil.errors import DataError
from postil.text.alignment import REFUSED, CharacterSpan, TokenisedText, align
from postil.text.document import Rest, Sentence
from postil.text.lines import Lines, shortened
from postil.text.options import ReadOptions
from postil.text.report import Report, SpanError
from postil.text.schemes import Span, labels_from_spans
from postil.text.sentences import split_sentences
from postil.text.tokenise import Tokens, tokenise

SPAN_FIELDS = ("spans", "label", "labels", "entities")
LABEL_FIELDS = ("labels", "tags")
_OFFSET_NAMES = (("start", "end"), ("start_offset", "end_offset"))
_NOT_ACCEPTED = ("reject", "ignore")


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


class _Content(NamedTuple):
    """A JSON object taken apart."""

    tokens: Tokens
    spans: list[CharacterSpan] | None
    labels: list[str] | None
    columns: list[tuple[str, ...]] | None
    document: str | None
    comments: list[str]
    record: Record


def read_jsonl(lines: Lines, options: ReadOptions, report: Report) -> Iterator[Sentence]:
    """The sentences of a JSON Lines file. Spans that must not be taken are all listed before the error is raised."""
    reader = _JsonReader(lines, options, report)
    for first, batch in lines:
        for number, line in enumerate(batch, first):
            if line:
                yield from reader.sentences(line, number)
    refused = [problem for problem in report.problems if problem.action == REFUSED]
    if refused:
        raise SpanError(refused, lines.name)


@final
class _JsonReader:
    """Lines to sentences; the first record decides whether all have labels."""

    def __init__(self, lines: Lines, options: ReadOptions, report: Report) -> None:
        self.lines, self.options, self.report = lines, options, report
        self.labelled: bool | None = None
        self.labelled_line = 0

    def sentences(self, line: str, number: int) -> list[Sentence]:
        """The sentences of one record; none if it was refused or not accepted, which is counted."""
        where = self.lines.where(number)
        fields = _parse(line, where)
        answer = fields.get("answer")
        if answer in _NOT_ACCEPTED:
            self.report.dropped[f"records whose answer is {answer!r}"] += 1
            return []
        content = _take_apart(fields, where)
        self._check_labelled(content, number)
        sentences = self._build(content, number, where)
        self.report.notes["records"] += 1
        self.report.dropped["records without tokens"] += not content.tokens.tokens
        self.report.sentences += len(sentences)
        self.report.tokens += sum(map(len, sentences))
        self.report.documents += any(sentence.document is not None for sentence in sentences)
        return sentences

    def _check_labelled(self, content: _Content, number: int) -> None:
        labelled = content.spans is not None or content.labels is not None
        if self.labelled is None:
            self.labelled, self.labelled_line = labelled, number
        if labelled != self.labelled:
            expected = "labels" if self.labelled else "no labels"
            raise DataError(
                "the labels are missing" if self.labelled else "labels after records without them",
                expected=f"{expected} as on line {self.labelled_line} (an empty list if there is nothing to label)",
                got="no field spans, label, labels or entities" if self.labelled else "some",
                where=self.lines.where(number),
            )

    def _build(self, content: _Content, number: int, where: str) -> list[Sentence]:
        tokens = content.tokens
        spans = None
        if content.spans is not None:
            before = len(self.report.problems)
            place = TokenisedText(tokens.text, tokens.starts, tokens.ends, where)
            spans = align(content.spans, place, self.options, self.report)
            self.report.notes["spans"] += len(content.spans)
            if any(problem.action == REFUSED for problem in self.report.problems[before:]):
                return []
        ranges = self._ranges(content, spans or [])
        return [self._sentence(content, spans, first, last, number) for first, last in ranges]

    def _ranges(self, content: _Content, spans: list[Span]) -> list[tuple[int, int]]:
        """Sentences as ranges of tokens, joined where a span runs across their border."""
        if not content.tokens.tokens:
            return []
        if content.record.tokens is not None or not self.options.split:
            return [(0, len(content.tokens.tokens))]
        inside = {token for span in spans for token in range(span.start + 1, span.end)}
        ranges: list[tuple[int, int]] = []
        for first, last in split_sentences(content.tokens):
            if first in inside:
                ranges[-1] = (ranges[-1][0], last)
                self.report.notes["sentence ends inside a span, not cut"] += 1
            else:
                ranges.append((first, last))
        return ranges

    def _sentence(
        self, content: _Content, spans: list[Span] | None, first: int, last: int, number: int
    ) -> Sentence:
        tokens, labels = content.tokens, content.labels
        if spans is not None:
            own = [Span(s.label, s.start - first, s.end - first) for s in spans if first <= s.start < last]
            labels = labels_from_spans(own, last - first, self.options.scheme)
        return Sentence(
            tokens.tokens[first:last],
            labels,
            content.columns,
            tokens.text,
            tokens.starts[first:last],
            tokens.ends[first:last],
            number,
            content.document if first == 0 else None,
            content.comments if first == 0 else [],
            content.record,
        )


def _parse(line: str, where: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except RecursionError:
        raise DataError("JSON nested too deeply", expected="one object a line", where=where) from None
    except ValueError as error:  # also numbers with thousands of digits
        raise DataError("not valid JSON", expected="one object a line", got=_json_mistake(error, line), where=where) from None
    if not isinstance(value, dict):
        raise DataError("not a JSON object", expected='{"text": …}', got=shortened(line), where=where)
    if "\\u" in line:
        _refuse_half_characters(value, where)
    return value


def _json_mistake(error: ValueError, line: str) -> str:
    if not isinstance(error, json.JSONDecodeError):
        return str(error).split(";")[0]
    near = shortened(line[max(0, error.pos - 10) : error.pos + 20])
    return f"{error.msg.lower()} at character {error.pos + 1}, near {near}"


def _refuse_half_characters(value: dict[str, Any], where: str) -> None:
    """\\ud83d without its second half is no character: it could not be written again."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = f"\\u{ord(error.object[error.start]):04x}"
        raise DataError("half a surrogate pair", expected="whole characters", got=half, where=where) from None


def _take_apart(fields: dict[str, Any], where: str) -> _Content:
    fields = dict(fields)
    given = fields.pop("tokens", None)
    tokens = _tokens(fields.pop("text", None), given, where)
    spans, span_fields = _take_spans(fields, tokens, where)
    labels = _take_labels(fields, tokens, where)
    if spans is not None and labels is not None:
        spans = None  # our writer adds labels where spans alone would not give them back
    columns = _take_columns(fields, tokens, where)
    newdoc = fields.pop("newdoc", None)
    comments = fields.pop("comments") if _is_list_of(fields.get("comments"), str) else []
    document = None if newdoc is None else str(newdoc)
    return _Content(tokens, spans, labels, columns, document, comments, Record(fields, span_fields, given))


def _tokens(text: Any, given: Any, where: str) -> Tokens:
    if text is None and _is_list_of(given, str):
        text = " ".join(given)
    if not isinstance(text, str):
        got = "no field text" if text is None else f"text: {shortened(json.dumps(text))}"
        raise DataError("the text is missing", expected='{"text": "…"}', got=got, where=where)
    if given is None:
        return tokenise(text)
    if not isinstance(given, list):
        raise DataError("tokens is not a list", expected="a list", got=shortened(json.dumps(given)), where=where)
    starts: list[int] = []
    ends: list[int] = []
    position = 0
    for token in given:
        start, end = _token_place(token, text, position, where)
        starts.append(start)
        ends.append(end)
        position = end
    return Tokens(text, [text[start:end] for start, end in zip(starts, ends, strict=True)], starts, ends)


def _token_place(token: Any, text: str, position: int, where: str) -> tuple[int, int]:
    """Where a given token stands: strings are looked for after the token before them."""
    if isinstance(token, str):
        start = text.find(token, position)
        end = start + len(token)
    elif isinstance(token, dict):
        start, end = token.get("start", -1), token.get("end", -1)
    else:
        start, end = -1, -1
    fits = type(start) is int and type(end) is int and 0 <= start <= end <= len(text)
    if not fits or (isinstance(token, dict) and token.get("text", text[start:end]) != text[start:end]):
        raise DataError(
            "a token does not stand in the text",
            expected="tokens in the order of the text, with start and end in characters",
            got=shortened(json.dumps(token, ensure_ascii=False)),
            where=where,
        )
    return start, end


def _take_spans(
    fields: dict[str, Any], tokens: Tokens, where: str
) -> tuple[list[CharacterSpan] | None, dict[CharacterSpan, dict[str, Any]]]:
    """The labelled stretches, whichever tool wrote them, and the other keys of each."""
    names = [name for name in SPAN_FIELDS if _is_list_of(fields.get(name), (dict, list)) and fields.get(name) is not None]
    filled = [name for name in names if fields[name]]
    if len(filled) > 1:
        raise DataError("two fields with spans", expected="one of them", got=" and ".join(filled), where=where)
    if not names:
        return None, {}
    values = fields.pop((filled or names)[0])
    spans = []
    others = {}
    for value in values:
        span, other = _span(value, tokens.text, where)
        spans.append(span)
        if other:
            others[span] = other
    return spans, others
