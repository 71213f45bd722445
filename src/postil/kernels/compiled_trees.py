"""The kernels of trees.c under the names and arguments of ``plain_trees.py``; float32 and float64."""

from typing import Any

import numpy as np

from postil.arrays import FLOATS, Array
from postil.errors import IndexRangeError, ShapeError
from postil.kernels._compiled import ffi, lib
from postil.kernels.checking import contiguous, floats
from postil.kernels.compiled import BYTES, INT64, INTEGERS, finish, is_ready, pointer, ready_offsets

_SMALL_INTEGERS = ffi.typeof("int32_t[]")


def binary_shape(widths: Array, offsets: Array) -> tuple[Array, Array]:
    """See ``plain_trees.binary_shape``."""
    widths = contiguous(widths, np.uint8, (len(widths),), where="widths of nodes")
    offsets = ready_offsets(offsets, len(widths))
    back, heights = np.empty((len(widths), 2), np.int64), np.empty(len(widths), np.int32)
    given = pointer(widths, BYTES), pointer(offsets, INTEGERS), len(offsets) - 1, len(widths)
    code = lib.binary_shape(*given, pointer(back, INTEGERS), pointer(heights, _SMALL_INTEGERS))
    if code == lib.WRONG_INDEX:
        raise IndexRangeError("not a binary tree in post-order", where="trees")
    finish(code, "trees", offsets, len(widths))
    return back, heights


def _reals(array: Any, dtype: Any, shape: tuple[int, ...], where: str, *, changed: bool = False) -> Any:
    """The memory of an array; one that is changed must be laid out as C expects it already."""
    if not is_ready(array, dtype) or array.shape != shape:
        if changed:
            expected = f"a C-contiguous array {shape} of {dtype}"
            raise ShapeError("an array that is changed", expected=expected, got=np.shape(array), where=where)
        array = contiguous(array, dtype, shape, where)
    return ffi.from_buffer(BYTES, array)


def _kind(A: Array) -> np.dtype[Any]:
    """The element type of cells, float32 or float64."""
    return A.dtype if A.dtype in FLOATS else floats(A, 3, "gates").dtype


def _integers(array: Any, shape: tuple[int, ...], where: str) -> Any:
    if not is_ready(array, INT64) or array.shape != shape:
        array = contiguous(array, np.int64, shape, where)
    return ffi.from_buffer(INTEGERS, array)


def cells_up(A: Array, memory: Array, children: Array, out: Array) -> None:
    """See ``plain_trees.cells_up``."""
    (N, _, H), kind = A.shape, _kind(A)
    gates = _reals(A, kind, (N, 5, H), "gates", changed=True), A.itemsize == 4
    c = _reals(memory, kind, (len(memory), H), "memory"), len(memory), _integers(children, (N, 2), "children")
    finish(lib.cells_up(*gates, *c, N, H, _reals(out, kind, (N, H), "new memory", changed=True)), "children")


def cells_down(
    A: Array,
    tanh_c: Array,
    memory: Array,
    children: Array,
    parents: Array,
    dH: Array,
    first: int,
    sent_h: Array,
    sent_c: Array,
    out: Array,
) -> None:
    """See ``plain_trees.cells_down``."""
    (N, _, H), kind, P = A.shape, _kind(A), len(sent_h) // 2
    cells = _reals(A, kind, (N, 5, H), "gates"), A.itemsize == 4, _reals(tanh_c, kind, (N, H), "tanh of memory")
    c = _reals(memory, kind, (len(memory), H), "memory"), len(memory)
    rows = _integers(children, (N, 2), "children"), _integers(parents, (N,), "parents")
    sent = (
        _reals(sent_h, kind, (2 * P + 1, H), "sent vectors"),
        _reals(sent_c, kind, (2 * P + 1, H), "sent memory", changed=True),
    )
    outputs = *sent, _reals(out, kind, (N, 5, H), "gradient of gates", changed=True)
    code = lib.cells_down(*cells, *c, *rows, _reals(dH, kind, (N, H), "gradient"), first, N, P, H, *outputs)
    finish(code, "children and parents")


def leaf_cells_down(A: Array, tanh_c: Array, parents: Array, dH: Array, sent_h: Array, sent_c: Array) -> Array:
    """See ``plain_trees.leaf_cells_down``."""
    (N, _, H), kind = A.shape, _kind(A)
    dZ = np.empty((N, 3, H), kind)
    cells = _reals(A, kind, (N, 3, H), "gates"), A.itemsize == 4, _reals(tanh_c, kind, (N, H), "tanh of memory")
    given = _integers(parents, (N,), "parents"), _reals(dH, kind, (N, H), "gradient"), N, len(sent_h), H
    sent = (_reals(rows, kind, (len(sent_h), H), "sent vectors and memory") for rows in (sent_h, sent_c))
    finish(lib.leaf_cells_down(*cells, *given, *sent, pointer(dZ, BYTES)), "parents")
    return dZ
