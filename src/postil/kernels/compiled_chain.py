"""The kernels of chain.c and forward_backward.c under the names and arguments of ``plain_chain.py``."""

from typing import Any

import numpy as np

from postil.arrays import Array
from postil.kernels import plain_chain as plain
from postil.kernels.library import BYTES, INTEGERS, MOST_LABELS, call, pointer, steps
from postil.kernels.plain_chain import ChainMessages

viterbi, ranked_paths = call.viterbi, call.ranked_paths


def chain_messages(unary: Array, offsets: Array, transitions: Array, start: Array, end: Array) -> ChainMessages:
    """See ``plain_chain.chain_messages``."""
    if np.shape(unary)[-1] > MOST_LABELS and len(offsets) > 2:
        return plain.chain_messages(unary, offsets, transitions, start, end)
    return ChainMessages._make(call.chain_messages(unary, offsets, transitions, start, end))


def chain_moments(
    unary: Array, offsets: Array, transitions: Array, start: Array, end: Array
) -> tuple[Array, Array, Array, Array]:
    """See ``plain_chain.chain_moments``."""
    if np.shape(unary)[-1] > MOST_LABELS and len(offsets) > 2:
        return plain.chain_moments(unary, offsets, transitions, start, end)
    moments: tuple[Array, Array, Array, Array] = call.chain_moments(unary, offsets, transitions, start, end)
    return moments


def on_chain(unary: Array, offsets: Array, transitions: Array, start: Array, end: Array) -> tuple[Any, ...]:
    """The arguments that all recursions over a chain begin with."""
    N, L = unary.shape
    scores = pointer(unary, BYTES), unary.itemsize == 4, pointer(offsets, INTEGERS)
    return *scores, N, len(offsets) - 1, L, *steps(transitions, start, end, L)
