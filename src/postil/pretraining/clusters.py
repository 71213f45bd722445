"""Results of pretraining: word clusters (Brown clusters, k-means of vectors), nearest words, files of vectors."""

import difflib
import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.errors import ConfigurationError, DataError
from postil.features.vectors import WordVectors, looked_up
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
        similar = [other for other in vectors.words if other and abs(len(other) - len(word)) <= 2]
        close = difflib.get_close_matches(word.lower(), similar, n=3, cutoff=0.75)
        raise DataError(f"no vector for {word!r}" + (f"; words spelt alike: {', '.join(close)}" if close else ""))
    matrix = vectors.matrix.astype(np.float64)
    lengths = np.sqrt(np.square(matrix).sum(axis=1)) * np.linalg.norm(matrix[place])
    cosines = np.asarray(matrix @ matrix[place] / np.maximum(lengths, 1e-30))  # 0 for vectors of zeros
    cosines[[0, place]] = -np.inf
    nearest = np.argsort(-cosines, kind="stable")[: min(count, len(cosines) - 2)]
    return [Neighbour(vectors.words[int(i)], float(cosines[i])) for i in nearest]


def save_vectors(path: str | os.PathLike[str], vectors: WordVectors) -> None:
    """Write a word and its numbers on each line, as GloVe does; the unknown word is left out. ``.gz``: compressed.

    The file is written under another name and renamed.
    """
    if vectors.matrix.shape[1] < 2:
        raise ConfigurationError("dimensions of a file of vectors", expected="must be at least 2", got=1)

    def blocks() -> Iterator[str]:
        words = list(vectors.words)
        for begin in range(1, len(words), 1000):
            rows = zip(words[begin : begin + 1000], vectors.matrix[begin : begin + 1000].tolist(), strict=True)
            yield "".join(f"{word} {' '.join([f'{number:.6g}' for number in row])}\n" for word, row in rows)

    write_text(path, blocks())
