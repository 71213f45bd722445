"""The nearest words of a word, by the cosine of their vectors."""

import difflib
from typing import NamedTuple

import numpy as np

from postil.arrays import Array
from postil.errors import ConfigurationError, DataError
from postil.features.vectors import WordVectors, looked_up

_CLOSE_SPELLINGS = 3


class Neighbour(NamedTuple):
    word: str
    cosine: float


def neighbours(vectors: WordVectors, word: str, count: int = 10) -> list[Neighbour]:
    """The ``count`` words whose vectors have the largest cosine with that of ``word``, nearest first.

    The word is looked up as a tagger does it: as it stands, in lower case, with its digits folded. For an unknown word
    the error names words that are spelled alike.
    """
    if count < 1:
        raise ConfigurationError("count", expected="at least 1", got=count)
    place = int(looked_up(vectors.words, [word])[0])
    if not place:
        raise DataError(f"no vector for {word!r}{_spelt_alike(word, vectors)}")
    cosines = _cosines(vectors.matrix, vectors.matrix[place])
    cosines[[0, place]] = -np.inf
    count = min(count, len(cosines) - 2)
    nearest = np.argsort(-cosines, kind="stable")[:count]
    return [Neighbour(vectors.words[int(i)], float(cosines[i])) for i in nearest]


def _cosines(matrix: Array, vector: Array) -> Array:
    """(V,) in float64; 0 for vectors of zeros."""
    lengths = np.sqrt(np.square(matrix, dtype=np.float64).sum(axis=1)) * np.linalg.norm(vector.astype(np.float64))
    return np.asarray(matrix.astype(np.float64) @ vector.astype(np.float64) / np.maximum(lengths, 1e-30))


def _spelt_alike(word: str, vectors: WordVectors) -> str:
    known = [other for other in vectors.words if other and abs(len(other) - len(word)) <= 2]
    close = difflib.get_close_matches(word.lower(), known, n=_CLOSE_SPELLINGS, cutoff=0.75)
    return f"; words spelt alike: {', '.join(close)}" if close else ""
