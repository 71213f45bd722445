"""The kernels of layers.c and windows.c under the names and arguments of ``plain_layers.py``."""

from typing import Any, cast

import numpy as np

from postil.arrays import FLOATS, Array
from postil.kernels import plain_layers
from postil.kernels.checking import contiguous
from postil.kernels.library import BYTES, DOUBLES, INT64, INTEGERS, call, ffi, finish, is_ready, lib, pointer, reals
from postil.kernels.plain_layers import AdamMemory, AdamSettings, Noise, Part, Totals

DOUBLE = np.dtype(np.float64)


windows, windows_back = call.windows, call.windows_back
normalise_rows, normalise_rows_back = call.normalise_rows, call.normalise_rows_back
sums_of_occurrences = call.sums_of_occurrences


def first_maxima(X: Array, offsets: Array) -> tuple[Array, Array]:
    """See ``plain_layers.first_maxima``."""
    maxima: tuple[Array, Array] | None = call.first_maxima(X, offsets)
    return maxima or plain_layers.first_maxima(X, offsets)  # the twin says which maxima are not numbers


def activate(Z: Array, bias: Array | None, activation: str, noise: Noise, out: Array) -> Array:
    """See ``plain_layers.activate``."""
    if not _in_place(Z.dtype, Z.shape, out):
        return plain_layers.activate(Z, bias, activation, noise, out)
    return cast(Array, call.activate(Z, bias, activation, *noise, out))


def sum_windows(rows: Array, ids: Array, offsets: Array, size: int, activation: str, out: Array, *, add: bool) -> Array:
    """See ``plain_layers.sum_windows``, which does it for float64."""
    if out.dtype == np.float64:
        return plain_layers.sum_windows(rows, ids, offsets, size, activation, out, add=add)
    call.sum_windows(rows, size, ids, offsets, activation, add, out)
    return out


def spread_windows(dY: Array, ids: Array, offsets: Array, size: int, out: Array) -> Array:
    """See ``plain_layers.spread_windows``, which does it for float64."""
    if out.dtype == np.float64:
        return plain_layers.spread_windows(dY, ids, offsets, size, out)
    call.spread_windows(dY, size, ids, offsets, out)
    return out


def sum_of_squares(array: Array) -> float:
    """See ``plain_layers.sum_of_squares``."""
    if array.dtype not in FLOATS or not array.flags.c_contiguous:
        return plain_layers.sum_of_squares(array)
    return float(lib.sum_of_squares(pointer(array, BYTES), array.itemsize == 4, array.size))


def _in_place(dtype: Any, shape: tuple[int, ...], *arrays: Array) -> bool:
    """Can C change these arrays where they stand?"""
    return dtype in FLOATS and all(
        is_ready(array, dtype) and array.shape == shape and array.flags.writeable for array in arrays
    )


def _gradient(value: Array, part: Any, g: Array) -> list[Any]:
    """Rows, their gradients and all sizes, as steps of optimisers take them: the whole table has no list of rows."""
    V = len(value) if value.ndim else 1
    D = value.size // V if V else 0
    if part is ...:
        return [ffi.NULL, reals(g, value.dtype, value.shape, "gradient"), V, V, D]
    rows = contiguous(part, np.int64, np.shape(part)[:1], where="rows of a gradient")
    values = reals(g, value.dtype, (len(rows), *value.shape[1:]), "gradient")
    return [pointer(rows, INTEGERS), values, len(rows), V, D]


def adam_step(memory: AdamMemory, part: Part, g: Array, settings: AdamSettings, totals: Totals | None = None) -> None:
    """See ``plain_layers.adam_step``. It keeps the pointers of the arrays, which stay the same."""
    value = memory.value
    memory.prepared = memory.prepared or _prepared(memory)
    if memory.prepared is None or not value.flags.writeable:
        plain_layers.adam_step(memory, part, g, settings, totals)
        return
    # Not through ``call``: passing 18 arguments on takes as long as the step of a small table.
    code = lib.adam_step(*memory.prepared, *_gradient(value, part, g), *settings, *_totals(value, totals))
    finish(code, "adam_step")


def _prepared(memory: AdamMemory) -> tuple[Any, ...] | None:
    """Pointers to all of a parameter's arrays, if C can change them where they stand."""
    value, mean, square, touches = memory.arrays()
    counts = value.shape[:1] + (1,) * (value.ndim - 1)
    if not _in_place(value.dtype, value.shape, value, mean, square) or not is_ready(touches, INT64):
        return None
    contiguous(touches, np.int64, counts, "touches of rows", changed=True)
    start = pointer(value, BYTES), value.itemsize == 4, pointer(mean, BYTES), pointer(square, BYTES)
    return *start, pointer(touches, INTEGERS)


def _totals(value: Array, totals: Totals | None) -> tuple[Any, Any, int]:
    if totals is None:
        return ffi.NULL, ffi.NULL, 0
    if totals.prepared is None or totals.total.shape != value.shape:
        total = contiguous(totals.total, np.float64, value.shape, "totals of averages", changed=True)
        settled = contiguous(totals.settled, np.int64, value.shape[:1], "settled rows of averages", changed=True)
        totals.prepared = pointer(total, DOUBLES), pointer(settled, INTEGERS)
    return *totals.prepared, totals.steps


def adagrad_step(value: Array, square: Array, part: Part, g: Array, rate: float, epsilon: float) -> None:
    """See ``plain_layers.adagrad_step``."""
    if not _in_place(value.dtype, value.shape, value, square):
        plain_layers.adagrad_step(value, square, part, g, rate, epsilon)
        return
    start = pointer(value, BYTES), value.itemsize == 4, pointer(square, BYTES)
    call.adagrad_step(*start, *_gradient(value, part, g), rate, epsilon)


def settle_rows(total: Array, settled: Array, value: Array, part: Part, steps: int) -> None:
    """See ``plain_layers.settle_rows``."""
    has_counts = is_ready(settled, INT64) and settled.shape == value.shape[:1] and settled.flags.writeable
    has_values = value.dtype in FLOATS and is_ready(value, value.dtype)
    if not (has_counts and has_values and _in_place(DOUBLE, value.shape, total)):
        plain_layers.settle_rows(total, settled, value, part, steps)
        return
    V = len(value) if value.ndim else 1
    rows = None if part is ... else contiguous(part, np.int64, np.shape(part)[:1], where="rows to settle")
    some = (ffi.NULL, V) if rows is None else (pointer(rows, INTEGERS), len(rows))
    memory = pointer(total, DOUBLES), pointer(settled, INTEGERS), pointer(value, BYTES), value.itemsize == 4
    call.settle_rows(*memory, *some, V, value.size // V if V else 0, steps)
