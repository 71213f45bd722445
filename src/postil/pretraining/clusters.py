"""Word clusters from raw text: Brown clusters by the neighbours of words, and k-means of vectors."""

import os
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.errors import ConfigurationError
from postil.features.lexicon_files import cluster_centres, directions, nearest_centres
from postil.features.vectors import WordVectors
from postil.kernels.plain_pretraining import Bigrams
from postil.pretraining.corpus import Corpus
from postil.text.output import write_text

_PAIRS_AT_ONCE = 1 << 23


class WordClusters(NamedTuple):
    """Words with the paths of their clusters in a binary tree: words with a common prefix are similar."""

    words: list[str]
    paths: list[str]
    """Bits, from the root of the tree."""
    counts: list[int]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write ``bits TAB word TAB count`` on each line, as Brown clusters are passed around; ordered by path."""
        rows = sorted(zip(self.paths, self.words, self.counts, strict=True), key=lambda row: row[0])
        write_text(path, (f"{bits}\t{word}\t{count}\n" for bits, word, count in rows))


def brown_clusters(corpus: Corpus, clusters: int, *, report: Callable[[int], None] | None = None) -> WordClusters:
    """Cluster the words of a corpus by the words before and after them; ``report`` gets the number of merges done."""
    V = len(corpus.words)
    if not 2 <= clusters < V:
        raise ConfigurationError("clusters", expected=f"2 to {V - 1}, less than the words", got=clusters)
    merges = kernels.brown_merges(bigrams_of(corpus), clusters, report)
    return WordClusters(corpus.words, paths_of(merges, clusters), corpus.counts.tolist())


def bigrams_of(corpus: Corpus) -> Bigrams:
    """How often known words follow each other; an unknown word or the end of a sentence is between no two words."""
    V = len(corpus.words)
    keys, counts = np.zeros(0, np.int64), np.zeros(0, np.int64)
    for ids in corpus.blocks(_PAIRS_AT_ONCE):
        first, second = ids[:-1].astype(np.int64), ids[1:]
        known = (first >= 0) & (second >= 0)
        fresh, times = np.unique(first[known] * V + second[known], return_counts=True)
        keys, places = np.unique(np.concatenate([keys, fresh]), return_inverse=True)
        counts = np.bincount(places, np.concatenate([counts, times]), len(keys)).astype(np.int64)
    return Bigrams((keys // V).astype(np.int32), (keys % V).astype(np.int32), counts, V)


def paths_of(merges: Array, clusters: int) -> list[str]:
    """The path of each word's cluster in the tree of the last ``clusters`` - 1 merges: 0 first side, 1 the other."""
    tree = len(merges) - (clusters - 1)
    paths = {int(merges[-1, 0]): ""}
    for kept, gone in merges[tree:][::-1].tolist():
        paths[gone] = paths[kept] + "1"
        paths[kept] += "0"
    owner = np.arange(len(merges) + 1)
    for kept, gone in merges[:tree][::-1].tolist():  # backwards: the cluster that a cluster went into is settled
        owner[gone] = owner[kept]
    return [paths[int(name)] for name in owner]


def kmeans_clusters(vectors: WordVectors, clusters: int, *, rounds: int = 20, seed: int = 0) -> Array:
    """(V,) the cluster of each word by the direction of its vector, from spherical k-means; 0 is the unknown word's."""
    V = len(vectors.words)
    if not 1 <= clusters < V:
        raise ConfigurationError("clusters", expected=f"1 to {V - 1}", got=clusters)
    X = directions(vectors.matrix[1:])
    nearest = nearest_centres(X, cluster_centres(X, clusters, rounds=rounds, seed=seed))
    return np.concatenate([[0], nearest + 1])
