"""The kernels of training.c: fused steps of training for any number of threads; float32."""

import operator
from collections.abc import Sequence
from itertools import accumulate
from threading import Thread
from typing import Any, Self, final

import numpy as np

from postil.arrays import Array
from postil.errors import IndexRangeError, ShapeError
from postil.kernels.checking import ACTIVATIONS
from postil.kernels.compiled import DOUBLES, INT64, INTEGERS, MOST_LABELS, is_ready, pointer
from postil.kernels.library import ffi, lib
from postil.kernels.packing import Scratch
from postil.kernels.plain_training import AdamUpdate, Crew, TaggerBatch, TaggerGradients, TaggerShape

SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
FLOATS = ffi.typeof("float[]")
_KINDS = {SINGLE: FLOATS, DOUBLE: DOUBLES, INT64: INTEGERS, np.dtype(np.uint8): ffi.typeof("uint8_t[]")}
BLOCK_TOKENS = 160  # about so many tokens a worker takes at a time: their layers stay near the processor
EPSILON = 1e-5  # of layer normalisation


def _at(array: Array) -> Any:
    return pointer(array, _KINDS[array.dtype])


def _zeroed(team: Any) -> None:
    ffi.memmove(ffi.addressof(team), bytes(ffi.sizeof(team)), ffi.sizeof(team))


def _are_ready(arrays: Sequence[Array]) -> bool:
    return all(is_ready(array, SINGLE) for array in arrays)


@final
class CompiledCrew:
    """See ``plain_training.Crew``: helpers wait inside C, without the interpreter's lock."""

    def __init__(self, threads: int) -> None:
        self._crew = ffi.new("crew *")
        self._crew.helpers = threads - 1
        self._threads = [Thread(target=lib.help, args=(self._crew,), daemon=True) for _ in range(threads - 1)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        lib.stop(self._crew)
        for thread in self._threads:
            thread.join()

    def run(self, kind: int, step: Any) -> int:
        """See ``plain_training.Crew``."""
        return int(lib.run_step(self._crew, kind, step))


def new_crew(threads: int) -> CompiledCrew:
    """See ``plain_training.new_crew``."""
    return CompiledCrew(threads)


@final
class TaggerKernel:
    """See ``plain_training.TaggerKernel``: memory that is used again from batch to batch."""

    def __init__(self, shape: TaggerShape, product: tuple[int, bool]) -> None:
        self._shape, self._scratch = shape, Scratch()
        self._step, self._tables = ffi.new("tagger_step *"), ffi.new("table_step[]", max(1, len(shape.widths)))
        self._blocks = ffi.new("convolution_step[]", max(1, shape.depth))
        self._weights: list[Array] = []
        self._gradients: list[Array] = []
        self._room: tuple[int, ...] = (0, 0, 0)  # tokens, sentences and words that the memory is for
        self._kept: dict[str, Any] = {}  # what the step points to
        self._gradient_of_words: Array = np.zeros((0, shape.D), SINGLE)
        self._wide = shape.D if shape.D < 16 else -(-shape.D // 8) * 8  # on odd widths BLAS takes a fifth longer
        step = self._step
        step.product, step.wide_integers = ffi.cast("void *", product[0]), product[1]
        step.activation = ACTIVATIONS.index(shape.activation)
        step.D, step.wide, step.K, step.H, step.L = shape.D, self._wide, shape.K, shape.H, shape.L
        step.depth, step.table_count, step.vector_dim = shape.depth, len(shape.widths), shape.vector_dim
        step.epsilon = EPSILON
        step.tables, step.blocks = self._tables, self._blocks
        step.input_dropped, step.hidden_dropped = shape.input_dropped, shape.hidden_dropped

    def __call__(
        self,
        batch: TaggerBatch,
        chain: tuple[Array, Array, Array],
        tables: Sequence[Array],
        weights: Sequence[Array],
        crew: Crew,
    ) -> TaggerGradients | None:
        """See ``plain_training.TaggerKernel``."""
        if not (_are_ready(tables) and _are_ready(weights)) or not len(batch.places):
            return None
        sums = self._enter_tables(batch, tables)
        self._enter_batch(batch, chain)
        self._enter_weights(weights, batch.keys)
        self._make_room(len(batch.places), len(batch.offsets) - 1, self._step.U)
        _zeroed(self._step.workers)
        if crew.run(lib.TAGGER_GRADIENTS, self._step) != lib.DONE:
            return None  # the general path says what is wrong, or does it in log space
        found = [self._tables[i].found for i in range(len(tables))]
        return TaggerGradients(
            self._step.loss * batch.share,
            [(rows[:R], values[:R]) for (rows, values), R in zip(sums, found, strict=True)],
            self._gradients,
            self._gradient_of_words[1 : 1 + self._step.U, : self._shape.D],
        )

    def _enter(self, target: Any, whose: str, **arrays: Array) -> None:
        for name, array in arrays.items():
            here = self._kept[whose + name] = _at(array)
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
            self._enter(
                target, f"table {i} ", table=table, ids=_integers(ids), values=values, rows=rows, sums=sums[-1][1]
            )
        return sums

    def _enter_batch(self, batch: TaggerBatch, chain: tuple[Array, Array, Array]) -> None:
        step = self._step
        N = step.N = len(batch.places)
        step.B, step.share = len(batch.offsets) - 1, batch.share
        step.block_tokens = -(-N // max(1, -(-N // BLOCK_TOKENS)))  # blocks of about the same size
        self._enter(step, "", places=_integers(batch.places), offsets=_integers(batch.offsets))
        if isinstance(batch.gold, tuple):
            targets, steps = (np.ascontiguousarray(table, DOUBLE) for table in batch.gold)
            if targets.shape != (N, self._shape.L) or steps.shape != (self._shape.L, self._shape.L):
                raise ShapeError("a teacher's expectations", expected=f"({N}, {self._shape.L})", got=targets.shape)
            self._enter(step, "", targets=targets, target_steps=steps)
        else:
            step.targets = ffi.NULL
            self._enter(step, "", gold=_integers(batch.gold))
        transitions, start, end = (np.ascontiguousarray(table, DOUBLE) for table in chain)
        self._enter(step, "", transitions=transitions, start=start, end=end)
        if batch.vectors is not None:
            matrix, ids = batch.vectors
            step.vector_count = len(matrix)
            self._enter(step, "", vectors=np.ascontiguousarray(matrix, SINGLE), vector_ids=_integers(ids))

    def _enter_weights(self, weights: Sequence[Array], keys: Sequence[int]) -> None:
        step = self._step
        step.input_key, step.hidden_key = keys[0], keys[1]
        for i in range(self._shape.depth):
            self._blocks[i].key = keys[2 + i]
        if len(weights) == len(self._weights) and all(map(operator.is_, weights, self._weights)):
            return  # they stand where they stood
        self._weights = list(weights)
        self._gradients = self._gradients or [np.empty_like(weight) for weight in weights]
        pairs = iter(zip(weights, self._gradients, strict=True))

        def enter(target: Any, *names: str, whose: str = "") -> None:
            for name in names:
                weight, gradient = next(pairs)
                self._enter(target, whose, **{name: weight, f"d{name}": gradient})

        enter(step, "padding", "W", "b")
        for i in range(self._shape.depth):
            enter(self._blocks[i], "gain", "bias", "padding", "W", "b", whose=f"block {i} ")
        if self._shape.is_normed:
            enter(step, "gain", "bias")
        enter(step, "output_W", "output_b")
        for name in ("dtransitions", "dstart", "dend"):
            self._enter(step, "", **{name: next(pairs)[1]})

    def _make_room(self, N: int, B: int, U: int) -> None:
        if all(map(operator.le, (N, B, U), self._room)):
            return
        N, B, U = self._room = tuple(5 * max(*pair) // 4 for pair in zip((N, B, U), self._room, strict=True))
        K, H, L, depth, wide = self._shape.K, self._shape.H, self._shape.L, self._shape.depth, self._wide
        blocks = -(-N // BLOCK_TOKENS) + 1
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
            arrays = {n: self._scratch.array(n, *shape, dtype=dtype) for n, shape in shapes.items()}
            self._enter(self._step, "", **arrays)
            self._gradient_of_words = arrays.get("dX", self._gradient_of_words)
        for i in range(depth):
            of_block = {"Z": of_tokens, "deviation": (N,), "windows": (N, K * H), "Y": of_tokens, "slopes": of_tokens}
            arrays = {n: self._scratch.array(f"{n} {i}", *size, dtype=SINGLE) for n, size in of_block.items()}
            self._enter(self._blocks[i], f"block {i} ", **arrays)


def _integers(array: Array) -> Array:
    return np.ascontiguousarray(array, np.int64)


def tagger_kernel(shape: TaggerShape, product: tuple[int, bool] | None) -> TaggerKernel | None:
    """See ``plain_training.tagger_kernel``."""
    return TaggerKernel(shape, product) if product is not None and shape.L <= MOST_LABELS else None


@final
class AdamKernel:
    """See ``plain_training.AdamKernel``: what it finds out about the parameters it keeps."""

    def __init__(self, beta1: float, beta2: float, epsilon: float) -> None:
        self._step = ffi.new("adam_steps_of *")
        self._step.beta1, self._step.beta2, self._step.epsilon = beta1, beta2, epsilon
        self._known: list[tuple[Any, Any]] = []
        self._updates: Any = None
        self._kept: list[Any] = []

    def __call__(self, updates: Sequence[AdamUpdate], clip: float, crew: Crew) -> bool:
        """See ``plain_training.AdamKernel``."""
        step, known = self._step, [(update.memory, update.totals) for update in updates]
        if not self._is_known(known) and not self._enter(known):
            return False
        gradients = []
        for i, (memory, rows, g, rate, totals) in enumerate(updates):
            has_rows = rows is None or is_ready(rows, INT64)
            if not (has_rows and is_ready(g, SINGLE) and memory.value.flags.writeable):
                return False
            target, here = self._updates[i], pointer(g, FLOATS)
            which = ffi.NULL if rows is None else pointer(rows, INTEGERS)
            gradients += [here, which]
            target.g, target.rows, target.rate = here, which, rate
            target.count = target.table if rows is None else len(rows)
            if totals is not None:
                step.steps = totals.steps
        squares = np.empty(max(1, lib.adam_units(self._updates, len(updates))))
        step.squares, step.clip = pointer(squares, DOUBLES), clip
        _zeroed(step.workers)
        code = crew.run(lib.ADAM_STEPS, step)
        if code == lib.WRONG_INDEX:
            raise IndexRangeError("an index points outside its table", where="rows of a gradient")
        return bool(code == lib.DONE)  # not where the norm is not finite

    def _is_known(self, known: Sequence[tuple[Any, Any]]) -> bool:
        return len(known) == len(self._known) and all(
            a is c and b is d for (a, b), (c, d) in zip(known, self._known, strict=True)
        )

    def _enter(self, known: list[tuple[Any, Any]]) -> bool:
        """Note where the arrays of all parameters stand, if C can change them there."""
        self._known, self._kept = [], []
        self._updates = ffi.new("adam_update[]", max(1, len(known)))
        for target, (memory, totals) in zip(self._updates, known, strict=False):
            arrays = {"value": memory.value, "mean": memory.mean, "square": memory.square}
            if not _are_ready(list(arrays.values())) or not is_ready(memory.touches, INT64):
                return False
            arrays["touches"] = memory.touches
            if totals is not None:
                arrays |= {"total": totals.total, "settled": totals.settled}
            for name, array in arrays.items():
                self._kept.append(_at(array))
                setattr(target, name, self._kept[-1])
            target.table = len(memory.value) if memory.value.ndim else 1
            target.columns = memory.value.size // max(1, target.table)
        self._step.updates, self._step.count, self._known = self._updates, len(known), known
        return True


def adam_kernel(beta1: float, beta2: float, epsilon: float) -> AdamKernel | None:
    """See ``plain_training.adam_kernel``."""
    return AdamKernel(beta1, beta2, epsilon)
