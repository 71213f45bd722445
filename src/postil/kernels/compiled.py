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


def viterbi(unary: Array, offsets: Array, transitions: Array, start: Array, end: Array) -> tuple[Array, Array]:
    """See ``plain.viterbi``."""
    unary, offsets, transitions, start, end = checked_chain(unary, offsets, transitions, start, end)
    (N, L), B = unary.shape, len(offsets) - 1
    labels, scores = np.empty(N, np.int64), np.empty(B)
    code = lib.viterbi(
        _pointer(unary, "char[]"),
        unary.itemsize == 4,
        _pointer(offsets, "int64_t[]"),
        *(N, B, L),
        _pointer(transitions, "double[]"),
        _pointer(start, "double[]"),
        _pointer(end, "double[]"),
        _pointer(labels, "int64_t[]"),
        _pointer(scores, "double[]"),
    )
    _finish(code, "viterbi")
    return labels, scores
