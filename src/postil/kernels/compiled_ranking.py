"""The kernel of ranking.c under the name and arguments of ``plain_ranking.py``; float32."""

import numpy as np

from postil.arrays import Array
from postil.kernels.checking import contiguous
from postil.kernels.compiled import DOUBLES, INTEGERS, finish, pointer
from postil.kernels.compiled_skipgram import FLOATS, SMALL_INTEGERS, RowRoom, table_pointer
from postil.kernels.library import lib
from postil.kernels.plain_ranking import RankingChanges, RankingLayers, RankingRates, RankingText, checked_ranking
from postil.kernels.plain_skipgram import ShardRoom


def ranking_shard(
    table: Array, layers: RankingLayers, text: RankingText, rates: RankingRates, room: ShardRoom | None = None
) -> RankingChanges:
    """See ``plain_ranking.ranking_shard``."""
    text, room = checked_ranking(table, layers, text), room or ShardRoom()
    (R, P), (S, _, H), N = table.shape, layers.W.shape, len(text.ids)
    given = [contiguous(a, np.float32, s, "layers") for a, s in zip(layers, ((S, P, H), (H,), (H,)), strict=True)]
    moved = RankingLayers(*(array.copy() for array in given))
    rows = RowRoom(room, "table", min(R, 2 * N + 1), P)
    slots = room.array("slots", (R,), np.int32, fill=-1)
    found, loss = np.zeros(2, np.int64), np.zeros(1)
    code = lib.ranking_shard(
        *(table_pointer(table, (R, P), "table of words"), text.V, R, P),
        *(*(pointer(array, FLOATS) for array in moved), S, H),
        *(pointer(text.ids, SMALL_INTEGERS), pointer(text.offsets, INTEGERS), N, len(text.offsets) - 1),
        *(pointer(text.corrupt, SMALL_INTEGERS), *rates),
        *(pointer(slots, SMALL_INTEGERS), *rows.pointers()),
        *(pointer(found, INTEGERS), pointer(loss, DOUBLES)),
    )
    if code == lib.WRONG_INDEX:
        slots.fill(-1)
    finish(code, "ranking", text.offsets, N)
    changed = RankingLayers(*(after - before for after, before in zip(moved, given, strict=True)))
    return RankingChanges(rows.changes(int(found[0])), changed, float(loss[0]), int(found[1]))
