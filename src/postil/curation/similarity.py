"""How typical sentences are of a pool, and how similar to one another, by the words they share.

The pool may be larger than memory: words are hashed into buckets, and only sums over buckets are kept. A sentence is a
vector of its words, each weighted by how rare it is in the pool; similarity is the cosine.
"""

from collections.abc import Sequence
from itertools import chain
from typing import final
from zlib import crc32

import numpy as np

from postil.arrays import Array

BUCKETS = 1 << 16
DIMENSIONS = 256
MOST_CACHED = 500_000
"""Words whose bucket is cached."""


@final
class WordStatistics:
    """What is known of the words of a pool after some of its sentences: the same for every order of the sentences."""

    def __init__(self) -> None:
        self._sentences = 0
        self._counts, self._sums = np.zeros(BUCKETS), np.zeros(BUCKETS)
        self._cached: dict[str, int] = {}

    def add(self, sentences: Sequence[Sequence[str]]) -> None:
        """Count the words of more sentences."""
        buckets, lengths = self._buckets(sentences)
        self._sentences += len(sentences)
        self._counts += np.bincount(buckets, minlength=BUCKETS)
        shares = np.repeat(1 / np.sqrt(np.maximum(lengths, 1)), lengths)
        self._sums += np.bincount(buckets, shares, minlength=BUCKETS)

    def density(self, sentences: Sequence[Sequence[str]]) -> Array:
        """(B,) the mean similarity of each sentence to those of the pool."""
        buckets, lengths = self._buckets(sentences)
        rarity = self._rarity()
        rows = np.repeat(np.arange(len(lengths)), lengths)
        common = np.bincount(rows, (rarity**2 * self._sums)[buckets], minlength=len(lengths))
        norms = np.sqrt(np.bincount(rows, rarity[buckets] ** 2, minlength=len(lengths)))
        return np.asarray(common / np.maximum(norms, 1e-9) / max(self._sentences, 1))

    def vectors(self, sentences: Sequence[Sequence[str]]) -> Array:
        """(B, DIMENSIONS) unit rows whose products are about the similarities of the sentences."""
        buckets, lengths = self._buckets(sentences)
        rng = np.random.default_rng(0)  # fixed: part of the definition of the vectors
        places, signs = rng.integers(DIMENSIONS, size=BUCKETS), rng.choice([-1.0, 1.0], BUCKETS)
        rows = np.repeat(np.arange(len(lengths)), lengths)
        cells = rows * DIMENSIONS + places[buckets]
        values = np.bincount(cells, (signs * self._rarity())[buckets], minlength=len(lengths) * DIMENSIONS)
        vectors = values.reshape(len(lengths), DIMENSIONS)
        norms = np.sqrt(np.einsum("bd,bd->b", vectors, vectors))
        return np.asarray(vectors / np.maximum(norms, 1e-9)[:, None])

    def _rarity(self) -> Array:
        """(BUCKETS,) the logarithm of how many sentences there are for each occurrence of a word, at least 0."""
        return np.log(np.maximum(self._sentences / np.maximum(self._counts, 1.0), 1.0)) + 1e-3

    def _buckets(self, sentences: Sequence[Sequence[str]]) -> tuple[Array, Array]:
        """The bucket of every word (N,), lower-cased, and the lengths of the sentences (B,)."""
        lengths = np.array([len(tokens) for tokens in sentences], np.int64)
        cached, words = self._cached, chain.from_iterable(sentences)
        if len(cached) > MOST_CACHED:
            cached.clear()
        found = [cached[word] if word in cached else cached.setdefault(word, _bucket(word)) for word in words]
        return np.array(found, np.int64), lengths


def _bucket(word: str) -> int:
    return crc32(word.lower().encode("utf8", "surrogatepass")) % BUCKETS
