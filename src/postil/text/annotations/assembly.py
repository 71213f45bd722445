"""Texts with spans to sentences, and sentences back to the texts that they were cut from; for every such format."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate, pairwise
from typing import final

from postil.errors import DataError, PostilError
from postil.text.annotations.alignment import REFUSED, TokenisedText, align
from postil.text.annotations.records import Content, Record
from postil.text.document import Sentence
from postil.text.labels.partial_label import SEPARATOR, UNKNOWN, PartialLabel
from postil.text.labels.schemes import Span, labels_from_spans
from postil.text.lines import NumberedLines
from postil.text.options import ReadOptions
from postil.text.report import Report, SpanError
from postil.text.splitting.characters import character_sentences
from postil.text.splitting.sentences import split_sentences


@final
class Assembler:
    """Contents of records to sentences; the first record decides whether all have labels."""

    def __init__(self, lines: NumberedLines, options: ReadOptions, report: Report) -> None:
        self.lines, self.options, self.report = lines, options, report
        self.labelled: bool | None = None
        self.labelled_at = ""

    def sentences(self, content: Content, number: int, where: str | None = None) -> list[Sentence]:
        """The sentences of one record on line ``number``; none if one of its spans was refused."""
        where = where or self.lines.where(number)
        self.check_labelled(content, where)
        sentences = self._build(content, number, where)
        self.report.notes["records"] += 1
        self.report.dropped["records without tokens"] += not content.tokens.tokens and not sentences
        self.report.sentences += len(sentences)
        self.report.tokens += sum(map(len, sentences))
        self.report.documents += any(sentence.document is not None for sentence in sentences)
        return sentences

    def finish(self) -> None:
        """Raise SpanError if spans were refused: all of them are listed."""
        refused = [problem for problem in self.report.problems if problem.action == REFUSED]
        if refused:
            raise SpanError(refused, self.lines.name)

    def check_labelled(self, content: Content, where: str) -> None:
        """Raise DataError unless the record has labels if the first one has, and none otherwise."""
        labelled = content.spans is not None or content.labels is not None
        if self.labelled is None:
            self.labelled, self.labelled_at = labelled, where.removeprefix(f"{self.lines.name}, ")
        if labelled != self.labelled:
            expected = "labels" if self.labelled else "no labels"
            raise DataError(
                "the labels are missing" if self.labelled else "labels after records without them",
                expected=f"{expected} as on {self.labelled_at} (an empty list if there is nothing to label)",
                got="no field spans, label, labels or entities" if self.labelled else "some",
                where=where,
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
        for first, last in _cut_at(content.borders, sentences(content.tokens)):
            if first in inside:
                ranges[-1] = (ranges[-1][0], last)
                self.report.notes["sentence ends inside a span, not cut"] += 1
            else:
                ranges.append((first, last))
        return ranges

    def _sentence(self, content: Content, spans: list[Span] | None, first: int, last: int, number: int) -> Sentence:
        tokens, labels = content.tokens, None if content.labels is None else content.labels[first:last]
        if spans is not None:
            low, high = (bisect_left(spans, edge, key=lambda span: span.start) for edge in (first, last))  # sorted
            inside = [Span(span.label, span.start - first, span.end - first) for span in spans[low:high]]
            labels = _labels_of(inside, last - first, self.options.scheme)
        return Sentence(
            tokens.tokens[first:last],
            labels,
            None if content.columns is None else content.columns[first:last],
            tokens.text,
            tokens.starts[first:last],
            tokens.ends[first:last],
            number,
            content.document if first == 0 else None,
            content.comments if first == 0 else [],
            content.record,
        )


def _cut_at(borders: frozenset[int], ranges: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The ranges, cut at the borders inside of them."""
    ordered = sorted(borders)
    for first, last in ranges:
        inside = ordered[bisect_right(ordered, first) : bisect_left(ordered, last)]
        yield from pairwise([first, *inside, last])


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


def records_of(sentences: Iterable[Sentence]) -> Iterator[list[Sentence]]:
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


def place_of(sentences: list[Sentence], report: Report) -> TokenisedText:
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


def first_tokens(sentences: list[Sentence]) -> list[int]:
    """Number of the first token of each sentence."""
    return list(accumulate(map(len, sentences[:-1]), initial=0))
