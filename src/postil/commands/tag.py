"""``postil tag``: labels on text of any size, streamed, in the order of the input."""

import argparse
import io
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from postil.commands.kinds import Mark, kind_of
from postil.commands.models import check_columns, open_model, tell_long_sentences
from postil.commands.reading import add_reading_arguments, reading_options
from postil.commands.tag_display import shown
from postil.errors import ConfigurationError
from postil.network.sentence import LONGEST_VIEW
from postil.text import Sentence
from postil.text.formats import FORMATS, Reading, read, write
from postil.text.records import Record

DESCRIPTION = """\
Put labels on text. Reads files or standard input, writes to standard output; any size goes through in little memory.

  postil tag ner.postil --text "Museums in Paris are amazing."
  postil tag ner.postil article.txt --output jsonl --probabilities
  cat tokens.txt | postil tag ner.postil --input tokens > tagged.conll
  postil tag ner.postil corpus.conll corpus2.conll > tagged.conll
  postil tag ner.postil records.jsonl --output jsonl --nbest 3

Plain text is cut into sentences and tokens; --input tokens takes one sentence a line, tokens between spaces. JSON Lines
have one object a text, with spans: start, end, label and, with --probabilities, the probability that exactly this span
is such an entity. In CoNLL, --probabilities adds a column before the label with the probability of the token's label.
A model that detects one label has scores instead: --scores, in JSON Lines the lowest score of the span's tokens.
"""

BLOCK_TOKENS = 20_000  # what is read, tagged and written at once


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="model file")
    parser.add_argument("files", metavar="FILE", nargs="*", help="files to tag (default: standard input)")
    parser.add_argument("--text", metavar="TEXT", help="tag this text instead of a file")
    parser.add_argument("--input", choices=list(FORMATS), help="format of the input (default: recognised)")
    parser.add_argument("--output", choices=["conll", "jsonl"], default="conll", help="format to write (conll)")
    parser.add_argument("--probabilities", action="store_true", help="say how sure the model is")
    parser.add_argument("--scores", action="store_true", help="say the score of each token (models of one label)")
    parser.add_argument("--nbest", type=int, metavar="K", help="jsonl: also the K best labellings of every sentence")
    parser.add_argument("--threads", type=int, default=1, help="cores to use (default: 1)")
    add_reading_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    _check(arguments)
    model = open_model(arguments.model)
    kind = kind_of(model)
    mark = kind.marker(model, arguments)
    check_columns(model, arguments.feature_columns)
    sentences = (sentence for reading in _inputs(arguments) for sentence in reading)
    long: list[int] = []
    tagged = _tagged(mark, _noting_long(_unlabelled(sentences), long), arguments.threads)
    write(shown(tagged), "-", arguments.output, scheme=kind.written_scheme(model))
    tell_long_sentences(model, long)
    return 0


def _noting_long(sentences: Iterable[Sentence], long: list[int]) -> Iterator[Sentence]:
    """The sentences themselves; the lengths of very long ones are added to ``long``."""
    for sentence in sentences:
        if len(sentence) > LONGEST_VIEW:
            long.append(len(sentence))
        yield sentence


def _check(arguments: argparse.Namespace) -> None:
    if arguments.text is not None and arguments.files:
        raise ConfigurationError("--text and files", expected="one of them", got="both")
    if arguments.nbest is not None and arguments.output != "jsonl":
        raise ConfigurationError("--nbest", expected="--output jsonl", got=f"--output {arguments.output}")
    for name, value in (("--nbest", arguments.nbest), ("--threads", arguments.threads)):
        if value is not None and value < 1:
            raise ConfigurationError(name, expected="1 or more", got=value)


def _inputs(arguments: argparse.Namespace) -> Iterator[Reading]:
    options = reading_options(arguments)
    if arguments.text is not None:
        yield read(io.BytesIO(arguments.text.encode("utf8", "surrogateescape")), "text", **options)
        return
    for file in arguments.files or ["-"]:
        with read(file, arguments.input, **options) as reading:
            yield reading


def _unlabelled(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    """Labels that the input may have are no part of the answer; sentences of one raw text belong together."""
    record, text = Record({}), None
    for sentence in sentences:
        sentence.labels = None
        if sentence.text is not None and not isinstance(sentence.rest, Record):
            if sentence.text is not text:
                record, text = Record({}), sentence.text
            sentence.rest = record
        yield sentence


def _tagged(mark: Mark, sentences: Iterable[Sentence], threads: int) -> Iterator[Sentence]:
    """Blocks go to the threads and come back in order; only a few are on their way at a time."""
    if threads == 1:  # a thread of its own would only take turns with the reader
        for block in _blocks(sentences):
            yield from mark(block)
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[list[Sentence]]] = deque()
        for block in _blocks(sentences):
            waiting.append(pool.submit(mark, block))
            if len(waiting) > 2 * threads:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()


def _blocks(sentences: Iterable[Sentence]) -> Iterator[list[Sentence]]:
    block: list[Sentence] = []
    tokens = 0
    for sentence in sentences:
        block.append(sentence)
        tokens += len(sentence)
        if tokens >= BLOCK_TOKENS:
            yield block
            block, tokens = [], 0
    if block:
        yield block
