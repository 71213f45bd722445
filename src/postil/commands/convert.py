"""``postil convert``: from one format or labelling scheme to another."""

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from postil.commands.notices import show_problems
from postil.commands.output import DOCS, add_overwrite_argument, check_output, output_format
from postil.commands.reading import add_format_argument, add_reading_arguments, reading_options
from postil.errors import ConfigurationError, printable
from postil.text.document import Sentence
from postil.text.formats import FORMATS, Reading, format_of_path, read, write, write_annotated
from postil.text.labels.partial import peek_scheme, relabel
from postil.text.labels.schemes import IO, SCHEMES
from postil.text.options import ReadOptions

if TYPE_CHECKING:
    from postil.integrations.spacy_files import DocReading

DESCRIPTION = """\
Convert a labelled file to another format or labelling scheme. The format of the input is detected from its content,
that of the output from the name of the file. Counts of everything that was read, changed or dropped go to standard
error. If the input has a mistake, nothing is written.

  postil convert train.conll train.jsonl                    columns to text with spans
  postil convert annotated.jsonl train.conll                spans to columns (also files of doccano and Prodigy)
  postil convert train.txt train.conll --scheme iobes       labels in another scheme
  postil convert io.txt train.conll --from-scheme io        classes without prefixes (PER PER O) become BIO
  postil convert corpus.conllu pos.txt --label-column xpos  one column of CoNLL-U
  postil convert corpus.mrg pos.conll                       the words of trees with their labels
  postil convert docs.spacy train.conll                     docs of spaCy (DocBin), both ways; needs the extra spacy
  postil convert export.json train.conll                    Label Studio, recognised; so are brat, WebAnno, XML, CSV
  postil convert train.conll notes --to brat                for an annotation tool (see --to)
  gzip -cd big.conll.gz | postil convert - - --to jsonl     from a pipe into a pipe
"""
SHOWN = (
    "--from --to --scheme --from-scheme --label-column --to-label-column --misaligned --overlaps "
    "--no-split --strict --encoding --overwrite"
).split()

AnyReading: TypeAlias = "Reading | DocReading"
_DELIMITERS = {"tab": "\t", "space": " "}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options: reading first, then labels and writing."""
    parser.add_argument("input", metavar="IN", help="file to read, plain or gzip; - for standard input")
    parser.add_argument("output", metavar="OUT", help="file to write, gzip if it ends in .gz; - for standard output")
    add_overwrite_argument(parser)
    kept = "all others in CoNLL, none in CoNLL-U"
    reading = add_reading_arguments(parser, None, kept, what="IN", formats=[*FORMATS, DOCS], schemes=(*SCHEMES, IO))
    reading.add_argument(
        "--comment",
        type=_or_none,
        default="auto",
        metavar="PREFIX",
        help="CoNLL: prefix of comment lines, or none (default: '# ' before a sentence)",
    )
    reading.add_argument("--no-split", action="store_true", help="do not split raw text into sentences")
    _add_writing_arguments(parser)


def _add_writing_arguments(parser: argparse.ArgumentParser) -> None:
    writing = parser.add_argument_group("labels and writing")
    writable = [name for name, row in FORMATS.items() if row.is_written]
    add_format_argument(writing, "OUT", [*writable, DOCS], option="--to", dest="target", otherwise="from its name")
    writing.add_argument("--scheme", choices=(*SCHEMES[:-1], IO), help="labelling scheme to write (default: unchanged)")
    writing.add_argument(
        "--delimiter", choices=list(_DELIMITERS), default="tab", help="CoNLL: separator of the columns (default: tab)"
    )
    writing.add_argument(
        "--to-label-column",
        metavar="C",
        help="CoNLL-U: column for the labels (default: the one they were read from; else upos, misc:NER for spans)",
    )
    writing.add_argument(
        "--to-feature-columns", type=_names, default=(), metavar="C,C", help="CoNLL-U: columns for the extra columns"
    )
    writing.add_argument(
        "--strict", action="store_true", help="reject labels that violate their scheme, and empty tokens"
    )


def run(arguments: argparse.Namespace) -> int:
    """Read, relabel, write, report."""
    if arguments.output == "-" and arguments.target is None:
        raise ConfigurationError("standard output", expected="needs --to FORMAT")
    target = arguments.target or output_format(arguments.output)
    if target is None or (target != DOCS and target not in FORMATS):
        target = format_of_path(arguments.output)  # an error that lists the endings
    row = FORMATS.get(target)  # None: docs of spaCy
    if arguments.output != "-" and (row is None or not (row.opens and row.texts)):  # a folder must be empty
        inputs = [arguments.input] if arguments.input != "-" else []
        check_output(
            arguments.output,
            "output",
            target if row is None else row.like or target,
            inputs=inputs,
            overwrite=arguments.overwrite,
        )
    with _open(arguments) as reading:
        try:
            if isinstance(reading, Reading) and _keeps_texts(reading, arguments, target):
                write_annotated(reading.texts(_options(arguments)), arguments.output, target, reading.report)
                _print_report(reading, arguments.output, target)
                return 0
            sentences, scheme = _relabelled(reading, arguments, target)
            _write(sentences, reading, arguments, target, scheme)
        finally:
            show_problems(reading.report.problems)
    _print_report(reading, arguments.output, target)
    return 0


def _write(
    sentences: Iterator[Sentence], reading: AnyReading, arguments: argparse.Namespace, target: str, scheme: str
) -> None:
    if target == DOCS:
        from postil.integrations.spacy_files import write_docs  # needs an extra

        write_docs(sentences, arguments.output, scheme, reading.report)
        return
    write(
        sentences,
        arguments.output,
        target,
        reading.report,
        delimiter=_DELIMITERS[arguments.delimiter],
        scheme=scheme,
        label=_label_to_write(arguments, reading.format, target, scheme),
        features=arguments.to_feature_columns,
    )


def _open(arguments: argparse.Namespace) -> AnyReading:
    if arguments.source_format == DOCS or (arguments.source_format is None and arguments.input.endswith(f".{DOCS}")):
        from postil.integrations.spacy_files import DocReading

        return DocReading(arguments.input)
    return read(arguments.input, **_settings(arguments))


def _options(arguments: argparse.Namespace) -> ReadOptions:
    return ReadOptions(**{name: value for name, value in _settings(arguments).items() if name != "format"})


def _settings(arguments: argparse.Namespace) -> dict[str, Any]:
    return {
        "strict": arguments.strict,
        "comment": arguments.comment,
        "split": not arguments.no_split,
        **reading_options(arguments),
    }


def _has_spans(target: str) -> bool:
    return target == DOCS or FORMATS[target].has_spans


def _keeps_texts(reading: Reading, arguments: argparse.Namespace, target: str) -> bool:
    """Whether texts pass from one annotation tool to another as they are, without tokens and labels.

    Spans may then overlap and need not fit tokens. Who asks for what becomes of those wants tokens.
    """
    source = FORMATS[reading.format]
    wants_tokens = arguments.scheme or arguments.strict or arguments.from_scheme
    wants_tokens = wants_tokens or (arguments.misaligned, arguments.overlaps) != ("error", "error")
    if wants_tokens or not source.texts or not _has_spans(target) or target == DOCS:
        return False
    return not (reading.format == target == "jsonl") and not reading.has_labels_per_token()


def _relabelled(reading: AnyReading, arguments: argparse.Namespace, target: str) -> tuple[Iterator[Sentence], str]:
    """The sentences in the wanted scheme, and that scheme ("none" if it does not matter)."""
    sentences: Iterator[Sentence] = iter(reading)
    if not (arguments.scheme or arguments.strict or _has_spans(target) or target == "conllu"):
        return sentences, "none"
    source = "bio" if arguments.from_scheme == IO else arguments.from_scheme  # the reader returns BIO
    if source is None:
        source, sentences = peek_scheme(sentences)
    wanted = arguments.scheme or source
    if arguments.scheme or arguments.strict or _has_spans(target):
        sentences = relabel(sentences, source, wanted, reading.report, name=reading.name, strict=arguments.strict)
    return sentences, wanted


def _label_to_write(arguments: argparse.Namespace, source: str, target: str, scheme: str) -> str:
    if arguments.to_label_column is not None:
        return str(arguments.to_label_column)
    return "misc:NER" if target == "conllu" != source and scheme != "none" else "auto"


def _print_report(reading: AnyReading, output: str, target: str) -> None:
    first, *others = reading.report.lines()
    name = "standard output" if output == "-" else output
    read_as = f"{reading.name}: read as {_title(reading.format)}: {first}"
    for line in (read_as, *(f"  {line}" for line in others), f"{name}: written as {_title(target)}"):
        print(printable(line), file=sys.stderr)  # names of fields and files are a stranger's


def _title(format: str) -> str:
    return "spaCy's DocBin" if format == DOCS else FORMATS[format].title


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _or_none(text: str) -> str | None:
    return None if text == "none" else text
