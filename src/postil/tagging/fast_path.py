"""A model with its options, and its fast path: bytes to labelled bytes, without an object for each token.

Well-formed passages become places of words among bytes, those become scores and answers in arrays, and those become
bytes again. The fast path reads what the readers of sentences (``FORMATS``) read and serves the most common requests:
labels and their probabilities. Anything else, above all mistakes and records with labels or tokens, takes the general
path, with the same result; ``Labeller`` decides.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, final

import numpy as np

from postil import kernels
from postil.arrays import Array, offsets_from_lengths
from postil.errors import PostilError
from postil.kernels import Columns, TokenCells
from postil.kernels.plain_records import ESCAPED, json_string
from postil.models.decoding.codec import known_tasks
from postil.models.decoding.posteriors import Decoded, Posteriors, together
from postil.models.decoding.tagged import Tagged
from postil.models.estimator import Estimator
from postil.models.tagger import Tagger
from postil.network.window import LONGEST_VIEW
from postil.tagging.options import (
    SPECIAL_OPTIONS,
    Labelled,
    TaggingOptions,
    check_columns,
    chosen,
    has_groups,
    threshold_of,
)
from postil.text import ReadOptions, Report, Sentence
from postil.text import plain as plain_text
from postil.text.annotations.records import NOT_ACCEPTED, is_plain_record, parse
from postil.text.columns.conll import columns_of, read_conll, write_conll
from postil.text.labels.schemes import looks_like_mark
from postil.text.lines import Passage, lines_of
from postil.text.options import Column, WriteOptions
from postil.text.output import is_utf8
from postil.text.splitting.segmenter import ENGLISH
from postil.text.splitting.segmenter import lines_of as line_places

if TYPE_CHECKING:  # seldom needed: most passages are plain
    from postil.tagging.general_path import GeneralPath

LONGEST = 1 << 24  # characters. Longer passages have very long sentences, or none that ends.
_MOST_DIGITS = 9
_NOT_IN_COLUMNS = (b"-DOCSTART-", b"\0")
_NOT_IN_CONLLU = {False: b"\r\0", True: b"\t\r\0"}
"""By whether tokens come from raw text: characters that they may not contain."""
_LABELS = {"names", "labels", "spans", "groups"}
_LEFT_OUT = {("conllu", "jsonl"), ("conllu", "conllu"), ("jsonl", "conllu")}
"""Formats of input and output in which an input has more than the fast path writes."""


def read_plain(passage: Passage, options: ReadOptions) -> Tagged | None:
    """The sentences of a passage; None if there are none, or if a reader of sentences has to look at it."""
    if passage.mistake is not None or len(passage.text) > LONGEST or passage.format not in _READERS:
        return None
    try:
        return _READERS[passage.format](passage, options)
    except (PostilError, UnicodeEncodeError):
        return None


def _read_lines(passage: Passage, options: ReadOptions) -> Tagged | None:
    text = passage.text.encode()
    return _segmented(text, line_places(text), options, every=False)


def _read_records(passage: Passage, options: ReadOptions) -> Tagged | None:
    texts, fields = [], []
    for number, line in enumerate(lines_of(passage.text), passage.first):
        if not line:
            continue
        record = parse(line, passage.where(number))
        if not is_plain_record(record) or (record.get("answer") in NOT_ACCEPTED and not options.every_record):
            return None
        texts.append(record.pop("text").encode())
        others = json.dumps(record, ensure_ascii=False).translate(ESCAPED)[1:-1] if record else ""
        fields.append(f", {others}".encode() if record else b"")
    return _placed(texts, options, fields)


def _placed(texts: Sequence[bytes], options: ReadOptions, fields: list[bytes] | None) -> Tagged | None:
    ends = accumulate(map(len, texts), initial=0)
    documents = np.array(list(pairwise(ends)), np.int64).reshape(-1, 2)
    return _segmented(b"".join(texts), documents, options, every=options.every_record, fields=fields)


def _segmented(
    text: bytes, documents: Array, options: ReadOptions, *, every: bool, fields: list[bytes] | None = None
) -> Tagged | None:
    """``every``: also texts without tokens."""
    if options.segmenter.characters:
        return None
    cells, offsets, tokens, forms = options.segmenter.cells(text, documents=documents, split=options.split)
    if not every:
        has_tokens = np.diff(tokens) > 0
        documents, tokens = documents[has_tokens], np.append(tokens[:-1][has_tokens], len(cells))
        if fields is not None:
            fields = [one for one, is_kept in zip(fields, has_tokens.tolist(), strict=True) if is_kept]
    return Tagged(text, cells, offsets, documents, tokens, fields=fields, forms=forms) if len(documents) else None


def _read_columns(passage: Passage, options: ReadOptions) -> Tagged | None:
    if options.features != () or options.strict or options.comment != "auto":
        return None
    columns, text = columns_of(passage, options), passage.text.encode()
    found = kernels.token_cells(text, columns) if columns is not None else None
    if found is None or not len(found.tokens):
        return None
    heads = found.heads.tolist()
    # The reader gets the first row of each sentence that has a head.
    ends = [text.find(b"\n", row) for _, _, row in heads]
    rows = [text[head : end if end >= 0 else None] for (_, head, _), end in zip(heads, ends, strict=True)]
    short = replace(passage, text=b"\n\n".join(rows).decode(), opening=passage.opening or passage)
    return _rows(text, found, list(read_conll(short, options, Report())) if heads else [])


def _read_token_lines(passage: Passage, options: ReadOptions) -> Tagged | None:
    text = passage.text.encode()
    found = kernels.line_cells(text)
    if found is None or not len(found.tokens) or np.diff(found.offsets).max() > plain_text.MOST_TOKENS:
        return None
    return _rows(text, found)


def _read_conllu(passage: Passage, options: ReadOptions) -> Tagged | None:
    if options.features != () or options.label not in ("auto", None):
        return None
    from postil.text.columns.conllu import NEW_DOCUMENT

    text = passage.text.encode()
    found = word_cells(text)
    if found is None:
        return None
    heads = []
    for _, first, end in found.heads.tolist():
        comments = [line for line in text[first:end].decode().split("\n") if line.strip(" \t")]
        if not all(comment.startswith("#") for comment in comments):
            return None
        marks = [mark for mark in map(NEW_DOCUMENT.match, comments) if mark is not None]
        document = (marks[-1][1] or "") if marks else None
        heads.append(Sentence(["_"], document=document, comments=comments))
    return _rows(text, found, heads)


def word_cells(text: bytes) -> TokenCells | None:
    """The words of CoNLL-U in UTF-8 whose lines end in "\\n"; None if the reader must look at the lines."""
    from postil.text.columns.conllu import COLUMNS, FORM, Numbering  # other formats are more common

    if any(sign in text for sign in (b"\t\t", b"\t\n", b"\n\t")) or text.startswith(b"\t") or text.endswith(b"\t"):
        return None  # empty cells
    identities, forms = (kernels.token_cells(text, Columns(True, len(COLUMNS), i, -1)) for i in (0, FORM))
    if identities is None or forms is None or not len(forms.tokens):
        return None
    numbers = _numbers(text, identities.tokens)
    is_word = numbers > 0
    sentences = np.repeat(np.arange(len(forms.offsets) - 1), np.diff(forms.offsets))  # (N,) of each row
    lengths = np.bincount(sentences[is_word], minlength=len(forms.offsets) - 1)
    offsets = offsets_from_lengths(lengths)
    places = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    if not lengths.all() or (numbers[is_word] != places + 1).any():
        return None
    for sentence in np.unique(sentences[~is_word]).tolist():  # with multiword tokens or empty nodes
        numbering, words = Numbering(), 0
        for first, end in identities.tokens[forms.offsets[sentence] : forms.offsets[sentence + 1]].tolist():
            identity = text[first:end].decode()
            if identity == str(words + 1):
                words += 1
            elif not numbering.accepts(identity, words):
                return None
        if numbering.covered > words:
            return None
    return TokenCells(forms.tokens[is_word], offsets, forms.heads)


def _numbers(text: bytes, cells: Array) -> Array:
    """(N,) the whole number in each cell (N, 2); 0 if it is not one, begins with 0 or is very long."""
    content = np.frombuffer(text, np.uint8)
    first, lengths = cells[:, 0], cells[:, 1] - cells[:, 0]
    is_number = (lengths <= _MOST_DIGITS) & (content[first] != ord("0"))
    numbers = np.zeros(len(cells), np.int64)
    for place in range(min(int(lengths.max()), _MOST_DIGITS)):
        inside = place < lengths
        digits = content[np.where(inside, first + place, first)].astype(np.int64) - ord("0")
        is_number &= ~inside | ((digits >= 0) & (digits <= 9))
        numbers = np.where(inside, 10 * numbers + digits, numbers)
    return np.where(is_number, numbers, 0)


def _rows(text: bytes, found: TokenCells, heads: Sequence[Sentence] = ()) -> Tagged | None:
    """None if there is more before a sentence than comments and marks."""
    if len(heads) != len(found.heads) or any(len(sentence) != 1 for sentence in heads):
        return None
    for sentence in heads:
        sentence.labels = ["O"]
    return Tagged(text, found.tokens, found.offsets, heads=list(zip(found.heads[:, 0].tolist(), heads, strict=True)))


_READERS: dict[str, Callable[[Passage, ReadOptions], Tagged | None]] = {
    "text": _read_lines,
    "jsonl": _read_records,
    "conll": _read_columns,
    "conllu": _read_conllu,
    "tokens": _read_token_lines,
}


@final
class FastPath:
    """Labels plain passages; made by ``of``."""

    def __init__(self, model: Any, options: TaggingOptions) -> None:
        self._model, self._options = model, options
        heads = model.model.by_task()
        self._heads = {task: Posteriors(heads[task]) for task in known_tasks(options.tasks or None, heads)}
        self._codecs = [head.codec for head in self._heads.values()]
        self._threshold = threshold_of(self._codecs[0], options)
        self._main: str | None = None if isinstance(model, Tagger) else model.main_task(list(self._heads))
        self._ends: dict[tuple[str, ...], tuple[bytes, bytes]] = {}

    @classmethod
    def of(cls, model: Any, options: TaggingOptions) -> "FastPath | None":
        """None if the options ask for more than labels and probabilities, or the model needs more than words."""
        if options.sets(*SPECIAL_OPTIONS) or options.reading.features or options.output not in WRITERS:
            return None
        of_tasks = model.KIND == "multi-task-tagger" and not options.threshold
        of_tasks = of_tasks and not (options.probabilities and options.output == "conllu")
        if not (isinstance(model, Tagger) or of_tasks):
            return None
        path, (can_write, _) = cls(model, options), WRITERS[options.output]
        is_possible = all(can_write(one.codec.spellings) and one.takes_cells for one in path._heads.values())
        return path if is_possible else None

    def label(self, passage: Passage) -> Labelled | None:
        """The passage with labels; None if it is not plain."""
        plain = read_plain(passage, self._options.reading)
        if plain is None or (passage.format, self._options.output) in _LEFT_OUT:
            return None
        return self._labelled(plain)

    def label_texts(self, texts: Sequence[str]) -> Labelled | None:
        """Like ``label``, for a passage of JSON Lines with these texts and no other fields."""
        if self._options.output != "jsonl":
            return None
        try:
            encoded = [text.encode() for text in texts]
        except UnicodeEncodeError:
            return None
        plain = _placed(encoded, self._options.reading, None) if sum(map(len, encoded)) <= LONGEST else None
        return None if plain is None else self._labelled(plain)

    def _labelled(self, plain: Tagged) -> Labelled | None:
        content = WRITERS[self._options.output][1](self, plain)
        if content is None:
            return None
        lengths = np.diff(plain.offsets)
        long_sentences = lengths[lengths > LONGEST_VIEW].tolist()
        return Labelled(content=content, tokens=int(lengths.sum()), long_sentences=long_sentences)

    @cached_property
    def _places(self) -> list[Column]:
        """The columns of CoNLL-U that the labels go to."""
        from postil.tagging.general_path import TokenAnswers

        return TokenAnswers(self._model, self._options).columns()

    def _columns(self, plain: Tagged) -> bytes | None:
        """A token and its label on each line, the probability between them."""
        if plain.documents is not None and any(part in plain.text for part in _NOT_IN_COLUMNS):
            return None
        asked = {"probabilities": False, "label_probabilities": self._options.probabilities}
        return write_columns(plain.by(self._heads, threshold=self._threshold, **asked))

    def _conllu(self, plain: Tagged) -> bytes | None:
        """Ten columns for each token; before each sentence of raw text, that text."""
        from postil.text.columns.conllu import columns_after_form, comments_of, multiword_ranges, range_line

        text, is_raw = plain.text, plain.documents is not None
        if _has_empty_tokens(plain) or any(character in text for character in _NOT_IN_CONLLU[is_raw]):
            return None
        (decoded, *others) = plain.by(self._heads, threshold=self._threshold, probabilities=False).tasks.values()
        places, labels = decoded.places(), [(label,) for label in decoded.codec.spellings]
        for decoded in others:  # (N,) places in a list of what all tasks say about a token: a label of each
            names = decoded.codec.spellings
            distinct, places = np.unique(places.astype(np.int64) * len(names) + decoded.places(), return_inverse=True)
            labels = [(*labels[pair // len(names)], names[pair % len(names)]) for pair in distinct.tolist()]
        for row in labels:  # of each, the columns after the form of a token: before a space, and without one after it
            if row not in self._ends:
                self._ends[row] = columns_after_form(row, self._places)
        ends = [self._ends[row] for row in labels]
        cells, rows, pieces = plain.cells.tolist(), places.tolist(), list[bytes]()
        (spellings, of_words), lines, parts = plain.words, dict[int, bytes](), set[int]()
        words = of_words.tolist()

        def is_glued(i: int, high: int) -> bool:
            return is_raw and i + 1 < high and cells[i + 1][0] == cells[i][1]

        heads = {}
        for place, sentence in plain.heads:
            comments = "".join(f"{line}\n" for line in comments_of(sentence, Report()))
            heads[int(plain.offsets[place])] = comments.encode()
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

    def _records(self, plain: Tagged) -> bytes | None:
        """A JSON object for each text, or each sentence of rows, whose text is its tokens with spaces between them."""
        text, cells, documents, fields = plain.text, plain.cells, plain.documents, plain.fields
        tokens = plain.offsets if plain.document_tokens is None else plain.document_tokens
        if documents is None:
            if _has_empty_tokens(plain):  # an empty token is not a span of characters
                return None
            text, cells, documents = _joined(plain)
            fields = [b""] * len(documents)
            for place, head in plain.heads:
                comments = ", ".join(map(json_string, head.comments))
                mark = "" if head.document is None else f', "newdoc": {json_string(head.document)}'
                fields[place] = (mark + (f', "comments": [{comments}]' if comments else "")).encode()
        probable, of_words = self._options.probabilities, not all(codec.has_spans for codec in self._codecs)
        if plain.forms is not None and of_words:
            return None
        asked = {"probabilities": probable, "label_probabilities": probable and of_words}
        tasks = plain.by(self._heads, threshold=self._threshold, **asked).tasks
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


def are_writable(names: Sequence[str]) -> bool:
    """Whether labels can be written in a column, in UTF-8."""
    return all(map(is_utf8, names)) and all(
        name == name.strip(" ") != "" and re.search("[\t\n\r\0]", name) is None for name in names
    )


WRITERS: dict[str | None, tuple[Callable[[Sequence[str]], bool], Callable[[FastPath, Tagged], bytes | None]]] = {
    None: (are_writable, FastPath._columns),
    "conll": (are_writable, FastPath._columns),
    "conllu": (are_writable, FastPath._conllu),
    # Spans are written as spans: no label looks like an unknown one.
    "jsonl": (lambda names: all(map(is_utf8, names)) and not any(map(looks_like_mark, names)), FastPath._records),
}
"""Format of the output -> whether these labels can be written in it, and its writer."""


@final
class Labeller:
    """Labels passages by the fast path if possible, otherwise by the general path. Both return the same bytes.

    The same in this process and in workers, which open the file of the model at ``path`` themselves.
    """

    def __init__(self, model: Estimator, options: TaggingOptions, path: str | None = None) -> None:
        # Workers choose their task themselves: the file has all of them.
        self.whole, self.path = model, path
        self.model = model = chosen(model, options.tasks)
        if options.reading.segmenter == ENGLISH:  # no other rules were asked for
            options = replace(options, reading=replace(options.reading, segmenter=model.model.segmenter))
        self.options = options
        self.fast = FastPath.of(model, options)
        if self.fast is None or model.KIND == "multi-task-tagger":
            _ = self.general  # refuses options that do not apply to the model
        check_columns(model, options.reading.features or ())

    @cached_property
    def general(self) -> "GeneralPath":
        from postil.tagging.general_path import GeneralPath

        return GeneralPath(self.model, self.options)

    def label(self, passage: Passage) -> Labelled:
        """The passage with labels."""
        answer = self.fast.label(passage) if self.fast is not None else None
        return self.general.label(passage) if answer is None else answer

    def label_texts(self, texts: Sequence[str]) -> Labelled:
        """The answers for texts as JSON Lines: those of a passage of such records, without its JSON to parse."""
        answer = self.fast.label_texts(texts) if self.fast is not None else None
        if answer is not None:
            return answer
        lines = "".join([json.dumps({"text": text}) + "\n" for text in texts])
        return self.label(Passage(name="request", format="jsonl", first=1, text=lines, whole=True))
