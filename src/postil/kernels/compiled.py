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
from postil.kernels.checking import contiguous, label_scores
from postil.kernels.forward_backward import ChainMessages
from postil.kernels.library import ffi, lib

_FLOAT64, INT64 = np.dtype(np.float64), np.dtype(np.int64)
BYTES, DOUBLES, INTEGERS = (ffi.typeof(kind) for kind in ("uint8_t[]", "double[]", "int64_t[]"))
_LARGEST = np.finfo(np.float64).max
# With more labels than this, matrix products over all sentences at once are faster than one sentence after the other.
MOST_LABELS = 100


def instruction_set() -> str:
    """What the library in use was compiled for."""
    return str(ffi.string(lib.instruction_set()).decode())


def is_ready(array: Any, dtype: np.dtype[Any]) -> bool:
    return type(array) is np.ndarray and array.dtype is dtype and array.flags.c_contiguous


def pointer(array: Array, kind: Any) -> Any:
    """The memory of a C-contiguous array as a C array, which keeps it alive."""
    return ffi.from_buffer(kind, array)


def _doubles(array: Any, shape: tuple[int, ...], where: str) -> Any:
    if not is_ready(array, _FLOAT64) or array.shape != shape:
        array = contiguous(array, np.float64, shape, where)
    return ffi.from_buffer(DOUBLES, array)


def finish(code: int, where: str, offsets: Array | None = None, rows: int = 0) -> None:
    """Raise the error that a kernel's code stands for. C sees that offsets are wrong, Python says what is wrong."""
    if code == lib.NOT_FINITE:
        np.multiply(_LARGEST, 2)  # raises the flag again where np.errstate hears it, as the twin would have done
    if code == lib.WRONG_OFFSETS:
        checked_offsets(offsets, rows)
    if code == lib.WRONG_INDEX:
        raise IndexRangeError("an index points outside its table", where=where)
    if code == lib.NO_MEMORY:
        raise MemoryError(f"{where}: no memory for what is computed on the way")


# ------------------------------------------------------------------------------------------------ chains


def _on_chain(function: Any, unary: Any, offsets: Any, steps: tuple[Any, Any, Any], outputs: list[Any]) -> None:
    """Call a recursion over a chain."""
    N, L = unary.shape
    tables = [_doubles(*row) for row in zip(steps, ((L, L), (L,), (L,)), ("transitions", "start", "end"), strict=True)]
    sizes = (N, len(offsets) - 1, L)
    scores = pointer(unary, BYTES), unary.itemsize == 4, pointer(offsets, INTEGERS)
    code = function(*scores, *sizes, *tables, *outputs)
    finish(code, "chain", offsets, N)


def ready_offsets(offsets: Any, rows: int) -> Array:
    if is_ready(offsets, INT64) and offsets.ndim == 1 and len(offsets):
        return np.asarray(offsets)
    return np.ascontiguousarray(checked_offsets(offsets, rows))


def viterbi(unary: Array, offsets: Array, transitions: Array, start: Array, end: Array) -> tuple[Array, Array]:
    """See ``plain.viterbi``."""
    unary = label_scores(unary)
    offsets = ready_offsets(offsets, len(unary))
    labels, scores = np.empty(len(unary), np.int64), np.empty(len(offsets) - 1)
    outputs = [pointer(labels, INTEGERS), pointer(scores, DOUBLES)]
    _on_chain(lib.viterbi, unary, offsets, (transitions, start, end), outputs)
    return labels, scores


def ranked_paths(
    unary: Array, offsets: Array, transitions: Array, start: Array, end: Array, k: int
) -> tuple[Array, Array]:
    """See ``plain.ranked_paths``."""
    unary = label_scores(unary)
    offsets = ready_offsets(offsets, len(unary))
    paths, scores = np.empty((len(unary), k), np.int64), np.empty((len(offsets) - 1, k))
    outputs = [k, pointer(paths, INTEGERS), pointer(scores, DOUBLES)]
    _on_chain(lib.ranked_paths, unary, offsets, (transitions, start, end), outputs)
    return paths, scores


def chain_messages(unary: Array, offsets: Array, transitions: Array, start: Array, end: Array) -> ChainMessages:
    """See ``plain.chain_messages``."""
    unary = label_scores(unary)
    offsets = ready_offsets(offsets, len(unary))
    (N, L), B = unary.shape, len(offsets) - 1
    if L > MOST_LABELS and B > 1:
        return plain.chain_messages(unary, offsets, transitions, start, end)
    shapes = ((N, L), (L, L), (N, L), (N, 1), (N, L), (N, L), (N, 1), (B,))
    arrays, exact = [np.empty(shape) for shape in shapes], np.empty(B, np.bool_)
    outputs = [*(pointer(array, DOUBLES) for array in arrays), pointer(exact, BYTES)]
    _on_chain(lib.chain_messages, unary, offsets, (transitions, start, end), outputs)
    return ChainMessages._make([*arrays, exact])


def chain_moments(
    unary: Array, offsets: Array, transitions: Array, start: Array, end: Array
) -> tuple[Array, Array, Array, Array]:
    """See ``plain.chain_moments``."""
    unary = label_scores(unary)
    offsets = ready_offsets(offsets, len(unary))
    (N, L), B = unary.shape, len(offsets) - 1
    if L > MOST_LABELS and B > 1:
        return plain.chain_moments(unary, offsets, transitions, start, end)
    log_partition, marginals, counts, exact = np.empty(B), np.empty((N, L)), np.empty((L, L)), np.empty(B, np.bool_)
    outputs = [*(pointer(array, DOUBLES) for array in (log_partition, marginals, counts)), pointer(exact, BYTES)]
    _on_chain(lib.chain_moments, unary, offsets, (transitions, start, end), outputs)
    return log_partition, marginals, counts, exact
