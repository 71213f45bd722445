"""Every format by its name, and the two functions that most users need: ``read`` and ``write``."""

import importlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast, final

from postil.errors import ConfigurationError, DataError
from postil.text.annotations.annotated import AnnotatedText, count_losses, sentences_of, texts_of
from postil.text.annotations.records import NOT_ACCEPTED, is_plain_record, parse
from postil.text.columns.conll import conll_border
from postil.text.document import Rest, Sentence
from postil.text.labels.schemes import IO, from_io
from postil.text.lines import HEAD, Border, Lines, NumberedLines, Originals, Passage, Source, Unread, cut
from postil.text.options import ReadOptions, WriteOptions
from postil.text.output import Target, write_text
from postil.text.plain import line_border
from postil.text.report import Report


@final
@dataclass(frozen=True, slots=True)
class Format:
    """One row of the table of formats: all that the rest of the package needs to know about it.

    Its functions are looked up by name in its module, which is imported when a file of the format is read or written.
    """

    title: str
    module: str  # below ``postil.text``
    reads: str = ""
    """The function that reads sentences or, with ``texts``, whole texts with their spans (`AnnotatedText`)."""
    writes: str = ""
    """The function that returns the lines to write; with ``opens``, one that writes them to a target itself."""
    texts: bool = False  # whether the two take and return whole texts, as annotation tools have them
    spans: bool = False  # whether the labels of sentences are written as spans
    keeps: str | None = None
    """The class of ``Sentence.rest`` that the writer writes again, by its name: its module is seldom needed."""
    keeps_text: bool = False  # whether the writer writes the raw text
    loses: tuple[str, ...] = ()
    """Content that the writer has no place for: of texts see `count_losses`, of sentences `_count_losses`."""
    span_fields: tuple[str, ...] = ()  # fields of spans that it keeps nevertheless
    endings: tuple[str, ...] = ()  # endings of file names for which it is written
    border: Border | None = None
    """Finds where a source can be cut into passages; None: it is read from its beginning to its end."""
    opens: bool = False  # whether its functions open files themselves: a folder, or a file that is not text
    like: str | None = None  # the format that its files are recognised and read as, if it is another one

    @property
    def has_spans(self) -> bool:
        """Whether its writer needs the spans of the labels."""
        return bool(self.writes) and (self.texts or self.spans)

    def read(self, lines: NumberedLines, options: ReadOptions, report: Report) -> Iterator[Sentence]:
        """The sentences of a source."""
        row = self if self.like is None else FORMATS[self.like]
        if row.texts:
            opening = row.read_texts(lines.opening, options, Report()) if lines.opening is not None else ()
            yield from sentences_of(row.read_texts(lines, options, report), lines, options, report, opening)
            return
        for sentence in row._function(row.reads)(lines, options, report):
            report.sentences += 1
            report.tokens += len(sentence.tokens)
            if options.from_scheme == IO and sentence.labels is not None:
                sentence.labels = from_io(sentence.labels)
            yield sentence

    def read_texts(self, lines: NumberedLines, options: ReadOptions, report: Report) -> Iterator[AnnotatedText]:
        """The whole texts of a source, for a format of texts."""
        row = self if self.like is None else FORMATS[self.like]
        return cast(Iterator[AnnotatedText], row._function(row.reads)(lines, options, report))

    def save(self, items: Iterable[Any], target: Target, options: WriteOptions, report: Report) -> None:
        """Write sentences or, in a format of texts, whole texts with their spans."""
        if self.texts:
            items = count_losses(items, self.loses, self.span_fields, report)
        writer = self._function(self.writes)
        if self.opens:
            writer(items, target, options, report)
        else:
            write_text(target, writer(items, options, report))

    def _function(self, name: str) -> Callable[..., Any]:
        return cast(Callable[..., Any], getattr(importlib.import_module(f"postil.text.{self.module}"), name))


def _of_tool(title: str, reads: str, writes: str, *loses: str, **others: Any) -> Format:
    others = {"module": "annotations.tools", "texts": True, "keeps": "Record", "keeps_text": True, **others}
    return Format(title, reads=reads, writes=writes, loses=(*loses, "token data"), **others)


_RECORDS, _LIBRARIES = "annotations.records", "annotations.libraries"
_FLAT = ("fragments", "documents")
_TOKEN_DATA = ("columns", "comments", "documents")

FORMATS: dict[str, Format] = {
    "conll": Format(
        "CoNLL columns",
        "columns.conll",
        "read_conll",
        "write_conll",
        keeps="DocumentMark",
        loses=("empty",),
        endings=(".conll", ".tsv", ".txt", ".bio", ".iob", ".iob2"),
        border=conll_border,
    ),
    "conllu": Format(
        "CoNLL-U",
        "columns.conllu",
        "read_conllu",
        "write_conllu",
        keeps="Dependencies",
        keeps_text=True,
        loses=("empty",),
        endings=(".conllu",),
        border=partial(conll_border, comments="#"),  # every line that begins with # is a comment
    ),
    "conll05": Format(
        "CoNLL-2005 columns of roles",
        "columns.conll",
        "read_roles",
        "write_roles",
        keeps="Frames",
        loses=("empty", *_TOKEN_DATA),
        endings=(".conll05",),
        border=conll_border,
    ),
    "jsonl": Format(
        "JSON Lines",
        _RECORDS,
        "read_json_lines",
        "write_json_lines",
        texts=True,
        keeps="Record",
        keeps_text=True,
        loses=("fragments",),
        endings=(".jsonl", ".ndjson", ".json"),
        border=line_border,
    ),
    "trees": Format(
        "bracketed trees",
        "trees.treebank",
        "read_treebank",
        "write_treebank",
        keeps="Bracketing",
        loses=("empty", "columns", "documents"),
        endings=(".ptb", ".mrg", ".trees"),
    ),
    "text": Format("plain text", "plain", "read_text", border=line_border),
    "tokens": Format("pre-tokenised lines", "plain", "read_tokens", border=line_border),
    "doccano": _of_tool("doccano's JSON Lines", "", "write_doccano", *_FLAT, "span fields", like="jsonl"),
    "prodigy": _of_tool("Prodigy's JSON Lines", "", "write_prodigy", *_FLAT, like="jsonl"),
    "label-studio": _of_tool("Label Studio's JSON", "read_label_studio", "write_label_studio", *_FLAT),
    "label-studio-min": _of_tool(
        "Label Studio's JSON-MIN", "read_label_studio", "write_label_studio_min", *_FLAT, "span fields"
    ),
    "brat": _of_tool(
        "brat standoff",
        "read_brat",
        "save_brat",
        *("fields", "span fields", "unannotated"),
        span_fields=("attributes", "notes"),
        opens=True,
    ),
    "datasets": Format(
        "JSON Lines for Hugging Face datasets", _LIBRARIES, writes="write_datasets", loses=_TOKEN_DATA, like="jsonl"
    ),
    "parquet": Format(
        "Parquet", _LIBRARIES, "read_parquet", "save_parquet", loses=_TOKEN_DATA, endings=(".parquet",), opens=True
    ),
    "csv": Format(
        "a table of words",
        "annotations.tables",
        "read_words",
        "write_words",
        loses=("comments", "documents"),
        endings=(".csv",),
    ),
    "csv-spans": Format("a table of texts with spans", "annotations.tables", "read_table", texts=True),
    "json": Format("a JSON array of texts with spans", _RECORDS, "read_json_array", texts=True),
    "spacy": Format(
        "spaCy's DocBin",
        _LIBRARIES,
        "read_docs",
        "save_docs",
        spans=True,
        keeps="Record",
        keeps_text=True,
        loses=("columns", "comments"),
        endings=(".spacy",),
        opens=True,
    ),
}


@final
class Reading:
    """An iterator over the sentences of one source, which may be larger than memory.

    ``format`` is the name of the format, and ``report`` counts what has been read so far. Can be used as a context
    manager; it closes itself when it has been read to the end.
    """

    def __init__(self, source: Source, format: str | None, options: ReadOptions) -> None:
        format, self._lines = _opened(source, format, options)
        try:
            self.name = self._lines.name
            if format is None:
                head = self._lines.head()
                if not head:
                    raise _nothing(self.name)
                if options.comment is not None and options.comment != "auto":
                    head = [line for line in head if not line.startswith(options.comment)]
                from postil.text.recognition import recognise_format  # knows every format

                format = recognise_format(head, self.name)
                names_columns = options.token != 0 or options.label not in ("auto", None) or bool(options.features)
                format = "conll" if format in ("text", "tokens") and names_columns else format
            self.format = _known(format)
        except BaseException:
            self._lines.close()
            raise
        self.report = Report(self.format)
        self._sentences = self._run(options)

    def __enter__(self) -> "Reading":
        return self

    def __exit__(self, *exception: object) -> None:
        self._lines.close()

    def __iter__(self) -> Iterator[Sentence]:
        return self._sentences

    def __next__(self) -> Sentence:
        return next(self._sentences)

    @property
    def has_passages(self) -> bool:
        """Whether parts of the source can be read separately.

        Spans of JSON Lines that must not be taken are listed after all of the source has been read, so only records
        without labels can.
        """
        if self.format != "jsonl":
            return FORMATS[self.format].border is not None
        try:
            first = next(filter(None, self._lines.head(1)), "")
            record = parse(first, self.name)
            return is_plain_record(record) and record.get("answer") not in NOT_ACCEPTED
        except DataError:  # which reading meets again
            return False

    def head_text(self) -> str:
        """The first lines of raw text; empty if it is another format."""
        if self.format not in ("text", "jsonl"):
            return ""
        lines = (line[:HEAD] for line in self._lines.head())
        return "\n".join(line for line in lines if '"tokens"' not in line)[:HEAD]

    def passages(self, size: int) -> Iterator[Passage]:
        """The source in parts of about ``size`` characters instead of its sentences, each for `read_passage`."""
        border = FORMATS[self.format].border
        assert border is not None and isinstance(self._lines, Lines)
        with self._lines as lines:
            yield from cut(lines, self.format, border, size)

    def originals(self) -> Originals:
        """The lines as they stand in the source, with their ends, for who writes them again. Before any is read."""
        assert isinstance(self._lines, Lines)
        return self._lines.originals()

    def texts(self, options: ReadOptions) -> "Iterator[AnnotatedText]":
        """Whole texts with their spans instead of sentences, for a format of texts."""
        with self._lines as lines:
            for text in FORMATS[self.format].read_texts(lines, options, self.report):
                self.report.texts += 1
                self.report.notes["spans"] += len(text.spans or ())
                yield text
            if not self.report.texts:
                raise _nothing(self.name, None if lines.empty else self.report)
        self.report.warn_of_repairs(self.name)

    def has_labels_per_token(self) -> bool:
        """Whether JSON Lines begin with a record that has a label for each token instead of spans."""
        head = next((line for line in self._lines.head() if line), "")
        return self.format == "jsonl" and _LABELS_PER_TOKEN.search(head) is not None

    def _run(self, options: ReadOptions) -> Iterator[Sentence]:
        with self._lines as lines:
            yield from FORMATS[self.format].read(lines, options, self.report)
            if not self.report.sentences:
                raise _nothing(self.name, None if lines.empty else self.report)
        self.report.warn_of_repairs(self.name)


_LABELS_PER_TOKEN = re.compile(r'"(?:labels|tags|ner_tags)"\s*:\s*\[\s*["\d-]')


def _opened(source: Source, format: str | None, options: ReadOptions) -> tuple[str | None, Lines | Unread]:
    """The source, opened once, and its format if that is given or is none of lines."""
    path = os.fspath(source) if isinstance(source, str | os.PathLike) and source != "-" else None
    if format is not None and FORMATS[_known(format)].opens:
        if path is None:
            raise ConfigurationError(f"input of the format {format}", expected="must be a path", got="a stream")
        return format, Unread(path)
    if format is None and path is not None and Path(path).is_dir() and next(Path(path).rglob("*.ann"), None):
        return "brat", Unread(path)
    if format is None and path is not None and path.endswith(".spacy"):
        return "spacy", Unread(path)
    lines = Lines(source, encoding=options.encoding)
    if format is None and path is not None:
        is_brat = path.endswith(".ann") and lines.magic[:1] == b"T" and b"\t" in lines.magic
        if is_brat or lines.magic.startswith(b"PAR1"):
            lines.close()
            return "brat" if is_brat else "parquet", Unread(path)
    return format, lines


def read(source: Source, format: str | None = None, **options: Any) -> Reading:
    """Read the sentences of a path ("-" for standard input) or a binary stream. The format is recognised unless given.

    ``options`` are those of `ReadOptions`.

        for sentence in read("train.txt"):
            print(sentence.tokens, sentence.labels)
    """
    return Reading(source, format, ReadOptions(**options))


def read_passage(passage: Passage, report: Report, options: ReadOptions) -> Iterator[Sentence]:
    """The sentences of a passage, as if they had been read with the whole source and the same ``options``."""
    yield from FORMATS[passage.format].read(passage, options, report)
    if passage.whole and not report.sentences:
        raise _nothing(passage.name, report if passage.text else None)


def _nothing(name: str, report: Report | None = None) -> DataError:
    """The error about a source without a sentence; without a report, it is empty."""
    if report is None:
        return DataError("the file is empty", expected="sentences", got="0 characters", where=name)
    others = [what for counts in (report.notes, report.dropped) for what, n in counts.items() if n]
    got = f"only {', '.join(others)}" if others else "nothing but blank lines"
    return DataError("no sentence", expected=f"sentences as {FORMATS[report.format].title}", got=got, where=name)


def format_of(source: Source, encoding: str | None = None) -> str:
    """The name of the format of a file, from its first lines."""
    with Reading(source, None, ReadOptions(encoding=encoding)) as reading:
        return reading.format


def write(
    sentences: Iterable[Sentence],
    target: Target,
    format: str | None = None,
    report: Report | None = None,
    **options: Any,
) -> Report:
    """Write sentences to a path ("-" for standard output, ".gz" for gzip) or a binary stream.

    The default format is that of the file extension. ``options`` are those of `WriteOptions`. Returns ``report``, which
    says what was left out.
    """
    chosen = WriteOptions(**options)
    name = _known(format, writing=True) if format is not None else format_of_path(target)
    report = Report(name) if report is None else report
    row = FORMATS[name]
    if chosen.scheme == "auto" and row.has_spans:
        from postil.text.labels.partial import peek_scheme

        scheme, sentences = peek_scheme(sentences)
        chosen = replace(chosen, scheme=scheme)
    items: Iterable[Any] = _count_losses(sentences, row, report)
    if row.texts:
        items = texts_of(items, chosen, report, labels="token data" not in row.loses)
    row.save(items, target, chosen, report)
    return report


def write_annotated(texts: Iterable[AnnotatedText], target: Target, format: str, report: Report) -> None:
    """Write whole texts with their spans in a format of texts; ``report`` says what was left out."""
    FORMATS[_known(format, writing=True)].save(texts, target, WriteOptions(), report)


def format_named(path: str | os.PathLike[str]) -> str | None:
    """The format that the ending of a file's name stands for; None: it stands for none."""
    name = os.fspath(path).removesuffix(".gz")
    return next((format for format, row in FORMATS.items() if row.endings and name.endswith(row.endings)), None)


def format_of_path(target: Target) -> str:
    """The format to write, from the ending of a file's name."""
    format = format_named(target) if isinstance(target, str | os.PathLike) else None
    if format is not None:
        return format
    endings = ", ".join(ending for row in FORMATS.values() for ending in row.endings)
    writable = ", ".join(name for name, row in FORMATS.items() if row.writes)
    expected = f"a format ({writable}) or a file name in {endings}"
    raise ConfigurationError("unknown format to write", expected=expected, got=target)


def _known(name: str, writing: bool = False) -> str:
    known = [format for format, row in FORMATS.items() if row.writes or not writing]
    if name not in known:
        what = f"no {'writer' if writing else 'reader'} for this format"
        raise ConfigurationError(what, expected=", ".join(known), got=repr(name))
    return name


def _count_losses(sentences: Iterable[Sentence], row: Format, report: Report) -> Iterator[Sentence]:
    """Count, on their way to the writer, what sentences carry that the format has no place for.

    A format of sentences ``loses`` extra "columns" of tokens, "comments", marks of "documents", or sentences that are
    "empty", which are left out.
    """
    before: Rest | None = None
    for sentence in sentences:
        if not row.texts:
            if "empty" in row.loses and not sentence.tokens:
                report.dropped["sentences without tokens"] += 1
                continue
            report.dropped["extra columns of tokens"] += len(sentence) * (
                "columns" in row.loses and sentence.columns is not None
            )
            report.dropped["comments"] += len(sentence.comments) * ("comments" in row.loses)
            report.dropped["document marks"] += "documents" in row.loses and sentence.document is not None
        rest = sentence.rest
        if rest is not None and rest is not before and type(rest).__name__ != row.keeps:
            report.dropped.update(rest.lost())
        if sentence.text is not None and not row.keeps_text:
            report.dropped["raw texts of sentences (their spacing)"] += 1
        if sentence.spans is not None and not row.has_spans:
            from postil.text.labels.groups import overlap_error, overlaps

            why, where = f"in {row.title}", f"line {sentence.line}"
            raise overlap_error(*next(overlaps(sentence.spans)), why, sentence.tokens, where)
        before = rest
        yield sentence
