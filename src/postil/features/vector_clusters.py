"""Clusters of words by their vectors: k-means, several numbers of clusters beside each other.

A network only sees a vector as numbers, and the labelled words are too few to learn which regions of the space matter.
A cluster names the region: what the network learns about it from one word holds for all its words.
"""

from collections.abc import Sequence

import numpy as np

from postil.arrays import Array
from postil.errors import ConfigurationError
from postil.features.lexicon import MOST_CLASSES, MOST_COLUMNS, Lexicon
from postil.features.vectors import WordVectors
from postil.threads import one_blas_thread

FEWEST_WORDS = 10
"""Words that a cluster has on average: of fewer vectors no such number of clusters is made."""
_LEARNT_FROM = 30_000  # the first words of a file are its frequent ones; they decide where clusters lie
_ROUNDS = 10  # more move few words
_AT_ONCE = 1 << 20  # similarities that are held at once


def check_numbers_of_clusters(numbers: Sequence[int]) -> None:
    if len(numbers) > MOST_COLUMNS or len(set(numbers)) != len(numbers):
        raise ConfigurationError("vector_clusters", expected=f"at most {MOST_COLUMNS} different numbers", got=numbers)
    for number in numbers:
        if not 2 <= number <= MOST_CLASSES:
            raise ConfigurationError("vector_clusters", expected=f"numbers from 2 to {MOST_CLASSES}", got=number)


def vector_clusters(vectors: WordVectors, numbers: Sequence[int]) -> Lexicon | None:
    """Clusters of all words that have vectors, a column for each of ``numbers``; None where there are too few words.

    Vectors are compared by their direction from the mean. The clusters depend on nothing but the vectors.
    """
    numbers = [number for number in numbers if number * FEWEST_WORDS < len(vectors.words)]
    if not numbers:
        return None
    matrix = vectors.matrix[1:]
    columns: list[Array] = []
    with one_blas_thread():
        X = directions(matrix - matrix.mean(axis=0, dtype=np.float64).astype(np.float32))
        for number in numbers:
            centres = cluster_centres(X[:_LEARNT_FROM], number, rounds=_ROUNDS, seed=0)
            columns.append(nearest_centres(X, centres) + 1)
    codes = np.zeros((len(vectors.words), len(numbers)), np.uint16)
    codes[1:] = np.stack(columns, axis=1)
    return Lexicon([f"vector cluster {number}" for number in numbers], vectors.words, codes)


def directions(X: Array) -> Array:
    """(V, D) the rows with a length of 1."""
    lengths = np.sqrt(np.einsum("vd,vd->v", X, X))
    Y: Array = X / np.maximum(lengths, np.float32(1e-12))[:, None]
    return Y


def cluster_centres(X: Array, number: int, *, rounds: int, seed: int) -> Array:
    """(K, D) the directions of K clusters of directions (V, D), by spherical k-means from rows at random.

    A cluster that loses all its members stays where it is.
    """
    rng = np.random.default_rng(seed)
    centres: Array = X[rng.permutation(len(X))[:number]]
    for _ in range(rounds):
        members = nearest_centres(X, centres)
        sums = np.stack([np.bincount(members, X[:, d], number) for d in range(X.shape[1])], axis=1)
        sizes = np.linalg.norm(sums, axis=1, keepdims=True)
        centres = np.where(sizes > 0, sums / np.maximum(sizes, 1e-12), centres).astype(np.float32)
    return centres


def nearest_centres(X: Array, centres: Array) -> Array:
    """(V,) the number of the centre that each direction is nearest to, the first of several."""
    step = max(1, _AT_ONCE // len(centres))
    return np.concatenate([(X[i : i + step] @ centres.T).argmax(axis=1) for i in range(0, len(X), step)])
