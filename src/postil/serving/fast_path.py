"""The fast path: bytes to labelled bytes, without an object per token.

Plain text, JSON Lines, columns, CoNLL-U and lines of tokens become places of tokens among bytes, those become numbers
of words, scores and answers in arrays, and those become bytes again. It is taken for what nearly everybody asks for,
labels and their probabilities, and for passages that are plain. Everything else takes the general path, with the same
result; ``Labeller`` decides.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, final

import numpy as np

from postil import kernels
from postil.models.answers.posteriors import Answers, Posteriors
from postil.models.tagger import Tagger
from postil.network.sentence import LONGEST_VIEW
from postil.serving.labelled import Labelled
from postil.serving.options import TaggingOptions, threshold_of
from postil.text.bulk.passages import Passage
from postil.text.bulk.plain_rows import PlainRows, are_writable, read_plain, write_plain
from postil.text.bulk.plain_texts import PlainTexts, read_texts, texts_of
from postil.text.bulk.plain_writers import RowAnswers, write_conllu_rows, write_token_records
from postil.text.labels.partial_label import looks_like_mark
from postil.text.output import is_utf8

_OTHER_OPTIONS = ("scores", "tree", "keep_gold", "nbest", "all_above", "constraints", "gazetteer_constraints")


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
        if options.sets(*_OTHER_OPTIONS) or options.reading.features or options.output not in _WRITTEN:
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
            return self._label_rows(texts.rows) if texts.is_writable else None
        rows = read_plain(passage, self._options.reading)
        return None if rows is None else self._label_rows(rows)

    def records(self, texts: Sequence[str]) -> Labelled | None:
        """What ``label`` returns for a passage of JSON Lines that has these texts and nothing else."""
        if self._options.output != "jsonl":
            return None
        found = texts_of(texts, self._options.reading)
        return None if found is None else self._label_texts(found)

    def _label_rows(self, rows: PlainRows) -> Labelled:
        """Columns."""
        answers = self._answers(rows, figures=self._options.probabilities)
        places = self._labelling.places_of(answers.numbers, rows.offsets)
        return _labelled(write_plain(rows, places, self._names, answers.label_probabilities), rows)

    def _label_other_rows(self, passage: Passage, texts: PlainTexts | None) -> Labelled | None:
        """Lines of tokens and columns as JSON Lines; these and plain text as CoNLL-U."""
        rows = read_plain(passage, self._options.reading) if texts is None else texts.rows
        if rows is None or passage.format == "conllu" or (texts is not None and passage.format != "text"):
            return None
        if (rows.cells[:, 0] == rows.cells[:, 1]).any():  # an empty token is no span of characters
            return None
        if self._options.output == "jsonl":
            return _labelled(write_token_records(rows, self._row_answers(rows), self._options.offsets), rows)
        if any(character in rows.text for character in _NOT_IN_CONLLU[texts is not None]):
            return None
        places = self._labelling.places_of(self._answers(rows).numbers, rows.offsets)
        return _labelled(write_conllu_rows(rows, places, self._conllu_ends, raw=texts is not None), rows)

    def _row_answers(self, rows: PlainRows) -> RowAnswers:
        has_spans, probable = self._labelling.has_spans, self._options.probabilities
        answers = self._answers(rows, figures=probable and not has_spans, whole=probable)
        whole = answers.probabilities if probable else None
        if has_spans:
            probabilities = answers.span_probabilities if probable else None
            return RowAnswers(self._labelling.classes, answers.entities(), probabilities, whole=whole)
        labels = self._labelling.places_of(answers.numbers, rows.offsets)
        figures = answers.label_probabilities
        return RowAnswers(self._labelling.spellings, labels=labels, figures=figures, whole=whole)

    @cached_property
    def _conllu_ends(self) -> list[tuple[bytes, bytes]]:
        """Of each label the columns after the form of a token: before a space, and without one after it."""
        from postil.serving.annotations import conllu_column
        from postil.text.columns.conllu_writer import columns_after_form

        column = conllu_column(self._labelling.scheme, self._options)
        return [columns_after_form(label, column) for label in self._labelling.spellings]

    def _label_texts(self, texts: PlainTexts) -> Labelled:
        """JSON Lines."""
        rows, has_spans, probable = texts.rows, self._labelling.has_spans, self._options.probabilities
        answers = self._answers(rows, figures=probable and not has_spans, whole=probable)
        if has_spans:
            named: dict[str, Any] = {"names": self._labelling.classes, "spans": answers.entities()}
        else:
            labels = self._labelling.places_of(answers.numbers, rows.offsets)
            named = {"names": self._labelling.spellings, "labels": labels, "figures": answers.label_probabilities}
        content = kernels.write_records(
            kernels.Records(
                text=texts.text,
                documents=texts.documents,
                tokens=texts.segments.documents,
                cells=rows.cells,
                sentences=rows.offsets,
                probabilities=answers.span_probabilities if has_spans and probable else None,
                whole=answers.probabilities if probable else None,
                fields=texts.fields,
                units=self._options.offsets,
                **named,
            )
        )
        return _labelled(content, rows)

    def _answers(self, rows: PlainRows, figures: bool = False, whole: bool = False) -> Answers:
        """Labels, and the probabilities that are asked for."""
        return self._posteriors.answers_of_cells(
            rows.text, rows.cells, rows.offsets, self._threshold, probabilities=whole, label_probabilities=figures
        )


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
