"""The kernels of layers.c under the names and arguments of ``plain_layers.py``; float32 and float64."""

from typing import Any

import numpy as np

from postil.arrays import FLOATS, Array
from postil.errors import ShapeError
from postil.kernels import plain_layers
from postil.kernels.checking import ACTIVATIONS, check_activation, contiguous, floats
from postil.kernels.compiled import BYTES, DOUBLES, INT64, INTEGERS, finish, is_ready, pointer, ready_offsets, reals
from postil.kernels.library import ffi, lib
from postil.kernels.plain_layers import AdamMemory, AdamSettings, Noise, Part, Totals

DOUBLE = np.dtype(np.float64)


def windows(X: Array, padding: Array, offsets: Array, size: int) -> Array:
    """See ``plain_layers.windows``."""
    X = floats(X, 2, where="rows of windows")
    offsets = ready_offsets(offsets, len(X))
    (N, D), B = X.shape, len(offsets) - 1
    Y = np.empty((N, size * D), X.dtype)
    start = reals(padding, X.dtype, (D,), "padding"), pointer(offsets, INTEGERS)
    code = lib.windows(pointer(X, BYTES), X.itemsize == 4, *start, N, B, D, size, pointer(Y, BYTES))
    finish(code, "windows", offsets, N)
    return Y


def windows_back(dY: Array, offsets: Array, size: int) -> tuple[Array, Array]:
    """See ``plain_layers.windows_back``."""
    dY = floats(dY, 2, where="gradient of windows")
    offsets = ready_offsets(offsets, len(dY))
    N, B, D = len(dY), len(offsets) - 1, dY.shape[1] // size
    if dY.shape[1] != size * D:
        raise ShapeError("gradient of windows", expected=f"a multiple of {size} columns", got=dY.shape)
    dX, dpadding = np.empty((N, D), dY.dtype), np.empty(D, dY.dtype)
    outputs = pointer(dX, BYTES), pointer(dpadding, BYTES)
    code = lib.windows_back(pointer(dY, BYTES), dY.itemsize == 4, pointer(offsets, INTEGERS), N, B, D, size, *outputs)
    finish(code, "windows_back", offsets, N)
    return dX, dpadding


def first_maxima(X: Array, offsets: Array) -> tuple[Array, Array]:
    """See ``plain_layers.first_maxima``."""
    X = floats(X, 2, where="max over time")
    offsets = ready_offsets(offsets, len(X))
    (N, D), B = X.shape, len(offsets) - 1
    Y, winners = np.empty((B, D), X.dtype), np.empty((B, D), np.int64)
    outputs = pointer(Y, BYTES), pointer(winners, INTEGERS)
    code = lib.first_maxima(pointer(X, BYTES), X.itemsize == 4, pointer(offsets, INTEGERS), N, B, D, *outputs)
    if code == lib.NOT_FINITE:  # the twin says which maxima are not numbers
        return plain_layers.first_maxima(X, offsets)
    finish(code, "max over time", offsets, N)
    return Y, winners


def normalise_rows(X: Array, gain: Array, bias: Array, epsilon: float) -> tuple[Array, Array, Array]:
    """See ``plain_layers.normalise_rows``."""
    X = floats(X, 2, where="layer norm")
    N, D = X.shape
    Y, Z, deviation = np.empty_like(X), np.empty_like(X), np.empty((N, 1), X.dtype)
    learnt = reals(gain, X.dtype, (D,), "gain"), reals(bias, X.dtype, (D,), "bias")
    outputs = (pointer(array, BYTES) for array in (Y, Z, deviation))
    code = lib.normalise_rows(pointer(X, BYTES), X.itemsize == 4, *learnt, epsilon, N, D, *outputs)
    finish(code, "layer norm")
    return Y, Z, deviation


def normalise_rows_back(dY: Array, Z: Array, deviation: Array, gain: Array) -> tuple[Array, Array, Array]:
    """See ``plain_layers.normalise_rows_back``."""
    dY = floats(dY, 2, where="layer norm")
    (N, D), kind = dY.shape, dY.dtype
    dX, dgain, dbias = np.empty_like(dY), np.empty(D, kind), np.empty(D, kind)
    inputs = (
        reals(Z, kind, (N, D), "Z"),
        reals(deviation, kind, (N, 1), "deviation"),
        reals(gain, kind, (D,), "gain"),
    )
    outputs = (pointer(array, BYTES) for array in (dX, dgain, dbias))
    finish(lib.normalise_rows_back(pointer(dY, BYTES), dY.itemsize == 4, *inputs, N, D, *outputs), "layer norm")
    return dX, dgain, dbias


def activate(Z: Array, bias: Array | None, activation: str, noise: Noise, out: Array) -> Array:
    """See ``plain_layers.activate``."""
    check_activation(activation)
    Z = floats(Z, 2, where="activation")
    if not _in_place(Z.dtype, Z.shape, out):
        return plain_layers.activate(Z, bias, activation, noise, out)
    slopes = np.empty_like(Z)
    added = ffi.NULL if bias is None else reals(bias, Z.dtype, Z.shape[1:], "bias")
    outputs = pointer(out, BYTES), pointer(slopes, BYTES)
    how = added, ACTIVATIONS.index(activation), *noise
    finish(lib.activate(pointer(Z, BYTES), Z.itemsize == 4, *how, *Z.shape, *outputs), "activation")
    return slopes


def sum_of_squares(array: Array) -> float:
    """See ``plain_layers.sum_of_squares``."""
    if array.dtype not in FLOATS or not array.flags.c_contiguous:
        return plain_layers.sum_of_squares(array)
    return float(lib.sum_of_squares(pointer(array, BYTES), array.itemsize == 4, array.size))


def sums_of_occurrences(ids: Array, values: Array) -> tuple[Array, Array]:
    """See ``plain_layers.sums_of_occurrences``."""
    values = floats(values, 2, where="rows")
    ids = contiguous(ids, np.int64, values.shape[:1], where="ids of rows")
    rows, sums, count = np.empty_like(ids), np.empty_like(values), ffi.new("int64_t *")
    inputs = pointer(ids, INTEGERS), len(ids), pointer(values, BYTES), values.itemsize == 4, values.shape[1]
    code = lib.sums_of_occurrences(*inputs, pointer(rows, INTEGERS), pointer(sums, BYTES), count)
    finish(code, "ids of rows")
    return rows[: count[0]], sums[: count[0]]


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
    """See ``plain_layers.adam_step``. What it finds out about the arrays it keeps: they stay the same."""
    value = memory.value
    memory.prepared = memory.prepared or _prepared(memory)
    if memory.prepared is None or not value.flags.writeable:
        plain_layers.adam_step(memory, part, g, settings, totals)
        return
    gradient = _gradient(value, part, g)
    code = lib.adam_step(*memory.prepared, *gradient, *settings, *_totals(value, totals))
    finish(code, "rows of a gradient")


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


def _can_settle(total: Array, settled: Array, value: Array) -> bool:
    has_counts = is_ready(settled, INT64) and settled.shape == value.shape[:1] and settled.flags.writeable
    return has_counts and _in_place(DOUBLE, value.shape, total)


def adagrad_step(value: Array, square: Array, part: Part, g: Array, rate: float, epsilon: float) -> None:
    """See ``plain_layers.adagrad_step``."""
    if not _in_place(value.dtype, value.shape, value, square):
        plain_layers.adagrad_step(value, square, part, g, rate, epsilon)
        return
    gradient = _gradient(value, part, g)
    start = pointer(value, BYTES), value.itemsize == 4, pointer(square, BYTES)
    finish(lib.adagrad_step(*start, *gradient, rate, epsilon), "rows of a gradient")


def settle_rows(total: Array, settled: Array, value: Array, part: Part, steps: int) -> None:
    """See ``plain_layers.settle_rows``."""
    if not _can_settle(total, settled, value) or not is_ready(value, value.dtype) or value.dtype not in FLOATS:
        plain_layers.settle_rows(total, settled, value, part, steps)
        return
    V = len(value) if value.ndim else 1
    rows = None if part is ... else contiguous(part, np.int64, np.shape(part)[:1], where="rows to settle")
    some = (ffi.NULL, V) if rows is None else (pointer(rows, INTEGERS), len(rows))
    memory = pointer(total, DOUBLES), pointer(settled, INTEGERS), pointer(value, BYTES), value.itemsize == 4
    finish(lib.settle_rows(*memory, *some, V, value.size // V if V else 0, steps), "rows to settle")
