"""The kernels of skipgram.c, ranking.c and brown.c under the names and arguments of ``plain_pretraining.py``."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from postil.arrays import Array
from postil.errors import IndexRangeError
from postil.kernels import plain_pretraining as plain
from postil.kernels.checking import contiguous
from postil.kernels.library import call

_BROWN_STEPS = 200  # between two reports


def _row_room(room: plain.ShardRoom, name: str, most: int, P: int) -> plain.RowChanges:
    """Where a kernel writes the rows that it has touched, at most ``most`` of a table with P columns."""
    return plain.RowChanges(
        room.array(f"{name} rows", (most,), np.int64),
        room.array(f"{name} values", (most, P), np.float32),
        room.array(f"{name} touches", (most,), np.int32),
    )


def _first(changes: plain.RowChanges, n: int) -> plain.RowChanges:
    return plain.RowChanges(*(array[:n] for array in changes))


@contextmanager
def _clean(slots: Array) -> Iterator[None]:
    """A kernel that stops in the middle leaves numbers in the slots, which the next call wants to be -1."""
    try:
        yield
    except IndexRangeError:
        slots.fill(-1)
        raise


def skipgram_shard(
    inputs: Array, outputs: Array, text: plain.SkipgramText, rate: float, room: plain.ShardRoom | None = None
) -> plain.ShardChanges:
    """See ``plain_pretraining.skipgram_shard``."""
    plain.check_text(text)
    room = room or plain.ShardRoom()
    (V, P), (N, K) = inputs.shape, text.negatives.shape
    of_inputs, of_outputs = _row_room(room, "input", min(V, N), P), _row_room(room, "output", min(V, N * (1 + K)), P)
    slots = room.array("slots", (2, V), np.int32, fill=-1)
    counts, loss = np.zeros(3, np.int64), np.zeros(1)
    with _clean(slots):
        call.skipgram_shard(inputs, outputs, *text, rate, slots, *of_inputs, *of_outputs, counts, loss)
    n_inputs, n_outputs, pairs = counts.tolist()
    changed = {"inputs": _first(of_inputs, n_inputs), "outputs": _first(of_outputs, n_outputs)}
    return plain.ShardChanges(changed, {}, float(loss[0]), pairs)


def merge_rows(table: Array, changes: plain.RowChanges, scales: Array) -> None:
    """See ``plain_pretraining.merge_rows``."""
    call.merge_rows(table, changes.rows, changes.values, scales)


def ranking_shard(
    table: Array,
    layers: plain.RankingLayers,
    text: plain.RankingText,
    rates: plain.RankingRates,
    room: plain.ShardRoom | None = None,
) -> plain.ShardChanges:
    """See ``plain_pretraining.ranking_shard``."""
    plain.check_ranking(table, layers, text)
    (ids, offsets, corrupt, V), room = text, room or plain.ShardRoom()
    before = plain.RankingLayers(*(contiguous(array, np.float32, array.shape, "layers") for array in layers))
    moved = plain.RankingLayers(*(array.copy() for array in before))
    rows = _row_room(room, "table", min(len(table), 2 * len(ids) + 1), table.shape[1])
    slots = room.array("slots", (len(table),), np.int32, fill=-1)
    counts, loss = np.zeros(2, np.int64), np.zeros(1)
    with _clean(slots):
        call.ranking_shard(table, V, moved, ids, offsets, corrupt, *rates, slots, *rows, counts, loss)
    n_rows, windows = counts.tolist()
    return plain.ShardChanges({"words": _first(rows, n_rows)}, moved.less(before), float(loss[0]), windows)


def brown_merges(bigrams: plain.Bigrams, N: int, report: Callable[[int], None] | None = None) -> Array:
    """See ``plain_pretraining.brown_merges``."""
    plain.check_bigrams(bigrams, N)
    first, second, counts, V = bigrams
    pairs = *_by_word(first, second, counts, V), *_by_word(second, first, counts, V)
    S = N + 1
    state, merged = np.empty(2 * V + 5 * S, np.int64), np.empty((V - 1, 2), np.int64)
    losses, tables = np.empty((S, S)), np.empty((2, S, S), np.int64)
    last = V + N - 1
    for begin in range(0, last, _BROWN_STEPS):
        end = min(begin + _BROWN_STEPS, last)
        call.brown_merges(N, *pairs, begin, end, state, losses, tables, merged)
        if report is not None:
            report(max(end - N, 0))
    return merged


def _by_word(words: Array, others: Array, counts: Array, V: int) -> tuple[Array, Array, Array]:
    """Where the pairs of each word begin, (V + 1,); the other words, int32; the counts."""
    order = np.argsort(words, kind="stable")
    starts = np.searchsorted(words[order], np.arange(V + 1)).astype(np.int64)
    return starts, others[order].astype(np.int32), counts[order].astype(np.int64)
