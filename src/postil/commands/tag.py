"""``postil tag``: labels on text of any size, streamed, in the order of the input."""

import argparse
import io
import sys
from collections.abc import Iterator
from contextlib import closing
from itertools import groupby

from postil.commands import bulk
from postil.commands.answering import add_answer_arguments
from postil.commands.labelled import tell
from postil.commands.labeller import Labelled, Labeller
from postil.commands.models import tell_long_sentences
from postil.commands.reading import add_reading_arguments, reading_options
from postil.commands.terminal.tag_progress import shown
from postil.errors import ConfigurationError, DataError
from postil.text import Sentence
from postil.text.formats import FORMATS, Reading, read
from postil.text.tree import SHAPES

DESCRIPTION = """\
Put labels on text. Reads files or standard input, writes to standard output; any size goes through in little memory.

  postil tag ner.postil --text "Museums in Paris are amazing."
  postil tag ner.postil article.txt --output jsonl --probabilities
  cat tokens.txt | postil tag ner.postil --input tokens > tagged.conll
  postil tag ner.postil corpus.conll corpus2.conll > tagged.conll
  postil tag ner.postil records.jsonl --output jsonl --nbest 3
  postil tag ner.postil article.txt --threshold 0.5 --threshold LOC=0.8
  postil tag ner.postil article.txt --output jsonl --all-above 0.3
  postil tag ner.postil --text "Museums in Paris are amazing." --force 11:16=LOC
  postil tag sentiment.postil new.trees                 trees in, trees with labels out
  postil tag sentiment.postil --text "Not a bad film." --tree right --output jsonl

Plain text is cut into sentences and tokens; --input tokens takes one sentence a line, tokens between spaces. JSON Lines
have one object a text, with spans: start, end, label and, with --probabilities, the probability that exactly this span
is such an entity. In CoNLL, --probabilities adds a column before the label with the probability of the token's label.
Objects may have constraints: {"force": [[11, 16, "LOC"]], "forbid": [[0, 7]], "allow": [[11, 16, ["LOC", "O"]]]}, in
characters, or in tokens where the object brings them; probabilities are then those given that they hold.
A model that detects one label has scores instead: --scores, in JSON Lines the lowest score of the span's tokens.

A classifier of trees puts a label on every phrase; a sentence without a tree gets one of the shape --tree. JSON Lines
have one object a sentence, with its label and probabilities, and with --probabilities also those of all its phrases.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="model file")
    parser.add_argument("files", metavar="FILE", nargs="*", help="files to tag (default: standard input)")
    parser.add_argument("--text", metavar="TEXT", help="tag this text instead of a file")
    parser.add_argument("--input", choices=list(FORMATS), help="format of the input (default: recognised)")
    parser.add_argument("--output", choices=["conll", "jsonl", "trees"], help="format to write (conll; trees of trees)")
    parser.add_argument("--tree", choices=list(SHAPES), help="models of trees: shape of the tree over a plain sentence")
    parser.add_argument("--probabilities", action="store_true", help="say how sure the model is")
    parser.add_argument("--scores", action="store_true", help="say the score of each token (models of one label)")
    parser.add_argument("--nbest", type=int, metavar="K", help="jsonl: also the K best labellings of every sentence")
    parser.add_argument("--threads", type=int, default=1, help="cores to use (default: 1)")
    add_answer_arguments(parser)
    add_reading_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    _check(arguments)
    labeller = Labeller(arguments)
    long: list[int] = []
    for has_passages, readings in groupby(_inputs(arguments), lambda reading: reading.has_passages):
        (_label_passages if has_passages else _label_sentences)(readings, labeller, long)
    tell_long_sentences(labeller.model, long)
    return 0


def _label_passages(readings: Iterator[Reading], labeller: Labeller, long: list[int]) -> None:
    passages = (passage for reading in readings for passage in reading.passages(bulk.PASSAGE))
    answers = bulk.labelled(passages, labeller, labeller.arguments.threads)
    with closing(answers):
        for answer in shown(answers, _tokens):
            sys.stdout.buffer.write(answer.content)
            long += answer.long
            if answer.mistake is not None:
                raise answer.mistake


def _tokens(answer: Labelled) -> int:
    return answer.tokens


def _label_sentences(readings: Iterator[Reading], labeller: Labeller, long: list[int]) -> None:
    """Inputs that can only be read from beginning to end; their blocks are labelled by threads."""
    blocks = labeller.blocks((sentence for reading in readings for sentence in _telling_what_is_dropped(reading)), long)
    threads = labeller.arguments.threads
    marked = bulk.in_order(labeller.mark, blocks, threads) if threads > 1 else map(labeller.mark, blocks)
    sentences: Iterator[Sentence] = (sentence for block in marked for sentence in block)
    labeller.write(shown(sentences, len), "-")


def _telling_what_is_dropped(reading: Reading) -> Iterator[Sentence]:
    """The sentences of an input; at its end, say which records have no line in the output."""
    yield from reading
    for what, count in reading.report.dropped.items():
        if count and what.startswith("records"):
            tell(f"{reading.name}: {count:,} {what}: they have no line in the output")


def _check(arguments: argparse.Namespace) -> None:
    if arguments.text is not None and arguments.files:
        raise ConfigurationError("--text and files cannot be combined")
    if arguments.nbest is not None and arguments.output != "jsonl":
        raise ConfigurationError(
            "--nbest", expected="needs --output jsonl", got=f"--output {arguments.output or 'conll'}"
        )
    for name, value in (("--nbest", arguments.nbest), ("--threads", arguments.threads)):
        if value is not None and value < 1:
            raise ConfigurationError(name, expected="at least 1", got=value)


def _inputs(arguments: argparse.Namespace) -> Iterator[Reading]:
    options = reading_options(arguments)
    if arguments.text is not None:
        if not arguments.text.strip():
            raise DataError("--text is empty", expected="words", got=repr(arguments.text))
        yield read(io.BytesIO(arguments.text.encode("utf8", "surrogateescape")), "text", **options)
        return
    for file in arguments.files or ["-"]:
        with read(file, arguments.input, **options) as reading:
            yield reading
