"""What the NumPy recursions over ragged batches share: the order of time, and memory that is used again."""

import math
import threading
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, final

import numpy as np

from postil.arrays import Array, offsets_from_lengths

GROUP_ENTRIES = 2**18  # 2 MB of float64: the sums of one step stay near the processor, however many labels
SCRATCH_ENTRIES = 2**21  # larger arrays are used long enough to pay for their pages


def sentence_groups(offsets: Array, labels: int) -> Iterator[tuple[slice, slice]]:
    """A batch in pieces small enough for an (L, L) table per sentence: the sentences and the tokens of each."""
    B, size = len(offsets) - 1, max(1, GROUP_ENTRIES // labels**2)
    for first in range(0, B, size):
        end = min(first + size, B)
        yield slice(first, end), slice(int(offsets[first]), int(offsets[end]))


@final
class Sentences:
    """Where the sentences of a ragged batch begin and end: sentence b owns the tokens ``offsets[b]:offsets[b + 1]``."""

    def __init__(self, offsets: Array) -> None:
        self.lengths: Array = offsets[1:] - offsets[:-1]  # (B,)
        self.filled: Array = self.lengths > 0  # (B,)
        self.first: Array = offsets[:-1][self.filled]  # the first token of every sentence that has one
        self.last: Array = offsets[1:][self.filled] - 1  # the last token of every sentence that has one

    def sums(self, values: Array) -> Array:
        """(N,) -> (B,): the sum over each sentence; 0 for one without tokens."""
        sums = np.zeros(len(self.lengths))
        if len(values):
            sums[self.filled] = np.add.reduceat(values, self.first)
        return sums


@final
class Packing:
    """A ragged batch in the order of time: step t holds the t-th token of every sentence that has one.

    Longer sentences come first, so those alive at step t are the first ones of step t - 1, and every step is a plain
    slice of rows: no padding, no mask.
    """

    def __init__(self, offsets: Array) -> None:
        lengths = offsets[1:] - offsets[:-1]
        self.offsets = offsets
        self.order: Array = np.argsort(-lengths, kind="stable")  # (B,) sentence at each place of a step
        self.alive: Array = len(lengths) - np.cumsum(np.bincount(lengths, minlength=1))[:-1]  # (T,) longer than t
        self.borders = offsets_from_lengths(self.alive)
        self.steps: list[tuple[int, int]] = list(pairwise(self.borders.tolist()))  # first row and end of each step
        self.step: Array = np.repeat(np.arange(len(self.alive)), self.alive)  # (N,) of each row
        self.sentence: Array = self.order[np.arange(len(self.step)) - self.borders[self.step]]  # (N,) of each row
        self.forward: Array = offsets[self.sentence] + self.step  # (N,) token at each row

    def both_ways(self) -> tuple[Array, Array, Array]:
        """For two sweeps side by side, one from each end: step t becomes a block of twice as many rows, first the t-th
        tokens from the left, then the t-th from the right. Returns the token of each row (2N,), and the row of each
        token in the sweep from the left (N,) and in the one from the right (N,).
        """
        N = len(self.step)
        left_rows = np.arange(N) + self.borders[self.step]
        right_rows = left_rows + self.alive[self.step]
        backward = self.offsets[self.sentence + 1] - 1 - self.step
        tokens, left, right = np.empty(2 * N, np.int64), np.empty(N, np.int64), np.empty(N, np.int64)
        tokens[left_rows], tokens[right_rows] = self.forward, backward
        left[self.forward], right[backward] = left_rows, right_rows
        return tokens, left, right


@final
class Scratch(threading.local):
    """Memory that recursions use again from call to call, one set of buffers per thread.

    Fresh memory has to be mapped page by page, which costs as much as the arithmetic on it. Contents are undefined, and
    nothing that a caller keeps may live here.
    """

    def __init__(self) -> None:
        self._buffers: dict[tuple[str, Any], Array] = {}

    def array(self, name: str, *shape: int, dtype: Any = np.float64) -> Array:
        """An array under a name: the next call with that name and type returns the same memory."""
        size, key = math.prod(shape), (name, dtype)
        if size > SCRATCH_ENTRIES:
            return np.empty(shape, dtype)
        if key not in self._buffers or self._buffers[key].size < size:
            memory = np.empty(size + 64 // np.dtype(dtype).itemsize, dtype)
            aligned = -memory.ctypes.data % 64 // memory.itemsize  # on a cache line: vectors are a third faster there
            self._buffers[key] = memory[aligned : aligned + size]
        return self._buffers[key][:size].reshape(shape)
