"""The general path: passages to sentences, annotated block by block by any kind of model, written in any format."""

import importlib
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias, cast, final

from postil.errors import DataError, PostilError
from postil.models.estimator import Estimator
from postil.network.pooling import LONGEST_VIEW
from postil.tagging.options import Labelled, TaggingOptions
from postil.text import Report, Sentence
from postil.text.annotations.annotated import Record
from postil.text.columns.conllu import refill
from postil.text.formats import read_passage
from postil.text.lines import Originals
from postil.text.options import Column
from postil.text.output import Target
from postil.text.passages import Passage

BLOCK_TOKENS = 20_000
"""Tokens that are labelled at once."""

Annotate: TypeAlias = Callable[[list[Sentence]], list[Sentence]]
"""Adds labels and everything else that was asked for to sentences, in place."""


class Answers(Protocol):
    """The interface of the module for a kind of model."""

    def annotator(self, model: Any, options: TaggingOptions) -> Annotate:
        """Return the annotator; options that do not apply to the kind of model raise an error."""

    def write(self, sentences: Iterable[Sentence], model: Any, options: TaggingOptions, target: Target) -> None:
        """Write sentences that the annotator has annotated."""

    def columns(self, model: Any, options: TaggingOptions) -> Sequence[Column]:
        """The columns of CoNLL-U that answers go to, labels to the last one; for those who write CoNLL-U."""


# Kind of model -> module; imported when a model of the kind is used.
_ANSWERS = {
    "tagger": "postil.tagging.tagger_answers",
    "multi-task-tagger": "postil.tagging.task_answers",
    "detector": "postil.tagging.detector_answers",
    "tree-classifier": "postil.tagging.tree_answers",
}


@final
class GeneralPath:
    """Labels sentences."""

    def __init__(self, model: Estimator, options: TaggingOptions) -> None:
        self._model, self._options = model, options
        self._answers = cast(Answers, importlib.import_module(_ANSWERS[model.KIND]))
        self._annotate = self._answers.annotator(model, options)

    def blocks(self, sentences: Iterable[Sentence], long_sentences: list[int]) -> Iterator[list[Sentence]]:
        """Sentences for ``annotate``. Lengths of very long ones are appended to ``long_sentences``."""
        whole_records = self._options.output == "jsonl"
        if self._options.output != "conllu":
            sentences = _with_records(sentences)
        return _blocks(_noting_long(sentences, long_sentences), whole_records)

    def annotate(self, block: list[Sentence]) -> list[Sentence]:
        """Annotate the sentences in place. One without tokens, of an empty JSON record, has no labels."""
        gold = [_gold(sentence) for sentence in block] if self._options.keep_gold else None
        for sentence in block:
            sentence.labels = None
        filled = [sentence for sentence in block if sentence.tokens]
        for sentence in block if len(filled) < len(block) else ():
            sentence.labels = []
        if filled:
            self._annotate(filled)
        for sentence, labels in zip(block, gold or (), strict=False):
            columns = sentence.columns or [()] * len(sentence)
            sentence.columns = [(*cells, label) for cells, label in zip(columns, labels, strict=True)]
        return block

    def write(self, sentences: Iterable[Sentence], target: Target) -> None:
        """Write annotated sentences."""
        self._answers.write(sentences, self._model, self._options, target)

    def refill(self, sentences: Iterable[Sentence], originals: Originals) -> Iterator[bytes]:
        """The CoNLL-U source of annotated sentences, byte for byte, with the answers in their columns."""
        return refill(sentences, originals, self._answers.columns(self._model, self._options))

    def label(self, passage: Passage) -> Labelled:
        """The passage with labels, up to its first mistake."""
        report, long_sentences, target = Report(passage.format), list[int](), io.BytesIO()
        sentences = read_passage(passage, report, self._options.reading)
        blocks = self.blocks(sentences, long_sentences)
        mistake = None
        try:
            self.write((sentence for block in blocks for sentence in self.annotate(block)), target)
        except PostilError as error:
            mistake = error
        return Labelled(content=target.getvalue(), tokens=report.tokens, long_sentences=long_sentences, mistake=mistake)


def _noting_long(sentences: Iterable[Sentence], long_sentences: list[int]) -> Iterator[Sentence]:
    for sentence in sentences:
        if len(sentence) > LONGEST_VIEW:
            long_sentences.append(len(sentence))
        yield sentence


def _gold(sentence: Sentence) -> list[str]:
    if sentence.labels is None:
        raise DataError("keep_gold", expected="needs labels in the input", got="none", where=f"line {sentence.line}")
    return sentence.labels


def _with_records(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    """The sentences of one raw text share a record."""
    record, text, line = Record({}), None, 0
    for sentence in sentences:
        if sentence.text is not None and not isinstance(sentence.rest, Record):
            # Lines of one character may be the same object.
            if sentence.text is not text or sentence.line != line:
                record, text, line = Record({}), sentence.text, sentence.line
            sentence.rest = record
        yield sentence


def _blocks(sentences: Iterable[Sentence], whole_records: bool) -> Iterator[list[Sentence]]:
    """With ``whole_records``, the sentences of one JSON object stay in one block: they collect their answers in it.

    A mistake in the input is raised after the block of the sentences before it.
    """
    block: list[Sentence] = []
    tokens = 0
    try:
        for sentence in sentences:
            continues = whole_records and block and sentence.rest is not None and sentence.rest is block[-1].rest
            if tokens >= BLOCK_TOKENS and not continues:
                yield block
                block, tokens = [], 0
            block.append(sentence)
            tokens += len(sentence) or 1
    except PostilError:
        if block:
            yield block
        raise
    if block:
        yield block
