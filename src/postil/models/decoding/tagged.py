"""Raw texts and what is answered about them, in arrays: what documents and columns are views of.

Objects of Python are made when somebody looks at them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, final

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.kernels.plain_text import cells_between
from postil.models.decoding.constraints import Constraints
from postil.models.decoding.posteriors import Answers, Posteriors, Threshold, answers_of, answers_of_cells
from postil.models.sentences import entity, sentences_of, tokens_of, warn_of_unspaced
from postil.text import Document, Entity, Sentence
from postil.text.later import LaterItems
from postil.text.output import is_utf8
from postil.text.splitting.segmenter import Segmenter, Segments

BATCH = 1 << 19
"""Bytes of texts that are tagged at once."""


class Answer(NamedTuple):
    """The answer for one sentence."""

    labels: list[str]
    entities: list[Entity]
    probability: float
    """Of the whole label sequence."""


@final
class AnsweredSentences:
    """Sentences and what one task answers about them."""

    def __init__(self, sentences: list[Sentence], answers: Answers) -> None:
        self._sentences, self._answers = sentences, answers
        edges = np.arange(len(sentences) + 1)
        self._edges = edges if answers.spans is None else np.searchsorted(answers.spans[:, 0], edges)

    def put_labels(self) -> None:
        for sentence, labels in zip(self._sentences, self._answers.texts(), strict=True):
            sentence.labels = labels

    def answers(self) -> Sequence[Answer]:
        """The answer about each sentence, made when it is first looked at."""
        return LaterItems(len(self._sentences), self._answer)

    def entities(self) -> Sequence[list[Entity]]:
        """The entities of each sentence, made when they are first looked at."""
        return LaterItems(len(self._sentences), self._entities)

    def _answer(self, i: int) -> Answer:
        answers = self._answers
        first, end = answers.offsets[i : i + 2].tolist()
        (labels,) = answers.codec.texts_of_sentences(answers.numbers[first:end], np.array([0, end - first]))
        assert answers.probabilities is not None, "asked for"
        return Answer(labels, self._entities(i), float(answers.probabilities[i]))

    def _entities(self, i: int) -> list[Entity]:
        spans, probabilities = self._answers.spans, self._answers.span_probabilities
        assert spans is not None and probabilities is not None, "asked for"
        which, classes = slice(*self._edges[i : i + 2].tolist()), self._answers.codec.classes
        rows = zip(spans[which, 1:].tolist(), probabilities[which].tolist(), strict=True)
        return [entity(self._sentences[i], classes[kind], start, end, p) for (start, end, kind), p in rows]


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tagged:
    """D texts with N tokens in B sentences, and what each task answers about them."""

    content: bytes  # in UTF-8
    documents: Array  # (D, 2) first byte and end of each text
    segments: Segments  # cells (N, 2) and offsets (B + 1,) of all texts; documents (D + 1,): the tokens of each text
    tasks: Mapping[str, Answers]
    sentence_edges: Array  # (D + 1,) of the texts among the sentences
    entity_edges: Mapping[str, Array]  # by task, (D + 1,) of the texts among the entities
    texts: Sequence[str] = ()  # the same as strings, where they came as such

    @classmethod
    def of(
        cls,
        content: bytes,
        documents: Array,
        heads: Mapping[str, Posteriors],
        segmenter: Segmenter,
        threshold: Threshold = None,
        *,
        texts: Sequence[str] = (),
        label_probabilities: bool = False,
        only_spans: bool = False,
    ) -> "Tagged":
        """Cut the texts into sentences of tokens, and answer for each head. The heads take cells.

        With ``only_spans``, only entities have probabilities.
        """
        segments = segmenter.cells(content, documents=documents)
        words = content, segments.cells, segments.offsets
        tasks = answers_of_cells(heads, words, threshold, True, label_probabilities, only_spans=only_spans)
        B = len(segments.offsets) - 1
        is_one = len(documents) == 1
        edges = np.array([0, B]) if is_one else np.searchsorted(segments.offsets, segments.documents)
        return cls(
            content=content,
            documents=documents,
            segments=segments,
            tasks=tasks,
            sentence_edges=edges,
            entity_edges={
                task: np.array([0, len(answers.spans)]) if is_one else np.searchsorted(answers.spans[:, 0], edges)
                for task, answers in tasks.items()
                if answers.spans is not None
            },
            texts=texts,
        )

    def entity_places(self, task: str, which: slice = slice(None)) -> Array:
        """(M, 2) first byte and end of entities."""
        answers, cells = self.tasks[task], self.segments.cells
        if answers.spans is None:
            return np.zeros((0, 2), np.int64)
        spans = answers.spans[which]
        before = self.segments.offsets[spans[:, 0]]
        places = np.empty((len(spans), 2), np.int64)
        places[:, 0], places[:, 1] = cells[before + spans[:, 1], 0], cells[before + spans[:, 2] - 1, 1]
        return places

    # -------------------------------------------------------------------------------------------- documents

    def document(self, d: int, main: str, layers: Sequence[str] = ()) -> Document:
        """Text d with the answers of one task, and those of ``layers``."""
        return Document.later(partial(self._field, d, main, layers), text=self.texts[d])

    def _field(self, d: int, main: str, layers: Sequence[str], name: str) -> Any:
        if name == "layers":
            return {task: self.document(d, task) for task in layers}
        return self._sentences(d, main) if name == "sentences" else self._entities(d, main)

    def _places(self, d: int, cells: Array) -> list[list[int]]:
        """Cells (n, 2) of a text, counted in its characters."""
        first, end = self.documents[d].tolist()
        places = cells - first
        if end - first != len(self.texts[d]):
            places = kernels.character_offsets(self.content[first:end], places.ravel()).reshape(-1, 2)
        listed: list[list[int]] = places.tolist()
        return listed

    def _sentences(self, d: int, task: str) -> list[Sentence]:
        text, segments, answers = self.texts[d], self.segments, self.tasks[task]
        offsets = segments.offsets[self.sentence_edges[d] : self.sentence_edges[d + 1] + 1]
        low, high = int(offsets[0]), int(offsets[-1])
        places = self._places(d, segments.cells[low:high])
        labels = answers.codec.texts_of_sentences(answers.numbers[low:high], offsets - low)
        tokens, starts, ends = [text[a:b] for a, b in places], [a for a, _ in places], [b for _, b in places]
        return [
            Sentence(tokens[a:b], labels=of_sentence, text=text, starts=starts[a:b], ends=ends[a:b])
            for (a, b), of_sentence in zip(pairwise((offsets - low).tolist()), labels, strict=True)
        ]

    def _entities(self, d: int, task: str) -> list[Entity]:
        text, answers = self.texts[d], self.tasks[task]
        if answers.spans is None or answers.span_probabilities is None:
            return []
        which = slice(*self.entity_edges[task][d : d + 2].tolist())
        places = self._places(d, self.entity_places(task, which))
        rows = zip(places, answers.spans[which, 3].tolist(), answers.span_probabilities[which].tolist(), strict=True)
        classes = answers.codec.classes
        return [
            Entity(text=text[start:end], label=classes[kind], start=start, end=end, probability=p)
            for (start, end), kind, p in rows
        ]


def tagged_documents(
    texts: Sequence[str],
    heads: Mapping[str, Posteriors],
    segmenter: Segmenter,
    main: str,
    layers: Sequence[str] = (),
    threshold: Threshold = None,
) -> list[Document]:
    """The texts as documents with the answers of ``main`` and ``layers``."""
    if not heads[main].takes_cells or segmenter.characters:
        return [general_document(text, heads, segmenter, main, layers, threshold) for text in texts]
    contents = []
    for text in texts:
        if segmenter.has_rules:
            warn_of_unspaced(text)
        contents.append(text.encode() if is_utf8(text) else b"")
    documents: list[Document] = []
    while len(documents) < len(texts):
        first = end = len(documents)
        size = 0
        while end < len(texts) and size < BATCH:
            size += len(contents[end]) + 1
            end += 1
        edges = np.array([0, *accumulate(map(len, contents[first:end]))])
        content = contents[first] if end == first + 1 else b"".join(contents[first:end])
        batch = texts[first:end]
        tagged = Tagged.of(content, cells_between(edges), heads, segmenter, threshold, texts=batch, only_spans=True)
        for d, text in enumerate(batch):
            is_plain = len(contents[first + d]) >= len(text)
            general = partial(general_document, text, heads, segmenter, main, layers, threshold)
            documents.append(tagged.document(d, main, layers) if is_plain else general())
    return documents


def general_document(
    text: str,
    heads: Mapping[str, Posteriors],
    segmenter: Segmenter,
    main: str,
    layers: Sequence[str] = (),
    threshold: Threshold = None,
    constraints: Constraints | None = None,
) -> Document:
    """A text by the general path: extra columns, constraints, half characters, no compiler."""
    sentences = sentences_of(text, segmenter)
    X = [tokens_of(sentence) for sentence in sentences]
    if constraints:
        answers = {main: heads[main].answers(X, [constraints.in_tokens(one) for one in sentences], threshold)}
    else:
        answers = answers_of(heads, X, threshold)
    documents = {}
    for task, of_task in answers.items():
        own = [Sentence(one.tokens, text=text, starts=one.starts, ends=one.ends) for one in sentences]
        answered = AnsweredSentences(own, of_task)
        answered.put_labels()
        documents[task] = Document(text, own, [entity for entities in answered.entities() for entity in entities])
    if not layers:
        return documents[main]
    return Document(text, documents[main].sentences, documents[main].entities, documents)
