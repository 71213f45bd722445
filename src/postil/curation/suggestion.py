"""What to label next: the sentences of a pool from which a model would learn most.

A sentence scores

    uncertainty · density ^ DENSITY

with its uncertainty per token, exact by the posterior (``uncertainty.py``), and how typical it is of the pool
(``similarity.py``). From the sentences that score highest, those are taken one by one that are also unlike what was
taken before. The pool is read once, block by block; only the candidates are kept.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple, final

import numpy as np

from postil.arrays import Array
from postil.curation.preannotation import Suggestion, annotated
from postil.curation.similarity import WordStatistics
from postil.curation.uncertainty import MEASURES
from postil.errors import ConfigurationError, DataError
from postil.features.inputs import Token, forms_of
from postil.models.answers.decoding import check_probability
from postil.models.answers.posteriors import Posteriors
from postil.models.inputs import checked_sentence, described
from postil.models.sentences import sentences_of, takes_characters, tokens_of
from postil.models.tagger import Tagger
from postil.text import Sentence

RANDOM = "random"
WAYS = (*MEASURES, RANDOM)
"""What to rank by."""
BLOCK = 4096
"""Sentences that are scored at once."""
CANDIDATES = 10
"""Candidates for each sentence that is wanted."""
FEWEST_CANDIDATES = 500
DIVERSITY = 0.5
"""The default power. In simulations on WikiGold 0.5 was ahead of 0 and 1, by little: a seed or two each."""
EFFORT = 4
"""Tokens that a sentence counts more than it has: reading it takes time, and fragments of two words teach little."""
LONGEST = 2000
"""Tokens of a sentence; nobody labels a longer one in one go."""

PoolItem = Sentence | Sequence[Token] | str
Progress = Callable[[int], None]
"""Called with the number of tokens ranked since the last call."""


def suggest(
    tagger: Tagger,
    pool: Iterable[PoolItem],
    n: int = 50,
    *,
    by: str = "entropy",
    per_token: bool = True,
    density: float = 0.0,
    diversity: float = DIVERSITY,
    labelled: Iterable[Sequence[Token]] = (),
    sure: float = 0.9,
    seed: int = 0,
    progress: Progress | None = None,
) -> list[Suggestion]:
    """The ``n`` sentences of a pool to label next, the most useful first; fewer if there are fewer.

    The items of ``pool`` are lists of tokens, ``Sentence`` objects, or strings, which are cut into sentences. The pool
    is read once and may be larger than memory. No sentence is returned twice, nor any of those ``labelled`` already,
    nor one of more than 2,000 tokens.

    A `Suggestion` holds the sentence with the model's ``labels``, its ``spans`` with their probabilities, ``doubts``
    (the stretches that are less probable than ``sure`` and need a look), its ``index`` among the sentences of the pool
    and its ``score``; ``record()`` is all of it as a JSON object.

    ``by`` names the measure of uncertainty: "entropy" of the whole labelling, "spans" (expected number of wrong and
    missed entities), "margin" between the two best labellings, "confidence" in the best one, or "random". If
    ``per_token``, it is divided by the number of tokens plus 4, because labelling costs by the token. ``density`` is
    the power of the weight for typical sentences, ``diversity`` that for sentences unlike the others that are
    suggested; 0 turns either off. The seed matters only for "random".
    """
    check_probability(sure, "sure")
    options: dict[str, Any] = {
        "by": by,
        "per_token": per_token,
        "density": density,
        "diversity": diversity,
        "seed": seed,
    }
    chosen = ranked(tagger, pool, n, labelled=labelled, progress=progress, **options)
    return _suggestions(Posteriors(tagger.fitted_parts()), chosen, sure)


class Item(NamedTuple):
    """A sentence of the pool, its tokens as the model takes them, and its place among the sentences of the pool."""

    sentence: Sentence
    tokens: list[Token]
    place: int


def ranked(
    tagger: Tagger,
    pool: Iterable[PoolItem],
    n: int,
    *,
    by: str = "entropy",
    per_token: bool = True,
    density: float = 0.0,
    diversity: float = DIVERSITY,
    labelled: Iterable[Sequence[Token]] = (),
    seed: int = 0,
    progress: Progress | None = None,
) -> list[tuple[Item, float]]:
    """What ``suggest`` chooses, with the scores, not annotated."""
    _check(tagger, n, by, density, diversity)
    ranking = _Ranking(Posteriors(tagger.fitted_parts()), by, per_token, np.random.default_rng(seed))
    candidates = _Candidates(max(CANDIDATES * n, FEWEST_CANDIDATES), _keys(labelled))
    words = WordStatistics()
    items = _items(tagger, pool)
    while block := list(islice(items, BLOCK)):
        words.add([item.sentence.tokens for item in block])
        candidates.add(block, ranking.uncertainties([item.tokens for item in block]))
        if progress is not None:
            progress(sum(len(item.tokens) for item in block))
    best = candidates.ranked()
    scores = np.array([candidate.uncertainty for candidate in best])
    forms = [candidate.item.sentence.tokens for candidate in best]
    if density and by != RANDOM and best:
        scores = scores * words.density(forms) ** density
    if by == RANDOM or not diversity:
        chosen = np.argsort(-scores, kind="stable")[:n].tolist()
    else:
        chosen = diverse(scores, words.vectors(forms), n, diversity)
    return [(best[i].item, float(scores[i])) for i in chosen]


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


class _Candidate(NamedTuple):
    """Compared by its uncertainty; of equals, the one that came first is larger."""

    uncertainty: float
    order: int
    item: Item


@final
class _Candidates:
    """The most uncertain sentences so far, none of them twice: a bounded heap, the least uncertain one on top."""

    def __init__(self, most: int, excluded: set[tuple[str, ...]]) -> None:
        self._most, self._excluded = most, excluded
        self._heap: list[_Candidate] = []
        self._present: set[tuple[str, ...]] = set()

    def add(self, items: Sequence[Item], uncertainties: Array) -> None:
        for item, uncertainty in zip(items, uncertainties.tolist(), strict=True):
            candidate = _Candidate(uncertainty, -item.place, item)
            if len(self._heap) == self._most and candidate[:2] < self._heap[0][:2]:
                continue
            key = tuple(item.sentence.tokens)
            if key in self._present or key in self._excluded:
                continue
            self._present.add(key)
            if len(self._heap) < self._most:
                heapq.heappush(self._heap, candidate)
            else:
                dropped = heapq.heapreplace(self._heap, candidate)
                self._present.remove(tuple(dropped.item.sentence.tokens))

    def ranked(self) -> list[_Candidate]:
        """The most uncertain first."""
        return sorted(self._heap, key=lambda candidate: candidate[:2], reverse=True)


@final
class _Ranking:
    """How uncertain the model is of sentences."""

    def __init__(self, posteriors: Posteriors, by: str, per_token: bool, rng: np.random.Generator) -> None:
        self.posteriors, self._by, self._per_token, self._rng = posteriors, by, per_token, rng

    def uncertainties(self, X: Sequence[Sequence[Token]]) -> Array:
        """(B,)"""
        if self._by == RANDOM:
            return self._rng.random(len(X))
        values, measure = np.zeros(len(X)), MEASURES[self._by]
        for posterior in self.posteriors.of(X):
            found = measure(posterior)
            values[posterior.which] = found / (posterior.lattice.lengths + EFFORT) if self._per_token else found
        return values


def _items(tagger: Tagger, pool: Iterable[PoolItem]) -> Iterator[Item]:
    """The sentences of a pool, but for empty and endless ones."""
    parts = tagger.fitted_parts()
    word_key, by_characters, index = parts.config.word_key, takes_characters(parts), -1
    for place, entry in enumerate(pool):
        for sentence, given in _sentences(entry, by_characters, place):
            index += 1
            if given and len(given) <= LONGEST:
                tokens = checked_sentence(given, word_key)
                yield Item(sentence or Sentence(forms_of(tokens)), tokens, index)


def _sentences(entry: Any, by_characters: bool, place: int) -> Iterator[tuple[Sentence | None, Any]]:
    if isinstance(entry, str):
        yield from ((sentence, sentence.tokens) for sentence in sentences_of(entry, by_characters))
    elif isinstance(entry, Sentence):
        yield entry, tokens_of(entry)
    elif isinstance(entry, Sequence) or hasattr(entry, "tolist"):
        yield None, list(entry)
    else:
        expected = "must be a list of tokens, a Sentence or a string"
        raise DataError("an item of the pool", expected=expected, got=described(entry), where=f"item {place}")


def _keys(labelled: Iterable[Sequence[Token]]) -> set[tuple[str, ...]]:
    return {tuple(one.tokens if isinstance(one, Sentence) else forms_of(one)) for one in labelled}


def _suggestions(posteriors: Posteriors, chosen: list[tuple[Item, float]], sure: float) -> list[Suggestion]:
    answers = annotated(posteriors, [item.tokens for item, _ in chosen], sure)
    has_spans = posteriors.labelling.has_spans
    return [
        Suggestion(
            sentence=replace(item.sentence, labels=answer.labels),
            index=item.place,
            score=score,
            spans=answer.spans,
            doubts=answer.doubts,
            has_spans=has_spans,
        )
        for (item, score), answer in zip(chosen, answers, strict=True)
    ]


def _check(tagger: Any, n: int, by: str, density: float, diversity: float) -> None:
    if not isinstance(tagger, Tagger):
        raise ConfigurationError("suggest", expected="needs a tagger", got=f"a {type(tagger).__name__}")
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise ConfigurationError("n", expected="must be at least 1", got=n)
    if by not in WAYS:
        raise ConfigurationError("by", expected=f"must be one of {', '.join(WAYS)}", got=repr(by))
    for name, power in (("density", density), ("diversity", diversity)):
        if not 0 <= power <= 100:
            raise ConfigurationError(name, expected="must be from 0 to 100", got=power)
