"""Texts with labelled stretches, as annotation tools keep them: spans may overlap, nest, and consist of fragments.

A format of such a tool is two functions: one reads `AnnotatedText`, the other writes them. Sentences for training
are made here from what any of them reads, and texts for any of them from sentences; between two tools the texts pass
as they are, so that nothing depends on tokens.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from postil.text.annotations.alignment import CharacterSpan, TokenisedText
from postil.text.annotations.assembly import Assembler, first_tokens, place_of, records_of
from postil.text.annotations.records import Content, Record
from postil.text.annotations.span_table import table_records
from postil.text.annotations.spans import Records, contents_of, json_array, json_lines, one_line
from postil.text.document import OUTSIDE, Sentence
from postil.text.labels.partial_label import SEPARATOR, PartialLabel, looks_like_mark
from postil.text.labels.schemes import spans_from_labels
from postil.text.lines import NumberedLines
from postil.text.options import ReadOptions, WriteOptions
from postil.text.report import Report
from postil.text.splitting.characters import characters
from postil.text.splitting.tokenise import Tokens, tokenise

Fragments = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class AnnotatedSpan:
    """Characters ``start`` to ``end`` (exclusive) carry ``label``."""

    start: int
    end: int
    label: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Whatever else the tool says about it: attributes, notes, ids."""
    fragments: Fragments = ()
    """Two or more parts of a discontinuous span, which runs from the first to the last; otherwise empty."""


@dataclass(frozen=True, slots=True)
class AnnotatedText:
    """A text with its spans."""

    text: str
    spans: list[AnnotatedSpan] | None = None
    """None: nobody has annotated it."""
    tokens: list[tuple[int, int]] | None = None
    """Start and end of each token, where the source says so."""
    sentences: list[int] | None = None
    """Number of tokens in each of its sentences, where known."""
    fields: Mapping[str, Any] = field(default_factory=dict)
    """Whatever else the tool says about the text."""
    document: str | None = None
    """Set if a document starts with this text: its name, or "" if it has none."""
    continues: bool = False
    """Whether the text continues the document of the one before, as the sentences of a corpus do."""
    lines_are_sentences: bool = False
    """Whether a sentence ends where a line does."""
    line: int = 0
    where: str | None = None
    """The place for an error message, where the line of the source is not enough."""


TextReader = Callable[[NumberedLines, ReadOptions, Report], Iterator[AnnotatedText]]
TextWriter = Callable[[Iterable[AnnotatedText], WriteOptions, Report], Iterator[str]]


def sentences_of(
    texts: Iterable[AnnotatedText], lines: NumberedLines, options: ReadOptions, report: Report
) -> Iterator[Sentence]:
    """The sentences of texts. Spans that must not be taken are all listed before the error is raised."""
    assembler = Assembler(lines, options, report)
    for text in texts:
        yield from assembler.sentences(_content(text, options, report), text.line, text.where)
    assembler.finish()


def _content(text: AnnotatedText, options: ReadOptions, report: Report) -> Content:
    record = Record(dict(text.fields), _span_fields(text), None if text.tokens is None else [])
    spans = None
    if text.spans is not None:
        spans = [CharacterSpan(span.start, span.end, span.label) for span in text.spans]
        several = sum(bool(span.fragments) for span in text.spans)
        report.changed["discontinuous spans, taken from their first to their last character"] += several
    tokens = _tokens(text, options)
    borders = _line_starts(tokens) if text.lines_are_sentences else frozenset[int]()
    return Content(tokens, spans, None, None, text.document, [], record, borders)


def _line_starts(tokens: Tokens) -> frozenset[int]:
    """Tokens that are the first of their line."""
    gaps = zip(tokens.ends, tokens.starts[1:], strict=False)
    return frozenset(number for number, (end, start) in enumerate(gaps, 1) if "\n" in tokens.text[end:start])


def _span_fields(text: AnnotatedText) -> dict[CharacterSpan, dict[str, Any]]:
    spans = [span for span in text.spans or () if span.fields]
    return {CharacterSpan(span.start, span.end, span.label): dict(span.fields) for span in spans}


def _tokens(text: AnnotatedText, options: ReadOptions) -> Tokens:
    if text.tokens is None:
        return characters(text.text) if options.characters else tokenise(text.text)
    starts, ends = [start for start, _ in text.tokens], [end for _, end in text.tokens]
    return Tokens(text.text, [text.text[start:end] for start, end in text.tokens], starts, ends)


def texts_of(sentences: Iterable[Sentence], options: WriteOptions, report: Report) -> Iterator[AnnotatedText]:
    """The texts that sentences were cut from, with spans from their labels in the scheme of ``options``.

    Without a scheme every token that has a label other than O is a span.
    """
    previous = False
    for group in records_of(sentences):
        first = group[0]
        record = first.rest if isinstance(first.rest, Record) else None
        place = place_of(group, report)
        yield AnnotatedText(
            place.text,
            _spans(group, place, record, options.scheme, report) if first.labels is not None else None,
            list(zip(place.starts, place.ends, strict=True)),
            [len(sentence) for sentence in group],
            record.fields if record is not None else {},
            first.document,
            continues=previous and record is None and first.document is None,
            line=first.line,
        )
        previous = record is None
        report.dropped["extra columns of tokens"] += sum(len(s) for s in group if s.columns is not None)
        report.dropped["comments"] += sum(len(s.comments) for s in group)


def _spans(
    sentences: list[Sentence], place: TokenisedText, record: Record | None, scheme: str, report: Report
) -> list[AnnotatedSpan]:
    others = record.span_fields if record is not None else {}
    spans = []
    for first, sentence in zip(first_tokens(sentences), sentences, strict=True):
        labels = sentence.labels or []
        report.dropped["marks of unknown labels (? and A|B)"] += sum(
            isinstance(label, PartialLabel) or (scheme != "none" and looks_like_mark(label)) for label in labels
        )
        if scheme == "none":
            found = [(label, n, n + 1) for n, label in enumerate(labels) if label != OUTSIDE]
        else:
            known = [OUTSIDE if looks_like_mark(label) else label for label in labels]
            found = [(span.label, span.start, span.end) for span in spans_from_labels(known, scheme)]
        for label, start, end in found:
            key = CharacterSpan(place.starts[first + start], place.ends[first + end - 1], label)
            if key.start == key.end:
                report.dropped["spans of empty tokens"] += 1
            else:
                spans.append(AnnotatedSpan(*key, others.get(key, {})))
    return spans


def json_texts(
    lines: NumberedLines,
    options: ReadOptions,
    report: Report,
    source: Callable[[NumberedLines, ReadOptions], Records] = json_lines,
) -> Iterator[AnnotatedText]:
    """The texts of JSON Lines with spans (doccano, Prodigy, our own), or of another source of such records."""
    for number, content in contents_of(source(lines, options), lines, options, report):
        yield _text_of_content(content, number, lines.where(number), report)


def json_array_texts(lines: NumberedLines, options: ReadOptions, report: Report) -> Iterator[AnnotatedText]:
    """The texts of a JSON array of records."""
    return json_texts(lines, options, report, json_array)


def table_texts(lines: NumberedLines, options: ReadOptions, report: Report) -> Iterator[AnnotatedText]:
    """The texts of a table with spans."""
    return json_texts(lines, options, report, table_records)


def _text_of_content(content: Content, number: int, where: str, report: Report) -> AnnotatedText:
    tokens, record = content.tokens, content.record
    spans = None
    if content.labels is not None:
        report.dropped["labels of single tokens"] += len(content.labels)
    if content.spans is not None:
        spans = [AnnotatedSpan(*span, record.span_fields.get(span, {})) for span in content.spans]
        several = sum(isinstance(span.label, PartialLabel) for span in spans)
        report.changed[f"alternative labels of a span, written with {SEPARATOR}"] += several
    places = list(zip(tokens.starts, tokens.ends, strict=True)) if record.tokens is not None else None
    return AnnotatedText(tokens.text, spans, places, None, record.fields, content.document, line=number, where=where)


def write_json_texts(texts: Iterable[AnnotatedText], options: WriteOptions, report: Report) -> Iterator[str]:
    """The lines of a JSON Lines file of our own."""
    for text in texts:
        count_fragments(text, report)
        fields: dict[str, Any] = {"text": text.text}
        if text.tokens is not None:
            fields["tokens"] = [
                {"text": text.text[start:end], "start": start, "end": end, "id": number}
                for number, (start, end) in enumerate(text.tokens)
            ]
        if text.spans is not None:
            spans = [{"start": span.start, "end": span.end, "label": span.label, **span.fields} for span in text.spans]
            fields["spans"] = spans
        if text.document is not None:
            fields["newdoc"] = text.document
        yield one_line(json.dumps(fields | dict(text.fields), ensure_ascii=False))


def count_lost_fields(text: AnnotatedText, report: Report, kept: Iterable[str] = (), spans: Iterable[str] = ()) -> None:
    """Count what a format has no place for: fields of the text but ``kept``, and of its spans but ``spans``."""
    kept, spans = {*kept}, {*spans}
    for name in text.fields:
        if name not in kept:
            report.dropped[f"field {name!r} of texts"] += 1
    for span in text.spans or ():
        for name in span.fields:
            if name not in spans:
                report.dropped[f"field {name!r} of spans"] += 1


def count_document(text: AnnotatedText, report: Report) -> None:
    """Count the name of a document for a format that has no place for it."""
    report.dropped["names of documents"] += bool(text.document)


def count_unannotated(text: AnnotatedText, report: Report) -> None:
    """Count a text that nobody has annotated for a format in which it looks like one without names."""
    report.changed["texts that nobody has annotated, written as texts without spans"] += text.spans is None


def count_fragments(text: AnnotatedText, report: Report) -> None:
    """Count the discontinuous spans of a text for a format that cannot say them."""
    several = sum(bool(span.fragments) for span in text.spans or ())
    report.changed["discontinuous spans, taken from their first to their last character"] += several
