"""``postil tag``: label text of any size, streamed, in the order of the input."""

import argparse
import io
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from postil.commands.options.models import open_model, tagger_of_names, take_model, text_among, warn_of_long_sentences
from postil.commands.options.reading import (
    add_format_argument,
    add_reading_arguments,
    format_argument,
    warn_of_unspaced,
)
from postil.commands.options.writing import check_output, output_format
from postil.commands.tag_columns import PARQUET, add_column_arguments, asks_for_columns, tag_columns
from postil.commands.tag_options import add_answer_arguments, tag_reading_options, tagging_options
from postil.commands.tag_ray import add_ray_arguments, refuse_ray_arguments, run_on_ray
from postil.commands.terminal.tag_progress import progress_line
from postil.errors import ConfigurationError, DataError
from postil.files import replaced
from postil.models.estimator import Estimator
from postil.models.sentences import takes_characters
from postil.serving import TaggingOptions, label
from postil.serving.options import TAGGER_OPTIONS
from postil.text.formats import Reading, format_of, read
from postil.text.output import packed
from postil.text.trees.tree import SHAPES

DESCRIPTION = """\
Label text. Reads files or standard input and writes to standard output or -o FILE, in the format that the name of FILE
asks for (out.jsonl, out.conllu, out.parquet …) unless --output does. Inputs may be larger than memory.

  postil tag "Angela Merkel met Tim Cook in Cupertino."   the installed English model (package postil-english)
  postil tag ner.postil --text "Museums in Paris are amazing."
  postil tag ner.postil article.txt -o answers.jsonl --probabilities
  cat tokens.txt | postil tag ner.postil --input tokens > tagged.conll
  postil tag ner.postil corpus.conll corpus2.conll > tagged.conll
  postil tag ner.postil test.conll --keep-gold | conlleval -d '\\t'     gold and predicted labels side by side
  postil tag pos.postil corpus.conllu --output conllu > tagged.conllu  fills one column, keeps all others
  postil tag ner.postil records.jsonl --output jsonl --nbest 3
  postil tag ner.postil article.txt --threshold 0.5 --threshold LOC=0.8
  postil tag ner.postil article.txt --output jsonl --all-above 0.3
  postil tag ner.postil --text "Museums in Paris are amazing." --force 11:16=LOC
  postil tag ner.postil news.parquet --column text -o tagged/         a folder of Parquet files with the entities added
  postil tag sentiment.postil new.trees                 a tree classifier: trees in, labelled trees out
  postil tag sentiment.postil --text "Not a bad film." --tree right --output jsonl
  postil tag ner.postil 'data/*.parquet' --column text --engine ray -o tagged    on all cores, or on a Ray cluster

The first argument is the MODEL if it is the name of an installed model or a model file. Otherwise the installed English
model is used, and the argument is an input: a file, or, if it contains a space, a text. On a terminal, the entities of
plain text are shown in colour with their probabilities; --output conll prints the usual columns instead.

Plain text is split into sentences and tokens. With --input tokens, each line is a sentence with spaces between tokens.
With --input characters, every character of plain text is a token: for Chinese, Japanese, Thai and other text without
spaces. A model that was trained on characters splits text into characters by itself.

CoNLL output has one token per line, with its label after a tab; --probabilities inserts a column with the probability
of the label before it. JSON Lines output has one object per text, with spans: start, end, label. --probabilities adds
to each span the probability that exactly this span is an entity of this class. Models whose labels have no spans, such
as parts of speech, write tokens: start, end, label and, with --probabilities, the probability of the label. For JSON
Lines input, there is one output line for every record, in the same order, even if its text is empty.

CoNLL-U output for CoNLL-U input is the input with --label-column filled in (default: upos; misc:NER for spans).

An input object may contain constraints: {"force": [[11, 16, "LOC"]], "forbid": [[0, 7]], "allow": [[11, 16, ["LOC",
"O"]]]}. Offsets count characters, or tokens if the object lists its tokens. Probabilities are then conditional on the
constraints.

A model that detects one label has scores instead of probabilities: --scores. In JSON Lines, the score of a span is the
lowest score of its tokens.

In tables (Parquet or CSV), the text is in --column. All columns are kept, and the results are added as columns of lists
(--parts). The output is Parquet. -o FOLDER writes one file per row group, and the same command continues an interrupted
job; -o FILE.parquet writes a single file. Both need the extra arrow.

A tree classifier labels every phrase. For a sentence without a tree, --tree sets the shape of the tree. JSON Lines
output has one object per sentence with its label and probabilities; --probabilities adds those of all phrases.
"""


_OUTPUTS = ["conll", "conllu", "jsonl", "trees", PARQUET]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words",
        metavar="[MODEL] [FILE… | TEXT]",
        nargs="*",
        help="model file or name (default: the installed English model); files or a text (default: standard input)",
    )
    parser.add_argument("--text", metavar="TEXT", help="label this text instead of files")
    add_format_argument(parser, "the input")
    parser.add_argument(
        "--output",
        choices=_OUTPUTS,
        help="format of the output (default: from the name of -o; else conll; for trees: trees; for tables: parquet)",
    )
    parser.add_argument("-o", dest="target", metavar="FILE", help="write to this file (default: standard output)")
    parser.add_argument(
        "--keep-gold", action="store_true", help="conll: write the labels of the input before the predicted ones"
    )
    parser.add_argument("--tree", choices=list(SHAPES), help="tree classifiers: shape of the tree over a sentence")
    parser.add_argument("--probabilities", action="store_true", help="add the probability of each answer")
    parser.add_argument("--scores", action="store_true", help="add the score of each token (models of one label)")
    parser.add_argument(
        "--task",
        metavar="NAME",
        action="append",
        default=[],
        help="models of several tasks: answer this one only (repeatable; default: all, each in a column or layer)",
    )
    parser.add_argument("--nbest", type=int, metavar="K", help="jsonl: add the K best labellings of each sentence")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="number of cores to use (default: 1)")
    add_answer_arguments(parser)
    add_column_arguments(parser)
    add_reading_arguments(parser)
    add_ray_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    arguments.model, arguments.files = take_model(arguments.words)
    if arguments.text is not None and arguments.files:
        raise ConfigurationError("--text and files cannot be combined")
    text = text_among(arguments.files)
    if text is not None:
        arguments.text, arguments.files = text, []
    arguments.output = arguments.output or _output_named(arguments.target)
    if arguments.engine == "ray":
        return run_on_ray(arguments)
    refuse_ray_arguments(arguments)
    if asks_for_columns(arguments):
        return tag_columns(arguments)
    if arguments.parts is not None:
        raise ConfigurationError("--parts", expected="needs tables: Parquet or CSV files, and Parquet output")
    options = tagging_options(arguments)
    model = open_model(arguments.model)
    by_characters = options.reading.characters or takes_characters(model.fitted_parts())
    options = replace(options, reading=replace(options.reading, characters=by_characters))
    to_file = arguments.target is not None
    if _is_to_be_read(arguments, options) and (names := tagger_of_names(model)) is not None:
        return _show(names, _inputs(arguments, by_characters))
    with (
        _output(arguments, options.output or _usual_output(model)) as output,
        progress_line(to_file=to_file) as progress,
    ):
        summary = label(
            model,
            _inputs(arguments, by_characters),
            options,
            output,
            threads=arguments.threads,
            path=arguments.model,
            progress=progress,
        )
    warn_of_long_sentences(model, summary.long_sentences)
    return 0


def _output_named(target: str | None) -> str | None:
    """The format that the name of -o asks for; None: the usual one."""
    named = None if target is None or target.endswith(".txt") else output_format(target)
    if named is None or named in _OUTPUTS:
        return named
    expected = "must end in .conll, .conllu, .jsonl, .trees or .parquet (or --output names the format)"
    raise ConfigurationError("-o", expected=expected, got=target)


def _is_to_be_read(arguments: argparse.Namespace, options: TaggingOptions) -> bool:
    """Whether labels of plain text go to a terminal, and no option asks for another form."""
    asked = options.sets("output", "probabilities", "scores", "keep_gold", *TAGGER_OPTIONS)
    is_plain = arguments.text is not None or arguments.input == "text" or _looks_plain(arguments)
    return sys.stdout.isatty() and arguments.target is None and not asked and is_plain


def _looks_plain(arguments: argparse.Namespace) -> bool:
    """Whether all files hold plain text. Standard input can be read only once: it is not looked at."""
    if arguments.input is not None or not arguments.files or "-" in arguments.files:
        return False
    return all(Path(name).is_file() and format_of(name, arguments.encoding) == "text" for name in arguments.files)


def _show(tagger: Any, inputs: Iterable[Reading]) -> int:
    from postil.commands.terminal.display import make_console
    from postil.commands.terminal.tagged import show_tagged

    console = make_console()
    for reading in inputs:
        show_tagged(console, tagger, reading)
    return 0


def _usual_output(model: Estimator[Any, Any]) -> str:
    return "trees" if model.KIND == "tree-classifier" else "conll"


@contextmanager
def _output(arguments: argparse.Namespace, format: str) -> Iterator[BinaryIO]:
    """Standard output, or the file of -o, which appears when all is written."""
    if arguments.target is None:
        yield sys.stdout.buffer
        return
    check_output(arguments.target, "output", format, inputs=[arguments.model, *arguments.files])
    with replaced(arguments.target) as file, packed(file, arguments.target) as stream:
        yield stream


def _inputs(arguments: argparse.Namespace, by_characters: bool) -> Iterator[Reading]:
    options = tag_reading_options(arguments, by_characters)
    if arguments.text is not None:
        if not arguments.text.strip():
            raise DataError("--text is empty", expected="words", got=repr(arguments.text))
        sources: list[Any] = [io.BytesIO(arguments.text.encode("utf8", "surrogateescape"))]
    else:
        sources = arguments.files or ["-"]
    is_warned = options["characters"]
    for source in sources:
        with read(source, format_argument(arguments) if arguments.text is None else "text", **options) as reading:
            if not is_warned:
                is_warned = warn_of_unspaced(reading)
            yield reading
