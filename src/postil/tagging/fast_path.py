"""The fast path: bytes to labelled bytes, without an object for each token.

Plain passages become places of tokens among bytes (``plain``), those become scores and answers in arrays, and those
become bytes again. The fast path is taken for what nearly everybody asks for: labels and their probabilities.
Everything else takes the general path, with the same result; ``Labeller`` decides.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, final

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.kernels.plain_records import json_string
from postil.models.decoding.posteriors import Answers, Posteriors
from postil.models.tagger import Tagger
from postil.tagging.options import TaggingOptions, threshold_of
from postil.tagging.plain import PlainSentences, plain_texts, read_plain
from postil.text.columns.conll import write_conll
from postil.text.document import Sentence
from postil.text.labels.schemes import looks_like_mark
from postil.text.options import WriteOptions
from postil.text.output import is_utf8
from postil.text.passages import Passage
from postil.text.report import Report

_OTHER_OPTIONS = ("scores", "tree", "keep_gold", "nbest", "all_above", "constraints", "gazetteer_constraints")
_NOT_IN_COLUMNS = (b"-DOCSTART-", b"\0")
_NOT_IN_CONLLU = {False: b"\r\0", True: b"\t\r\0"}
"""By whether tokens come from raw text: characters that they may not contain."""


@final
class FastPath:
    """Labels plain passages; made by ``of``."""

    def __init__(self, tagger: Tagger, options: TaggingOptions) -> None:
        self._posteriors, self._options = Posteriors(tagger.model), options
        self._codec, self._segmenter = tagger.model.codec, options.reading.segmenter
        self._threshold = threshold_of(tagger.model.codec, options)
        self._names = [label.encode() for label in tagger.model.codec.spellings]
        self._write = {None: self._columns, "conll": self._columns, "conllu": self._conllu, "jsonl": self._records}[
            options.output
        ]

    @classmethod
    def of(cls, model: Any, options: TaggingOptions) -> "FastPath | None":
        """None if the options ask for more than labels and probabilities, or the model needs more than words."""
        if options.sets(*_OTHER_OPTIONS) or options.reading.features or options.output not in _CAN_WRITE:
            return None
        if not isinstance(model, Tagger) or not _CAN_WRITE[options.output](model.model.codec.spellings):
            return None
        return cls(model, options) if Posteriors(model.model).takes_cells else None

    def label(self, passage: Passage) -> tuple[bytes, Array] | None:
        """The passage with labels, and the lengths of its sentences; None if it is not plain."""
        plain = read_plain(passage, self._options.reading, self._segmenter)
        if plain is None or (passage.format, self._options.output) in _LEFT_OUT:
            return None
        content = self._write(plain)
        return None if content is None else (content, np.diff(plain.offsets))

    def records(self, texts: Sequence[str]) -> tuple[bytes, Array] | None:
        """Like ``label``, for a passage of JSON Lines with these texts and no other fields."""
        if self._options.output != "jsonl" or self._options.reading.characters:
            return None
        plain = plain_texts(texts, self._options.reading, self._segmenter)
        content = None if plain is None else self._records(plain)
        return None if plain is None or content is None else (content, np.diff(plain.offsets))

    def _answers(self, plain: PlainSentences, *, of_labels: bool = False, all: bool = False) -> Answers:
        """Labels, the probabilities ``of_labels``, and ``all``: entities and all others."""
        return self._posteriors.answers_of_cells(
            plain.text, plain.cells, plain.offsets, self._threshold, probabilities=all, label_probabilities=of_labels
        )

    # -------------------------------------------------------------------------------------------- columns

    def _columns(self, plain: PlainSentences) -> bytes | None:
        """A token and its label on each line, the probability between them."""
        if plain.documents is not None and any(part in plain.text for part in _NOT_IN_COLUMNS):
            return None
        answers = self._answers(plain, of_labels=self._options.probabilities)
        labels = self._codec.places_of(answers.numbers, plain.offsets)
        return write_columns(plain, labels, self._names, answers.label_probabilities)

    # -------------------------------------------------------------------------------------------- CoNLL-U

    def _conllu(self, plain: PlainSentences) -> bytes | None:
        """Ten columns for each token; before each sentence of raw text, that text."""
        text, is_raw = plain.text, plain.documents is not None
        if _has_empty_tokens(plain) or any(character in text for character in _NOT_IN_CONLLU[is_raw]):
            return None
        labels = self._codec.places_of(self._answers(plain).numbers, plain.offsets).tolist()
        cells, pieces, ends, heads = plain.cells.tolist(), list[bytes](), self._conllu_ends, dict[int, bytes]()
        if plain.heads:
            from postil.text.columns.conllu import comment_lines  # few files of columns have comments

            heads = {int(plain.offsets[place]): comment_lines(sentence) for place, sentence in plain.heads}
        for low, high in pairwise(plain.offsets.tolist()):
            if is_raw:
                content = text[cells[low][0] : cells[high - 1][1]].decode()
                pieces.append(f"# text = {' '.join(content.split())}\n".encode())
            pieces.append(heads.get(low, b""))
            for i in range(low, high):
                first, end = cells[i]
                is_glued = is_raw and i + 1 < high and cells[i + 1][0] == end
                pieces.append(b"%d\t%b\t%b\n" % (i + 1 - low, text[first:end], ends[labels[i]][is_glued]))
            pieces.append(b"\n")
        return b"".join(pieces)

    @cached_property
    def _conllu_ends(self) -> list[tuple[bytes, bytes]]:
        """Of each label the columns after the form of a token: before a space, and without one after it."""
        from postil.tagging.annotations import conllu_column
        from postil.text.columns.conllu import columns_after_form

        column = conllu_column(self._codec.scheme, self._options)
        return [columns_after_form(label, column) for label in self._codec.spellings]

    # -------------------------------------------------------------------------------------------- JSON Lines

    def _records(self, plain: PlainSentences) -> bytes | None:
        """A JSON object for each text, or each sentence of rows, whose text is its tokens with spaces between them."""
        text, cells, documents, fields = plain.text, plain.cells, plain.documents, plain.fields
        tokens = plain.offsets if plain.document_tokens is None else plain.document_tokens
        if documents is None:
            if _has_empty_tokens(plain):  # an empty token is not a span of characters
                return None
            text, cells, documents = _joined(plain)
            heads = {place: _head_fields(sentence) for place, sentence in plain.heads}
            fields = [heads.get(place, b"") for place in range(len(documents))]
        codec, probable = self._codec, self._options.probabilities
        answers = self._answers(plain, of_labels=probable and not codec.has_spans, all=probable)
        if codec.has_spans:
            spans = answers.span_probabilities if probable else None
            named: dict[str, Any] = {"names": codec.classes, "spans": answers.entities(), "probabilities": spans}
        else:
            labels = codec.places_of(answers.numbers, plain.offsets)
            named = {"names": codec.spellings, "labels": labels, "figures": answers.label_probabilities}
        return kernels.write_records(
            kernels.Records(
                text=text,
                documents=documents,
                tokens=tokens,
                cells=cells,
                sentences=plain.offsets,
                whole=answers.probabilities if probable else None,
                fields=fields,
                units=self._options.offsets,
                lists_tokens=plain.documents is None,
                **named,
            )
        )


def _has_empty_tokens(plain: PlainSentences) -> bool:
    return plain.documents is None and bool((plain.cells[:, 0] == plain.cells[:, 1]).any())


def _joined(plain: PlainSentences) -> tuple[bytes, Array, Array]:
    """The tokens with single spaces between them, their cells (N, 2), and the first byte and end of each sentence."""
    text = b" ".join([plain.text[first:end] for first, end in plain.cells.tolist()])
    lengths = plain.cells[:, 1] - plain.cells[:, 0]
    ends = np.cumsum(lengths + 1) - 1
    cells = np.stack([ends - lengths, ends], axis=1)
    return text, cells, np.stack([cells[plain.offsets[:-1], 0], cells[plain.offsets[1:] - 1, 1]], axis=1)


def _head_fields(sentence: Sentence) -> bytes:
    """The document mark and the comments of a sentence."""
    comments = ", ".join(map(json_string, sentence.comments))
    mark = "" if sentence.document is None else f', "newdoc": {json_string(sentence.document)}'
    return (mark + (f', "comments": [{comments}]' if comments else "")).encode()


def write_columns(plain: PlainSentences, labels: Array, names: list[bytes], figures: Array | None = None) -> bytes:
    """The sentences with labels (N,), which are places in ``names``, and probabilities (N,) in a column before them."""
    content, places = kernels.write_rows(plain.text, plain.cells, plain.offsets, labels, names, figures)
    if not plain.heads:
        return content
    edges = [0, *(int(places[sentence]) for sentence, _ in plain.heads), len(content)]
    heads = [b"", *_written_heads([sentence for _, sentence in plain.heads], figures is not None)]
    pieces = zip(heads, edges[:-1], edges[1:], strict=True)
    return b"".join(piece for head, first, end in pieces for piece in (head, content[first:end]))


def _written_heads(sentences: Sequence[Sentence], has_figures: bool) -> Iterator[bytes]:
    """The lines that the writer puts before each sentence; a document mark has as many columns as the rows."""
    for sentence in sentences:
        sentence.columns = [("1",)] if has_figures else None
    for sentence, content in zip(sentences, write_conll(sentences, WriteOptions(), Report()), strict=True):
        row = [sentence.tokens[0], *(["1"] if has_figures else []), "O"]
        yield content.removesuffix("\t".join(row) + "\n\n").encode()


# ------------------------------------------------------------------------------------------------ labels


def are_writable(names: Sequence[str]) -> bool:
    """Whether labels can be written in a column, in UTF-8."""
    return all(map(is_utf8, names)) and all(
        name == name.strip(" ") != "" and re.search("[\t\n\r\0]", name) is None for name in names
    )


def _are_json_labels(names: Sequence[str]) -> bool:
    """Whether spans are written as spans: no label looks like an unknown one."""
    return all(map(is_utf8, names)) and not any(map(looks_like_mark, names))


_CAN_WRITE: dict[str | None, Callable[[Sequence[str]], bool]] = {
    None: are_writable,
    "conll": are_writable,
    "conllu": are_writable,
    "jsonl": _are_json_labels,
}
"""Format of the output -> whether these labels can be written in it."""
_LEFT_OUT = {("conllu", "jsonl"), ("conllu", "conllu"), ("jsonl", "conllu")}
"""Formats of input and output in which an input has more than the fast path writes."""
