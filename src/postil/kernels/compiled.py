"""The compiled kernels under the names and arguments of ``plain.py``: check, hand over pointers, name what failed.

A wrapper costs a few microseconds: what is laid out as C expects it is recognised quickly, anything else goes through
``checking.py``. During the call other Python threads run: cffi lets go of the interpreter's lock.
Importing this module fails where nothing was compiled.
"""

from typing import Any

import numpy as np

from postil.arrays import Array, checked_offsets
from postil.errors import IndexRangeError
from postil.kernels import plain
from postil.kernels._compiled import ffi, lib
from postil.kernels.checking import contiguous, label_scores
from postil.kernels.forward_backward import ChainMessages

_FLOAT64, _INT64 = np.dtype(np.float64), np.dtype(np.int64)
_BYTES, _DOUBLES, _INTEGERS = (ffi.typeof(kind) for kind in ("uint8_t[]", "double[]", "int64_t[]"))
# With more labels than this, matrix products over all sentences at once are faster than one sentence after the other.
MOST_LABELS = 128


def instruction_set() -> str:
    """Which version of the cloned kernels this processor runs."""
    return str(ffi.string(lib.instruction_set()).decode())


def _is_ready(array: Any, dtype: np.dtype[Any]) -> bool:
    return type(array) is np.ndarray and array.dtype is dtype and array.flags.c_contiguous


def _pointer(array: Array, kind: Any) -> Any:
    """The memory of a C-contiguous array as a C array, which keeps it alive."""
    return ffi.from_buffer(kind, array)


def _doubles(array: Any, shape: tuple[int, ...], where: str) -> Any:
    if not _is_ready(array, _FLOAT64) or array.shape != shape:
        array = contiguous(array, np.float64, shape, where)
    return ffi.from_buffer(_DOUBLES, array)


def _finish(code: int, where: str) -> None:
    """Say what a kernel complained about."""
    if code == lib.NO_MEMORY:
        raise MemoryError(f"{where}: no memory for what is computed on the way")
    if code == lib.WRONG_INDEX:
        raise IndexRangeError("an index points outside its table", where=where)


# ------------------------------------------------------------------------------------------------ chains


def _on_chain(function: Any, unary: Any, offsets: Any, steps: tuple[Any, Any, Any], outputs: list[Any]) -> None:
    """Call a recursion over a chain. Whether the offsets rise is seen in C; what is wrong with them is said here."""
    N, L = unary.shape
    tables = [_doubles(*row) for row in zip(steps, ((L, L), (L,), (L,)), ("transitions", "start", "end"), strict=True)]
    sizes = (N, len(offsets) - 1, L)
    scores = _pointer(unary, _BYTES), unary.itemsize == 4, _pointer(offsets, _INTEGERS)
    code = function(*scores, *sizes, *tables, *outputs)
    if code == lib.WRONG_OFFSETS:
        checked_offsets(offsets, rows=N)
    _finish(code, "chain")


def _ready_offsets(offsets: Any, rows: int) -> Array:
    if _is_ready(offsets, _INT64) and offsets.ndim == 1 and len(offsets):
        return np.asarray(offsets)
    return np.ascontiguousarray(checked_offsets(offsets, rows))


def viterbi(unary: Array, offsets: Array, transitions: Array, start: Array, end: Array) -> tuple[Array, Array]:
    """See ``plain.viterbi``."""
    unary = label_scores(unary)
    offsets = _ready_offsets(offsets, len(unary))
    labels, scores = np.empty(len(unary), np.int64), np.empty(len(offsets) - 1)
    outputs = [_pointer(labels, _INTEGERS), _pointer(scores, _DOUBLES)]
    _on_chain(lib.viterbi, unary, offsets, (transitions, start, end), outputs)
    return labels, scores


def chain_messages(unary: Array, offsets: Array, transitions: Array, start: Array, end: Array) -> ChainMessages:
    """See ``plain.chain_messages``."""
    unary = label_scores(unary)
    offsets = _ready_offsets(offsets, len(unary))
    (N, L), B = unary.shape, len(offsets) - 1
    if L > MOST_LABELS and B > 1:
        return plain.chain_messages(unary, offsets, transitions, start, end)
    shapes = ((N, L), (L, L), (N, L), (N, 1), (N, L), (N, L), (N, 1), (B,))
    arrays, exact = [np.empty(shape) for shape in shapes], np.empty(B, np.bool_)
    outputs = [*(_pointer(array, _DOUBLES) for array in arrays), _pointer(exact, _BYTES)]
    _on_chain(lib.chain_messages, unary, offsets, (transitions, start, end), outputs)
    return ChainMessages._make([*arrays, exact])


def chain_moments(
    unary: Array, offsets: Array, transitions: Array, start: Array, end: Array
) -> tuple[Array, Array, Array, Array]:
    """See ``plain.chain_moments``."""
    unary = label_scores(unary)
    offsets = _ready_offsets(offsets, len(unary))
    (N, L), B = unary.shape, len(offsets) - 1
    if L > MOST_LABELS and B > 1:
        return plain.chain_moments(unary, offsets, transitions, start, end)
    log_partition, marginals, counts, exact = np.empty(B), np.empty((N, L)), np.empty((L, L)), np.empty(B, np.bool_)
    outputs = [*(_pointer(array, _DOUBLES) for array in (log_partition, marginals, counts)), _pointer(exact, _BYTES)]
    _on_chain(lib.chain_moments, unary, offsets, (transitions, start, end), outputs)
    return log_partition, marginals, counts, exact
