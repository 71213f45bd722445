"""What ``postil tag`` does with sentences and with passages: the same in this process and in others."""

import argparse
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import final

from postil.commands.kinds import kind_of
from postil.commands.models import check_columns, open_model
from postil.commands.plain_labeller import PlainLabeller
from postil.commands.reading import reading_options
from postil.errors import PostilError
from postil.network.sentence import LONGEST_VIEW
from postil.text import Report, Sentence
from postil.text.formats import read_passage
from postil.text.output import Target
from postil.text.passages import Passage
from postil.text.records import Record

BLOCK_TOKENS = 20_000  # what is labelled at once


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Labelled:
    """A passage with labels."""

    content: bytes
    """As it is written: all of it, or what stands before the first mistake."""
    tokens: int
    long: list[int]
    """Lengths of very long sentences."""
    mistake: PostilError | None


@final
class Labeller:
    """The model and the options of one run of the command."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.model = open_model(arguments.model)
        self._kind = kind_of(self.model)
        self.mark = self._kind.marker(self.model, arguments)
        check_columns(self.model, arguments.feature_columns)
        self._plain = PlainLabeller.of(self.model, arguments)

    def blocks(self, sentences: Iterable[Sentence], long: list[int]) -> Iterator[list[Sentence]]:
        """Sentences for ``mark``; the lengths of very long ones are added to ``long``."""
        whole_records = self.arguments.output == "jsonl"
        return _blocks(_noting_long(_unlabelled(sentences), long), whole_records)

    def write(self, marked: Iterable[Sentence], target: Target) -> None:
        """Sentences that ``mark`` has marked."""
        self._kind.write(marked, self.model, self.arguments, target)

    def label(self, passage: Passage) -> Labelled:
        """Plain columns without an object per token, everything else sentence by sentence: the same bytes."""
        plain = self._plain.label(passage, BLOCK_TOKENS) if self._plain is not None else None
        if plain is None:
            return self._label_sentences(passage)
        content, lengths = plain
        long = lengths[lengths > LONGEST_VIEW].tolist()
        return Labelled(content=content, tokens=int(lengths.sum()), long=long, mistake=None)

    def _label_sentences(self, passage: Passage) -> Labelled:
        report, long, target = Report(passage.format), list[int](), io.BytesIO()
        sentences = read_passage(passage, report, **reading_options(self.arguments))
        mistake = None
        try:
            self.write((sentence for block in self.blocks(sentences, long) for sentence in self.mark(block)), target)
        except PostilError as error:
            mistake = error
        return Labelled(content=target.getvalue(), tokens=report.tokens, long=long, mistake=mistake)


def _noting_long(sentences: Iterable[Sentence], long: list[int]) -> Iterator[Sentence]:
    for sentence in sentences:
        if len(sentence) > LONGEST_VIEW:
            long.append(len(sentence))
        yield sentence


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


def _blocks(sentences: Iterable[Sentence], whole_records: bool) -> Iterator[list[Sentence]]:
    """With ``whole_records`` the sentences of one JSON object, which collect their answers in it, stay together.

    The sentences before a mistake in the input come before it is raised.
    """
    block: list[Sentence] = []
    tokens = 0
    try:
        for sentence in sentences:
            goes_on = whole_records and block and sentence.rest is not None and sentence.rest is block[-1].rest
            if tokens >= BLOCK_TOKENS and not goes_on:
                yield block
                block, tokens = [], 0
            block.append(sentence)
            tokens += len(sentence)
    except PostilError:
        if block:
            yield block
        raise
    if block:
        yield block
