"""The compiled kernels under the names and arguments of ``plain.py``: check, hand over pointers, name what failed.

A wrapper costs a few microseconds: what is laid out as C expects it is recognised quickly, anything else goes through
``checking.py``. During the call other Python threads run: cffi lets go of the interpreter's lock.
Importing this module fails where nothing was compiled.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np

from postil.arrays import Array, checked_offsets
from postil.errors import IndexRangeError, ShapeError
from postil.kernels import plain
from postil.kernels.checking import contiguous, floats, label_scores
from postil.kernels.forward_backward import ChainMessages
from postil.kernels.library import ffi, lib, wrappers

INT64 = np.dtype(np.int64)
_from_buffer = ffi.from_buffer
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
    return _from_buffer(kind, array)


def reals(array: Any, dtype: Any, shape: tuple[int, ...], where: str, *, changed: bool = False) -> Any:
    """The memory of an array of real numbers, checked; one that C changes is not copied."""
    return _from_buffer(BYTES, contiguous(array, dtype, shape, where, changed=changed))


def bytes_of(text: Any) -> Any:
    """A text as an argument. cffi takes bytes as they are; other buffers, such as mapped files, need a pointer."""
    return text if type(text) is bytes else _from_buffer(BYTES, text)


def finish(code: int, where: str, offsets: Array | None = None, rows: int = 0) -> None:
    """Raise the error that a kernel's code stands for. C sees that offsets are wrong, Python says what is wrong."""
    if not code:  # almost always
        return
    if code == lib.NOT_FINITE:
        np.multiply(_LARGEST, 2)  # raises the flag again where np.errstate hears it, as the twin would have done
    if code == lib.WRONG_OFFSETS:
        if offsets is not None:
            checked_offsets(offsets, rows)
        raise ShapeError("sizes that do not fit", where=where)
    if code == lib.WRONG_INDEX:
        raise IndexRangeError("an index points outside its table", where=where)
    if code == lib.NO_MEMORY:
        raise MemoryError(f"{where}: no memory for what is computed on the way")


# ------------------------------------------------------------------------------------------------ chains


_MOST_STEPS = 16
_known_steps: dict[tuple[int, int, int, int], tuple[tuple[Any, Any, Any], tuple[Array, Array, Array]]] = {}
"""Scores of steps that were passed lately: pointers to them, and the arrays. A model passes the same ones every time.
They are kept, so that no other array can have their ids."""


def _steps(transitions: Array, start: Array, end: Array, L: int) -> tuple[Any, Any, Any]:
    """Pointers to the scores of steps, float64 (L, L), (L,) and (L,)."""
    known = _known_steps.get((id(transitions), id(start), id(end), L))
    if known is not None:
        return known[0]
    arrays = (
        contiguous(transitions, np.float64, (L, L), where="transitions"),
        contiguous(start, np.float64, (L,), where="start"),
        contiguous(end, np.float64, (L,), where="end"),
    )
    pointers = pointer(arrays[0], DOUBLES), pointer(arrays[1], DOUBLES), pointer(arrays[2], DOUBLES)
    if arrays[0] is transitions and arrays[1] is start and arrays[2] is end:  # a copy would not show later changes
        if len(_known_steps) >= _MOST_STEPS:
            _known_steps.clear()
        _known_steps[id(transitions), id(start), id(end), L] = pointers, arrays
    return pointers


def on_chain(unary: Array, offsets: Array, transitions: Array, start: Array, end: Array) -> tuple[Any, ...]:
    """The arguments that all recursions over a chain begin with."""
    N, L = unary.shape
    scores = _from_buffer(BYTES, unary), unary.itemsize == 4, _from_buffer(INTEGERS, offsets)
    return *scores, N, len(offsets) - 1, L, *_steps(transitions, start, end, L)


def ready_offsets(offsets: Any, rows: int) -> Array:
    if is_ready(offsets, INT64) and offsets.ndim == 1 and len(offsets):
        ready: Array = offsets
        return ready
    return np.ascontiguousarray(checked_offsets(offsets, rows))


def _shape_of(array: Any, dimensions: int, where: str) -> tuple[int, ...]:
    shape: tuple[int, ...] = np.shape(array)
    if len(shape) != dimensions:
        raise ShapeError("wrong shape", expected=f"{dimensions} dimensions", got=shape, where=where)
    return shape


def _wrong(array: Array, expected: tuple[int, ...], where: str) -> None:
    raise ShapeError("wrong shape", expected=expected, got=array.shape, where=where)


_C = ("float[]", "double[]", "int32_t[]", "int64_t[]", "uint64_t[]", "uint8_t[]")
_TYPES = {name: np.dtype(name) for name in ("float32", "float64", "int32", "int64", "uint64", "uint8", "bool")}
call = SimpleNamespace(
    **wrappers(
        lib,
        _from_buffer,
        np.empty,
        {"NULL": ffi.NULL, **_TYPES, **{name: ffi.typeof(name) for name in _C}},
        _shape_of,
        floats,
        label_scores,
        contiguous,
        ready_offsets,
        _steps,
        finish,
        _wrong,
    )
)
"""The wrappers that the build has made of table.py, by name."""

viterbi, ranked_paths = call.viterbi, call.ranked_paths


def chain_messages(unary: Array, offsets: Array, transitions: Array, start: Array, end: Array) -> ChainMessages:
    """See ``plain.chain_messages``."""
    if np.shape(unary)[-1] > MOST_LABELS and len(offsets) > 2:
        return plain.chain_messages(unary, offsets, transitions, start, end)
    return ChainMessages._make(call.chain_messages(unary, offsets, transitions, start, end))


def chain_moments(
    unary: Array, offsets: Array, transitions: Array, start: Array, end: Array
) -> tuple[Array, Array, Array, Array]:
    """See ``plain.chain_moments``."""
    if np.shape(unary)[-1] > MOST_LABELS and len(offsets) > 2:
        return plain.chain_moments(unary, offsets, transitions, start, end)
    moments: tuple[Array, Array, Array, Array] = call.chain_moments(unary, offsets, transitions, start, end)
    return moments
