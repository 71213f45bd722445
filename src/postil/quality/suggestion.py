"""Active learning: choose the sentences of a pool from which a model would learn most.

A sentence scores its uncertainty per token, exact by the posterior. Sentences with a high score are chosen one by one,
preferably those unlike the ones chosen before. The pool is read once, block by block; only the candidates are kept.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any, NamedTuple, final
from zlib import crc32

import numpy as np

from postil import kernels
from postil.arrays import Array, offsets_from_lengths
from postil.errors import ConfigurationError, DataError, printable
from postil.features.inputs import Token, forms_of
from postil.models.decoding.distribution import LabelPosterior, check_probability
from postil.models.decoding.posteriors import Posteriors
from postil.models.inputs import checked_sentence, described
from postil.models.sentences import sentences_of, tokens_of
from postil.models.tagger import Tagger
from postil.objectives.crf import best_paths
from postil.objectives.spans import Windows, window_probabilities
from postil.text import Sentence
from postil.text.annotations.annotated import Record
from postil.text.labels.partial import runs

LOWEST = 0.05  # probability below which an alternative is not listed
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
    """The uncertainty; see ``suggest``."""
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

    def pieces(self) -> Iterator[tuple[str, bool]]:
        """Tokens, and doubtful stretches in brackets with their most probable label; whether each is doubtful."""
        done = 0
        for doubt in self.doubts:
            best, words = doubt.options[0], " ".join(self.tokens[doubt.start : doubt.end])
            yield from ((token, False) for token in self.tokens[done : doubt.start])
            yield f"[{words}] {best.label} {100 * best.probability:.0f} %", True
            done = doubt.end
        yield from ((token, False) for token in self.tokens[done:])

    def __str__(self) -> str:
        return printable(" ".join([f"{self.score:.3f} ", *(piece for piece, _ in self.pieces())]))

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

        fields: dict[str, Any] = {"text": text, "tokens": tokens}
        if self.has_spans:
            fields["spans"] = [
                {**option(one), "sure": all(one.end <= doubt.start or doubt.end <= one.start for doubt in self.doubts)}
                for one in self.spans
            ]
        else:
            fields["labels"] = self.labels
            fields["probabilities"] = [round(span.probability, 4) for span in self.spans]
        fields["unsure"] = [
            {**place(one.start, one.end), "options": [option(other) for other in one.options]} for one in self.doubts
        ]
        fields |= {"sentence": self.index, "score": round(self.score, 6), "answer": None}
        others = self.sentence.rest.fields if isinstance(self.sentence.rest, Record) else {}
        return {**fields, **{name: value for name, value in others.items() if name not in fields}}


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


BUCKETS = 1 << 16
DIMENSIONS = 256
MOST_CACHED = 500_000  # words whose bucket is cached


@final
class WordStatistics:
    """Word statistics of the sentences of a pool read so far; their order does not matter."""

    def __init__(self) -> None:
        self._sentences, self._counts = 0, np.zeros(BUCKETS)
        self._cached: dict[str, int] = {}

    def add(self, sentences: Sequence[Sequence[str]]) -> None:
        """Count the words of more sentences."""
        self._sentences += len(sentences)
        self._counts += np.bincount(self._buckets(sentences), minlength=BUCKETS)

    def vectors(self, sentences: Sequence[Sequence[str]]) -> Array:
        """(B, DIMENSIONS) unit rows whose products are about the similarities of the sentences."""
        B, buckets = len(sentences), self._buckets(sentences)
        rng = np.random.default_rng(0)  # fixed: part of the definition of the vectors
        places, signs = rng.integers(DIMENSIONS, size=BUCKETS), rng.choice([-1.0, 1.0], BUCKETS)
        # The logarithm of how many sentences there are for each occurrence of a word, at least 0.
        rarity = np.log(np.maximum(self._sentences / np.maximum(self._counts, 1.0), 1.0)) + 1e-3
        cells = np.repeat(np.arange(B), [len(tokens) for tokens in sentences]) * DIMENSIONS + places[buckets]
        vectors = np.bincount(cells, (signs * rarity)[buckets], minlength=B * DIMENSIONS).reshape(B, DIMENSIONS)
        norms = np.sqrt(np.einsum("bd,bd->b", vectors, vectors))
        return np.asarray(vectors / np.maximum(norms, 1e-9)[:, None])

    def _buckets(self, sentences: Sequence[Sequence[str]]) -> Array:
        """(N,) the bucket of every word, lower-cased."""
        cached = self._cached
        if len(cached) > MOST_CACHED:
            cached.clear()
        for word in chain.from_iterable(sentences):
            if word not in cached:
                cached[word] = crc32(word.lower().encode("utf8", "surrogatepass")) % BUCKETS
        return np.array([cached[word] for word in chain.from_iterable(sentences)], np.int64)


def spans(posterior: LabelPosterior) -> Array:
    """(B,) the expected number of mistakes in the best labelling, wrong entities and missed ones.

    With probabilities p of its M entities, M - Σ p of them are expected to be wrong. The posterior expects as many
    entities as the marginals of the labels that open one add up to; all of those but Σ p are missed. Without a
    labelling scheme, the expected number of wrong labels.
    """
    lattice, codec = posterior.lattice, posterior.codec
    marginals = posterior.marginals()
    if not codec.has_spans:
        return lattice.sentences.sums(1 - marginals.max(axis=1, initial=0.0))
    errors = lattice.sentences.sums(marginals @ codec.opens_entity.astype(float))
    entities, probabilities = posterior.spans_of(posterior.best(0.0))
    np.add.at(errors, entities[:, 0], 1 - 2 * probabilities)
    return np.maximum(errors, 0.0)


def margin(posterior: LabelPosterior) -> Array:
    """(B,) 1 minus the difference between the probabilities of the two best labellings."""
    lattice, chain = posterior.lattice, posterior.lattice.chain
    _, scores = kernels.ranked_paths(lattice.unary, lattice.offsets, chain.transitions, chain.start, chain.end, 2)
    first, second = np.exp(np.minimum(scores - posterior.posterior.log_partition[:, None], 0.0)).T
    return np.asarray(1 - first + second)


def confidence(posterior: LabelPosterior) -> Array:
    """(B,) -log p of the best labelling: the less confident the model, the larger."""
    scores = best_paths(posterior.lattice)[1]
    return np.asarray(np.maximum(posterior.posterior.log_partition - scores, 0.0))


MEASURES: dict[str, Callable[[LabelPosterior], Array]] = {
    "entropy": lambda posterior: posterior.posterior.entropy(),
    "spans": spans,
    "margin": margin,
    "confidence": confidence,
}
"""(B,) how uncertain the labelling of each sentence is."""


RANDOM = "random"
WAYS = (*MEASURES, RANDOM)
"""Ways to rank sentences."""
BLOCK = 4096  # sentences that are scored at once
CANDIDATES = 10  # candidates for each sentence that is wanted
FEWEST_CANDIDATES = 500
DIVERSITY = 0.5
"""The default power. In simulations on WikiGold 0.5 was ahead of 0 and 1, by little: a seed or two each."""
EFFORT = 4
"""Tokens that a sentence counts more than it has: reading it takes time, and fragments of two words teach little."""
LONGEST = 2000  # tokens of a sentence; nobody labels a longer one in one go

PoolItem = Sentence | Sequence[Token] | str
Progress = Callable[[int], None]
"""Called with the number of tokens ranked since the last call."""


def suggest(
    tagger: Tagger,
    pool: Iterable[PoolItem],
    n: int = 50,
    *,
    by: str = "entropy",
    diversity: float = DIVERSITY,
    labelled: Iterable[Sequence[Token]] = (),
    sure: float = 0.9,
    seed: int = 0,
    progress: Progress | None = None,
) -> list[Suggestion]:
    """Choose the sentences of a pool to label next.

    Parameters
    ----------
    tagger : Tagger
    pool : iterable
        Lists of tokens, ``Sentence`` objects, or strings, which are split into sentences. It is read once and may be
        larger than memory. Sentences of more than 2,000 tokens are skipped.
    n : int, default=50
        Number of sentences.
    by : str, default='entropy'
        Measure of uncertainty: "entropy" of the whole labelling, "spans" (expected number of wrong and missed
        entities), "margin" between the two best labellings, "confidence" in the best one, or "random". It is divided
        by the number of tokens plus 4, because labelling costs by the token.
    diversity : float, default=0.5
        Power of the weight for sentences unlike the others that are suggested; 0: off.
    labelled : iterable of token lists, optional
        Sentences that are labelled already, and not suggested.
    sure : float, default=0.9
        Spans less probable than this are among the ``doubts`` of a suggestion.
    seed : int, default=0
        Matters only for "random".
    progress : callable, optional
        Called with the number of sentences read.

    Returns
    -------
    list of Suggestion
        At most ``n`` distinct sentences, the most useful first, each with the model's labels, spans and doubts.
    """
    check_probability(sure, "sure")
    if not isinstance(tagger, Tagger):
        raise ConfigurationError("suggest", expected="needs a tagger", got=f"a {type(tagger).__name__}")
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise ConfigurationError("n", expected="must be at least 1", got=n)
    if by not in WAYS:
        raise ConfigurationError("by", expected=f"must be one of {', '.join(WAYS)}", got=repr(by))
    if not 0 <= diversity <= 100:
        raise ConfigurationError("diversity", expected="must be from 0 to 100", got=diversity)
    posteriors, rng, words = Posteriors(tagger.model), np.random.default_rng(seed), WordStatistics()
    excluded = {tuple(one.tokens if isinstance(one, Sentence) else forms_of(one)) for one in labelled}
    most, present = max(CANDIDATES * n, FEWEST_CANDIDATES), set[tuple[str, ...]]()
    # The most uncertain sentences so far, none of them twice: a bounded heap, the least uncertain one on top. Of
    # equally uncertain ones, the first of the pool is larger.
    heap: list[tuple[float, int, Sentence, list[Token]]] = []
    items = _items(tagger, pool)
    while block := list(islice(items, BLOCK)):
        words.add([sentence.tokens for _, sentence, _ in block])
        uncertainty = rng.random(len(block)) if by == RANDOM else np.zeros(len(block))
        for posterior in posteriors.of([tokens for _, _, tokens in block]) if by != RANDOM else ():
            uncertainty[posterior.which] = MEASURES[by](posterior) / (posterior.lattice.lengths + EFFORT)
        for (place, sentence, tokens), score in zip(block, uncertainty.tolist(), strict=True):
            key = tuple(sentence.tokens)
            if key in present or key in excluded or (len(heap) == most and (score, -place) < heap[0][:2]):
                continue
            present.add(key)
            heapq.heappush(heap, (score, -place, sentence, tokens))
            if len(heap) > most:
                present.remove(tuple(heapq.heappop(heap)[2].tokens))
        if progress is not None:
            progress(sum(len(tokens) for _, _, tokens in block))
    best = sorted(heap, key=lambda one: one[:2], reverse=True)  # the most uncertain first
    scores = np.array([one[0] for one in best])
    if by == RANDOM or not diversity:
        chosen = list(range(len(best)))[:n]
    else:
        chosen = diverse(scores, words.vectors([one[2].tokens for one in best]), n, diversity)
    answers = annotated(posteriors, [best[i][3] for i in chosen], sure)
    return [
        Suggestion(
            sentence=replace(best[i][2], labels=labels),
            index=-best[i][1],
            score=float(scores[i]),
            spans=spans,
            doubts=doubts,
            has_spans=tagger.model.codec.has_spans,
        )
        for i, (labels, spans, doubts) in zip(chosen, answers, strict=True)
    ]


def diverse(scores: Array, vectors: Array, n: int, power: float) -> list[int]:
    """At most ``n`` places, one after the other: that of the largest score · (1 - similarity) ^ power.

    scores (C,) from 0, vectors (C, D) unit rows. The similarity is that to the most similar place taken before.
    """
    similar, left = np.zeros(len(scores)), np.ones(len(scores), bool)
    chosen: list[int] = []
    for _ in range(min(n, len(scores))):
        worth = np.where(left, scores * (1 - similar) ** power, -1.0)
        best = int(worth.argmax())  # of equals the first, which is the one that scored highest
        chosen.append(best)
        left[best] = False
        similar = np.clip(np.maximum(similar, vectors @ vectors[best]), 0.0, 1.0)
    return chosen


def _items(tagger: Tagger, pool: Iterable[Any]) -> Iterator[tuple[int, Sentence, list[Token]]]:
    """The sentences of a pool but for empty and endless ones: place in the pool, sentence, tokens for the model."""
    parts, index = tagger.model, -1
    for place, entry in enumerate(pool):
        found: list[tuple[Sentence | None, Any]]
        if isinstance(entry, str):
            found = [(sentence, sentence.tokens) for sentence in sentences_of(entry, parts.segmenter)]
        elif isinstance(entry, Sentence):
            found = [(entry, tokens_of(entry))]
        elif isinstance(entry, Sequence) or hasattr(entry, "tolist"):
            found = [(None, list(entry))]
        else:
            expected = "must be a list of tokens, a Sentence or a string"
            raise DataError("an item of the pool", expected=expected, got=described(entry), where=f"item {place}")
        for sentence, given in found:
            index += 1
            if given and len(given) <= LONGEST:
                tokens = checked_sentence(given, parts.config.word_key)
                yield index, sentence or Sentence(forms_of(tokens)), tokens


Annotation = tuple[list[str], list[Option], list[Doubt]]
"""The labels of a sentence by a model, its spans, and the doubts about them."""


def annotated(posteriors: Posteriors, X: Sequence[Any], sure: float) -> list[Annotation]:
    """The annotation of every sentence. Whatever is less probable than ``sure`` is in doubt."""
    found: dict[int, Annotation] = {}
    for posterior in posteriors.of(X):
        codec, decoded = posterior.codec, posteriors.answered(posterior, label_probabilities=True)
        assert decoded.spans is not None and decoded.span_probabilities is not None
        texts, probabilities = decoded.texts(), decoded.by_sentence()
        spans: list[list[Option]] = [[] for _ in texts]
        for (row, start, end, kind), p in zip(decoded.spans.tolist(), decoded.span_probabilities.tolist(), strict=True):
            spans[row].append(Option(codec.classes[kind], start, end, p))
        # Everything that is probable enough to be listed.
        others = [[Option(*span, p) for span, p in of_row] for of_row in posterior.spans_above(LOWEST)]
        for row, marginals in enumerate(posterior.by_sentence(posterior.marginals()) if not codec.has_spans else ()):
            pairs = zip(texts[row], probabilities[row].tolist(), strict=True)
            spans[row] = [Option(label, t, t + 1, p) for t, (label, p) in enumerate(pairs)]
            for t, label in np.argwhere(marginals >= LOWEST).tolist():
                others[row].append(Option(codec.labels[label], t, t + 1, float(marginals[t, label])))
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
    for start, end in runs(unsure) if has_spans else ((t, t + 1) for t in np.flatnonzero(unsure).tolist()):
        options = [one for one in others if start <= one.start and one.end <= end]
        if has_spans and outside is not None:
            # The probability that no entity is in these tokens.
            tokens = posterior.lattice.offsets[row] + np.arange(start, end)
            allowed = np.tile(np.arange(posterior.lattice.chain.labels) == outside, (len(tokens), 1))
            windows = Windows(tokens, np.array([0, len(tokens)]), allowed)
            nothing = float(window_probabilities(posterior.posterior, windows)[0])
            options += [Option("O", start, end, nothing)] if nothing >= LOWEST or not options else []
        ordered = sorted(options, key=lambda one: (-one.probability, one.start, one.end, one.label))
        doubts.append(Doubt(start, end, tuple(ordered[:MOST_OPTIONS])))
    return doubts
