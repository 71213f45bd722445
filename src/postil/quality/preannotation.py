"""Sentences with predicted labels and the passages that the model is unsure of, which a person has to check."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from postil.arrays import Array, offsets_from_lengths
from postil.errors import printable
from postil.models.decoding.distribution import LabelPosterior
from postil.models.decoding.posteriors import Posteriors
from postil.objectives.spans import Windows, window_probabilities
from postil.text import Sentence
from postil.text.annotations.annotated import Record

LOWEST = 0.05
"""Probability below which an alternative is not listed."""
MOST_OPTIONS = 6


class Option(NamedTuple):
    """A possible reading of a stretch: an entity in it, or "O" for no entity; offsets count tokens."""

    label: str
    start: int
    end: int
    probability: float


class Doubt(NamedTuple):
    """Tokens ``start`` to ``end`` that need a look, with what may stand there, the most probable first."""

    start: int
    end: int
    options: tuple[Option, ...]


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Suggestion:
    """A sentence to label next, labelled by the model as far as it can."""

    sentence: Sentence
    """The sentence as it was read, with the model's labels."""
    index: int
    """Its place among the sentences of the pool, from 0."""
    score: float
    """The uncertainty, weighted by density; see ``suggest``."""
    spans: list[Option]
    """The model's entities with their probabilities; without a labelling scheme, the label of each token."""
    doubts: list[Doubt]
    """The places that a person should check; the rest is certain."""
    has_spans: bool = True
    """Whether the model labels spans; otherwise single tokens, such as parts of speech."""

    @property
    def tokens(self) -> list[str]:
        return self.sentence.tokens

    @property
    def labels(self) -> list[str]:
        """The model's label of every token, in the scheme of its training data."""
        return self.sentence.labels or []

    def __str__(self) -> str:
        """The sentence; doubtful stretches are in brackets with its most probable label."""
        parts, done = [f"{self.score:.3f} "], 0
        for doubt in self.doubts:
            best, words = doubt.options[0], " ".join(self.tokens[doubt.start : doubt.end])
            parts += [*self.tokens[done : doubt.start], f"[{words}] {best.label} {100 * best.probability:.0f} %"]
            done = doubt.end
        return printable(" ".join([*parts, *self.tokens[done:]]))

    def record(self) -> dict[str, Any]:
        """A JSON object in the form that ``postil train`` and ``postil convert`` read; places count characters.

        ``spans`` have a probability and say whether they are ``sure``; ``unsure`` lists the stretches to look at with
        their options; ``sentence`` is the index in the pool; ``answer`` waits for a person's "accept" or "reject".
        Other fields of a JSON Lines pool are kept.
        """
        text, tokens = text_and_tokens(self.sentence)

        def place(start: int, end: int) -> dict[str, Any]:
            first, last = tokens[start]["start"], tokens[end - 1]["end"]
            return {"start": first, "end": last, "text": text[first:last]}

        def option(one: Option) -> dict[str, Any]:
            figures = {"label": one.label, "probability": round(one.probability, 4)}
            return {**place(one.start, one.end), **figures}

        unsure = [
            {**place(one.start, one.end), "options": [option(other) for other in one.options]} for one in self.doubts
        ]
        rest = self.sentence.rest
        others = dict(rest.fields) if isinstance(rest, Record) else {}
        fields: dict[str, Any] = {"text": text, "tokens": tokens}
        if self.has_spans:
            fields["spans"] = [
                {**option(one), "sure": all(one.end <= doubt.start or doubt.end <= one.start for doubt in self.doubts)}
                for one in self.spans
            ]
        else:
            fields["labels"] = self.labels
            fields["probabilities"] = [round(span.probability, 4) for span in self.spans]
        ours = {**fields, "unsure": unsure, "sentence": self.index, "score": round(self.score, 6), "answer": None}
        return {**ours, **{name: value for name, value in others.items() if name not in ours}}


def text_and_tokens(sentence: Sentence) -> tuple[str, list[dict[str, Any]]]:
    """The sentence's own text, and its tokens with their places in it, as in a JSON record."""
    if sentence.text is not None and sentence.starts and sentence.ends:
        first = sentence.starts[0]
        text = sentence.text[first : sentence.ends[-1]]
        starts, ends = [s - first for s in sentence.starts], [e - first for e in sentence.ends]
    else:
        edges = offsets_from_lengths([len(token) + 1 for token in sentence.tokens]).tolist()
        text, starts, ends = " ".join(sentence.tokens), edges[:-1], [end - 1 for end in edges[1:]]
    places = zip(sentence.tokens, starts, ends, strict=True)
    return text, [{"text": token, "start": s, "end": e, "id": i} for i, (token, s, e) in enumerate(places)]


# ------------------------------------------------------------------------------------------------ from a posterior


Annotation = tuple[list[str], list[Option], list[Doubt]]
"""The labels of a sentence by a model, its spans, and the doubts about them."""


def annotated(posteriors: Posteriors, X: Sequence[Any], sure: float) -> list[Annotation]:
    """The annotation of every sentence. Whatever is less probable than ``sure`` is in doubt."""
    found: dict[int, Annotation] = {}
    for posterior in posteriors.of(X):
        codec, rows = posterior.codec, range(len(posterior.which))
        numbers, entities = posteriors.labels_and_spans(posterior)
        texts = posterior.texts(numbers)
        probabilities = posterior.by_sentence(posterior.label_probabilities(numbers))
        spans: list[list[Option]] = [[] for _ in rows]
        others: list[list[Option]] = [[] for _ in rows]  # everything that is probable enough to be listed
        if codec.has_spans:
            for row, span, probability in entities:
                spans[row].append(Option(span.label, span.start, span.end, probability))
            for row, span, probability in posterior.spans_above(LOWEST):
                others[row].append(Option(span.label, span.start, span.end, probability))
        else:
            for row, marginals in enumerate(posterior.by_sentence(posterior.marginals())):
                pairs = zip(texts[row], probabilities[row].tolist(), strict=True)
                spans[row] = [Option(label, t, t + 1, p) for t, (label, p) in enumerate(pairs)]
                for t, label in zip(*np.nonzero(marginals >= LOWEST), strict=True):
                    others[row].append(Option(codec.labels[label], int(t), int(t) + 1, float(marginals[t, label])))
        for row, i in enumerate(posterior.which):
            doubts = _doubts(posterior, row, spans[row], others[row], probabilities[row], sure)
            found[i] = texts[row], spans[row], doubts
    return [found[i] for i in range(len(X))]


def _doubts(
    posterior: LabelPosterior, row: int, spans: list[Option], others: list[Option], probabilities: Array, sure: float
) -> list[Doubt]:
    """Stretches of tokens to look at; the ``probabilities`` (T,) are those of the labels."""
    unsure = probabilities < sure
    has_spans, outside = posterior.codec.has_spans, posterior.codec.outside
    for one in spans:
        unsure[one.start : one.end] |= one.probability < sure
    for one in [*spans, *others] if has_spans else ():
        if one.probability < sure and unsure[one.start : one.end].any():
            unsure[one.start : one.end] = True
    doubts = []
    for start, end in _runs(unsure) if has_spans else ((t, t + 1) for t in np.flatnonzero(unsure).tolist()):
        options = [one for one in others if start <= one.start and one.end <= end]
        if has_spans and outside is not None:
            nothing = _nothing(posterior, row, start, end, outside)
            options += [Option("O", start, end, nothing)] if nothing >= LOWEST or not options else []
        ordered = sorted(options, key=lambda one: (-one.probability, one.start, one.end, one.label))
        doubts.append(Doubt(start, end, tuple(ordered[:MOST_OPTIONS])))
    return doubts


def _runs(marked: Array) -> Iterator[tuple[int, int]]:
    """Stretches of marked tokens."""
    edges = np.flatnonzero(np.diff(marked.astype(int), prepend=0, append=0)).tolist()
    return zip(edges[::2], edges[1::2], strict=True)


def _nothing(posterior: LabelPosterior, row: int, start: int, end: int, outside: int) -> float:
    """The probability that no entity is in these tokens of a sentence."""
    tokens = posterior.lattice.offsets[row] + np.arange(start, end)
    allowed = np.zeros((len(tokens), posterior.lattice.chain.labels), bool)
    allowed[:, outside] = True
    windows = Windows(tokens, np.array([0, len(tokens)]), allowed)
    return float(window_probabilities(posterior.posterior, windows)[0])
