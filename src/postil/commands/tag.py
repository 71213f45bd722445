"""``postil tag``: labels on text of any size, streamed, in the order of the input."""

import argparse
import io
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice

from postil.commands.answering import add_answer_arguments
from postil.commands.kinds import Mark, kind_of
from postil.commands.labelled import tell
from postil.commands.models import check_columns, open_model, tell_long_sentences
from postil.commands.reading import add_reading_arguments, reading_options
from postil.commands.tag_display import shown
from postil.commands.tag_workers import Workers
from postil.errors import ConfigurationError, DataError
from postil.network.sentence import LONGEST_VIEW
from postil.text import Sentence
from postil.text.formats import FORMATS, Reading, read
from postil.text.records import Record
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

BLOCK_TOKENS = 20_000  # what is read, tagged and written at once
BLOCKS_ALONE = 10  # before other processes are started


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
    model = open_model(arguments.model)
    kind = kind_of(model)
    mark = kind.marker(model, arguments)
    check_columns(model, arguments.feature_columns)
    sentences = (sentence for reading in _inputs(arguments) for sentence in _telling_what_is_dropped(reading))
    long: list[int] = []
    by_processes = arguments.model if kind.gives_labels_alone(arguments) else None
    blocks = _blocks(_noting_long(_unlabelled(sentences), long), whole_records=arguments.output == "jsonl")
    tagged = _tagged(mark, blocks, arguments.threads, by_processes)
    kind.write(shown(tagged), model, arguments)
    tell_long_sentences(model, long)
    return 0


def _telling_what_is_dropped(reading: Reading) -> Iterator[Sentence]:
    """The sentences of an input; at its end, say which records have no line in the output."""
    yield from reading
    for what, count in reading.report.dropped.items():
        if count and what.startswith("records"):
            tell(f"{reading.name}: {count:,} {what}: they have no line in the output")


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
        raise ConfigurationError("--nbest", expected="--output jsonl", got=f"--output {arguments.output or 'conll'}")
    for name, value in (("--nbest", arguments.nbest), ("--threads", arguments.threads)):
        if value is not None and value < 1:
            raise ConfigurationError(name, expected="1 or more", got=value)


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


def _tagged(mark: Mark, blocks: Iterator[list[Sentence]], threads: int, model: str | None = None) -> Iterator[Sentence]:
    """Blocks are tagged on several cores and come back in order.

    With ``model``, the path of its file, by processes: they take a moment to start, so the first blocks go without.
    """
    for block in blocks if threads == 1 else islice(blocks, BLOCKS_ALONE if model else 0):
        yield from mark(block)
    following = next(blocks, None)
    if following is None:
        return
    blocks = chain([following], blocks)
    if model is None:
        yield from _in_order(mark, blocks, threads)
        return
    with Workers(model, threads, mark) as workers:
        yield from _in_order(workers.mark, blocks, threads)


def _in_order(mark: Mark, blocks: Iterable[list[Sentence]], threads: int) -> Iterator[Sentence]:
    """Only a few blocks are on their way at a time."""
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[list[Sentence]]] = deque()
        for block in blocks:
            waiting.append(pool.submit(mark, block))
            if len(waiting) > 2 * threads:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()


def _blocks(sentences: Iterable[Sentence], whole_records: bool) -> Iterator[list[Sentence]]:
    """With ``whole_records`` the sentences of one JSON object, which collect their answers in it, stay together."""
    block: list[Sentence] = []
    tokens = 0
    for sentence in sentences:
        goes_on = whole_records and block and sentence.rest is not None and sentence.rest is block[-1].rest
        if tokens >= BLOCK_TOKENS and not goes_on:
            yield block
            block, tokens = [], 0
        block.append(sentence)
        tokens += len(sentence)
    if block:
        yield block
