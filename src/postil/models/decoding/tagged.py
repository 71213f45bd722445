"""Texts and what each task says about them, in arrays: what documents and columns are views of, and writers take.

Objects of Python are made when somebody looks at them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, Self, final

import numpy as np

from postil.arrays import Array
from postil.kernels.plain_text import SURROGATES, cells_between
from postil.models.decoding.constraints import Constraints
from postil.models.decoding.posteriors import Decoded, Posteriors, Threshold, decode, together
from postil.models.engine import Words
from postil.models.model import GROUPS, FittedModel
from postil.models.sentences import entity, warn_of_unspaced
from postil.text import Document, Entity, Sentence
from postil.text.document import LaterItems
from postil.text.output import is_utf8
from postil.text.splitting.segmenter import Forms, Segmenter, Tokens, character_places

BATCH = 1 << 19  # bytes of texts that are tagged at once
ALL_GROUPS = ""  # among the tasks: the entities of all groups of classes


@final
@dataclass(frozen=True, eq=False)
class Tagged:
    """N tokens in B sentences, of D raw texts or of rows that list their tokens, and what each task says about them.

    ``tasks`` is empty until ``by`` fills it.
    """

    text: bytes  # UTF-8
    cells: Array  # (N, 2) first byte and end of each token
    offsets: Array  # (B + 1,) of the sentences among the tokens
    documents: Array | None = None  # (D, 2) first byte and end of each raw text; None: rows of tokens
    document_tokens: Array | None = None  # (D + 1,) of the raw texts among the tokens
    strings: Sequence[str] = ()  # the raw texts, if they came as strings
    heads: Sequence[tuple[int, Sentence]] = ()
    """Rows: sentences with comments or document marks, and for each a sentence of one token that has the same."""
    fields: Sequence[bytes] | None = None
    """Records: the other fields of each as JSON, with a comma and a space before them."""
    tasks: Mapping[str, Decoded] = field(default_factory=dict)
    forms: Forms | None = None  # the words, if there are multiword tokens

    @classmethod
    def cut(
        cls, text: bytes, documents: Array, segmenter: Segmenter, *, split: bool = True, strings: Sequence[str] = ()
    ) -> Self:
        """Cut raw texts into sentences of tokens."""
        cells, offsets, tokens, forms = segmenter.cells(text, documents=documents, split=split)
        return cls(text, cells, offsets, documents, tokens, strings, forms=forms)

    @classmethod
    def cut_string(cls, text: str, segmenter: Segmenter) -> Self:
        """The same for one text, which may contain half characters."""
        tokens, content = segmenter.tokenise(text), text.encode("utf-8", SURROGATES)
        offsets = np.array([0, *(end for _, end in segmenter.split(tokens))])
        whole, cells, forms = np.array([[0, len(content)]]), np.stack(tokens.utf8(), axis=1), None
        if tokens.joined is not None:
            words = [word.encode("utf-8", SURROGATES) for word in tokens.tokens]
            places = cells_between(len(content) + np.array([0, *accumulate(map(len, words))]))
            forms = Forms(content + b"".join(words), places, np.array(tokens.joined))
        return cls(content, cells, offsets, whole, np.array([0, len(tokens)]), [text], forms=forms)

    def by(self, heads: Mapping[str, Posteriors], **asked: Any) -> Self:
        """The same with what these heads say; the arguments are those of ``decode``."""
        return replace(self, tasks=decode(heads, Words(*self.words, self.offsets), **asked))

    @property
    def words(self) -> tuple[bytes, Array]:
        """A text, and (N, 2) the first byte and end of each word there: those that models read and columns show."""
        return (self.text, self.cells) if self.forms is None else self.forms[:2]

    def grouped(self) -> Self:
        """The same with the entities of all tasks together."""
        return replace(self, tasks={ALL_GROUPS: together(self.tasks), **self.tasks})

    @cached_property
    def sentence_edges(self) -> Array:
        """(D + 1,) of the raw texts among the sentences."""
        assert self.document_tokens is not None, "of raw texts"
        if len(self.document_tokens) == 2:
            return np.array([0, len(self.offsets) - 1])
        return np.searchsorted(self.offsets, self.document_tokens)

    @cached_property
    def entity_edges(self) -> dict[str, Array]:
        """By task, (D + 1,) of the raw texts among the entities."""
        edges = self.sentence_edges
        return {
            task: np.searchsorted(decoded.spans[:, 0], edges) if len(edges) > 2 else np.array([0, len(decoded.spans)])
            for task, decoded in self.tasks.items()
            if decoded.spans is not None
        }

    def entity_places(self, task: str, which: slice = slice(None)) -> Array:
        """(M, 2) first byte and end of entities."""
        spans = self.tasks[task].spans
        if spans is None:
            return np.zeros((0, 2), np.int64)
        spans = spans[which]
        before, places = self.offsets[spans[:, 0]], np.empty((len(spans), 2), np.int64)
        places[:, 0], places[:, 1] = self.cells[before + spans[:, 1], 0], self.cells[before + spans[:, 2] - 1, 1]
        return places

    def document(self, d: int, main: str, layers: Sequence[str] = ()) -> Document:
        """Text d with the answers of one task, and those of ``layers``."""

        def later(name: str) -> Any:
            if name == "layers":
                return {task: self.document(d, task) for task in layers}
            if name == "sentences":
                return self.sentences(d, main)
            return self._entities(d, ALL_GROUPS if layers and ALL_GROUPS in self.tasks else main)

        return Document.later(later, text=self.strings[d])

    def _places(self, d: int, cells: Array) -> list[list[int]]:
        """Cells (n, 2) of a text, counted in its characters."""
        assert self.documents is not None, "of raw texts"
        first, end = self.documents[d].tolist()
        listed: list[list[int]] = character_places(self.text[first:end], len(self.strings[d]), cells - first).tolist()
        return listed

    def sentences(self, d: int, task: str | None = None) -> list[Sentence]:
        """The sentences of text d, with the labels of a task."""
        text, offsets = self.strings[d], self.offsets[self.sentence_edges[d] : self.sentence_edges[d + 1] + 1]
        low, high = int(offsets[0]), int(offsets[-1])
        places, edges = self._places(d, self.cells[low:high]), offsets - low
        tokens, starts, ends = [text[a:b] for a, b in places], [a for a, _ in places], [b for _, b in places]
        joined = None
        if self.forms is not None:
            at = self.forms.cells[low:high]
            tokens = Words(self.forms.text, at, np.array([0, len(at)]))[0]
            joined = self.forms.joined[low:high].tolist()
        labels: Sequence[list[str] | None] = [None] * (len(edges) - 1)
        if task is not None:
            labels = self.tasks[task].codec.texts_of_sentences(self.tasks[task].numbers[low:high], edges)
        cut, sentences = Tokens(text, tokens, starts, ends, joined=joined), []
        for (a, b), of_sentence in zip(pairwise(edges.tolist()), labels, strict=True):
            sentences.append(cut.sentence(a, b))
            sentences[-1].labels = of_sentence
        return sentences

    def _entities(self, d: int, task: str) -> list[Entity]:
        text, decoded = self.strings[d], self.tasks[task]
        if decoded.spans is None:
            return []
        which = slice(*self.entity_edges[task][d : d + 2].tolist())
        places = self._places(d, self.entity_places(task, which))
        rows = zip(places, decoded.spans[which, 3].tolist(), _probabilities(decoded, which), strict=True)
        classes, group = decoded.codec.classes, decoded.group_of
        return [
            Entity(text=text[start:end], label=classes[kind], start=start, end=end, probability=p, group=group(kind))
            for (start, end), kind, p in rows
        ]


def _probabilities(decoded: Decoded, which: slice) -> list[float | None]:
    """Of some entities; a margin model has none."""
    if decoded.span_probabilities is None:
        return [None] * (which.stop - which.start)
    listed: list[float | None] = decoded.span_probabilities[which].tolist()
    return listed


def tagged_documents(
    model: FittedModel,
    texts: Sequence[str],
    main: str,
    layers: Sequence[str] = (),
    threshold: Threshold = None,
    constraints: Constraints | None = None,
) -> list[Document]:
    """The texts as documents with the answers of one task, ``main``, and of ``layers``, if there are several.

    If the layers are groups of classes, the entities of a document are those of all of them. ``constraints`` count
    characters.
    """
    segmenter, heads = model.segmenter, {task: Posteriors(model.of_task(task)) for task in layers or (main,)}
    has_groups = bool(layers) and heads.keys() <= model.about.get(GROUPS, {}).keys()
    contents = []
    for text in texts:
        if segmenter.has_rules:
            warn_of_unspaced(text)
        contents.append(text.encode() if is_utf8(text) else None)
    documents: list[Document] = []
    # The flow graph rounds differently in other company: there each text is tagged alone, as by ``tag``.
    limit = BATCH if heads[main].engine.takes_cells else 1
    while len(documents) < len(texts):
        first = end = len(documents)
        batch: list[bytes] = []
        size = 0
        while end < len(texts) and (content := contents[end]) is not None and size < limit:
            batch.append(content)
            size += len(content) + 1
            end += 1
        if batch:
            places = cells_between(np.array([0, *accumulate(map(len, batch))]))
            cut = Tagged.cut(b"".join(batch), places, segmenter, strings=texts[first:end])
        else:
            cut = Tagged.cut_string(texts[first], segmenter)
        conditions = [constraints.in_tokens(one) for one in cut.sentences(0)] if constraints else None
        tagged = cut.by(heads, threshold=threshold, constraints=conditions, only_spans=True)
        tagged = tagged.grouped() if has_groups else tagged
        documents += [tagged.document(d, main, layers) for d in range(len(cut.strings))]
    return documents


# ------------------------------------------------------------------------------------------------ given sentences


class Labelling(NamedTuple):
    """The labels and probabilities of one sentence in one task."""

    labels: list[str]
    entities: list[Entity]
    probability: float  # of the whole label sequence


def entities_of(decoded: Decoded, sentences: Sequence[Sentence]) -> Sequence[list[Entity]]:
    """The entities of each sentence, made when they are first looked at."""
    spans, classes = decoded.spans, decoded.codec.classes
    assert spans is not None, "asked for"
    edges = np.searchsorted(spans[:, 0], np.arange(len(sentences) + 1))

    def entities(i: int) -> list[Entity]:
        which = slice(*edges[i : i + 2].tolist())
        rows = zip(spans[which, 1:].tolist(), _probabilities(decoded, which), strict=True)
        group = decoded.group_of
        return [entity(sentences[i], classes[kind], start, end, p, group(kind)) for (start, end, kind), p in rows]

    return LaterItems(len(sentences), entities)


def labellings_of(decoded: Decoded, sentences: Sequence[Sentence]) -> Sequence[Labelling]:
    """The labelling of each sentence, made when it is first looked at."""
    entities, probabilities = entities_of(decoded, sentences), decoded.probabilities
    assert probabilities is not None, "asked for"

    def labelling(i: int) -> Labelling:
        first, end = decoded.offsets[i : i + 2].tolist()
        (labels,) = decoded.codec.texts_of_sentences(decoded.numbers[first:end], np.array([0, end - first]))
        return Labelling(labels, entities[i], float(probabilities[i]))

    return LaterItems(len(sentences), labelling)


def put_labels(decoded: Decoded, sentences: Sequence[Sentence]) -> None:
    """Put the labels on the sentences."""
    for sentence, labels in zip(sentences, decoded.texts(), strict=True):
        sentence.labels = labels
