"""The kernels of skipgram.c under the names and arguments of ``plain_skipgram.py``; float32."""

from typing import Any

import numpy as np

from postil.arrays import Array
from postil.kernels.checking import contiguous
from postil.kernels.compiled import BYTES, DOUBLES, INTEGERS, call, finish, pointer
from postil.kernels.library import ffi, lib
from postil.kernels.plain_skipgram import RowChanges, ShardRoom, SkipgramChanges, SkipgramText, checked_text

FLOATS, SMALL_INTEGERS = ffi.typeof("float[]"), ffi.typeof("int32_t[]")


def table_pointer(table: Any, shape: tuple[int, int], where: str, *, changed: bool = False) -> Any:
    """A table (V, P) of float32 as C expects it."""
    return pointer(contiguous(table, np.float32, shape, where, changed=changed), FLOATS)


class RowRoom:
    """Where a kernel writes the rows that it has touched, at most ``most`` of a table with P columns."""

    def __init__(self, room: ShardRoom, name: str, most: int, P: int) -> None:
        self._rows = room.array(f"{name} rows", (most,), np.int64)
        self._values = room.array(f"{name} values", (most, P), np.float32)
        self._touches = room.array(f"{name} touches", (most,), np.int32)

    def pointers(self) -> tuple[Any, Any, Any]:
        return pointer(self._rows, INTEGERS), pointer(self._values, FLOATS), pointer(self._touches, SMALL_INTEGERS)

    def changes(self, n: int) -> RowChanges:
        return RowChanges(self._rows[:n], self._values[:n], self._touches[:n])


def skipgram_shard(
    inputs: Array, outputs: Array, text: SkipgramText, rate: float, room: ShardRoom | None = None
) -> SkipgramChanges:
    """See ``plain_skipgram.skipgram_shard``."""
    text, room = checked_text(text, len(inputs)), room or ShardRoom()
    (V, P), (N, K) = inputs.shape, text.negatives.shape
    tables = [table_pointer(table, (V, P), "table of words") for table in (inputs, outputs)]
    rooms = RowRoom(room, "input", min(V, N), P), RowRoom(room, "output", min(V, N * (1 + K)), P)
    slots = room.array("slots", (2, V), np.int32, fill=-1)
    found, loss = np.zeros(3, np.int64), np.zeros(1)
    code = lib.skipgram_shard(
        *(*tables, V, P),
        *(pointer(text.ids, SMALL_INTEGERS), pointer(text.offsets, INTEGERS), N, len(text.offsets) - 1),
        *(pointer(text.reach, BYTES), pointer(text.negatives, SMALL_INTEGERS), K, rate),
        *(pointer(slots, SMALL_INTEGERS), *rooms[0].pointers(), *rooms[1].pointers()),
        *(pointer(found, INTEGERS), pointer(loss, DOUBLES)),
    )
    if code == lib.WRONG_INDEX:
        slots.fill(-1)
    finish(code, "skip-gram", text.offsets, N)
    n_inputs, n_outputs, pairs = found.tolist()
    return SkipgramChanges(rooms[0].changes(n_inputs), rooms[1].changes(n_outputs), float(loss[0]), pairs)


def merge_rows(table: Array, changes: RowChanges, scales: Array) -> None:
    """See ``plain_skipgram.merge_rows``."""
    call.merge_rows(table, changes.rows, changes.values, scales)
