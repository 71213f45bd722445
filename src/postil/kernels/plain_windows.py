"""The NumPy twins of windows.c: sums of rows over windows, normalised windows, biases with activations."""

from collections.abc import Collection
from typing import Any

import numpy as np

from postil.arrays import FLOATS, Array, checked_offsets
from postil.errors import IndexRangeError, ShapeError
from postil.kernels.checking import check_activation, contiguous


def sum_windows(rows: Array, ids: Array, offsets: Array, size: int, activation: str, out: Array, *, add: bool) -> Array:
    """out_t = f(Σ_k rows[ids_t+k, k]) over ``size`` positions k around each token t; row 0 is beyond the sentence.

    rows (V, size·H), ids (N,) in 1 … V - 1, offsets (B + 1,), out (N, H); float32, which is compiled, or float64. With
    ``add`` the values in ``out`` belong to the sum. Terms are added from the first position to the last.
    """
    rows, ids, offsets = checked_sums(rows, ids, offsets, size, activation, out)
    _check_ids(ids, len(rows), "sum_windows")
    half, H = size // 2, out.shape[1]
    places, padded = _padded(ids, offsets, half)
    for k in range(size):
        terms = rows[padded[places + k - half], k * H : (k + 1) * H]
        if k == 0 and not add:
            out[:] = terms
        else:
            out += terms
    return _activate(out, activation)


def spread_windows(dY: Array, ids: Array, offsets: Array, size: int, out: Array) -> Array:
    """What ``sum_windows`` has added up, taken apart: the gradient of its rows, out (V, size·H), from dY (N, H).

    A row gets the gradients of all windows in which it stands, from the first token to the last.
    """
    dY, ids, offsets = checked_spread(dY, ids, offsets, size, out)
    _check_ids(ids, len(out), "spread_windows")
    half, (N, H) = size // 2, dY.shape
    places, padded = _padded(ids, offsets, half)
    out[:] = 0
    if N == 0:
        return out
    for k in range(size):
        where = padded[places + k - half]
        order = np.argsort(where, kind="stable")
        starts = np.flatnonzero(np.concatenate(([True], np.diff(where[order]) != 0)))
        out[where[order[starts]], k * H : (k + 1) * H] = np.add.reduceat(dY[order], starts, axis=0)
    return out


def multiply_rows(X: Array, W: Array, bias: Array, out: Array) -> Array:
    """out = X W + bias, where the bits of a row do not depend on the other rows.  X (U, D), W (D, M), bias (M,)."""
    X, W, bias = checked_product(X, W, bias, out)
    for x, row in zip(X, out, strict=True):  # one by one: in a matrix some BLAS sum rows in different orders
        np.matmul(x, W, out=row)
    out += bias
    return out


def normalise_windows(
    X: Array, gain: Array, bias: Array, padding: Array, offsets: Array, size: int, epsilon: float, out: Array
) -> Array:
    """Every row brought to mean 0 and variance 1, stretched and shifted, beside its neighbours.

    X (N, D) float32; gain and bias (D,); padding (D,) is for positions beyond the sentence; out (N, size·D).
    """
    X, gain, bias, padding, offsets = checked_normalised(X, gain, bias, padding, offsets, size, out)
    (N, D), half = X.shape, size // 2
    centred = X - X.mean(axis=1, keepdims=True)
    deviation = np.sqrt(np.square(centred).mean(axis=1, keepdims=True) + np.float32(epsilon))
    centred /= deviation
    centred *= gain
    centred += bias
    if size == 1:
        out[:] = centred
        return out
    places, padded = _padded(np.arange(N), offsets, half, outside=N)
    rows = np.concatenate([centred, padding[None]])
    for k in range(size):
        out[:, k * D : (k + 1) * D] = rows[padded[places + k - half]]
    return out


def add_bias(Y: Array, bias: Array, activation: str, out: Array, *, add: bool) -> Array:
    """out = f(Y + bias), or with ``add`` out + f(Y + bias).  Y (N, H) float32, which is overwritten, or is ``out``."""
    Y, bias = checked_bias(Y, bias, activation, out, add)
    Y += bias
    _activate(Y, activation)
    if add:
        out += Y
    elif out is not Y:
        out[:] = Y
    return out


def _activate(Y: Array, activation: str) -> Array:
    if activation == "relu":
        np.maximum(Y, 0, out=Y)
    elif activation == "hardtanh":
        np.clip(Y, -1, 1, out=Y)
    return Y


def _padded(ids: Array, offsets: Array, half: int, outside: int = 0) -> tuple[Array, Array]:
    """Where each token stands once ``half`` places are put around every sentence, and the ids there."""
    N, B = len(ids), len(offsets) - 1
    sentence = np.repeat(np.arange(B), offsets[1:] - offsets[:-1])
    places = np.arange(N) + half * (sentence + 1)
    padded = np.full(N + half * (B + 1), outside)
    padded[places] = ids
    return places, padded


# ------------------------------------------------------------------------------------------------ arguments


def checked_sums(
    rows: Array, ids: Array, offsets: Array, size: int, activation: str, out: Array
) -> tuple[Array, Array, Array]:
    """Rows, ids and offsets of ``sum_windows`` as C expects them."""
    check_activation(activation)
    N, H = _out_shape(out, FLOATS)
    table = contiguous(rows, out.dtype, (len(rows), size * H), where="rows of words")
    return table, contiguous(ids, np.int64, (N,), where="ids"), _offsets(offsets, N)


def checked_spread(dY: Array, ids: Array, offsets: Array, size: int, out: Array) -> tuple[Array, Array, Array]:
    """Gradients, ids and offsets of ``spread_windows`` as C expects them."""
    width = _out_shape(out, FLOATS)[1]
    dY = contiguous(dY, out.dtype, (len(dY), width // size), where="gradients of windows")
    if width % size:
        raise ShapeError("gradient of rows", expected=f"{size} positions side by side", got=out.shape)
    return dY, contiguous(ids, np.int64, (len(dY),), where="ids"), _offsets(offsets, len(dY))


def checked_product(X: Array, W: Array, bias: Array, out: Array) -> tuple[Array, Array, Array]:
    """Arrays of ``multiply_rows`` as C expects them."""
    (U, M), D = _out_shape(out), len(W)
    X = contiguous(X, np.float32, (U, D), where="rows to multiply")
    return X, contiguous(W, np.float32, (D, M), where="weights"), contiguous(bias, np.float32, (M,), where="bias")


def checked_normalised(
    X: Array, gain: Array, bias: Array, padding: Array, offsets: Array, size: int, out: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """Arrays of ``normalise_windows`` as C expects them."""
    N, width = _out_shape(out)
    D = width // size
    X = contiguous(X, np.float32, (N, D), where="rows to normalise")
    if width != size * D or (size > 1 and np.shares_memory(X, out)):
        raise ShapeError("windows", expected=f"a separate array of {size} rows side by side", got=out.shape)
    gain, bias, padding = (
        contiguous(vector, np.float32, (D,), where="normalisation") for vector in (gain, bias, padding)
    )
    return X, gain, bias, padding, _offsets(offsets, N)


def checked_bias(Y: Array, bias: Array, activation: str, out: Array, add: bool) -> tuple[Array, Array]:
    """Arrays of ``add_bias`` as C expects them."""
    check_activation(activation)
    shape = _out_shape(out)
    if add and Y is out:
        raise ShapeError("sums", expected="a separate array, not the one to add to", where="add_bias")
    return contiguous(Y, np.float32, shape, where="rows"), contiguous(bias, np.float32, shape[1:], where="bias")


def _out_shape(out: Array, dtypes: Collection[Any] = (np.dtype(np.float32),)) -> tuple[int, int]:
    if out.ndim != 2 or out.dtype not in dtypes or not out.flags.c_contiguous or not out.flags.writeable:
        expected = f"{' or '.join(map(str, dtypes))} (N, H), contiguous"
        raise ShapeError("array for the result", expected=expected, got=f"{out.dtype} {out.shape}")
    return out.shape[0], out.shape[1]


def _check_ids(ids: Array, count: int, where: str) -> None:
    if len(ids) and not 0 <= ids.min() <= ids.max() < count:
        raise IndexRangeError("an index points outside its table", where=where)


def _offsets(offsets: Array, N: int) -> Array:
    return np.ascontiguousarray(checked_offsets(offsets, rows=N))
