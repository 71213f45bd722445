"""Many sentences or raw texts and what is answered about them, in arrays: objects are made when they are looked at."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from postil import kernels
from postil.arrays import Array, offsets_from_lengths
from postil.kernels.plain_columns import cells_between
from postil.models.answers.constraints import Constraints
from postil.models.answers.labelling import Labelling
from postil.models.answers.posteriors import BlockAnswers, Posteriors
from postil.models.sentences import entity, tokens_of
from postil.text import Document, Entity, Sentence
from postil.text.splitting.segmenter import Segments, default_segmenter

if TYPE_CHECKING:
    from postil.models.answers.task_posteriors import TaskPosteriors

BATCH = 1 << 19
"""Bytes of texts that are tagged at once."""


class Answer(NamedTuple):
    """What is answered about one sentence."""

    labels: list[str]
    entities: list[Entity]
    probability: float
    """Of the whole label sequence."""


@final
class AnsweredSentences:
    """Sentences and what is answered about them."""

    def __init__(self, sentences: list[Sentence], labelling: Labelling, blocks: Iterable[BlockAnswers]) -> None:
        self._sentences, self._labelling, self._blocks = sentences, labelling, list(blocks)
        self._places = np.full((len(sentences), 2), -1)  # of each sentence the block and the row in it
        for number, block in enumerate(self._blocks):
            self._places[block.which, 0] = number
            self._places[block.which, 1] = np.arange(len(block.which))

    @classmethod
    def of(
        cls,
        sentences: list[Sentence],
        posteriors: Posteriors,
        constraints: Sequence[Constraints | None] | None = None,
        threshold: float | Mapping[str, float] | None = None,
    ) -> "AnsweredSentences":
        X = [tokens_of(sentence) for sentence in sentences]
        return cls(sentences, posteriors.labelling, posteriors.answers(X, constraints, threshold))

    def all_labels(self) -> Iterator[tuple[int, list[str]]]:
        """Every sentence's number and its labels."""
        for block in self._blocks:
            yield from zip(block.which, self._labelling.texts_of_sentences(block.numbers, block.offsets), strict=True)

    def answer(self, i: int) -> Answer:
        number, row = self._places[i].tolist()
        block = self._blocks[number]
        first, end = block.offsets[row : row + 2].tolist()
        labels = self._labelling.texts_of_sentences(block.numbers[first:end], np.array([0, end - first]))[0]
        return Answer(labels, self.entities(i), float(block.probabilities[row]))

    def entities(self, i: int) -> list[Entity]:
        number, row = self._places[i].tolist()
        block, classes = self._blocks[number], self._labelling.classes
        which = slice(*np.searchsorted(block.spans[:, 0], [row, row + 1]).tolist())
        rows = zip(block.spans[which, 1:].tolist(), block.span_probabilities[which].tolist(), strict=True)
        return [entity(self._sentences[i], classes[kind], start, end, p) for (start, end, kind), p in rows]


@final
@dataclass(frozen=True, slots=True, eq=False)
class TaggedTexts:
    """D texts with N tokens in B sentences and M entities."""

    texts: Sequence[str]
    content: bytes  # the texts in UTF-8, one after the other
    edges: Array  # (D + 1,) of the texts among the bytes
    segments: Segments
    answers: BlockAnswers
    labelling: Labelling
    sentence_edges: Array  # (D + 1,) of the texts among the sentences
    entity_edges: Array  # (D + 1,) of the texts among the entities

    def documents(self) -> Iterator[Document]:
        return map(self.document, range(len(self.texts)))

    def document(self, d: int) -> Document:
        return Document.later(partial(self.field, d), text=self.texts[d])

    def field(self, d: int, name: str) -> Any:
        if name == "layers":
            return {}
        return self._sentences(d) if name == "sentences" else self._entities(d)

    def _places(self, d: int, cells: Array) -> list[list[int]]:
        """Cells (n, 2) of a text, counted in its characters."""
        first, end = int(self.edges[d]), int(self.edges[d + 1])
        places = cells - first
        if end - first != len(self.texts[d]):
            places = kernels.character_offsets(self.content[first:end], places.ravel()).reshape(-1, 2)
        listed: list[list[int]] = places.tolist()
        return listed

    def _sentences(self, d: int) -> list[Sentence]:
        text, segments = self.texts[d], self.segments
        offsets = segments.offsets[self.sentence_edges[d] : self.sentence_edges[d + 1] + 1]
        low, high = int(offsets[0]), int(offsets[-1])
        places = self._places(d, segments.cells[low:high])
        labels = self.labelling.texts_of_sentences(self.answers.numbers[low:high], offsets - low)
        tokens, starts, ends = [text[a:b] for a, b in places], [a for a, _ in places], [b for _, b in places]
        return [
            Sentence(tokens[a:b], labels=of_sentence, text=text, starts=starts[a:b], ends=ends[a:b])
            for (a, b), of_sentence in zip(pairwise((offsets - low).tolist()), labels, strict=True)
        ]

    def _entities(self, d: int) -> list[Entity]:
        text, answers, classes = self.texts[d], self.answers, self.labelling.classes
        which = slice(int(self.entity_edges[d]), int(self.entity_edges[d + 1]))
        spans = answers.spans[which]
        before, cells = self.segments.offsets[spans[:, 0]], self.segments.cells
        edges = np.stack([cells[before + spans[:, 1], 0], cells[before + spans[:, 2] - 1, 1]], axis=1)
        rows = zip(
            self._places(d, edges), spans[:, 3].tolist(), answers.span_probabilities[which].tolist(), strict=True
        )
        return [
            Entity(text=text[start:end], label=classes[kind], start=start, end=end, probability=p)
            for (start, end), kind, p in rows
        ]


def tagged(
    texts: Iterable[str], posteriors: Posteriors, threshold: float | Mapping[str, float] | None = None
) -> Iterator[TaggedTexts]:
    """The texts in batches, tagged. They can be written in UTF-8, and ``posteriors`` take cells."""
    for batch, content, edges in _batches(texts):
        documents = cells_between(edges)
        yield TaggedTexts(batch, content, edges, *tagged_content(content, documents, posteriors, threshold))


def tagged_tasks(texts: Iterable[str], posteriors: "TaskPosteriors") -> Iterator[dict[str, TaggedTexts]]:
    """The same by task. The texts are cut into tokens, and the tokens encoded, once."""
    for batch, content, edges in _batches(texts):
        segments = default_segmenter().cells(content, documents=cells_between(edges))
        # A document has the probabilities of its entities, and no others.
        answers = posteriors.answers_of_cells(content, segments.cells, segments.offsets, only_spans=True)
        yield {
            task: TaggedTexts(batch, content, edges, *_placed(segments, of_task, posteriors.heads[task].labelling))
            for task, of_task in answers.items()
        }


def _batches(texts: Iterable[str]) -> Iterator[tuple[list[str], bytes, Array]]:
    """Texts, the same in UTF-8 one after the other, and their edges (D + 1,) among the bytes."""
    batch: list[str] = []
    content: list[bytes] = []
    size = 0
    for text in texts:
        batch.append(text)
        content.append(text.encode())
        size += len(content[-1]) + 1
        if size >= BATCH:
            yield batch, b"".join(content), offsets_from_lengths([len(text) for text in content])
            batch, content, size = [], [], 0
    if batch:
        yield batch, b"".join(content), offsets_from_lengths([len(text) for text in content])


class TaggedContent(NamedTuple):
    """D texts of one content and what is answered about them."""

    segments: Segments
    answers: BlockAnswers
    labelling: Labelling
    sentence_edges: Array  # (D + 1,) of the texts among the sentences
    entity_edges: Array  # (D + 1,) of the texts among the entities


def tagged_content(
    content: bytes,
    documents: Array,
    posteriors: Posteriors,
    threshold: float | Mapping[str, float] | None = None,
    *,
    label_probabilities: bool = False,
) -> TaggedContent:
    """The texts at ``documents`` (D, 2), first byte and end of each, in order. ``posteriors`` take cells."""
    segments = default_segmenter().cells(content, documents=documents)
    answers = posteriors.answers_of_cells(
        content, segments.cells, segments.offsets, threshold, label_probabilities=label_probabilities
    )
    return _placed(segments, answers, posteriors.labelling)


def tagged_contents(
    content: bytes, documents: Array, posteriors: "TaskPosteriors", *, label_probabilities: bool = False
) -> dict[str, TaggedContent]:
    """The same by task, without thresholds but those of the model. The texts are cut and encoded once."""
    segments = default_segmenter().cells(content, documents=documents)
    answers = posteriors.answers_of_cells(
        content, segments.cells, segments.offsets, label_probabilities=label_probabilities
    )
    return {task: _placed(segments, of_task, posteriors.heads[task].labelling) for task, of_task in answers.items()}


def _placed(segments: Segments, answers: BlockAnswers, labelling: Labelling) -> TaggedContent:
    sentences = np.searchsorted(segments.offsets, segments.documents)
    entities = np.searchsorted(answers.spans[:, 0], sentences)
    return TaggedContent(segments, answers, labelling, sentences, entities)
