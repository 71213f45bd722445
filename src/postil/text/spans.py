"""JSON Lines: one JSON object a line, with a text and labelled stretches of its characters.

    our own     {"text": "…", "spans": [{"start": 0, "end": 5, "label": "LOC"}]}
    doccano     {"text": "…", "label": [[0, 5, "LOC"]]}    also "labels", and "entities" with start_offset, end_offset
    Prodigy     our own with "tokens": [{"text": "…", "start": 0, "end": 5, "id": 0}, …] and "answer"
    per token   {"tokens": ["…"], "labels": ["O", …]}      with or without "text"

The label of a span may be a list, of which one is right, or "?": nothing is known about its tokens.

A record that brings its tokens is one sentence; a raw text is tokenised and cut into sentences.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Any, final

from postil.errors import DataError, PostilError
from postil.kernels.plain_records import ESCAPED
from postil.text.alignment import REFUSED, CharacterSpan, TokenisedText, align
from postil.text.characters import character_sentences, characters
from postil.text.document import Sentence
from postil.text.lines import NumberedLines
from postil.text.options import ReadOptions, WriteOptions
from postil.text.partial_label import SEPARATOR, UNKNOWN, PartialLabel, looks_like_mark
from postil.text.records import NOT_ACCEPTED, Content, Record, parse, take_apart
from postil.text.report import Report, SpanError
from postil.text.schemes import Span, labels_from_spans, spans_from_labels
from postil.text.sentences import split_sentences
from postil.text.tokenise import tokenise


def read_jsonl(lines: NumberedLines, options: ReadOptions, report: Report) -> Iterator[Sentence]:
    """The sentences of a JSON Lines file. Spans that must not be taken are all listed before the error is raised."""
    reader = _JsonReader(lines, options, report)
    if lines.opening is not None:
        reader.note_first(lines.opening)
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

    def __init__(self, lines: NumberedLines, options: ReadOptions, report: Report) -> None:
        self.lines, self.options, self.report = lines, options, report
        self.labelled: bool | None = None
        self.labelled_line = 0

    def note_first(self, opening: NumberedLines) -> None:
        """Note whether the first record of the source, with which these lines do not begin, has labels."""
        for first, batch in opening:
            for number, line in enumerate(batch, first):
                if line and self.labelled is None:
                    where = opening.where(number)
                    self._check_labelled(take_apart(parse(line, where), where), number)

    def sentences(self, line: str, number: int) -> list[Sentence]:
        """The sentences of one record; none if it was refused or not accepted, which is counted."""
        where = self.lines.where(number)
        fields = parse(line, where)
        answer = fields.get("answer")
        if answer in NOT_ACCEPTED and not self.options.every_record:
            self.report.dropped[f"records whose answer is {answer!r}"] += 1
            return []
        content = take_apart(fields, where, characters if self.options.characters else tokenise)
        self._check_labelled(content, number)
        sentences = self._build(content, number, where)
        self.report.notes["records"] += 1
        self.report.dropped["records without tokens"] += not content.tokens.tokens and not sentences
        self.report.sentences += len(sentences)
        self.report.tokens += sum(map(len, sentences))
        self.report.documents += any(sentence.document is not None for sentence in sentences)
        return sentences

    def _check_labelled(self, content: Content, number: int) -> None:
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

    def _build(self, content: Content, number: int, where: str) -> list[Sentence]:
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

    def _ranges(self, content: Content, spans: list[Span]) -> list[tuple[int, int]]:
        """Sentences as ranges of tokens, joined where a span runs across their border."""
        if not content.tokens.tokens:
            return [(0, 0)] if self.options.every_record else []
        if content.record.tokens is not None or not self.options.split:
            return [(0, len(content.tokens.tokens))]
        inside = {token for span in spans for token in range(span.start + 1, span.end)}
        ranges: list[tuple[int, int]] = []
        sentences = character_sentences if self.options.characters else split_sentences
        for first, last in sentences(content.tokens):
            if first in inside:
                ranges[-1] = (ranges[-1][0], last)
                self.report.notes["sentence ends inside a span, not cut"] += 1
            else:
                ranges.append((first, last))
        return ranges

    def _sentence(self, content: Content, spans: list[Span] | None, first: int, last: int, number: int) -> Sentence:
        tokens, labels = content.tokens, content.labels
        if spans is not None:
            inside = [Span(s.label, s.start - first, s.end - first) for s in spans if first <= s.start < last]
            labels = _labels_of(inside, last - first, self.options.scheme)
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


def _labels_of(spans: list[Span], length: int, scheme: str) -> list[str]:
    """One label per token; of a span with several labels each of them in turn, of an unknown one none."""
    labels = labels_from_spans(spans, length, scheme)
    for span in spans:
        if isinstance(span.label, PartialLabel):
            for token in range(span.start, span.end):
                letter = labels[token][0]
                names = [f"{letter}-{name}" for name in span.label.alternatives]
                labels[token] = PartialLabel(SEPARATOR.join(names) or UNKNOWN)
    return labels


def write_jsonl(sentences: Iterable[Sentence], options: WriteOptions, report: Report) -> Iterator[str]:
    """The lines of a JSON Lines file: one for each sentence, or for all the sentences of one record."""
    for group in _records(sentences):
        rest = group[0].rest
        record = rest if isinstance(rest, Record) else Record({}, tokens=[])
        line = json.dumps(_fields(group, record, options.scheme, report), ensure_ascii=False)
        yield line.translate(ESCAPED) + "\n"


def _records(sentences: Iterable[Sentence]) -> Iterator[list[Sentence]]:
    """Groups of neighbours that share a record; any other sentence is a group of its own.

    A mistake in the input is raised after the group of the sentences before it.
    """
    group: list[Sentence] = []
    try:
        for sentence in sentences:
            if group and not (isinstance(sentence.rest, Record) and sentence.rest is group[0].rest):
                yield group
                group = []
            group.append(sentence)
    except PostilError:
        if group:
            yield group
        raise
    if group:
        yield group


def _fields(sentences: list[Sentence], record: Record, scheme: str, report: Report) -> dict[str, Any]:
    first = sentences[0]
    place = _place(sentences, report)
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


def _place(sentences: list[Sentence], report: Report) -> TokenisedText:
    """The text and the offsets in it: the record's own, those of the sentence, or tokens with spaces between."""
    first = sentences[0]
    tokens = [token for sentence in sentences for token in sentence.tokens]
    starts = [start for sentence in sentences for start in sentence.starts or ()]
    ends = [end for sentence in sentences for end in sentence.ends or ()]
    if first.text is not None and not tokens and isinstance(first.rest, Record):
        return TokenisedText(first.text, [], [], "")
    if first.text is not None and len(starts) == len(tokens) > 0:
        if tokens == [first.text[start:end] for start, end in zip(starts, ends, strict=True)]:
            if isinstance(first.rest, Record):
                return TokenisedText(first.text, starts, ends, "")
            left = starts[0]
            text = first.text[left : ends[-1]]
            return TokenisedText(text, [start - left for start in starts], [end - left for end in ends], "")
        report.changed["texts rebuilt from tokens that do not match them"] += 1
    ends = list(accumulate(len(token) + 1 for token in tokens))
    return TokenisedText(" ".join(tokens), [0, *ends][:-1], [end - 1 for end in ends], "")


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
    for first, sentence in zip(_firsts(sentences), sentences, strict=True):
        for label, start, end in spans_from_labels(sentence.labels or (), scheme):
            spans.append(CharacterSpan(place.starts[first + start], place.ends[first + end - 1], label))
            if label == UNKNOWN or place.touched(*spans[-1][:2]) != (first + start, first + end):
                return {"labels": labels}
    return {"spans": [{**span._asdict(), **record.span_fields.get(span, {})} for span in spans]}


def _firsts(sentences: list[Sentence]) -> list[int]:
    """Number of the first token of each sentence."""
    return list(accumulate(map(len, sentences[:-1]), initial=0))
