"""Brown clusters in NumPy, by the definition: the twin of brown.c.

The N most frequent words are clusters of their own. Each further word becomes one more cluster, and the two clusters
whose merging loses least mutual information between neighbouring clusters are merged (Brown et al. 1992, Liang 2005).
When all words are in, the N clusters are merged to one: those merges are a binary tree.

This twin computes every loss anew and is for small dictionaries.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from postil.arrays import Array
from postil.errors import IndexRangeError


class Bigrams(NamedTuple):
    """How often a word follows another one; words are numbered from the most frequent one."""

    first: Array  # int32 (n,)
    second: Array  # int32 (n,)
    counts: Array  # (n,)
    V: int


def checked_bigrams(bigrams: Bigrams, N: int) -> Bigrams:
    if not 1 <= N < bigrams.V:
        expected = f"must be 1 to {bigrams.V - 1}, less than the words"
        raise IndexRangeError("number of clusters", expected=expected, got=N)
    for ids in (bigrams.first, bigrams.second):
        if len(ids) and not 0 <= ids.min() <= ids.max() < bigrams.V:
            raise IndexRangeError("an index points outside its table", where="bigrams")
    return bigrams


def brown_merges(bigrams: Bigrams, N: int, report: Callable[[int], None] | None = None) -> Array:
    """(V - 1, 2): the merges in their order, each as the names of both clusters. A cluster keeps the name of the first.

    The name of a cluster is one of its words. The last N - 1 merges are the tree. ``report`` is called with the number
    of merges that are done.
    """
    bigrams = checked_bigrams(bigrams, N)
    V = bigrams.V
    counts = np.zeros((V, V), np.int64)
    np.add.at(counts, (bigrams.first, bigrams.second), bigrams.counts)
    members = {word: [word] for word in range(N)}
    merges = []
    for word in range(N, V + N - 1):
        if word < V:
            members[word] = [word]
        lost = merging_losses(counts, list(members.values()))
        i, j = np.unravel_index(int(np.argmin(lost)), lost.shape)
        names = list(members)
        kept, gone = names[int(i)], names[int(j)]
        members[kept] += members.pop(gone)
        merges.append((kept, gone))
        if report is not None:
            report(len(merges))
    return np.array(merges, np.int64).reshape(-1, 2)


def merging_losses(counts: Array, members: list[list[int]]) -> Array:
    """(n, n): what is lost by merging clusters i < j; infinity elsewhere.  counts (V, V).

    In units of n log n of counts; see brown.c. Only pairs of words that are in clusters count.
    """
    indicator = np.zeros((len(members), len(counts)), np.int64)
    for i, words in enumerate(members):
        indicator[i, words] = 1
    C = indicator @ counts @ indicator.T
    before = information(C)
    lost = np.full(C.shape, np.inf)
    for i in range(len(C)):
        for j in range(i + 1, len(C)):
            lost[i, j] = before - information(_merged(_merged(C, i, j).T, i, j).T)
    return lost


def information(C: Array) -> float:
    """Σ h(c) - Σ h(left) - Σ h(right) with h(n) = n log n: the mutual information up to constants and a factor."""
    return float(_h(C).sum() - _h(C.sum(axis=1)).sum() - _h(C.sum(axis=0)).sum())


def _merged(array: Array, i: int, j: int) -> Array:
    """Row j added to row i, and gone."""
    added = array.copy()
    added[i] += added[j]
    return np.delete(added, j, axis=0)


def _h(n: Array) -> Array:
    return np.asarray(n * np.log(np.maximum(n, 1)))
