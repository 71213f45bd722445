"""Every format by its name, and the two functions that most users need: ``read`` and ``write``."""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple, final

from postil.errors import ConfigurationError, DataError
from postil.text.blocks import conll_border
from postil.text.characters import is_unspaced
from postil.text.conll import Mark, read_conll
from postil.text.conll_writer import write_conll
from postil.text.conllu import Dependencies, read_conllu
from postil.text.conllu_writer import write_conllu
from postil.text.document import Rest, Sentence
from postil.text.lines import HEAD, Lines, NumberedLines, Originals, Source
from postil.text.options import ReadOptions, WriteOptions
from postil.text.output import Target, write_text
from postil.text.passages import Border, Passage, cut
from postil.text.plain import line_border, read_text, read_tokens
from postil.text.plain_texts import is_plain_record
from postil.text.recognition import recognise_format
from postil.text.records import NOT_ACCEPTED, Record, parse
from postil.text.relabelling import peek_scheme
from postil.text.report import Report
from postil.text.spans import read_jsonl, write_jsonl
from postil.text.treebank import Bracketing, read_treebank, write_treebank

Reader = Callable[[NumberedLines, ReadOptions, Report], Iterator[Sentence]]
Writer = Callable[[Iterable[Sentence], WriteOptions, Report], Iterator[str]]


class Format(NamedTuple):
    """One row of the table of formats."""

    title: str
    read: Reader
    write: Writer | None = None
    keeps: type[Rest] | None = None
    """The kind of ``Sentence.rest`` that the writer writes again."""
    keeps_text: bool = False
    """Whether the writer writes the raw text."""
    endings: tuple[str, ...] = ()
    """Endings of file names for which it is written."""
    border: Border | None = None
    """Where a source can be cut into passages; None: it is read from its beginning to its end."""


FORMATS: dict[str, Format] = {
    "conll": Format(
        "CoNLL columns", read_conll, write_conll, Mark, False, (".conll", ".tsv", ".txt", ".bio", ".iob"), conll_border
    ),
    "conllu": Format("CoNLL-U", read_conllu, write_conllu, Dependencies, True, (".conllu",)),
    "jsonl": Format("JSON Lines", read_jsonl, write_jsonl, Record, True, (".jsonl", ".ndjson", ".json"), line_border),
    "trees": Format("bracketed trees", read_treebank, write_treebank, Bracketing, False, (".ptb", ".mrg", ".trees")),
    "text": Format("plain text", read_text, border=line_border),
    "tokens": Format("pre-tokenised lines", read_tokens, border=line_border),
}


@final
class Reading:
    """An iterator over the sentences of one source, which may be larger than memory.

    ``format`` is the name of the format, and ``report`` counts what has been read so far. Can be used as a context
    manager; it closes itself when it has been read to the end.
    """

    def __init__(self, source: Source, format: str | None, options: ReadOptions) -> None:
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
        assert border is not None
        with self._lines as lines:
            yield from cut(lines, self.format, border, size)

    def originals(self) -> Originals:
        """The lines as they stand in the source, with their ends, for who writes them again. Before any is read."""
        return self._lines.originals()

    def _recognise(self, options: ReadOptions) -> str:
        head = self._lines.head()
        if not head:
            raise _empty(self.name)
        prefix = options.comment
        if prefix is not None and prefix != "auto":
            head = [line for line in head if not line.startswith(prefix)]
        format = recognise_format(head, self.name)
        return "conll" if format in ("text", "tokens") and options.names_columns else format

    def _run(self, options: ReadOptions) -> Iterator[Sentence]:
        with self._lines as lines:
            yield from FORMATS[self.format].read(lines, options, self.report)
            if not self.report.sentences:
                raise _empty(self.name) if lines.empty else _no_sentence(self.name, self.report)


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
    if chosen.scheme == "auto" and name == "jsonl":
        scheme, sentences = peek_scheme(sentences)
        chosen = replace(chosen, scheme=scheme)
    row = FORMATS[name]
    assert row.write is not None
    write_text(target, row.write(_count_losses(sentences, row, report), chosen, report))
    return report


def format_of_path(target: Target) -> str:
    """The format to write, from the ending of a file's name."""
    path = os.fspath(target).removesuffix(".gz") if isinstance(target, str | os.PathLike) else ""
    for name, row in FORMATS.items():
        if path.endswith(row.endings or ("\0",)):
            return name
    endings = ", ".join(ending for row in FORMATS.values() for ending in row.endings)
    raise ConfigurationError(
        "unknown format to write", expected=f"a format ({_writable()}) or a file name in {endings}", got=target
    )


def _writable() -> str:
    return ", ".join(name for name, row in FORMATS.items() if row.write is not None)


def _known(name: str, writing: bool = False) -> str:
    if name not in FORMATS or (writing and FORMATS[name].write is None):
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
        if rest is not None and rest is not before and not (row.keeps is not None and isinstance(rest, row.keeps)):
            report.dropped.update(rest.lost())
        if sentence.text is not None and not row.keeps_text:
            report.dropped["raw texts of sentences (their spacing)"] += 1
        before = rest
        yield sentence
