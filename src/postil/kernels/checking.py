"""Arguments of kernels, checked the same way for the compiled ones and their twins."""

from typing import Any

import numpy as np

from postil.arrays import FLOATS, Array, checked_offsets, describe
from postil.errors import ConfigurationError, DtypeError, ShapeError

ACTIVATIONS = ("identity", "relu", "hardtanh")
"""The activations that kernels can fuse; their places here are their numbers in C."""
SECTION_TYPES = {
    "uint8": 1,
    "uint16": 2,
    "int32": 3,
    "uint32": 4,
    "int64": 5,
    "uint64": 6,
    "float16": 7,
    "float32": 8,
    "float64": 9,
}  # type of an array -> its number in a section, here and in the files of exported models


def check_activation(activation: str) -> None:
    if activation not in ACTIVATIONS:
        raise ConfigurationError("activation of a kernel", expected=" or ".join(ACTIVATIONS), got=repr(activation))


def contiguous(array: Any, dtype: Any, shape: tuple[int, ...], where: str, *, changed: bool = False) -> Array:
    """``array`` itself if it is laid out as C expects it, else a copy that is. Every array goes to C through here.

    An array that C changes cannot be a copy: it must be ready, and writable.
    """
    is_ready = type(array) is np.ndarray and array.dtype is dtype and array.shape == shape and array.flags.c_contiguous
    if is_ready and (not changed or array.flags.writeable):  # almost always
        return array  # type: ignore[no-any-return]
    ready = np.asarray(array, dtype, order="C")
    check_shape(ready, shape, where)
    if changed and (ready is not array or not ready.flags.writeable):
        expected = f"a writable C-contiguous array {shape} of {np.dtype(dtype)}"
        raise ShapeError("an array that is changed", expected=expected, got=describe(np.asarray(array)), where=where)
    return ready


def check_shape(array: Any, shape: tuple[int, ...], where: str) -> None:
    if np.shape(array) != shape:
        raise ShapeError("wrong shape", expected=shape, got=np.shape(array), where=where)


def floats(array: Any, dimensions: int, where: str) -> Array:
    """An array of float32 or float64 with the given number of dimensions, as C expects it."""
    if type(array) is np.ndarray and array.ndim == dimensions and array.dtype in FLOATS and array.flags.c_contiguous:
        return array
    ready = np.ascontiguousarray(array) if np.ndim(array) else np.asarray(array)
    if ready.dtype not in FLOATS:
        raise DtypeError("wrong element type", expected="float32 or float64", got=describe(ready), where=where)
    if ready.ndim != dimensions:
        raise ShapeError("wrong shape", expected=f"{dimensions} dimensions", got=ready.shape, where=where)
    return ready


def label_scores(unary: Any) -> Array:
    """Scores of labels for tokens, (N, L) with one label or more."""
    scores = floats(unary, 2, where="unary scores")
    if not scores.shape[1]:
        raise ShapeError("wrong shape", expected="1 label or more", got=scores.shape, where="unary scores")
    return scores


def checked_chain(
    unary: Any, offsets: Any, transitions: Any, start: Any, end: Any
) -> tuple[Array, Array, Array, Array, Array]:
    """The arguments of a recursion over a chain: unary (N, L), offsets (B + 1,) and float64 scores of steps."""
    scores = label_scores(unary)
    N, L = scores.shape
    return (
        scores,
        checked_offsets(offsets, rows=N),
        contiguous(transitions, np.float64, (L, L), where="transitions"),
        contiguous(start, np.float64, (L,), where="start"),
        contiguous(end, np.float64, (L,), where="end"),
    )
