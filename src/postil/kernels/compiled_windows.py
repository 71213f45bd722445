"""The compiled kernels under the names and arguments of ``plain_windows.py``; float64 goes to the twin."""

import numpy as np

from postil.arrays import Array
from postil.kernels import plain_windows
from postil.kernels.checking import ACTIVATIONS
from postil.kernels.compiled import INTEGERS as _INTEGERS
from postil.kernels.compiled import finish as _finish
from postil.kernels.compiled import pointer as _pointer
from postil.kernels.library import ffi, lib
from postil.kernels.plain_windows import (
    checked_bias,
    checked_normalised,
    checked_product,
    checked_spread,
    checked_sums,
)

_FLOATS = ffi.typeof("float[]")


def sum_windows(rows: Array, ids: Array, offsets: Array, size: int, activation: str, out: Array, *, add: bool) -> Array:
    """See ``plain_windows.sum_windows``."""
    if out.dtype == np.float64:
        return plain_windows.sum_windows(rows, ids, offsets, size, activation, out, add=add)
    rows, ids, offsets = checked_sums(rows, ids, offsets, size, activation, out)
    code = lib.sum_windows(
        _pointer(rows, _FLOATS),
        *(len(rows), size, out.shape[1]),
        _pointer(ids, _INTEGERS),
        _pointer(offsets, _INTEGERS),
        *(len(ids), len(offsets) - 1),
        *(ACTIVATIONS.index(activation), add),
        _pointer(out, _FLOATS),
    )
    _finish(code, "sum_windows")
    return out


def spread_windows(dY: Array, ids: Array, offsets: Array, size: int, out: Array) -> Array:
    """See ``plain_windows.spread_windows``."""
    if out.dtype == np.float64:
        return plain_windows.spread_windows(dY, ids, offsets, size, out)
    dY, ids, offsets = checked_spread(dY, ids, offsets, size, out)
    code = lib.spread_windows(
        _pointer(dY, _FLOATS),
        *(size, dY.shape[1]),
        _pointer(ids, _INTEGERS),
        _pointer(offsets, _INTEGERS),
        *(len(ids), len(offsets) - 1, len(out)),
        _pointer(out, _FLOATS),
    )
    _finish(code, "spread_windows")
    return out


def multiply_rows(X: Array, W: Array, bias: Array, out: Array) -> Array:
    """See ``plain_windows.multiply_rows``."""
    X, W, bias = checked_product(X, W, bias, out)
    code = lib.multiply_rows(
        *(_pointer(array, _FLOATS) for array in (X, W, bias)), *X.shape, W.shape[1], _pointer(out, _FLOATS)
    )
    _finish(code, "multiply_rows")
    return out


def normalise_windows(
    X: Array, gain: Array, bias: Array, padding: Array, offsets: Array, size: int, epsilon: float, out: Array
) -> Array:
    """See ``plain_windows.normalise_windows``."""
    X, gain, bias, padding, offsets = checked_normalised(X, gain, bias, padding, offsets, size, out)
    code = lib.normalise_windows(
        *(_pointer(array, _FLOATS) for array in (X, gain, bias, padding)),
        _pointer(offsets, _INTEGERS),
        *(len(X), len(offsets) - 1, X.shape[1], size),
        epsilon,
        _pointer(out, _FLOATS),
    )
    _finish(code, "normalise_windows")
    return out


def add_bias(Y: Array, bias: Array, activation: str, out: Array, *, add: bool) -> Array:
    """See ``plain_windows.add_bias``."""
    Y, bias = checked_bias(Y, bias, activation, out, add)
    code = lib.add_bias(
        _pointer(Y, _FLOATS),
        _pointer(bias, _FLOATS),
        *Y.shape,
        *(ACTIVATIONS.index(activation), add),
        _pointer(out, _FLOATS),
    )
    _finish(code, "add_bias")
    return out
