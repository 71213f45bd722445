"""The compiled kernels under the names and arguments of ``plain.py``: check, hand over pointers, name what failed.

A wrapper costs a microsecond or two. During the call other Python threads run: cffi lets go of the interpreter's lock.
Importing this module fails where nothing was compiled.
"""

from typing import Any

import numpy as np

from postil.arrays import Array
from postil.errors import IndexRangeError, ShapeError
from postil.kernels._compiled import ffi, lib
from postil.kernels.checking import checked_chain
from postil.kernels.forward_backward import ChainMessages


def instruction_set() -> str:
    """Which version of the cloned kernels this processor runs."""
    return str(ffi.string(lib.instruction_set()).decode())


def _pointer(array: Array, kind: str) -> Any:
    """The memory of a C-contiguous array as a C array; refuses any other, and keeps it alive."""
    return ffi.from_buffer(kind, array)


def _finish(code: int, where: str) -> None:
    """Say what a kernel complained about. The wrappers check shapes and offsets before: this is the second fence."""
    if code == lib.NO_MEMORY:
        raise MemoryError(f"{where}: no memory for what is computed on the way")
    if code == lib.WRONG_OFFSETS:
        raise ShapeError("offsets", expected="a rising sequence from 0 to all rows", got="others", where=where)
    if code == lib.WRONG_INDEX:
        raise IndexRangeError("an index points outside its table", where=where)


def _chain(unary: Array, offsets: Array, *steps: Array) -> list[Any]:
    """Checked arguments of a recursion over a chain, in the order of its prototype."""
    (N, L), B = unary.shape, len(offsets) - 1
    doubles = [_pointer(table, "double[]") for table in steps]
    return [_pointer(unary, "char[]"), unary.itemsize == 4, _pointer(offsets, "int64_t[]"), N, B, L, *doubles]


def viterbi(unary: Array, offsets: Array, transitions: Array, start: Array, end: Array) -> tuple[Array, Array]:
    """See ``plain.viterbi``."""
    unary, offsets, *steps = checked_chain(unary, offsets, transitions, start, end)
    labels, scores = np.empty(len(unary), np.int64), np.empty(len(offsets) - 1)
    outputs = _pointer(labels, "int64_t[]"), _pointer(scores, "double[]")
    _finish(lib.viterbi(*_chain(unary, offsets, *steps), *outputs), "viterbi")
    return labels, scores


def chain_messages(unary: Array, offsets: Array, transitions: Array, start: Array, end: Array) -> ChainMessages:
    """See ``plain.chain_messages``."""
    unary, offsets, *steps = checked_chain(unary, offsets, transitions, start, end)
    (N, L), B = unary.shape, len(offsets) - 1
    shapes = ((N, L), (L, L), (N, L), (N, 1), (N, L), (N, L), (N, 1), (B,))
    arrays, exact = [np.empty(shape) for shape in shapes], np.empty(B, np.bool_)
    outputs = [_pointer(array, "double[]") for array in arrays]
    code = lib.chain_messages(*_chain(unary, offsets, *steps), *outputs, _pointer(exact, "uint8_t[]"))
    _finish(code, "chain_messages")
    return ChainMessages._make([*arrays, exact])


def chain_moments(
    unary: Array, offsets: Array, transitions: Array, start: Array, end: Array
) -> tuple[Array, Array, Array, Array]:
    """See ``plain.chain_moments``."""
    unary, offsets, *steps = checked_chain(unary, offsets, transitions, start, end)
    (N, L), B = unary.shape, len(offsets) - 1
    log_partition, marginals, counts, exact = np.empty(B), np.empty((N, L)), np.empty((L, L)), np.empty(B, np.bool_)
    outputs = [_pointer(array, "double[]") for array in (log_partition, marginals, counts)]
    code = lib.chain_moments(*_chain(unary, offsets, *steps), *outputs, _pointer(exact, "uint8_t[]"))
    _finish(code, "chain_moments")
    return log_partition, marginals, counts, exact
