"""Many raw texts and what is answered about them, in arrays; documents are made of them when they are looked at."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, final

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.models.answers.labelling import Labelling
from postil.models.answers.posteriors import BlockAnswers, Posteriors
from postil.text import Document, Entity, Sentence
from postil.text.segmenter import Segments, default_segmenter

BATCH = 1 << 19
"""Bytes of texts that are tagged at once."""


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
        for d, text in enumerate(self.texts):
            yield Document.later(partial(self._field, d), text=text)

    def _field(self, d: int, name: str) -> list[Any]:
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
        return [Entity(text[start:end], classes[kind], start, end, p) for (start, end), kind, p in rows]


def tagged(
    texts: Iterable[str], posteriors: Posteriors, threshold: float | Mapping[str, float] | None = None
) -> Iterator[TaggedTexts]:
    """The texts in batches, tagged. They can be written in UTF-8, and ``posteriors`` take cells."""
    batch: list[str] = []
    content: list[bytes] = []
    size = 0
    for text in texts:
        batch.append(text)
        content.append(text.encode())
        size += len(content[-1]) + 1
        if size >= BATCH:
            yield _tagged(batch, content, posteriors, threshold)
            batch, content, size = [], [], 0
    if batch:
        yield _tagged(batch, content, posteriors, threshold)


def _tagged(
    texts: list[str], content: list[bytes], posteriors: Posteriors, threshold: float | Mapping[str, float] | None
) -> TaggedTexts:
    joined, edges = b"".join(content), np.cumsum([0, *map(len, content)])
    segments = default_segmenter().cells(joined, documents=np.stack([edges[:-1], edges[1:]], axis=1))
    answers = posteriors.answers_of_cells(joined, segments.cells, segments.offsets, threshold)
    sentences = np.searchsorted(segments.offsets, segments.documents)
    entities = np.searchsorted(answers.spans[:, 0], sentences)
    return TaggedTexts(texts, joined, edges, segments, answers, posteriors.labelling, sentences, entities)
