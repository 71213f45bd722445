"""The fast path: bytes to labelled bytes, without an object per token.

Plain text, JSON Lines, columns, CoNLL-U and lines of tokens become places of tokens among bytes, those become numbers
of words, scores and answers in arrays, and those become bytes again. It is taken for what nearly everybody asks for,
labels and their probabilities, and for passages that are plain. Everything else takes the general path, with the same
result; ``Labeller`` decides.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple, final

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.models.answers.posteriors import Posteriors
from postil.models.tagger import Tagger
from postil.network.sentence import LONGEST_VIEW
from postil.serving import labelled
from postil.serving.labelled import Labelled
from postil.serving.options import TaggingOptions, threshold_of
from postil.text.bulk.passages import Passage
from postil.text.bulk.plain_rows import PlainRows, are_writable, read_plain, write_plain
from postil.text.bulk.plain_texts import PlainTexts, read_texts, texts_of
from postil.text.bulk.plain_writers import RowAnswers, write_conllu_rows, write_token_records
from postil.text.labels.partial_label import looks_like_mark
from postil.text.output import is_utf8

PAYS = not kernels.IN_USE.startswith("plain")
"""The Python versions of the kernels are slower than the general path."""
_OTHER_OPTIONS = ("scores", "tree", "keep_gold", "nbest", "all_above", "constraints", "gazetteer_constraints")


class _Answers(NamedTuple):
    """What is answered about N tokens in B sentences with M entities. What was not asked for is None."""

    numbers: Array  # (N,) label numbers
    figures: Array | None = None  # (N,) probabilities of labels
    whole: Array | None = None  # (B,) probabilities of whole labellings
    spans: Array | None = None  # (M, 3) first token, end, class
    probabilities: Array | None = None  # (M,)


@final
class FastPath:
    """Labels plain passages; made by ``of``."""

    def __init__(self, tagger: Tagger, options: TaggingOptions) -> None:
        self._posteriors, self._options = Posteriors(tagger.fitted_parts()), options
        self._labelling = tagger.labelling
        self._threshold = threshold_of(tagger.labelling, options)
        self._names = [label.encode() for label in tagger.labelling.spellings]

    @classmethod
    def of(cls, model: Any, options: TaggingOptions) -> "FastPath | None":
        """None where the options ask for more than labels and probabilities, or the model needs more than words."""
        if not PAYS or options.sets(*_OTHER_OPTIONS) or options.reading.features or options.output not in _WRITTEN:
            return None
        if not isinstance(model, Tagger) or not _WRITTEN[options.output](model.labelling.spellings):
            return None
        if not Posteriors(model.fitted_parts()).takes_cells:
            return None
        return cls(model, options)

    def label(self, passage: Passage) -> Labelled | None:
        """The passage with labels; None if it is not plain."""
        texts = read_texts(passage, self._options.reading)
        if self._options.output == "jsonl" and texts is not None:
            return self._label_texts(texts)
        if self._options.output in ("jsonl", "conllu"):
            return self._label_other_rows(passage, texts)
        if texts is not None:
            return self._label_rows(texts.rows, texts.sentence_ends) if texts.is_writable else None
        rows = read_plain(passage, self._options.reading)
        return None if rows is None else self._label_rows(rows, rows.sentence_ends)

    def records(self, texts: Sequence[str]) -> Labelled | None:
        """What ``label`` returns for a passage of JSON Lines that has these texts and nothing else."""
        if self._options.output != "jsonl":
            return None
        found = texts_of(texts, self._options.reading)
        return None if found is None else self._label_texts(found)

    def _label_rows(self, rows: PlainRows, ends: Callable[[int], list[int]]) -> Labelled:
        """Columns."""
        answers = self._answers(rows, ends(labelled.BLOCK_TOKENS), figures=self._options.probabilities)
        places = self._labelling.places_of(answers.numbers, rows.offsets)
        return _labelled(write_plain(rows, places, self._names, answers.figures), rows)

    def _label_other_rows(self, passage: Passage, texts: PlainTexts | None) -> Labelled | None:
        """Lines of tokens and columns as JSON Lines; these and plain text as CoNLL-U."""
        rows = read_plain(passage, self._options.reading) if texts is None else texts.rows
        if rows is None or passage.format == "conllu" or (texts is not None and passage.format != "text"):
            return None
        if (rows.cells[:, 0] == rows.cells[:, 1]).any():  # an empty token is no span of characters
            return None
        ends = (rows if texts is None else texts).sentence_ends(labelled.BLOCK_TOKENS)
        if self._options.output == "jsonl":
            return _labelled(write_token_records(rows, self._row_answers(rows, ends), self._options.offsets), rows)
        if any(character in rows.text for character in _NOT_IN_CONLLU[texts is not None]):
            return None
        places = self._labelling.places_of(self._answers(rows, ends).numbers, rows.offsets)
        return _labelled(write_conllu_rows(rows, places, self._conllu_ends, raw=texts is not None), rows)

    def _row_answers(self, rows: PlainRows, ends: Sequence[int]) -> RowAnswers:
        has_spans, probable = self._labelling.has_spans, self._options.probabilities
        answers = self._answers(rows, ends, figures=probable and not has_spans, whole=probable)
        if has_spans:
            probabilities = answers.probabilities if probable else None
            return RowAnswers(self._labelling.classes, answers.spans, probabilities, whole=answers.whole)
        labels = self._labelling.places_of(answers.numbers, rows.offsets)
        return RowAnswers(self._labelling.spellings, labels=labels, figures=answers.figures, whole=answers.whole)

    @cached_property
    def _conllu_ends(self) -> list[tuple[bytes, bytes]]:
        """Of each label the columns after the form of a token: before a space, and without one after it."""
        from postil.serving.annotations import conllu_column
        from postil.text.columns.conllu_writer import columns_after_form

        column = conllu_column(self._labelling.scheme, self._options)
        return [columns_after_form(label, column) for label in self._labelling.spellings]

    def _label_texts(self, texts: PlainTexts) -> Labelled:
        """JSON Lines."""
        rows, ends = texts.rows, texts.record_ends(labelled.BLOCK_TOKENS)
        has_spans, probable = self._labelling.has_spans, self._options.probabilities
        if probable:
            answers = self._answers(rows, ends, figures=not has_spans, whole=True)
        else:
            answers = self._answers(rows, ends)
        named: dict[str, Any] = {"names": self._labelling.classes, "spans": answers.spans}
        if not has_spans:
            labels = self._labelling.places_of(answers.numbers, rows.offsets)
            named = {"names": self._labelling.spellings, "labels": labels, "figures": answers.figures}
        content = kernels.write_records(
            kernels.Records(
                text=texts.text,
                documents=texts.documents,
                tokens=texts.segments.documents,
                cells=rows.cells,
                sentences=rows.offsets,
                probabilities=answers.probabilities if has_spans else None,
                whole=answers.whole,
                fields=texts.fields,
                units=self._options.offsets,
                **named,
            )
        )
        return _labelled(content, rows)

    def _answers(self, rows: PlainRows, ends: Sequence[int], figures: bool = False, whole: bool = False) -> _Answers:
        """Labels, and the probabilities that are asked for, computed for groups of sentences up to these ends."""
        groups = [rows] if len(ends) == 1 else [rows.part(first, end) for first, end in pairwise([0, *ends])]
        if not (figures or whole):
            of_cells = self._posteriors.labels_of_cells
            numbers = [of_cells(g.text, g.cells, g.offsets, self._threshold) for g in groups]
            return self._without_probabilities(np.concatenate([np.zeros(0, np.int64), *numbers]), rows.offsets)
        answers_of = self._posteriors.answers_of_cells
        answers = [answers_of(g.text, g.cells, g.offsets, self._threshold, label_probabilities=figures) for g in groups]
        if len(answers) == 1:
            (only,) = answers
            spans = _placed(only.spans, rows.offsets)
            return _Answers(only.numbers, only.label_probabilities, only.probabilities, spans, only.span_probabilities)
        firsts = [0, *ends][:-1]
        placed = [_placed(answer.spans, rows.offsets[first:]) for first, answer in zip(firsts, answers, strict=True)]
        of_labels = [answer.label_probabilities for answer in answers if answer.label_probabilities is not None]
        return _Answers(
            numbers=np.concatenate([np.zeros(0, np.int64), *(answer.numbers for answer in answers)]),
            figures=np.concatenate([np.zeros(0), *of_labels]) if figures else None,
            whole=np.concatenate([np.zeros(0), *(answer.probabilities for answer in answers)]) if whole else None,
            spans=np.concatenate([np.zeros((0, 3), np.int64), *placed]),
            probabilities=np.concatenate([np.zeros(0), *(answer.span_probabilities for answer in answers)]),
        )

    def _without_probabilities(self, numbers: Array, offsets: Array) -> _Answers:
        if self._options.output != "jsonl" or not self._labelling.has_spans:
            return _Answers(numbers)
        places, classes = self._labelling.spans_of_sentences(numbers, offsets)
        return _Answers(numbers, spans=_placed(np.column_stack([places, classes]), offsets))


def _placed(spans: Array, offsets: Array) -> Array:
    """Spans (M, 4) of sentence, start, end and class as (M, 3) of first token and end in the whole text, and class."""
    placed = spans[:, 1:].copy()
    placed[:, :2] += offsets[spans[:, 0], None]
    return placed


def _labelled(content: bytes, rows: PlainRows) -> Labelled:
    tokens = len(rows.cells)
    lengths = np.diff(rows.offsets) if tokens > LONGEST_VIEW else np.zeros(0, np.int64)
    return Labelled(content=content, tokens=tokens, long_sentences=lengths[lengths > LONGEST_VIEW].tolist())


def _are_json_labels(names: Sequence[str]) -> bool:
    """Whether spans are written as spans: no label looks like an unknown one."""
    return all(map(is_utf8, names)) and not any(map(looks_like_mark, names))


# Format that is written -> whether labels can be written in it.
_WRITTEN = {None: are_writable, "conll": are_writable, "conllu": are_writable, "jsonl": _are_json_labels}
# What no token may contain, by whether it comes from raw text.
_NOT_IN_CONLLU = {False: b"\r\0", True: b"\t\r\0"}
