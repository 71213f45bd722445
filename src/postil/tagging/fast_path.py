"""The fast path: bytes to labelled bytes, without an object for each token.

Plain passages become places of tokens among bytes (``plain``), those become scores and answers in arrays, and those
become bytes again. The fast path serves the most common requests: labels and their probabilities.
Everything else takes the general path, with the same result; ``Labeller`` decides.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, final

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.kernels.plain_records import json_string
from postil.models.decoding.codec import known_tasks
from postil.models.decoding.posteriors import Decoded, Posteriors, together
from postil.models.decoding.tagged import Tagged
from postil.models.tagger import Tagger
from postil.tagging.options import TaggingOptions, conllu_column, has_groups, threshold_of
from postil.tagging.plain import plain_texts, read_plain
from postil.text import Report, Sentence
from postil.text.columns.conll import write_conll
from postil.text.labels.schemes import looks_like_mark
from postil.text.options import Column, WriteOptions
from postil.text.output import is_utf8
from postil.text.passages import Passage

_OTHER_OPTIONS = ("scores", "tree", "keep_gold", "nbest", "all_above", "constraints", "gazetteer_constraints")
_NOT_IN_COLUMNS = (b"-DOCSTART-", b"\0")
_NOT_IN_CONLLU = {False: b"\r\0", True: b"\t\r\0"}
"""By whether tokens come from raw text: characters that they may not contain."""
_LABELS = {"names", "labels", "spans", "groups"}
_LEFT_OUT = {("conllu", "jsonl"), ("conllu", "conllu"), ("jsonl", "conllu")}
"""Formats of input and output in which an input has more than the fast path writes."""


@final
class FastPath:
    """Labels plain passages; made by ``of``."""

    def __init__(self, model: Any, options: TaggingOptions) -> None:
        self._model, self._options = model, options
        heads = model.model.by_task()
        self._heads = {task: Posteriors(heads[task]) for task in known_tasks(options.tasks or None, heads)}
        self._codecs = [head.codec for head in self._heads.values()]
        self._segmenter, self._threshold = options.reading.segmenter, threshold_of(self._codecs[0], options)
        self._main: str | None = None if isinstance(model, Tagger) else model.main_task(list(self._heads))
        self._ends: dict[tuple[str, ...], tuple[bytes, bytes]] = {}

    @classmethod
    def of(cls, model: Any, options: TaggingOptions) -> "FastPath | None":
        """None if the options ask for more than labels and probabilities, or the model needs more than words."""
        if options.sets(*_OTHER_OPTIONS) or options.reading.features or options.output not in WRITERS:
            return None
        of_tasks = model.KIND == "multi-task-tagger" and not options.sets("threshold", "class_thresholds")
        of_tasks = of_tasks and not (options.probabilities and options.output == "conllu")
        if not (isinstance(model, Tagger) or of_tasks):
            return None
        path, (can_write, _) = cls(model, options), WRITERS[options.output]
        is_possible = all(can_write(one.codec.spellings) and one.takes_cells for one in path._heads.values())
        return path if is_possible else None

    def label(self, passage: Passage) -> tuple[bytes, Array] | None:
        """The passage with labels, and the lengths of its sentences; None if it is not plain."""
        plain = read_plain(passage, self._options.reading, self._segmenter)
        if plain is None or (passage.format, self._options.output) in _LEFT_OUT:
            return None
        content = WRITERS[self._options.output][1](self, plain)
        return None if content is None else (content, np.diff(plain.offsets))

    def records(self, texts: Sequence[str]) -> tuple[bytes, Array] | None:
        """Like ``label``, for a passage of JSON Lines with these texts and no other fields."""
        if self._options.output != "jsonl" or self._options.reading.characters:
            return None
        plain = plain_texts(texts, self._options.reading, self._segmenter)
        content = None if plain is None else self._records(plain)
        return None if plain is None or content is None else (content, np.diff(plain.offsets))

    def _tagged(self, plain: Tagged, *, of_labels: bool = False, all: bool = False) -> Tagged:
        """Labels, the probabilities ``of_labels``, and ``all``: entities and all others."""
        return plain.by(self._heads, self._threshold, all, of_labels)

    # -------------------------------------------------------------------------------------------- columns

    def _columns(self, plain: Tagged) -> bytes | None:
        """A token and its label on each line, the probability between them."""
        if plain.documents is not None and any(part in plain.text for part in _NOT_IN_COLUMNS):
            return None
        return write_columns(self._tagged(plain, of_labels=self._options.probabilities))

    # -------------------------------------------------------------------------------------------- CoNLL-U

    def _conllu(self, plain: Tagged) -> bytes | None:
        """Ten columns for each token; before each sentence of raw text, that text."""
        from postil.text.columns.conllu import columns_after_form, comment_lines, multiword_ranges, range_line

        text, is_raw = plain.text, plain.documents is not None
        if _has_empty_tokens(plain) or any(character in text for character in _NOT_IN_CONLLU[is_raw]):
            return None
        places, labels = _label_rows(list(self._tagged(plain).tasks.values()))
        for row in labels:  # of each, the columns after the form of a token: before a space, and without one after it
            if row not in self._ends:
                self._ends[row] = columns_after_form(row, self._conllu_columns())
        ends = [self._ends[row] for row in labels]
        cells, rows, pieces = plain.cells.tolist(), places.tolist(), list[bytes]()
        (spellings, of_words), lines, parts = plain.words, dict[int, bytes](), set[int]()
        words = of_words.tolist()

        def is_glued(i: int, high: int) -> bool:
            return is_raw and i + 1 < high and cells[i + 1][0] == cells[i][1]

        heads = {int(plain.offsets[place]): comment_lines(sentence) for place, sentence in plain.heads}
        for low, high in pairwise(plain.offsets.tolist()):
            if is_raw:
                content = text[cells[low][0] : cells[high - 1][1]].decode()
                pieces.append(f"# text = {' '.join(content.split())}\n".encode())
            pieces.append(heads.get(low, b""))
            for a, b in () if plain.forms is None else multiword_ranges(plain.forms.joined[low:high].tolist()):
                form = text[cells[low + a][0] : cells[low + b - 1][1]].decode()
                lines[low + a] = f"{range_line(a, b, form, is_glued(low + b - 1, high))}\n".encode()
                parts.update(range(low + a, low + b))
            for i in range(low, high):
                first, end = words[i]
                row = ends[rows[i]][is_glued(i, high) and i not in parts]
                pieces.append(b"%b%d\t%b\t%b\n" % (lines.get(i, b""), i + 1 - low, spellings[first:end], row))
            pieces.append(b"\n")
        return b"".join(pieces)

    def _conllu_columns(self) -> list[Column]:
        if len(self._codecs) == 1:
            return [conllu_column(self._codecs[0].scheme, self._options)]
        from postil.tagging.general_path import TokenAnswers

        return TokenAnswers(self._model, self._options).columns()

    # -------------------------------------------------------------------------------------------- JSON Lines

    def _records(self, plain: Tagged) -> bytes | None:
        """A JSON object for each text, or each sentence of rows, whose text is its tokens with spaces between them."""
        text, cells, documents, fields = plain.text, plain.cells, plain.documents, plain.fields
        tokens = plain.offsets if plain.document_tokens is None else plain.document_tokens
        if documents is None:
            if _has_empty_tokens(plain):  # an empty token is not a span of characters
                return None
            text, cells, documents = _joined(plain)
            heads = {place: _head_fields(sentence) for place, sentence in plain.heads}
            fields = [heads.get(place, b"") for place in range(len(documents))]
        probable, of_words = self._options.probabilities, not all(codec.has_spans for codec in self._codecs)
        if plain.forms is not None and of_words:
            return None
        tasks = self._tagged(plain, of_labels=probable and of_words, all=probable).tasks
        if is_grouped := has_groups(self._model, tasks):
            if plain.forms is not None:
                return None
            tasks = {"": together(tasks)} if len(tasks) > 1 else tasks
        # Words that share the place of a multiword token are one token of a record.
        begins = np.append(True, (cells[1:] != cells[:-1]).any(axis=1)) if plain.forms is not None else None
        edges = None if begins is None else np.append(0, np.cumsum(begins))
        texts: dict[str, Any] = {"text": text, "documents": documents, "units": self._options.offsets}
        if edges is None:
            texts |= {"tokens": tokens, "cells": cells, "sentences": plain.offsets}
        else:
            texts |= {"tokens": edges[tokens], "cells": cells[begins], "sentences": edges[plain.offsets]}
        answers = {task: _answered(decoded, probable, edges) for task, decoded in tasks.items()}
        if edges is not None and any((one["spans"][1:, 0] < one["spans"][:-1, 1]).any() for one in answers.values()):
            return None

        def written(task: str, probable: bool, **form: Any) -> bytes:
            answer = answers[task] if probable else {name: answers[task][name] for name in _LABELS & {*answers[task]}}
            return kernels.write_records(kernels.Records(**texts, **answer, **form))

        if self._main is None or is_grouped:
            return written(next(iter(tasks)), probable, fields=fields, lists_tokens=plain.documents is None)
        if plain.documents is None or any(b'"layers"' in field for field in fields or ()):
            return None
        layers = [
            [b"%b: {%b}" % (json_string(task).encode(), line[2:]) for line in lines.splitlines()]
            for task in tasks
            for lines in [written(task, probable, is_layer=True)]
        ]
        fields = [
            b'%b, "layers": {%b}' % (field, b", ".join(of_text))
            for field, *of_text in zip(fields or [b""] * len(documents), *layers, strict=True)
        ]
        return written(self._main, False, fields=fields, has_layers=True)


def _label_rows(tasks: list[Decoded]) -> tuple[Array, list[tuple[str, ...]]]:
    """(N,) places in a list of what the tasks say about a token: a label of each."""
    numbers = tasks[0].places()
    rows: list[tuple[str, ...]] = [(label,) for label in tasks[0].codec.spellings]
    for decoded in tasks[1:]:
        names = decoded.codec.spellings
        distinct, numbers = np.unique(numbers.astype(np.int64) * len(names) + decoded.places(), return_inverse=True)
        rows = [(*rows[pair // len(names)], names[pair % len(names)]) for pair in distinct.tolist()]
    return numbers, rows


def _answered(decoded: Decoded, probable: bool, edges: Array | None) -> dict[str, Any]:
    """Labels and probabilities of a task, as fields of ``Records``; ``edges``: (N + 1,) the tokens before each word."""
    codec = decoded.codec
    fields: dict[str, Any] = {"whole": decoded.probabilities} if probable else {}
    if codec.has_spans:
        spans = decoded.entities()
        if edges is not None:
            spans[:, :2] = np.stack([edges[spans[:, 0] + 1] - 1, edges[spans[:, 1]]], axis=1)
        fields |= {"names": codec.classes, "spans": spans, "groups": decoded.groups}
        return fields | {"probabilities": decoded.span_probabilities} if probable else fields
    fields |= {"names": codec.spellings, "labels": decoded.places()}
    return fields | {"figures": decoded.label_probabilities} if probable else fields


def _has_empty_tokens(plain: Tagged) -> bool:
    return plain.documents is None and bool((plain.cells[:, 0] == plain.cells[:, 1]).any())


def _joined(plain: Tagged) -> tuple[bytes, Array, Array]:
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


def write_columns(tagged: Tagged) -> bytes:
    """The labels of each task after the token, each after its probability if it has one."""
    tasks = list(tagged.tasks.values())
    names = [label.encode() for decoded in tasks for label in decoded.codec.spellings]
    before = np.cumsum([0, *(len(decoded.codec.spellings) for decoded in tasks)])
    labels = np.stack([decoded.places() + first for decoded, first in zip(tasks, before, strict=False)], axis=1)
    figures = [one.label_probabilities for one in tasks if one.label_probabilities is not None]
    rows = *tagged.words, tagged.offsets, labels, names
    content, places = kernels.write_rows(*rows, np.stack(figures, axis=1) if figures else None)
    if not tagged.heads:
        return content
    edges = [0, *(int(places[sentence]) for sentence, _ in tagged.heads), len(content)]
    heads = [sentence for _, sentence in tagged.heads]
    # A document mark has as many columns as the rows.
    others = ("1",) * (len(tasks) + len(figures) - 1)
    for sentence in heads:
        sentence.columns = [others] if others else None
    pieces = [content[: edges[1]]]
    written = write_conll(heads, WriteOptions(), Report())
    for sentence, lines, (first, end) in zip(heads, written, pairwise(edges[1:]), strict=True):
        pieces.append(lines.removesuffix("\t".join([sentence.tokens[0], *others, "O"]) + "\n\n").encode())
        pieces.append(content[first:end])
    return b"".join(pieces)


# ------------------------------------------------------------------------------------------------ labels


def are_writable(names: Sequence[str]) -> bool:
    """Whether labels can be written in a column, in UTF-8."""
    return all(map(is_utf8, names)) and all(
        name == name.strip(" ") != "" and re.search("[\t\n\r\0]", name) is None for name in names
    )


def _are_json_labels(names: Sequence[str]) -> bool:
    """Whether spans are written as spans: no label looks like an unknown one."""
    return all(map(is_utf8, names)) and not any(map(looks_like_mark, names))


WRITERS = {
    None: (are_writable, FastPath._columns),
    "conll": (are_writable, FastPath._columns),
    "conllu": (are_writable, FastPath._conllu),
    "jsonl": (_are_json_labels, FastPath._records),
}
"""Format of the output -> whether these labels can be written in it, and its writer."""
