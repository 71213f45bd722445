"""``postil convert``: from one format or labelling scheme to another."""

import sys
from argparse import Namespace
from collections.abc import Iterator

from postil.commands.notices import show_problems
from postil.commands.output import check_output, output_format
from postil.commands.parser import OVERWRITE, option
from postil.commands.reading import format_option, options_for_file, reading_arguments
from postil.errors import ConfigurationError, printable
from postil.text import ReadOptions, Sentence
from postil.text.formats import FORMATS, Reading, format_of_path, read, write, write_annotated
from postil.text.labels.partial import peek_scheme, relabel
from postil.text.labels.schemes import IO, SCHEMES

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
  postil convert corpus.mrg chunks.conll --label-column chunks    with parts of speech and chunks (CoNLL-2000)
  postil convert docs.spacy train.conll                     docs of spaCy (DocBin), both ways; needs the extra spacy
  postil convert export.json train.conll                    Label Studio (detected, like brat and CSV)
  postil convert train.conll notes --to brat                for an annotation tool (see --to)
  gzip -cd big.conll.gz | postil convert - - --to jsonl     from a pipe into a pipe
"""
SHOWN = (
    "--from --to --scheme --from-scheme --label-column --to-label-column --misaligned --overlaps "
    "--no-split --strict --encoding --overwrite"
)
_DELIMITERS = {"tab": "\t", "space": " "}
_WRITABLE = [name for name, row in FORMATS.items() if row.writes]


OPTIONS = {
    "": [
        option("IN", "file to read, plain or gzip; - for standard input", dest="input"),
        option("OUT", "file to write, gzip if it ends in .gz; - for standard output", dest="output"),
        OVERWRITE,
    ],
    "reading": reading_arguments(
        option(
            "--comment PREFIX",
            "CoNLL: prefix of comment lines, or none (default: '# ' before a sentence)",
            type=lambda text: None if text == "none" else text,
            default="auto",
        ),
        option("--no-split", "do not split raw text into sentences"),
        what="IN",
        formats=list(FORMATS),
        features=None,
        kept="all others in CoNLL, none in CoNLL-U",
        schemes=(*SCHEMES, IO),
    ),
    "labels and writing": [
        format_option("--to", "OUT", _WRITABLE, "from its name", dest="target"),
        option("--scheme", "labelling scheme to write (default: unchanged)", choices=(*SCHEMES[:-1], IO)),
        option(
            "--delimiter", "CoNLL: separator of the columns (default: tab)", choices=list(_DELIMITERS), default="tab"
        ),
        option(
            "--to-label-column C",
            "CoNLL-U: column for the labels (default: the one they were read from; else upos, misc:NER for spans)",
        ),
        option(
            "--to-feature-columns C,C",
            "CoNLL-U: columns for the extra columns",
            type=lambda text: tuple(part.strip() for part in text.split(",") if part.strip()),
            default=(),
        ),
        option("--strict", "reject labels that violate their scheme, and empty tokens"),
    ],
}


def run(arguments: Namespace) -> int:
    """Read, relabel, write, report."""
    if arguments.output == "-" and arguments.target is None:
        raise ConfigurationError("standard output", expected="needs --to FORMAT")
    target = arguments.target or output_format(arguments.output)
    if target is None or target not in FORMATS:
        target = format_of_path(arguments.output)  # an error that lists the endings
    row = FORMATS[target]
    if arguments.output != "-" and not (row.opens and row.texts):  # a folder must be empty
        inputs = [arguments.input] if arguments.input != "-" else []
        check_output(arguments.output, row.like or target, inputs=inputs, overwrite=arguments.overwrite)
    settings = {
        "strict": arguments.strict,
        "comment": arguments.comment,
        "split": not arguments.no_split,
        **options_for_file(arguments, arguments.input),
    }
    # Texts pass from one annotation tool to another as they are, without tokens and labels: spans may overlap and need
    # not fit tokens. Who asks for what becomes of those wants tokens.
    wants_tokens = arguments.scheme or arguments.strict or arguments.from_scheme
    wants_tokens = wants_tokens or (arguments.misaligned, arguments.overlaps) != ("error", "error")
    with read(arguments.input, **settings) as reading:
        keeps_texts = not wants_tokens and FORMATS[reading.format].texts and row.texts
        keeps_texts = keeps_texts and not (reading.format == target == "jsonl") and not reading.has_labels_per_token()
        try:
            if keeps_texts:
                del settings["format"]
                write_annotated(reading.texts(ReadOptions(**settings)), arguments.output, target, reading.report)
            else:
                _write(reading, arguments, target)
        finally:
            show_problems(reading.report.problems)
    first, *others = reading.report.lines()
    name = "standard output" if arguments.output == "-" else arguments.output
    read_as = f"{reading.name}: read as {FORMATS[reading.format].title}: {first}"
    for line in (read_as, *(f"  {line}" for line in others), f"{name}: written as {row.title}"):
        print(printable(line), file=sys.stderr)  # names of fields and files are a stranger's
    return 0


def _write(reading: Reading, arguments: Namespace, target: str) -> None:
    """Write the sentences in the wanted scheme."""
    sentences: Iterator[Sentence] = iter(reading)
    scheme = "none"  # it does not matter
    relabels = arguments.scheme or arguments.strict or FORMATS[target].has_spans
    if relabels or target == "conllu":
        source = "bio" if arguments.from_scheme == IO else arguments.from_scheme  # the reader returns BIO
        if source is None:
            source, sentences = peek_scheme(sentences)
        scheme = arguments.scheme or source
        if relabels:
            sentences = relabel(sentences, source, scheme, reading.report, name=reading.name, strict=arguments.strict)
    label = "misc:NER" if target == "conllu" != reading.format and scheme != "none" else "auto"
    write(
        sentences,
        arguments.output,
        target,
        reading.report,
        delimiter=_DELIMITERS[arguments.delimiter],
        scheme=scheme,
        label=label if arguments.to_label_column is None else arguments.to_label_column,
        features=arguments.to_feature_columns,
    )
