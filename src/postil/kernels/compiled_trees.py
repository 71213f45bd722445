"""The kernels of trees.c under the names and arguments of ``plain_trees.py``; float32 and float64."""

from typing import Any

import numpy as np

from postil.arrays import Array
from postil.errors import IndexRangeError
from postil.kernels.checking import contiguous, floats
from postil.kernels.compiled import BYTES, INTEGERS, call, finish, pointer, reals
from postil.kernels.library import ffi, lib
from postil.kernels.plain_trees import Level, TreeCells


def binary_shape(widths: Array, offsets: Array) -> tuple[Array, Array]:
    """See ``plain_trees.binary_shape``."""
    try:
        back, heights = call.binary_shape(widths, offsets)
    except IndexRangeError:
        raise IndexRangeError("not a binary tree in post-order", where="trees") from None
    return back, heights


class _Batch:
    """TreeCells with their places in trees, checked, as the arguments that every kernel of cells begins with.

    What Python hands to C is kept here: it must live as long as the pointers to it.
    """

    def __init__(self, cells: TreeCells, parents: Array, children: Array | None = None) -> None:
        (n, _, H), P = cells.words.shape, len(cells.phrases)
        self.kind = floats(cells.c, 2, "memory of cells").dtype
        self.n, self.P, self.H, self.single = n, P, H, self.kind.itemsize == 4
        self.sizes = n, P, H
        self._memory = [
            reals(array, self.kind, shape, f"cells: {name}", changed=True)
            for name, array, shape in zip(TreeCells._fields, cells, TreeCells.shapes(n, P, H), strict=True)
        ]
        self.cells = ffi.new("void *[]", self._memory)
        self.parents = pointer(contiguous(parents, np.int64, (n + P,), "parents"), INTEGERS)
        self.children = (
            None if children is None else pointer(contiguous(children, np.int64, (P, 2), "children"), INTEGERS)
        )

    def reals(self, array: Array, shape: tuple[int, ...], where: str, *, changed: bool = False) -> Any:
        return reals(array, self.kind, shape, where, changed=changed)


def leaf_cells_up(cells: TreeCells, bias: Array, parents: Array) -> None:
    """See ``plain_trees.leaf_cells_up``."""
    batch = _Batch(cells, parents)
    given = batch.reals(bias, (3 * batch.H,), "bias"), batch.parents
    finish(lib.leaf_cells_up(batch.cells, batch.single, *given, *batch.sizes), "parents")


def cells_up(cells: TreeCells, bias: Array, children: Array, parents: Array) -> Level:
    """See ``plain_trees.cells_up``."""
    batch = _Batch(cells, parents, children)
    places = batch.children, batch.parents
    given = batch.cells, batch.single, batch.reals(bias, (5 * batch.H,), "bias"), *places, *batch.sizes

    def level(first: int, end: int, batch: _Batch = batch) -> None:
        finish(lib.cells_up(*given, first, end), "children and parents")

    return level


def cells_down(
    cells: TreeCells, children: Array, parents: Array, dH: Array, sent_h: Array, sent_c: Array, out: Array
) -> Level:
    """See ``plain_trees.cells_down``."""
    batch = _Batch(cells, parents, children)
    n, P, H = batch.sizes
    arrays = (
        batch.reals(dH, (n + P, H), "gradient"),
        batch.reals(sent_h, (2 * P + 1, H), "sent vectors", changed=True),  # between the levels, by the caller
        batch.reals(sent_c, (2 * P + 1, H), "sent memory", changed=True),
        batch.reals(out, (P, 5, H), "gradient of gates", changed=True),
    )
    given = batch.cells, batch.single, batch.children, batch.parents, *arrays, *batch.sizes

    def level(first: int, end: int, batch: _Batch = batch) -> None:
        finish(lib.cells_down(*given, first, end), "children and parents")

    return level


def leaf_cells_down(cells: TreeCells, parents: Array, dH: Array, sent_h: Array, sent_c: Array) -> Array:
    """See ``plain_trees.leaf_cells_down``."""
    batch = _Batch(cells, parents)
    n, P, H = batch.sizes
    dZ = np.empty((n, 3, H), batch.kind)
    sent = [batch.reals(rows, (2 * P + 1, H), "sent vectors and memory") for rows in (sent_h, sent_c)]
    given = batch.parents, batch.reals(dH, (n + P, H), "gradient"), *sent, pointer(dZ, BYTES)
    finish(lib.leaf_cells_down(batch.cells, batch.single, *given, *batch.sizes), "parents")
    return dZ
