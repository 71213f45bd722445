"""``postil tag``: labels on text of any size, streamed, in the order of the input."""

import argparse
import io
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from postil.commands.models import open_model
from postil.commands.reading import add_reading_arguments, reading_options
from postil.errors import ConfigurationError
from postil.models.tagger import Tagger, tokens_of
from postil.text import Entity, Sentence
from postil.text.alignment import CharacterSpan
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
"""

BLOCK_TOKENS = 20_000  # what is read, tagged and written at once


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", metavar="MODEL", help="model file")
    parser.add_argument("files", metavar="FILE", nargs="*", help="files to tag (default: standard input)")
    parser.add_argument("--text", metavar="TEXT", help="tag this text instead of a file")
    parser.add_argument("--input", choices=list(FORMATS), help="format of the input (default: recognised)")
    parser.add_argument("--output", choices=["conll", "jsonl"], default="conll", help="format to write (conll)")
    parser.add_argument("--probabilities", action="store_true", help="say how sure the model is")
    parser.add_argument("--nbest", type=int, metavar="K", help="jsonl: also the K best labellings of every sentence")
    parser.add_argument("--threads", type=int, default=1, help="cores to use (default: 1)")
    add_reading_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    _check(arguments)
    tagger = open_model(arguments.model)
    sentences = (sentence for reading in _inputs(arguments) for sentence in reading)
    tagged = _tagged(tagger, _unlabelled(sentences), arguments)
    write(tagged, "-", arguments.output, scheme=tagger.labelling.scheme)
    return 0


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


def _tagged(tagger: Tagger, sentences: Iterable[Sentence], arguments: argparse.Namespace) -> Iterator[Sentence]:
    """Blocks go to the threads and come back in order; only a few are on their way at a time."""
    with ThreadPoolExecutor(arguments.threads) as pool:
        waiting: deque[Future[list[Sentence]]] = deque()
        for block in _blocks(sentences):
            waiting.append(pool.submit(_tag_block, tagger, block, arguments))
            if len(waiting) > 2 * arguments.threads:
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


def _tag_block(tagger: Tagger, block: list[Sentence], arguments: argparse.Namespace) -> list[Sentence]:
    if not arguments.probabilities:
        labels = tagger.predict([tokens_of(sentence) for sentence in block])
        for sentence, found in zip(block, labels, strict=True):
            sentence.labels = found
    elif arguments.output == "jsonl":
        for sentence, entities in zip(block, tagger.annotate(block), strict=True):
            _add_probabilities(sentence, entities)
    else:
        _add_probability_column(tagger, block)
    if arguments.nbest:
        for sentence in block:
            _add_nbest(tagger, sentence, arguments.nbest)
    return block


def _add_probabilities(sentence: Sentence, entities: list[Entity]) -> None:
    record = _record(sentence)
    starts, ends = _offsets(sentence)
    for entity in entities:
        start, end = entity.start, entity.end
        if sentence.text is None:  # offsets of tokens, of the text that the writer puts together
            start, end = starts[start], ends[end - 1]
        about = {"text": entity.text, "probability": round(entity.probability or 0.0, 6)}
        record.span_fields[CharacterSpan(start, end, entity.label)] = about


def _offsets(sentence: Sentence) -> tuple[list[int], list[int]]:
    """Characters of tokens with one space between."""
    ends, end = [], -1
    for token in sentence.tokens:
        end += 1 + len(token)
        ends.append(end)
    return [end - len(token) for end, token in zip(ends, sentence.tokens, strict=True)], ends


def _add_probability_column(tagger: Tagger, block: list[Sentence]) -> None:
    tokens = [tokens_of(sentence) for sentence in block]
    for sentence, labels, probabilities in zip(block, *tagger.predict_with_probabilities(tokens), strict=True):
        columns = sentence.columns or [()] * len(sentence)
        sentence.labels = labels
        sentence.columns = [(*cells, f"{p:.4f}") for cells, p in zip(columns, probabilities, strict=True)]


def _add_nbest(tagger: Tagger, sentence: Sentence, k: int) -> None:
    paths: list[dict[str, Any]] = [
        {"labels": labels, "probability": round(probability, 6)}
        for labels, probability in tagger.nbest(tokens_of(sentence), k)
    ]
    _record(sentence).fields.setdefault("nbest", []).append(paths)


def _record(sentence: Sentence) -> Record:
    """The sentence's JSON object, one of its own where it had none."""
    if not isinstance(sentence.rest, Record):
        sentence.rest = Record({}, tokens=[])
    return sentence.rest
