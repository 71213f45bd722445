"""Layers and optimisers in NumPy: the twins of layers.c and windows.c.

What is called ``value``, ``mean``, ``square`` or ``touches`` is changed in place; everything else is left as it is.
"""

import math
from dataclasses import dataclass
from types import EllipsisType
from typing import Any, NamedTuple, TypeAlias, final

import numpy as np

from postil.arrays import Array, checked_offsets
from postil.arrays import sum_of_squares as sum_of_squares
from postil.errors import IndexRangeError
from postil.kernels.checking import check_activation, contiguous, floats

Part: TypeAlias = EllipsisType | Array


def windows(X: Array, padding: Array, offsets: Array, size: int, dilation: int) -> Array:
    """Each row joined with its neighbours inside the sentence.  X (N, D), padding (D,), odd size K -> (N, K·D).

    Neighbours are ``dilation`` rows apart. Between sentences there is padding for the widest window.
    """
    places, rows = padded_places(offsets, size, dilation)
    padded = np.empty((rows, X.shape[1]), X.dtype)
    padded[:] = padding
    padded[places] = X
    return np.concatenate([padded[places + shift * dilation] for shift in shifts(size)], axis=1)


def windows_back(dY: Array, offsets: Array, size: int, dilation: int) -> tuple[Array, Array]:
    """The gradients of X (N, D) and of the padding (D,) from that of the windows, dY (N, K·D)."""
    places, rows = padded_places(offsets, size, dilation)
    dpadded = overlapping_sum(dY.reshape(len(dY), size, dY.shape[1] // size), places, rows, dilation)
    dX = dpadded[places]
    dpadded[places] = 0
    return dX, dpadded.sum(axis=0)


def first_maxima(X: Array, offsets: Array) -> tuple[Array, Array]:
    """The largest value of each feature of X (N, D) in each sentence, (B, D), and the first row that has it, (B, D).

    No sentence is empty. The row is N where the largest value is NaN.
    """
    N, starts = len(X), offsets[:-1]
    if not len(starts):
        return X[:0], np.zeros((0, X.shape[1]), np.int64)
    Y = np.maximum.reduceat(X, starts)
    is_maximum = np.repeat(Y, np.diff(offsets), axis=0) == X
    return Y, np.minimum.reduceat(np.where(is_maximum, np.arange(N)[:, None], N), starts)


def shifts(size: int) -> range:
    return range(-(size // 2), size // 2 + 1)


def padded_places(offsets: Array, size: int, dilation: int = 1) -> tuple[Array, int]:
    """The place of each row after padding is put before, between and after the sentences, (N,); and the rows in all."""
    half, B = size // 2 * dilation, len(offsets) - 1
    sentence = np.repeat(np.arange(B), np.diff(offsets))
    return np.arange(offsets[-1]) + half * (sentence + 1), int(offsets[-1]) + half * (B + 1)


def overlapping_sum(dwindows: Array, places: Array, rows: int, dilation: int = 1) -> Array:
    """Add the gradients of all windows (N, K, D) up at the padded rows they cover, (rows, D)."""
    _, size, D = dwindows.shape
    total = np.zeros((rows, D), dwindows.dtype)
    for k, shift in enumerate(shifts(size)):
        total[places + shift * dilation] += dwindows[:, k]  # places are distinct: no row is hit twice by one shift
    return total


def normalise_rows(X: Array, gain: Array, bias: Array, epsilon: float) -> tuple[Array, Array, Array]:
    """Y = gain ∘ Z + bias (N, D), the centred and scaled rows Z (N, D), and their deviation (N, 1)."""
    centred = X - X.mean(axis=1, keepdims=True)
    deviation = np.sqrt(np.square(centred).mean(axis=1, keepdims=True) + X.dtype.type(epsilon))
    Z = centred / deviation
    return Z * gain + bias, Z, deviation


def normalise_rows_back(dY: Array, Z: Array, deviation: Array, gain: Array) -> tuple[Array, Array, Array]:
    """The gradients of X (N, D), gain and bias (D,).

    Z has mean 0 and square mean 1, so what dZ has along 1 and along Z does not get through.
    """
    dgain, dbias, dZ = (dY * Z).sum(axis=0), dY.sum(axis=0), dY * gain
    along_Z = (dZ * Z).mean(axis=1, keepdims=True)
    return (dZ - dZ.mean(axis=1, keepdims=True) - Z * along_Z) / deviation, dgain, dbias


class Noise(NamedTuple):
    """Which elements are dropped: those whose 32 random bits, made from the key, are below ``dropped``."""

    key: int  # 64 random bits
    dropped: int  # of 2³² values; 0 drops nothing

    @property
    def scale(self) -> float:
        """The factor for the elements that are kept, which preserves the mean."""
        return float(2**32 / (2**32 - self.dropped))


def random_bits(key: int, size: int) -> Array:
    """(size,) of 32 random bits, which depend on the key and the place alone."""
    x: Array = np.arange(size, dtype=np.uint32)
    x *= np.uint32(0x9E3779B9)
    x += np.uint32(key & 0xFFFFFFFF)
    x = (x ^ x >> 16) * np.uint32(0x7FEB352D)
    x = (x ^ x >> 15) + np.uint32(key >> 32)
    x = (x ^ x >> 16) * np.uint32(0x846CA68B)
    x = (x ^ x >> 15) * np.uint32(0x2C1B3C6D)
    x ^= x >> 16
    return x


def kept_elements(noise: Noise, shape: tuple[int, ...], dtype: Any) -> Array:
    """0 where an element is dropped, else ``noise.scale``."""
    is_kept = random_bits(noise.key, math.prod(shape)) >= noise.dropped
    scaled: Array = is_kept.astype(dtype) * np.dtype(dtype).type(noise.scale)
    return scaled.reshape(shape)


def _activate(activation: str, out: Array) -> None:
    if activation == "relu":
        np.maximum(out, 0, out=out)
    elif activation == "hardtanh":
        np.clip(out, -1, 1, out=out)


def activate(Z: Array, bias: Array | None, activation: str, noise: Noise, out: Array) -> Array:
    """f(Z + bias) goes to ``out``, which may be Z itself; returns the slopes f'(Z + bias), by which dY becomes dZ.

    Z, out (N, H), bias (H,) or none. Where the noise drops an element both are 0.
    """
    check_activation(activation)
    if bias is not None or out is not Z:
        np.add(Z, 0 if bias is None else bias, out=out)
    slopes = np.ones_like(out)
    if activation == "relu":
        slopes[:] = out > 0
    elif activation == "hardtanh":
        slopes[:] = (out >= -1) & (out <= 1)
    _activate(activation, out)
    if noise.dropped:
        kept = kept_elements(noise, out.shape, out.dtype)
        out *= kept
        slopes *= kept
    return slopes


def sums_of_occurrences(ids: Array, values: Array) -> tuple[Array, Array]:
    """The distinct ids in rising order (R,), and the sum of the rows of each, (R, D).  ids (N,), values (N, D)."""
    if len(ids) == 0:
        return np.empty(0, np.int64), np.empty((0, values.shape[1]), values.dtype)
    order = np.argsort(ids, kind="stable")
    ordered = ids[order].astype(np.int64)
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    return ordered[starts], np.add.reduceat(values[order], starts, axis=0)


class AdamSettings(NamedTuple):
    """How far a step goes; ``scale`` is a factor of the gradient."""

    rate: float
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    scale: float = 1.0


@final
@dataclass(slots=True, eq=False)
class Totals:
    """The running sums of one parameter, from which averages are computed: see ``settle_rows``. Changed in place."""

    total: Array
    settled: Array
    steps: int  # how often the parameter has stood for a step so far
    prepared: Any = None  # state that the compiled kernel keeps between steps


@final
@dataclass(slots=True, eq=False)
class AdamMemory:
    """One parameter with the state that Adam keeps of it; it is changed in place."""

    value: Array
    mean: Array
    square: Array
    touches: Array
    prepared: Any = None  # state that the compiled kernel keeps between steps

    def arrays(self) -> tuple[Array, Array, Array, Array]:
        return self.value, self.mean, self.square, self.touches


def adam_step(memory: AdamMemory, part: Part, g: Array, settings: AdamSettings, totals: Totals | None = None) -> None:
    """One step of Adam on the rows ``part`` of a table, or on all of it (...). Each row counts its own touches.

    With ``totals`` the rows are settled before they change.
    """
    value, mean, square, touches = memory.arrays()
    rate, beta1, beta2, epsilon, scale = settings
    if totals is not None:
        settle_rows(totals.total, totals.settled, value, part, totals.steps)
    g = g * g.dtype.type(scale)
    touches[part] += 1
    mean[part] = beta1 * mean[part] + (1 - beta1) * g
    square[part] = beta2 * square[part] + (1 - beta2) * (g * g)
    # rate · (mean / c1) / (sqrt(square / c2) + epsilon), with the corrections c1 and c2 taken out of the entries
    t = touches[part]
    root = np.sqrt(1 - beta2**t)
    pace, tiny = rate * root / (1 - beta1**t), epsilon * root
    value[part] -= pace.astype(g.dtype) * (mean[part] / (np.sqrt(square[part]) + tiny.astype(g.dtype)))


def adagrad_step(value: Array, square: Array, part: Part, g: Array, rate: float, epsilon: float) -> None:
    """One step of AdaGrad on the rows ``part`` of a table, or on all of it (...)."""
    square[part] += g * g
    value[part] -= value.dtype.type(rate) * (g / np.sqrt(square[part] + g.dtype.type(epsilon)))


def settle_rows(total: Array, settled: Array, value: Array, part: Part, steps: int) -> None:
    """total[part] += (steps since the row was settled) · value[part], and settled[part] = steps.

    ``total`` is float64 and shaped like ``value``; ``settled`` (V,) counts for whole rows, or is () like the value.
    """
    still = steps - settled[part]
    total[part] += still.reshape(still.shape + (1,) * (value.ndim - still.ndim)) * value[part]
    settled[part] = steps


def sum_windows(rows: Array, ids: Array, offsets: Array, size: int, activation: str, out: Array, *, add: bool) -> Array:
    """out_t = f(Σ_k rows[ids_t+k, k]) over ``size`` positions k around each token t; row 0 is beyond the sentence.

    rows (V, size·H), ids (N,) in 1 … V - 1, offsets (B + 1,), out (N, H); float32, which is compiled, or float64. With
    ``add`` the values in ``out`` belong to the sum. Terms are added from the first position to the last.
    """
    check_activation(activation)
    N, H = floats(out, 2, "out of sum_windows").shape
    contiguous(out, out.dtype, (N, H), "out of sum_windows", changed=True)
    rows = contiguous(rows, out.dtype, (len(rows), size * H), "rows of sum_windows")
    around = _ids_around(contiguous(ids, np.int64, (N,), "ids of sum_windows"), offsets, size, len(rows))
    for k in range(size):
        terms = rows[around[k], k * H : (k + 1) * H]
        if k == 0 and not add:
            out[:] = terms
        else:
            out += terms
    _activate(activation, out)
    return out


def spread_windows(dY: Array, ids: Array, offsets: Array, size: int, out: Array) -> Array:
    """The gradient of the rows of ``sum_windows``, out (V, size·H), from dY (N, H).

    A row gets the gradients of all windows in which it stands, from the first token to the last.
    """
    dY = floats(dY, 2, "dY of spread_windows")
    N, H = dY.shape
    contiguous(out, out.dtype, (len(out), size * H), "out of spread_windows", changed=True)
    around = _ids_around(contiguous(ids, np.int64, (N,), "ids of spread_windows"), offsets, size, len(out))
    out[:] = 0
    if N == 0:
        return out
    for k in range(size):
        order = np.argsort(around[k], kind="stable")
        starts = np.flatnonzero(np.concatenate(([True], np.diff(around[k][order]) != 0)))
        out[around[k][order[starts]], k * H : (k + 1) * H] = np.add.reduceat(dY[order], starts, axis=0)
    return out


def _ids_around(ids: Array, offsets: Array, size: int, V: int) -> Array:
    """(size, N): the ids at each position of every window, 0 beyond the sentence."""
    if len(ids) and not 0 <= ids.min() <= ids.max() < V:
        raise IndexRangeError("an index points outside its table", where="ids of windows")
    places, rows = padded_places(checked_offsets(offsets, len(ids)), size)
    padded = np.zeros(rows, np.int64)
    padded[places] = ids
    around: Array = padded[places + np.array(shifts(size))[:, None]]
    return around
