"""The kernels of training.c: fused steps of training for any number of threads; float32."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, final

import numpy as np

from postil.arrays import Array
from postil.kernels._compiled import ffi, lib
from postil.kernels.checking import ACTIVATIONS
from postil.kernels.compiled import DOUBLES, INT64, INTEGERS, MOST_LABELS, is_ready, pointer
from postil.kernels.packing import Scratch
from postil.kernels.plain_training import AdamUpdate, InEveryThread, TaggerBatch, TaggerGradients, TaggerShape

SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
FLOATS = ffi.typeof("float[]")
_KINDS = {SINGLE: FLOATS, DOUBLE: DOUBLES, INT64: INTEGERS, np.dtype(np.uint8): ffi.typeof("uint8_t[]")}
BLOCK_TOKENS = 96  # tokens of the sentences that a worker takes at a time: their layers stay near the processor
EPSILON = 1e-5  # of layer normalisation


def _at(array: Array) -> Any:
    return pointer(array, _KINDS[array.dtype])


def _zeroed(team: Any) -> None:
    ffi.memmove(ffi.addressof(team), bytes(ffi.sizeof(team)), ffi.sizeof(team))


def _are_ready(arrays: Sequence[Array]) -> bool:
    return all(is_ready(array, SINGLE) for array in arrays)


@final
class TaggerKernel:
    """See ``plain_training.TaggerKernel``: memory that is used again from batch to batch."""

    def __init__(self, shape: TaggerShape, product: tuple[int, bool]) -> None:
        self._shape, self._scratch = shape, Scratch()
        self._step, self._tables = ffi.new("tagger_step *"), ffi.new("table_step[]", max(1, len(shape.widths)))
        self._blocks = ffi.new("convolution_step[]", max(1, shape.depth))
        self._gradients: list[Array] = []
        self._kept: list[Any] = []  # what the step points to
        self._wide = shape.D if shape.D < 16 else -(-shape.D // 8) * 8  # on odd widths BLAS takes a fifth longer
        step = self._step
        step.product, step.wide_integers = ffi.cast("void *", product[0]), product[1]
        step.activation = ACTIVATIONS.index(shape.activation)
        step.D, step.wide, step.K, step.H, step.L = shape.D, self._wide, shape.K, shape.H, shape.L
        step.depth, step.table_count, step.vector_dim = shape.depth, len(shape.widths), shape.vector_dim
        step.block_tokens, step.epsilon = BLOCK_TOKENS, EPSILON
        step.tables, step.blocks = self._tables, self._blocks
        step.input_dropped, step.hidden_dropped = shape.input_dropped, shape.hidden_dropped

    def __call__(
        self, batch: TaggerBatch, tables: Sequence[Array], weights: Sequence[Array], in_every_thread: InEveryThread
    ) -> TaggerGradients | None:
        """See ``plain_training.TaggerKernel``."""
        if not (_are_ready(tables) and _are_ready(weights)) or not len(batch.places):
            return None
        self._kept = []
        sums = self._enter_tables(batch, tables)
        self._enter_batch(batch)
        self._enter_weights(weights, batch.keys)
        self._make_room(len(batch.places), len(batch.offsets) - 1, self._step.U)
        _zeroed(self._step.workers)
        in_every_thread(lambda: lib.tagger_gradients(self._step))
        if self._step.workers.code != lib.DONE:
            return None  # the general path says what is wrong, or does it in log space
        found = [self._tables[i].found for i in range(len(tables))]
        return TaggerGradients(
            self._step.loss * batch.share,
            [(rows[:R], values[:R]) for (rows, values), R in zip(sums, found, strict=True)],
            self._gradients,
        )

    def _enter(self, target: Any, **arrays: Array) -> None:
        for name, array in arrays.items():
            here = _at(array)
            self._kept.append(here)
            setattr(target, name, here)

    def _enter_tables(self, batch: TaggerBatch, tables: Sequence[Array]) -> list[tuple[Array, Array]]:
        shape, sums = self._shape, []
        U = self._step.U = len(batch.ids[0]) if batch.ids else len(batch.vectors[1]) if batch.vectors else 0
        starts = accumulate((w * f for w, f in zip(shape.widths, shape.features, strict=True)), initial=0)
        for i, (table, ids, column) in enumerate(zip(tables, batch.ids, starts, strict=False)):
            width, count = shape.widths[i], U * shape.features[i]
            values = self._scratch.array(f"values {i}", count, width, dtype=SINGLE)
            rows = self._scratch.array(f"rows {i}", count, dtype=INT64)
            sums.append((rows, self._scratch.array(f"sums {i}", count, width, dtype=SINGLE)))
            target = self._tables[i]
            target.V, target.width, target.features, target.column = len(table), width, shape.features[i], column
            self._enter(target, table=table, ids=_integers(ids), values=values, rows=rows, sums=sums[-1][1])
        return sums

    def _enter_batch(self, batch: TaggerBatch) -> None:
        step = self._step
        step.N, step.B, step.share = len(batch.places), len(batch.offsets) - 1, batch.share
        self._enter(
            step, places=_integers(batch.places), offsets=_integers(batch.offsets), gold=_integers(batch.gold)
        )
        transitions, start, end = (np.ascontiguousarray(table, DOUBLE) for table in batch.chain)
        self._enter(step, transitions=transitions, start=start, end=end)
        if batch.vectors is not None:
            matrix, ids = batch.vectors
            step.vector_count = len(matrix)
            self._enter(step, vectors=np.ascontiguousarray(matrix, SINGLE), vector_ids=_integers(ids))

    def _enter_weights(self, weights: Sequence[Array], keys: Sequence[int]) -> None:
        step = self._step
        if not self._gradients:
            self._gradients = [np.empty_like(weight) for weight in weights]
        pairs = iter(zip(weights, self._gradients, strict=True))

        def enter(target: Any, *names: str) -> None:
            for name in names:
                weight, gradient = next(pairs)
                self._enter(target, **{name: weight, f"d{name}": gradient})

        enter(step, "padding", "W", "b")
        for i in range(self._shape.depth):
            enter(self._blocks[i], "gain", "bias", "padding", "W", "b")
            self._blocks[i].key = keys[2 + i]
        if self._shape.is_normed:
            enter(step, "gain", "bias")
        enter(step, "output_W", "output_b")
        for name in ("dtransitions", "dstart", "dend"):
            self._enter(step, **{name: next(pairs)[1]})
        step.input_key, step.hidden_key = keys[0], keys[1]

    def _make_room(self, N: int, B: int, U: int) -> None:
        K, H, L, depth, wide = self._shape.K, self._shape.H, self._shape.L, self._shape.depth, self._wide
        blocks = -(-N // BLOCK_TOKENS)
        of_tokens = (N, H)
        singles: dict[str, tuple[int, ...]] = {
            "X": (1 + U, wide),
            "noise": (1 + U, wide),
            "dX": (1 + U, wide),
            "by_position": (K * H, wide),
            "dby_position": (K * H, wide),
            "rows": (1 + U, K * H),
            **dict.fromkeys(("Y", "slopes", "hidden", "Z", "normed", "dhidden", "dnormed"), of_tokens),
            "deviation": (N,),
            "dwindows": (N, K * H if depth else 0),
            "scores": (N, L),
            "dscores": (N, L),
            "partial": (blocks, 3 * depth + 2, H),
        }
        doubles = {"marginals": (N, L), "log_partition": (B,), "losses": (B,), "counts": (blocks, L, L)}
        integers = {"ids": (N,), "local": (B + blocks + 2,)}
        kinds = ((SINGLE, singles), (DOUBLE, doubles), (INT64, integers), (np.dtype(np.uint8), {"exact": (B,)}))
        for dtype, shapes in kinds:
            self._enter(self._step, **{n: self._scratch.array(n, *shape, dtype=dtype) for n, shape in shapes.items()})
        for i in range(depth):
            of_block = {"Z": of_tokens, "deviation": (N,), "windows": (N, K * H), "Y": of_tokens, "slopes": of_tokens}
            arrays = {n: self._scratch.array(f"{n} {i}", *size, dtype=SINGLE) for n, size in of_block.items()}
            self._enter(self._blocks[i], **arrays)


def _integers(array: Array) -> Array:
    return np.ascontiguousarray(array, np.int64)


def tagger_kernel(shape: TaggerShape, product: tuple[int, bool] | None) -> TaggerKernel | None:
    """See ``plain_training.tagger_kernel``."""
    return TaggerKernel(shape, product) if product is not None and shape.L <= MOST_LABELS else None


def adam_steps(
    updates: Sequence[AdamUpdate],
    betas: tuple[float, float],
    epsilon: float,
    clip: float,
    in_every_thread: InEveryThread,
) -> float | None:
    """See ``plain_training.adam_steps``."""
    return None
