"""The kernel of brown.c under the name and arguments of ``plain_brown.py``."""

from collections.abc import Callable

import numpy as np

from postil.arrays import Array
from postil.kernels.compiled import DOUBLES, INTEGERS, finish, pointer
from postil.kernels.compiled_skipgram import SMALL_INTEGERS
from postil.kernels.library import lib
from postil.kernels.plain_brown import Bigrams, checked_bigrams

_STEPS = 200  # between two reports


def brown_merges(bigrams: Bigrams, N: int, report: Callable[[int], None] | None = None) -> Array:
    """See ``plain_brown.brown_merges``."""
    bigrams = checked_bigrams(bigrams, N)
    V, S = bigrams.V, N + 1
    following = _by_word(bigrams.first, bigrams.second, bigrams.counts, V)
    preceding = _by_word(bigrams.second, bigrams.first, bigrams.counts, V)
    state, merged = np.empty(2 * V + 5 * S, np.int64), np.empty((V - 1, 2), np.int64)
    losses, tables = np.empty((S, S)), np.empty((2, S, S), np.int64)
    given = [
        pointer(array, SMALL_INTEGERS if array.dtype == np.int32 else INTEGERS) for array in (*following, *preceding)
    ]
    kept = pointer(state, INTEGERS), pointer(losses, DOUBLES), pointer(tables, INTEGERS), pointer(merged, INTEGERS)
    last = V + N - 1
    for begin in range(0, last, _STEPS):
        end = min(begin + _STEPS, last)
        finish(lib.brown_merges(V, N, *given, begin, end, *kept), "bigrams")
        if report is not None:
            report(max(end - N, 0))
    return merged


def _by_word(words: Array, others: Array, counts: Array, V: int) -> tuple[Array, Array, Array]:
    """Where the pairs of each word begin, (V + 1,); the other words, int32; the counts."""
    order = np.argsort(words, kind="stable")
    starts = np.searchsorted(words[order], np.arange(V + 1)).astype(np.int64)
    return starts, others[order].astype(np.int32), counts[order].astype(np.int64)
