"""Answers about a column of texts, in arrays: places, label numbers and probabilities of entities, tokens, sentences.

The fast path goes from the column's bytes to arrays without an object per token. Models that need strings, and machines
without compiled kernels, take the general path, with the same result.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias, final

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.errors import ConfigurationError
from postil.kernels.plain_records import UNITS
from postil.models.answers.posteriors import Posteriors
from postil.models.answers.tagged import Tagged
from postil.models.detector import Detector
from postil.models.sentences import sentences_of, takes_characters, tokens_of, warn_of_unspaced
from postil.models.tagger import Tagger
from postil.text import Sentence
from postil.text.offsets import offsets_in

ENTITIES, TOKENS, LABELS, SENTENCES = "entities", "tokens", "labels", "sentences"
PARTS = (ENTITIES, TOKENS, LABELS, SENTENCES)
"""What can be asked for."""

Threshold: TypeAlias = float | Mapping[str, float] | None


class Spans(NamedTuple):
    """M spans of D texts, in order. What does not apply is None."""

    edges: Array  # (D + 1,) of the texts among the spans
    places: Array  # (M, 2) start and end in the text
    labels: Array | None = None  # (M,) numbers of their names
    probabilities: Array | None = None  # (M,)


_Row: TypeAlias = tuple[int, int, str]
"""Start, end and label."""
Answers: TypeAlias = dict[str, Spans]
"""By part: entities, tokens, sentences. The labels are those of the tokens."""


@final
class ColumnTagger:
    """A model and what is asked of it. Threads may share one."""

    def __init__(
        self, model: Tagger | Detector, parts: Sequence[str], units: str = "characters", threshold: Threshold = None
    ) -> None:
        self._model, self._units, self._threshold = model, units, threshold
        self.parts, self.names = list(parts), names_of(model)
        self.asked = {TOKENS if part == LABELS else part for part in parts}
        if isinstance(model, Tagger):
            self._posteriors = Posteriors(model.fitted_parts())
            spellings = self._posteriors.labelling.spellings
            self._numbers = np.array([self.names[TOKENS].index(name) for name in spellings])
        self.is_fast = isinstance(model, Tagger) and self._posteriors.takes_cells and not self._by_characters

    @property
    def _by_characters(self) -> bool:
        return takes_characters(self._model.fitted_parts())

    def answers(self, content: bytes, documents: Array) -> Answers:
        """Answers about the texts at ``documents`` (D, 2), first byte and end of each, of a content in UTF-8."""
        if not self.is_fast:
            return self._general([content[start:end].decode() for start, end in documents.tolist()])
        warn_of_texts(content, documents)
        task = self._model.fitted_parts().task
        with_labels = TOKENS in self.asked
        tagged = Tagged.of(
            content, documents, {task: self._posteriors}, self._threshold, label_probabilities=with_labels
        )
        return self.of_tagged(tagged, task)

    def of_tagged(self, tagged: Tagged, task: str) -> Answers:
        """The answers of a task about texts that are tagged already. Only if ``is_fast``."""
        makers = {ENTITIES: _entities, TOKENS: self._tokens, SENTENCES: _sentences}
        spans = {part: make(tagged, task) for part, make in makers.items() if part in self.asked}
        return {part: _counted(tagged.content, tagged.documents, one, self._units) for part, one in spans.items()}

    # -------------------------------------------------------------------------------------------- the fast path

    def _tokens(self, tagged: Tagged, task: str) -> Spans:
        segments, answers = tagged.segments, tagged.tasks[task]
        numbers = self._numbers[answers.labelling.places_of(answers.numbers, segments.offsets)]
        return Spans(segments.documents, segments.cells, numbers, answers.label_probabilities)

    # -------------------------------------------------------------------------------------------- the general path

    def _general(self, texts: list[str]) -> Answers:
        by_text = [sentences_of(text, self._by_characters) for text in texts]
        sentences = [sentence for of_text in by_text for sentence in of_text]
        edges, units = np.array([0, *accumulate(map(len, by_text))]), _Units(texts, self._units)
        rows, figures = self._rows(sentences)
        numbers = {part: {name: i for i, name in enumerate(names)} for part, names in self.names.items()}
        answers: Answers = {}
        for part in self.asked:
            of_texts = np.array([0, *accumulate(map(len, rows[part]))])[edges]
            flat = [row for of_sentence in rows[part] for row in of_sentence]
            places = units.of(np.array([row[:2] for row in flat], np.int64).reshape(-1, 2), of_texts)
            labels = np.array([numbers[part][row[2]] for row in flat], np.int64) if part in numbers else None
            answers[part] = Spans(of_texts, places, labels, figures[part])
        return answers

    def _rows(self, sentences: list[Sentence]) -> tuple[dict[str, list[list[_Row]]], dict[str, Array | None]]:
        """Of each part, the rows of each sentence, and the probabilities of all of them."""
        if isinstance(self._model, Tagger):
            entities, of_tokens, of_sentences = self._tagger_answers(self._model, sentences)
        else:
            entities, of_tokens, of_sentences = self._model.annotate(sentences), None, None
        places = [list(zip(s.starts or (), s.ends or (), strict=True)) for s in sentences]
        rows: dict[str, list[list[_Row]]] = {
            ENTITIES: [[(e.start, e.end, e.label) for e in of_sentence] for of_sentence in entities],
            TOKENS: [
                [(*place, label) for place, label in zip(of_sentence, s.labels or (), strict=True)]
                for of_sentence, s in zip(places, sentences, strict=True)
            ],
            SENTENCES: [[(of_sentence[0][0], of_sentence[-1][1], "")] for of_sentence in places],
        }
        of_entities = _figures([e.probability for of_sentence in entities for e in of_sentence])
        return rows, {ENTITIES: of_entities, TOKENS: of_tokens, SENTENCES: of_sentences}

    def _tagger_answers(self, tagger: Tagger, sentences: list[Sentence]) -> tuple[list[Any], Array | None, Array]:
        """The entities of each sentence, the probabilities of all labels and those of all labellings."""
        answers = tagger.answers(sentences, threshold=self._threshold)
        for sentence, answer in zip(sentences, answers, strict=True):
            sentence.labels = answer.labels
        of_sentences = np.array([answer.probability for answer in answers])
        of_tokens = None
        if TOKENS in self.asked:
            X = [tokens_of(sentence) for sentence in sentences]
            _, figures = tagger.predict_with_probabilities(X, threshold=self._threshold)
            of_tokens = np.concatenate([np.zeros(0), *figures])
        return [answer.entities for answer in answers], of_tokens, of_sentences


def names_of(model: Tagger | Detector) -> dict[str, list[str]]:
    """The names of labels that entities and tokens can have, each once."""
    if isinstance(model, Tagger):
        labelling = model.labelling
        classes = list(labelling.classes) if labelling.has_spans else []
        return {ENTITIES: classes, TOKENS: list(dict.fromkeys(labelling.spellings))}
    return {ENTITIES: [model.label], TOKENS: list(model.classes_)}


def asked_parts(parts: str | Iterable[str] | None, model: Any) -> tuple[str, ...]:
    """The parts that are asked of any model; none where each of several tasks has its own."""
    return () if parts is None and getattr(model, "tasks", None) else tuple(checked_parts(parts, model))


def checked_parts(parts: str | Iterable[str] | None, model: Any) -> list[str]:
    """The parts that are asked for. None: the entities, or the tokens where the labels of the model have no spans."""
    if parts is None:
        return [ENTITIES if not isinstance(model, Tagger) or model.labelling.has_spans else TOKENS]
    asked = [parts] if isinstance(parts, str) else list(dict.fromkeys(parts))
    for part in asked:
        if part not in PARTS:
            raise ConfigurationError("parts", expected=f"must be some of {', '.join(PARTS)}", got=repr(part))
    if not asked:
        raise ConfigurationError("parts", expected=f"must be some of {', '.join(PARTS)}", got="none")
    return asked


def checked_units(units: str) -> str:
    if units not in UNITS:
        raise ConfigurationError("offsets", expected=f"must be {', '.join(UNITS[:-1])} or {UNITS[-1]}", got=repr(units))
    return units


# ------------------------------------------------------------------------------------------------ fast: places in bytes


def _entities(tagged: Tagged, task: str) -> Spans:
    answers = tagged.tasks[task]
    assert answers.spans is not None, "asked for"
    places = tagged.entity_places(task)
    return Spans(tagged.entity_edges[task], places, answers.spans[:, 3], answers.span_probabilities)


def _sentences(tagged: Tagged, task: str) -> Spans:
    cells, offsets = tagged.segments.cells, tagged.segments.offsets
    places = np.stack([cells[offsets[:-1], 0], cells[offsets[1:] - 1, 1]], axis=1)
    return Spans(tagged.sentence_edges, places, None, tagged.tasks[task].probabilities)


def _counted(content: bytes, documents: Array, spans: Spans, units: str) -> Spans:
    """Spans whose places are bytes of the content, counted in ``units`` from the first byte of each text."""
    firsts = np.repeat(documents[:, 0], np.diff(spans.edges))
    offsets = np.column_stack([firsts, spans.places])
    if units != "bytes" and not content.isascii():
        order = np.unique(offsets)
        counted = kernels.character_offsets(content, order)
        if units == "utf16":
            counted = counted + np.searchsorted(np.flatnonzero(np.frombuffer(content, np.uint8) >= 0xF0), order)
        offsets = counted[np.searchsorted(order, offsets)]
    return spans._replace(places=offsets[:, 1:] - offsets[:, :1])


_LEADS = np.zeros(256, bool)  # first bytes of characters that writing without spaces has, and of some others
_LEADS[[0xE0, 0xE1, *range(0xE3, 0xEA), 0xEF, 0xF0]] = True


def warn_of_texts(content: bytes, documents: Array) -> None:
    """Warn of texts without spaces. Only texts that may be written so are decoded."""
    if content.isascii():
        return
    leads = np.flatnonzero(_LEADS[np.frombuffer(content, np.uint8)])
    counts = np.diff(np.searchsorted(leads, documents), axis=1).ravel()
    for start, end in documents[counts > 0].tolist():
        warn_of_unspaced(content[start:end].decode(), stacklevel=6)


# ------------------------------------------------------------------------------------------------ general: characters


@final
class _Units:
    """From characters of each text to other units."""

    def __init__(self, texts: list[str], units: str) -> None:
        self._texts, self._units = texts, units

    def of(self, places: Array, edges: Array) -> Array:
        """Places (M, 2) of texts with ``edges`` (D + 1,) among them."""
        if self._units == "characters":
            return places
        counted = places.copy()
        for text, first, end in zip(self._texts, edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            counted[first:end] = offsets_in(self._units, text, places[first:end].ravel().tolist()).reshape(-1, 2)
        return counted


def _figures(probabilities: list[float | None]) -> Array | None:
    """None where a model has no probabilities."""
    if any(probability is None for probability in probabilities):
        return None
    return np.array(probabilities, np.float64)
