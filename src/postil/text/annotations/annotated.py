"""Texts with labelled stretches, as annotation tools keep them: spans may overlap, nest, and consist of fragments.

A format of such a tool is two functions: one reads `AnnotatedText`, the other writes them. Sentences for training are
made here from what any of them reads, and texts for any of them from sentences; between two tools the texts pass as
they are, so that nothing depends on tokens.

    file -> reader -> AnnotatedText -> sentences_of -> Sentence       read
    Sentence -> texts_of -> AnnotatedText -> writer -> file           write
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, TypeVar, final

from postil.errors import DataError, PostilError
from postil.text.document import OUTSIDE, Rest, Sentence
from postil.text.labels.groups import labels_of_spans, may_overlap, overlaps
from postil.text.labels.schemes import (
    IO,
    SEPARATOR,
    UNKNOWN,
    PartialLabel,
    Span,
    from_io,
    looks_like_mark,
    spans_from_labels,
)
from postil.text.lines import NumberedLines, shortened
from postil.text.options import ReadOptions, WriteOptions
from postil.text.report import Problem, Report, SpanError, excerpt
from postil.text.splitting.segmenter import Tokens

T = TypeVar("T")
REFUSED = "rejected"
Fragments = tuple[tuple[int, int], ...]


class CharacterSpan(NamedTuple):
    """Characters ``start`` to ``end`` (exclusive) carry ``label``."""

    start: int
    end: int
    label: str


@dataclass(frozen=True, slots=True)
class AnnotatedSpan:
    """Characters ``start`` to ``end`` (exclusive) carry ``label``, and what else a tool says about them."""

    start: int
    end: int
    label: str
    fields: Mapping[str, Any] = field(default_factory=dict)  # attributes, notes, ids
    fragments: Fragments = ()
    """Two or more parts of a discontinuous span, which runs from the first to the last; otherwise empty."""

    @property
    def key(self) -> CharacterSpan:
        return CharacterSpan(self.start, self.end, self.label)


@dataclass(frozen=True, slots=True)
class AnnotatedText:
    """A text with its spans, or with a label for each token."""

    text: str
    spans: list[AnnotatedSpan] | None = None  # None: nobody has annotated it, or it has labels
    tokens: list[tuple[int, int]] | None = None  # start and end of each token, if the source has tokens
    fields: Mapping[str, Any] = field(default_factory=dict)  # whatever else the tool says about the text
    document: str | None = None  # set if a document starts with this text: its name, or "" if it has none
    continues: bool = False
    """Whether the text continues the document of the one before, as the sentences of a corpus do."""
    lines_are_sentences: bool = False  # whether a sentence ends where a line does
    line: int = 0
    where: str | None = None  # the place for an error message, if the line of the source is not enough
    labels: list[str] | None = None  # one label per token instead of spans, for labels that spans cannot express
    columns: list[tuple[str, ...]] | None = None  # extra columns of each token
    comments: Sequence[str] = ()
    token_fields: list[Any] | None = None  # the tokens as a JSON record has them; None: the text came without tokens


@dataclass(frozen=True, slots=True)
class Record(Rest):
    """Content of a text other than its characters and labels. All sentences of the text share it."""

    fields: dict[str, Any]  # fields of the user's own, such as id and meta
    span_fields: dict[CharacterSpan, dict[str, Any]] = field(default_factory=dict)  # other keys of single spans
    tokens: list[Any] | None = None  # the tokens as they were given; None: the text was tokenised here

    def lost(self) -> Mapping[str, int]:
        lost = {f"JSON field {name!r}": 1 for name in self.fields}
        return {**lost, "other keys of spans": len(self.span_fields)}


def align(
    spans: Iterable[AnnotatedSpan], tokens: Tokens, where: str, options: ReadOptions, report: Report
) -> list[Span]:
    """Spans over tokens, sorted. Those that do not fit are listed in ``report.problems``: some as refused."""

    def described(span: AnnotatedSpan) -> str:
        return f"{span.label} {span.start}:{span.end} {shortened(tokens.text[span.start : span.end])}"

    def list_problem(what: str, action: str, span: AnnotatedSpan, needs_groups: bool = False) -> None:
        line, carets = excerpt(tokens.text, span.start, span.end)
        report.problems.append(Problem(where, f"{described(span)} {what}", line, carets, action, needs_groups))

    fitted: list[tuple[Span, AnnotatedSpan]] = []
    for span in spans:
        first, last = tokens.touched(span.start, span.end)
        if tokens.fits(span.start, span.end):
            fitted.append((Span(span.label, first, last), span))
            continue
        inside = shortened(" ".join(tokens.tokens[first:last])) if first < last else "(there are none)"
        if options.misaligned == "error":
            action = REFUSED
        elif options.misaligned == "drop" or first == last:
            action = "dropped"
            report.dropped["spans that do not fit token boundaries"] += 1
        else:
            action = f"snapped to {shortened(tokens.text[tokens.starts[first] : tokens.ends[last - 1]])}"
            report.changed["spans snapped to token boundaries"] += 1
            fitted.append((Span(span.label, first, last), span))
        list_problem(f"does not fit the tokens {inside}", action, span)
    if options.overlaps == "longest":
        fitted = sorted(fitted, key=lambda pair: pair[0].start - pair[0].end)  # stable: equal lengths keep their order
    taken: dict[int, list[AnnotatedSpan]] = {}  # token -> the spans that have it
    kept = []
    grouped = options.overlaps == "group"
    is_error = options.overlaps in ("error", "group")
    for aligned, source in fitted:
        covered = range(aligned.start, aligned.end)
        others = (one for token in covered for one in reversed(taken.get(token, ())))
        rival = next((one for one in others if not (grouped and may_overlap(one.label, source.label))), None)
        refused = rival is not None and is_error
        if rival is None or refused:  # a refused span counts, so that all spans that overlap it are listed
            for token in covered:
                taken.setdefault(token, []).append(source)
        if rival is None:
            kept.append(aligned)
            continue
        hint = may_overlap(rival.label, source.label)
        list_problem(f"overlaps {described(rival)}", REFUSED if refused else "dropped", source, hint)
        report.dropped["overlapping spans"] += not refused
    return sorted(kept, key=lambda span: (span.start, -span.end))


def repaired(spans: Iterable[AnnotatedSpan], tokens: Tokens, report: Report) -> list[AnnotatedSpan]:
    """The spans without exact duplicates and without white space at their edges; both are counted."""
    kept: dict[CharacterSpan, AnnotatedSpan] = {}
    for span in spans:
        covered = tokens.text[span.start : span.end]
        start, end = span.end - len(covered.lstrip()), span.start + len(covered.rstrip())
        if not (span.fragments or tokens.fits(span.start, span.end)) and tokens.fits(start, end):
            span = replace(span, start=start, end=end)
            report.repaired["white space at the edges of spans"] += 1
        if span.key in kept:
            report.repaired["duplicate spans"] += 1
        else:
            kept[span.key] = span
    return list(kept.values())


def sentences_of(
    texts: Iterable[AnnotatedText],
    lines: NumberedLines,
    options: ReadOptions,
    report: Report,
    opening: Iterable[AnnotatedText] = (),
) -> Iterator[Sentence]:
    """The sentences of texts; those of a source begin with ``opening``. All refused spans are in one error."""
    assembler = _Assembler(lines, options, report)
    for text in opening:
        assembler.check_labelled(text)
    for text in texts:
        yield from assembler.sentences(text)
    refused = [problem for problem in report.problems if problem.action == REFUSED]
    if refused:
        raise SpanError(refused, lines.name)


@final
class _Assembler:
    """Texts to sentences; the first text decides whether all have labels."""

    def __init__(self, lines: NumberedLines, options: ReadOptions, report: Report) -> None:
        self.lines, self.options, self.report = lines, options, report
        self.labelled: bool | None = None
        self.labelled_at = ""

    def check_labelled(self, text: AnnotatedText) -> None:
        """Raise DataError unless the text has labels if the first one has, and none otherwise."""
        where = text.where or self.lines.where(text.line)
        labelled = text.spans is not None or text.labels is not None
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

    def sentences(self, text: AnnotatedText) -> list[Sentence]:
        """The sentences of one text; none if one of its spans was refused."""
        self.check_labelled(text)
        report = self.report
        if text.tokens is None:
            tokens = self.options.segmenter.tokenise(text.text)
        else:
            tokens = placed_tokens(text.text, text.tokens, text.token_fields or ())
        record = Record(dict(text.fields), tokens=None if text.tokens is None else text.token_fields or [])
        spans: list[Span] | None = None
        refused = False
        if text.spans is not None:
            before = len(report.problems)
            sources = repaired(text.spans, tokens, report)
            record.span_fields.update({span.key: dict(span.fields) for span in sources if span.fields})
            spans = align(sources, tokens, text.where or self.lines.where(text.line), self.options, report)
            report.notes["spans"] += len(sources)
            several = sum(bool(span.fragments) for span in sources)
            report.changed["discontinuous spans, taken from their first to their last character"] += several
            refused = any(problem.action == REFUSED for problem in report.problems[before:])
        sentences = []
        for first, last in [] if refused else self._ranges(text, tokens, spans):
            labels = None if text.labels is None else text.labels[first:last]
            if labels is not None and self.options.from_scheme == IO:
                labels = from_io(labels)
            sentence = tokens.sentence(first, last)
            if spans is not None:
                low, high = (bisect_left(spans, edge, key=lambda span: span.start) for edge in (first, last))  # sorted
                inside = [Span(span.label, span.start - first, span.end - first) for span in spans[low:high]]
                overlapping = any(map(bool, overlaps(inside)))
                sentence.spans = inside if overlapping else None
                labels = None if overlapping else labels_of_spans(inside, last - first, self.options.scheme)
            sentence.labels, sentence.line, sentence.rest = labels, text.line, record
            sentence.columns = None if text.columns is None else text.columns[first:last]
            if first == 0:
                sentence.document, sentence.comments = text.document, list(text.comments)
            sentences.append(sentence)
        report.notes["records"] += 1
        report.dropped["records without tokens"] += not tokens.tokens and not sentences
        report.sentences += len(sentences)
        report.tokens += sum(map(len, sentences))
        report.documents += any(sentence.document is not None for sentence in sentences)
        return sentences

    def _ranges(self, text: AnnotatedText, tokens: Tokens, spans: list[Span] | None) -> list[tuple[int, int]]:
        """Sentences as ranges of tokens, joined where a span runs across their border."""
        if not tokens.tokens:
            return [(0, 0)] if self.options.every_record else []
        if text.tokens is not None or not self.options.split:
            return [(0, len(tokens))]
        inside = {token for span in spans or () for token in range(span.start + 1, span.end)}
        gaps = zip(tokens.ends, tokens.starts[1:], strict=False) if text.lines_are_sentences else ()
        borders = [number for number, (end, start) in enumerate(gaps, 1) if "\n" in tokens.text[end:start]]
        ranges: list[tuple[int, int]] = []
        for first, last in self.options.segmenter.split(tokens):
            cuts = borders[bisect_right(borders, first) : bisect_left(borders, last)]
            for begin, end in pairwise([first, *cuts, last]):
                if begin in inside:
                    ranges[-1] = (ranges[-1][0], end)
                    self.report.notes["sentence ends inside a span, not cut"] += 1
                else:
                    ranges.append((begin, end))
        return ranges


def placed_tokens(text: str, places: Sequence[tuple[int, int]], fields: Sequence[Any] = ()) -> Tokens:
    """The tokens at some places of a text; ``fields`` have the words of multiword tokens, which share a place."""
    starts, ends = [start for start, _ in places], [end for _, end in places]
    tokens = [text[start:end] for start, end in places]
    joined = [False, *(before == after and before[0] < before[1] for before, after in pairwise(places))]
    if not any(joined):
        return Tokens(text, tokens, starts, ends)
    for n, token in enumerate(fields):
        tokens[n] = token["text"] if isinstance(token, dict) and isinstance(token.get("text"), str) else tokens[n]
    return Tokens(text, tokens, starts, ends, None, joined[: len(tokens)])


def texts_of(
    sentences: Iterable[Sentence], options: WriteOptions, report: Report, labels: bool = False
) -> Iterator[AnnotatedText]:
    """The texts that sentences were cut from, with spans from their labels in the scheme of ``options``.

    Without a scheme every token that has a label other than O is a span. With ``labels``, labels that spans cannot
    express (without a scheme, not all known, or on tokens without characters) stay labels.
    """
    previous = False

    def share_record(group: list[Sentence], sentence: Sentence) -> bool:
        return isinstance(sentence.rest, Record) and sentence.rest is group[0].rest

    for group in grouped(sentences, share_record):
        first = group[0]
        record = first.rest if isinstance(first.rest, Record) else None
        place = place_of(group, report)
        spans = None
        written = [label for sentence in group for label in sentence.labels or ()]
        if first.labels is not None or first.spans is not None:
            spans = _spans_of(group, place, record, options.scheme, exact=labels)
        is_written = spans is None and (first.labels is not None or first.spans is not None)
        if spans is not None:
            report.dropped["spans of empty tokens"] += sum(span.start == span.end for span in spans)
            spans = [span for span in spans if span.start < span.end]
            has_scheme = options.scheme != "none"
            report.dropped["marks of unknown labels (? and A|B)"] += sum(
                isinstance(label, PartialLabel) or (has_scheme and looks_like_mark(label)) for label in written
            )
        cells = [cells for sentence in group for cells in sentence.columns or ()]
        yield AnnotatedText(
            place.text,
            spans,
            list(zip(place.starts, place.ends, strict=True)),
            record.fields if record is not None else {},
            first.document,
            continues=previous and record is None and first.document is None,
            line=first.line,
            labels=written if is_written else None,
            columns=cells if first.columns is not None else None,
            comments=[comment for sentence in group for comment in sentence.comments],
            token_fields=record.tokens if record is not None else [],
        )
        previous = record is None


def _spans_of(
    sentences: list[Sentence], place: Tokens, record: Record | None, scheme: str, exact: bool
) -> list[AnnotatedSpan] | None:
    """The spans of labels; None if ``exact`` and the labels could not be read back from them."""
    exact = exact and all(one.spans is None for one in sentences)  # labels could not express them at all
    if exact and (scheme == "none" or any(looks_like_mark(label) for one in sentences for label in one.labels or ())):
        return None
    others = record.span_fields if record is not None else {}
    spans = []
    for first, sentence in zip(accumulate(map(len, sentences), initial=0), sentences, strict=False):
        labels = sentence.labels or []
        if sentence.spans is not None:
            found = sentence.spans
        elif scheme == "none":
            found = [Span(label, n, n + 1) for n, label in enumerate(labels) if label != OUTSIDE]
        else:
            found = spans_from_labels([OUTSIDE if looks_like_mark(label) else label for label in labels], scheme)
        for label, start, end in found:
            start, end = first + start, first + end
            key = CharacterSpan(place.starts[start], place.ends[end - 1], label)
            if exact:
                low, high = place.touched(key.start, key.end)
                # Other words of their multiword tokens, which share a place with the tokens of a span, belong to it.
                places = list(zip(place.starts[low:high], place.ends[low:high], strict=True))
                own = {*places[start - low : end - low]}
                is_inside = low <= start < end <= high and key.start < key.end and own.issuperset(places)
                if label == UNKNOWN or not ((low, high) == (start, end) or is_inside):
                    return None
            spans.append(AnnotatedSpan(*key, others.get(key, {})))
    return spans


def grouped(items: Iterable[T], goes_on: Callable[[list[T], T], bool]) -> Iterator[list[T]]:
    """Groups of neighbours: an item joins the group before it if it ``goes_on``. A mistake comes after its group."""
    group: list[T] = []
    try:
        for item in items:
            if group and not goes_on(group, item):
                yield group
                group = []
            group.append(item)
    except PostilError:
        if group:
            yield group
        raise
    if group:
        yield group


def place_of(sentences: list[Sentence], report: Report) -> Tokens:
    """The text and the offsets in it: the record's own, those of the sentence, or tokens with spaces between."""
    first = sentences[0]
    tokens = [token for sentence in sentences for token in sentence.tokens]
    starts = [start for sentence in sentences for start in sentence.starts or ()]
    ends = [end for sentence in sentences for end in sentence.ends or ()]
    if first.text is not None and not tokens and isinstance(first.rest, Record):
        return Tokens(first.text, [], [], [])
    if first.text is not None and len(starts) == len(tokens) > 0:
        places = list(zip(starts, ends, strict=True))
        # Words of a multiword token share its place; a record says what they are.
        shared = {place for place, after in pairwise(places) if place == after and isinstance(first.rest, Record)}
        if all(t == first.text[a:b] or (a, b) in shared for t, (a, b) in zip(tokens, places, strict=True)):
            if isinstance(first.rest, Record):
                return Tokens(first.text, tokens, starts, ends)
            left = starts[0]
            text = first.text[left : ends[-1]]
            return Tokens(text, tokens, [start - left for start in starts], [end - left for end in ends])
        report.changed["texts rebuilt from tokens that do not match them"] += 1
    ends = list(accumulate(len(token) + 1 for token in tokens))
    return Tokens(" ".join(tokens), tokens, [0, *ends][:-1], [end - 1 for end in ends])


def count_losses(
    texts: Iterable[AnnotatedText], loses: Collection[str], span_fields: Collection[str], report: Report
) -> Iterator[AnnotatedText]:
    """Count, on their way to a writer, what texts have that its format ``loses``.

    These are "fragments", "documents", "fields" and "span fields" (but for those in ``span_fields``), "unannotated"
    (texts look like those without names), and "token data": labels, columns and comments.
    """
    for text in texts:
        spans = text.spans or ()
        if "fragments" in loses:
            several = sum(bool(span.fragments) for span in spans)
            report.changed["discontinuous spans, taken from their first to their last character"] += several
        if "documents" in loses:
            report.dropped["names of documents"] += bool(text.document)
        if "unannotated" in loses:
            report.changed["texts that nobody has annotated, written as texts without spans"] += text.spans is None
        if "fields" in loses:
            report.dropped.update(f"field {name!r} of texts" for name in text.fields)
        if "span fields" in loses:
            names = (name for span in spans for name in span.fields if name not in span_fields)
            report.dropped.update(f"field {name!r} of spans" for name in names)
        if "token data" in loses:
            report.dropped["labels of single tokens"] += len(text.labels or ())
            report.dropped["extra columns of tokens"] += len(text.columns or ())
            report.dropped["comments"] += len(text.comments)
            several = sum(isinstance(span.label, PartialLabel) for span in spans)
            report.changed[f"alternative labels of a span, written with {SEPARATOR}"] += several
        yield text
