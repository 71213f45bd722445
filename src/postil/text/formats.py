"""Every format by its name, and the two functions that most users need: ``read`` and ``write``."""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast, final

from postil.errors import ConfigurationError, DataError
from postil.lazy import function
from postil.text.annotations.records import NOT_ACCEPTED, parse
from postil.text.bulk.passages import Border, Passage, cut
from postil.text.bulk.plain_texts import is_plain_record
from postil.text.columns.blocks import conll_border, conllu_border
from postil.text.document import Rest, Sentence
from postil.text.lines import HEAD, Lines, NumberedLines, Originals, Source, Unread
from postil.text.options import ReadOptions, WriteOptions
from postil.text.output import Target, write_text
from postil.text.plain import line_border, read_text, read_tokens
from postil.text.report import Report
from postil.text.splitting.characters import is_unspaced

if TYPE_CHECKING:
    from postil.text.annotations.annotated import AnnotatedText, TextReader, TextWriter

Reader = Callable[[NumberedLines, ReadOptions, Report], Iterator[Sentence]]
Writer = Callable[[Iterable[Sentence], WriteOptions, Report], Iterator[str]]
Saver = Callable[[Iterable[Sentence], Target, WriteOptions, Report], None]
TextSaver = Callable[["Iterable[AnnotatedText]", Target, WriteOptions, Report], None]


class Format(NamedTuple):
    """One row of the table of formats."""

    title: str
    read: Reader
    write: Writer | None = None
    keeps: str | None = None
    """The class of ``Sentence.rest`` that the writer writes again, by its name: its module is seldom needed."""
    keeps_text: bool = False
    """Whether the writer writes the raw text."""
    endings: tuple[str, ...] = ()
    """Endings of file names for which it is written."""
    border: Border | None = None
    """Where a source can be cut into passages; None: it is read from its beginning to its end."""
    texts: "TextReader | None" = None
    """Reads whole texts with their spans, as annotation tools have them."""
    write_texts: "TextWriter | None" = None
    save: Saver | None = None
    """Writes sentences to a target that is not one file of text, instead of ``write``."""
    save_texts: TextSaver | None = None
    opens: bool = False
    """Whether its reader opens the source itself: a folder, or a file that is not text."""
    like: str | None = None
    """The format that its files are recognised as, where it is another one."""

    @property
    def is_written(self) -> bool:
        return self.write is not None or self.save is not None

    @property
    def has_spans(self) -> bool:
        """Whether its writer needs the spans of the labels."""
        return self.write_texts is not None or self.save_texts is not None


# Readers and writers, imported when a file of their format is read or written.
_json_texts = function("postil.text.annotations.annotated", "json_texts")
_json_array_texts = function("postil.text.annotations.annotated", "json_array_texts")
_table_texts = function("postil.text.annotations.annotated", "table_texts")
_sentences_of = function("postil.text.annotations.annotated", "sentences_of")
_texts_of = function("postil.text.annotations.annotated", "texts_of")
_write_json_texts = function("postil.text.annotations.annotated", "write_json_texts")
_is_brat_folder = function("postil.text.annotations.brat", "is_brat_folder")
_read_brat = function("postil.text.annotations.brat", "read_brat")
_save_brat = function("postil.text.annotations.brat", "save_brat")
_read_conll = function("postil.text.columns.conll", "read_conll")
_write_conll = function("postil.text.columns.conll_writer", "write_conll")
_read_conllu = function("postil.text.columns.conllu", "read_conllu")
_write_conllu = function("postil.text.columns.conllu_writer", "write_conllu")
_read_csv = function("postil.text.columns.csv_table", "read_csv")
_write_csv = function("postil.text.columns.csv_table", "write_csv")
_write_doccano = function("postil.text.annotations.doccano", "write_doccano")
_read_parquet = function("postil.text.annotations.hugging_face", "read_parquet")
_save_parquet = function("postil.text.annotations.hugging_face", "save_parquet")
_write_datasets = function("postil.text.annotations.hugging_face", "write_datasets")
_read_inline_xml = function("postil.text.annotations.inline_xml", "read_inline_xml")
_write_muc = function("postil.text.annotations.inline_xml", "write_muc")
_write_stanford = function("postil.text.annotations.inline_xml", "write_stanford")
_read_label_studio = function("postil.text.annotations.label_studio", "read_label_studio")
_write_label_studio = function("postil.text.annotations.label_studio", "write_label_studio")
_write_label_studio_min = function("postil.text.annotations.label_studio", "write_label_studio_min")
_write_prodigy = function("postil.text.annotations.prodigy", "write_prodigy")
_read_jsonl = function("postil.text.annotations.spans", "read_jsonl")
_read_json = function("postil.text.annotations.spans", "read_json")
_read_span_table = function("postil.text.annotations.spans", "read_span_table")
_write_jsonl = function("postil.text.annotations.spans", "write_jsonl")
_read_treebank = function("postil.text.trees.treebank", "read_treebank")
_write_treebank = function("postil.text.trees.treebank", "write_treebank")
_read_webanno = function("postil.text.columns.webanno", "read_webanno")
_write_webanno = function("postil.text.columns.webanno", "write_webanno")


def _of_texts(title: str, texts: "TextReader", write_texts: "TextWriter", **others: Any) -> Format:
    """The row of an annotation tool: sentences are made of its texts, and its texts of sentences."""

    def read(lines: NumberedLines, options: ReadOptions, report: Report) -> Iterator[Sentence]:
        return cast(Iterator[Sentence], _sentences_of(texts(lines, options, report), lines, options, report))

    def write(sentences: Iterable[Sentence], options: WriteOptions, report: Report) -> Iterator[str]:
        return write_texts(_texts_of(sentences, options, report), options, report)

    return Format(title, read, write, "Record", True, texts=texts, write_texts=write_texts, **others)


def _read_brat_sentences(lines: NumberedLines, options: ReadOptions, report: Report) -> Iterator[Sentence]:
    return cast(Iterator[Sentence], _sentences_of(_read_brat(lines, options, report), lines, options, report))


def _save_brat_sentences(sentences: Iterable[Sentence], target: Target, options: WriteOptions, report: Report) -> None:
    _save_brat(_texts_of(sentences, options, report), target, options, report)


FORMATS: dict[str, Format] = {
    "conll": Format(
        "CoNLL columns",
        _read_conll,
        _write_conll,
        "Mark",
        False,
        (".conll", ".tsv", ".txt", ".bio", ".iob"),
        conll_border,
    ),
    "conllu": Format("CoNLL-U", _read_conllu, _write_conllu, "Dependencies", True, (".conllu",), conllu_border),
    "jsonl": Format(
        "JSON Lines",
        _read_jsonl,
        _write_jsonl,
        "Record",
        True,
        (".jsonl", ".ndjson", ".json"),
        line_border,
        texts=_json_texts,
        write_texts=_write_json_texts,
    ),
    "trees": Format(
        "bracketed trees", _read_treebank, _write_treebank, "Bracketing", False, (".ptb", ".mrg", ".trees")
    ),
    "text": Format("plain text", read_text, border=line_border),
    "tokens": Format("pre-tokenised lines", read_tokens, border=line_border),
    "doccano": _of_texts("doccano's JSON Lines", _json_texts, _write_doccano, like="jsonl"),
    "prodigy": _of_texts("Prodigy's JSON Lines", _json_texts, _write_prodigy, like="jsonl"),
    "label-studio": _of_texts("Label Studio's JSON", _read_label_studio, _write_label_studio),
    "label-studio-min": _of_texts("Label Studio's JSON-MIN", _read_label_studio, _write_label_studio_min),
    "brat": Format(
        "brat standoff",
        _read_brat_sentences,
        keeps="Record",
        keeps_text=True,
        texts=_read_brat,
        save=_save_brat_sentences,
        save_texts=_save_brat,
        opens=True,
    ),
    "webanno": _of_texts("WebAnno TSV 3", _read_webanno, _write_webanno),
    "muc": _of_texts("inline XML", _read_inline_xml, _write_muc, endings=(".sgml", ".sgm")),
    "stanford": _of_texts("inline XML of Stanford", _read_inline_xml, _write_stanford, like="muc"),
    "datasets": Format("JSON Lines for Hugging Face datasets", _read_jsonl, _write_datasets, like="jsonl"),
    "parquet": Format("Parquet", _read_parquet, save=_save_parquet, opens=True, endings=(".parquet",)),
    "csv": Format("a table of words", _read_csv, _write_csv, endings=(".csv",)),
    "csv-spans": Format("a table of texts with spans", _read_span_table, texts=_table_texts),
    "json": Format("a JSON array of texts with spans", _read_json, texts=_json_array_texts),
}


@final
class Reading:
    """An iterator over the sentences of one source, which may be larger than memory.

    ``format`` is the name of the format, and ``report`` counts what has been read so far. Can be used as a context
    manager; it closes itself when it has been read to the end.
    """

    def __init__(self, source: Source, format: str | None, options: ReadOptions) -> None:
        opening = _self_opening(source, format)
        self._lines: Lines | Unread
        if opening is not None:
            format, self._lines = opening, Unread(os.fspath(cast(str, source)))
        else:
            self._lines = Lines(source, encoding=options.encoding)
        try:
            self.name = self._lines.name
            self.format = _known(format) if format is not None else self._recognise(options)
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
        if self.format == "jsonl":
            return self._begins_without_labels()
        return FORMATS[self.format].border is not None

    def _begins_without_labels(self) -> bool:
        try:
            first = next(filter(None, self._lines.head(1)), "")
            record = parse(first, self.name)
            return is_plain_record(record) and record.get("answer") not in NOT_ACCEPTED
        except DataError:  # which reading meets again
            return False

    def is_unspaced(self) -> bool:
        """Whether its first lines are raw text with long runs of Chinese, Japanese, Thai or the like without a space.

        The tokeniser of words takes such a run for one token; `ReadOptions.characters` cuts it.
        """
        if self.format not in ("text", "jsonl"):
            return False
        lines = (line[:HEAD] for line in self._lines.head())
        return is_unspaced("\n".join(line for line in lines if '"tokens"' not in line)[:HEAD])

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
        texts = FORMATS[self.format].texts
        assert texts is not None
        with self._lines as lines:
            for text in texts(lines, options, self.report):
                self.report.texts += 1
                self.report.notes["spans"] += len(text.spans or ())
                yield text
            if not self.report.texts:
                raise _empty(self.name) if lines.empty else _no_sentence(self.name, self.report)

    def has_labels_per_token(self) -> bool:
        """Whether JSON Lines begin with a record that has a label for each token instead of spans."""
        head = next((line for line in self._lines.head() if line), "")
        return self.format == "jsonl" and _LABELS_PER_TOKEN.search(head) is not None

    def _recognise(self, options: ReadOptions) -> str:
        head = self._lines.head()
        if not head:
            raise _empty(self.name)
        prefix = options.comment
        if prefix is not None and prefix != "auto":
            head = [line for line in head if not line.startswith(prefix)]
        from postil.text.recognition import recognise_format  # knows every format

        format = recognise_format(head, self.name)
        return "conll" if format in ("text", "tokens") and options.names_columns else format

    def _run(self, options: ReadOptions) -> Iterator[Sentence]:
        with self._lines as lines:
            yield from FORMATS[self.format].read(lines, options, self.report)
            if not self.report.sentences:
                raise _empty(self.name) if lines.empty else _no_sentence(self.name, self.report)


_LABELS_PER_TOKEN = re.compile(r'"(?:labels|tags|ner_tags)"\s*:\s*\[\s*["\d-]')


def _self_opening(source: Source, format: str | None) -> str | None:
    """The format of a source that its reader opens itself; None for text."""
    path = os.fspath(source) if isinstance(source, str | os.PathLike) and source != "-" else None
    if format is not None:
        if not FORMATS[_known(format)].opens:
            return None
        if path is None:
            raise ConfigurationError(f"input of the format {format}", expected="must be a path", got="a stream")
        return format
    if path is None:
        return None
    if Path(path).is_dir() and _is_brat_folder(Path(path)):
        return "brat"
    if Path(path).is_file():
        with Path(path).open("rb") as file:
            head = file.read(64)
        if head.startswith(b"PAR1"):
            return "parquet"
        if path.endswith(".ann") and head[:1] == b"T" and b"\t" in head:
            return "brat"
    return None


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
        raise _no_sentence(passage.name, report) if passage.text else _empty(passage.name)


def _empty(name: str) -> DataError:
    return DataError("the file is empty", expected="sentences", got="0 characters", where=name)


def _no_sentence(name: str, report: Report) -> DataError:
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
        from postil.text.labels.relabelling import peek_scheme

        scheme, sentences = peek_scheme(sentences)
        chosen = replace(chosen, scheme=scheme)
    counted = _count_losses(sentences, row, report)
    if row.save is not None:
        row.save(counted, target, chosen, report)
    else:
        assert row.write is not None
        write_text(target, row.write(counted, chosen, report))
    return report


def write_annotated(texts: "Iterable[AnnotatedText]", target: Target, format: str, report: Report) -> None:
    """Write whole texts with their spans in a format of texts; ``report`` says what was left out."""
    row = FORMATS[_known(format, writing=True)]
    if row.save_texts is not None:
        row.save_texts(texts, target, WriteOptions(), report)
        return
    assert row.write_texts is not None
    write_text(target, row.write_texts(texts, WriteOptions(), report))


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
    raise ConfigurationError(
        "unknown format to write", expected=f"a format ({_writable()}) or a file name in {endings}", got=target
    )


def _writable() -> str:
    return ", ".join(name for name, row in FORMATS.items() if row.is_written)


def _known(name: str, writing: bool = False) -> str:
    if name not in FORMATS or (writing and not FORMATS[name].is_written):
        expected = _writable() if writing else ", ".join(FORMATS)
        raise ConfigurationError(
            f"no {'writer' if writing else 'reader'} for this format", expected=expected, got=repr(name)
        )
    return name


def _count_losses(sentences: Iterable[Sentence], row: Format, report: Report) -> Iterator[Sentence]:
    """Count, on their way to the writer, what sentences carry that the format has no place for."""
    before: Rest | None = None
    for sentence in sentences:
        rest = sentence.rest
        if rest is not None and rest is not before and type(rest).__name__ != row.keeps:
            report.dropped.update(rest.lost())
        if sentence.text is not None and not row.keeps_text:
            report.dropped["raw texts of sentences (their spacing)"] += 1
        before = rest
        yield sentence
