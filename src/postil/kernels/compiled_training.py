"""The kernels of training.c: fused steps of training for any number of threads; float32."""

import operator
from collections.abc import Sequence
from itertools import accumulate
from threading import Thread
from typing import Any, Self, final

import numpy as np

from postil.arrays import Array
from postil.errors import IndexRangeError, ShapeError
from postil.kernels.checking import ACTIVATIONS, contiguous
from postil.kernels.compiled import DOUBLES, INT64, INTEGERS, MOST_LABELS, is_ready, pointer
from postil.kernels.library import ffi, lib
from postil.kernels.packing import Scratch
from postil.kernels.plain_training import (
    AdamUpdate,
    ComingRows,
    Joined,
    SpellingShape,
    TaggerBatch,
    TaggerGradients,
    TaggerShape,
)

SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
FLOATS = ffi.typeof("float[]")
INT32, BYTES = np.dtype(np.int32), np.dtype(np.uint8)
_KINDS = {
    SINGLE: FLOATS,
    DOUBLE: DOUBLES,
    INT64: INTEGERS,
    INT32: ffi.typeof("int32_t[]"),
    BYTES: ffi.typeof("uint8_t[]"),
}
BLOCK_TOKENS = 160  # about so many tokens a worker takes at a time: their layers stay near the processor
EPSILON = 1e-5  # of layer normalisation


def _at(array: Array) -> Any:
    return pointer(array, _KINDS[array.dtype])


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

    def post(self, taggers: Sequence[Any]) -> None:
        """See ``plain_training.Crew``."""
        self._taggers = ffi.new("tagger_step *[]", [tagger.step for tagger in taggers])
        lib.post_step(self._crew, self._taggers, len(taggers))

    def join(self, adam: Any = None) -> Joined:
        """See ``plain_training.Crew``."""
        code = lib.join_step(self._crew, ffi.NULL if adam is None else adam.step)
        if code == lib.WRONG_INDEX and not len(self._taggers):
            raise IndexRangeError("an index points outside its table", where="rows of a gradient")
        has_gradients = self._crew.step.workers.code == lib.DONE
        return Joined(has_gradients, adam is not None and code == lib.DONE)


def new_crew(threads: int) -> CompiledCrew:
    """See ``plain_training.new_crew``."""
    return CompiledCrew(threads)


@final
class TaggerKernel:
    """See ``plain_training.TaggerKernel``: memory that is used again from batch to batch."""

    def __init__(self, shape: TaggerShape, product: tuple[int, bool]) -> None:
        self._shape, self._scratch = shape, Scratch()
        self.step, self._tables = ffi.new("tagger_step *"), ffi.new("table_step[]", max(1, len(shape.widths)))
        self._blocks = ffi.new("convolution_step[]", max(1, shape.depth))
        self._known: list[Array] = []  # tables and weights that the step points to
        self._gradients: list[Array] = []
        self._coming: list[ComingRows] = []
        self._room: tuple[int, ...] = (0, 0, 0)  # tokens, sentences and words that the memory is for
        self._kept: dict[str, Any] = {}  # what the step points to
        self._wide = shape.D if shape.D < 16 else -(-shape.D // 8) * 8  # on odd widths BLAS takes a fifth longer
        step = self.step
        step.product, step.wide_integers = ffi.cast("void *", product[0]), product[1]
        step.activation = ACTIVATIONS.index(shape.activation)
        step.D, step.wide, step.K, step.H, step.L = shape.D, self._wide, shape.K, shape.H, shape.L
        step.depth, step.table_count, step.vector_dim = shape.depth, len(shape.widths), shape.vector_dim
        step.epsilon = EPSILON
        step.tables, step.blocks = self._tables, self._blocks
        step.input_dropped, step.hidden_dropped = shape.input_dropped, shape.hidden_dropped
        if shape.spelling is not None:
            self._characters = step.characters = ffi.new("character_step *", dict(shape.spelling._asdict()))
        starts = accumulate((w * f for w, f in zip(shape.widths, shape.features, strict=True)), initial=0)
        for i, column in enumerate(list(starts)[:-1]):
            table = self._tables[i]
            table.width, table.features, table.column = shape.widths[i], shape.features[i], column

    def enter(
        self, batch: TaggerBatch, tables: Sequence[Array], weights: Sequence[Array], forbidden: Sequence[Array]
    ) -> bool:
        """See ``plain_training.TaggerKernel``."""
        if not len(batch.places):
            return False
        known = [*tables, *weights]
        if len(known) != len(self._known) or not all(map(operator.is_, known, self._known)):
            if not _are_ready(known):
                return False
            self._known = []
            self._enter_parameters(tables, weights, forbidden)
            self._known = known
        self._enter_batch(batch)
        self._make_room(len(batch.places), len(batch.offsets) - 1, self.step.U)
        return True

    def coming(self) -> tuple[list[ComingRows], list[Array]]:
        """See ``plain_training.TaggerKernel``."""
        return self._coming, self._gradients

    def gradients(self) -> TaggerGradients:
        """See ``plain_training.TaggerKernel``."""
        tables = [(coming.rows[: coming.found[0]], coming.values[: coming.found[0]]) for coming in self._coming]
        return TaggerGradients(tables, self._gradients)

    def loss(self) -> float:
        """See ``plain_training.TaggerKernel``."""
        return float(self.step.loss * self.step.share)

    def _enter(self, target: Any, whose: str, **arrays: Array) -> None:
        for name, array in arrays.items():
            here = self._kept[whose + name] = _at(array)
            setattr(target, name, here)

    def _enter_batch(self, batch: TaggerBatch) -> None:
        step = self.step
        N = step.N = len(batch.places)
        of_words = [*batch.ids, *([] if batch.vectors is None else batch.vectors[1:]), batch.characters]
        U = step.U = next((len(of_each) for of_each in of_words if of_each is not None), 0)
        step.B, step.share = len(batch.offsets) - 1, batch.share
        self._check_parts(batch)
        step.block_tokens = -(-N // max(1, -(-N // BLOCK_TOKENS)))  # blocks of about the same size
        step.input_key, step.hidden_key = batch.keys[0], batch.keys[1]
        for i in range(self._shape.depth):
            self._blocks[i].key = batch.keys[2 + i]
        offsets = contiguous(batch.offsets, INT64, (step.B + 1,), "offsets")
        self._enter(step, "", places=contiguous(batch.places, INT64, (N,), "places"), offsets=offsets)
        for i, ids in enumerate(batch.ids):
            ids = contiguous(ids, INT64, (U, self._shape.features[i]), f"ids of table {i}")
            self._enter(self._tables[i], f"table {i} ", ids=ids)
        if batch.vectors is not None:
            matrix, ids = batch.vectors
            step.vector_count = len(matrix)
            vectors = contiguous(matrix, SINGLE, (len(matrix), self._shape.vector_dim), "vectors")
            self._enter(step, "", vectors=vectors, vector_ids=contiguous(ids, INT64, (U,), "ids of vectors"))
        if batch.characters is not None:
            M = step.characters.M = batch.characters.shape[1]
            ids = contiguous(batch.characters, INT64, (U, M), "characters of words")
            self._enter(step.characters, "characters ", ids=ids)
        self._enter_gold(batch.gold, N)

    def _check_parts(self, batch: TaggerBatch) -> None:
        """Whether a batch has everything that a tagger of this shape reads."""
        shape = self._shape
        expected = len(shape.widths), shape.vector_dim > 0, shape.spelling is not None, 2 + shape.depth
        got = len(batch.ids), batch.vectors is not None, batch.characters is not None, len(batch.keys)
        if got != expected:
            what = "parts of a batch (tables, vectors, characters, keys)"
            raise ShapeError(what, expected=expected, got=got)

    def _enter_gold(self, gold: Array | tuple[Array, Array], N: int) -> None:
        if not isinstance(gold, tuple):
            self.step.targets = ffi.NULL
            self._enter(self.step, "", gold=contiguous(gold, INT64, (N,), "gold labels"))
            return
        L, what = self._shape.L, "a teacher's expectations"
        targets, steps = (contiguous(table, DOUBLE, of, what) for table, of in zip(gold, ((N, L), (L, L)), strict=True))
        self._enter(self.step, "", targets=targets, target_steps=steps)

    def _enter_parameters(self, tables: Sequence[Array], weights: Sequence[Array], forbidden: Sequence[Array]) -> None:
        step, shape = self.step, self._shape
        for i, (table, width) in enumerate(zip(tables, shape.widths, strict=True)):
            self._tables[i].V = len(table)
            self._enter(self._tables[i], f"table {i} ", table=contiguous(table, SINGLE, (len(table), width), "table"))
        letters = len(weights[-4]) if shape.spelling is not None else 0
        for weight, of in zip(weights, _shapes_of_weights(shape, letters), strict=True):
            contiguous(weight, SINGLE, of, "weights of a tagger")
        self._gradients = self._gradients or [np.empty_like(weight) for weight in weights]
        for weight, gradient in zip(weights, self._gradients, strict=True):
            contiguous(gradient, SINGLE, weight.shape, "gradient of a weight", changed=True)
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
        enter(step, "output_W", "output_b", "transition_scores", "start_scores", "end_scores")
        if self._shape.spelling is not None:
            step.characters.V = len(weights[-4])
            enter(step.characters, "table", "padding", "W", "b", whose="characters ")
        flags = np.concatenate([np.ravel(table) for table in forbidden], dtype=np.uint8)
        size = shape.L * shape.L + 2 * shape.L
        self._enter(step, "", forbidden=contiguous(flags, np.uint8, (size,), "forbidden steps"))

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
        doubles: dict[str, tuple[int, ...]] = {
            "transitions": (L, L),
            **dict.fromkeys(("start", "end"), (L,)),
            "counts": (blocks, L, L),
            "marginals": (N, L),
            **dict.fromkeys(("log_partition", "losses"), (B,)),
        }
        integers = {"ids": (N,), "local": (B + blocks + 2,)}
        for dtype, shapes in ((SINGLE, singles), (DOUBLE, doubles), (INT64, integers), (BYTES, {"exact": (B,)})):
            arrays = {n: self._scratch.array(n, *shape, dtype=dtype) for n, shape in shapes.items()}
            self._enter(self.step, "", **arrays)
        for i in range(depth):
            of_block = {"Z": of_tokens, "deviation": (N,), "windows": (N, K * H), "Y": of_tokens, "slopes": of_tokens}
            arrays = {n: self._scratch.array(f"{n} {i}", *size, dtype=SINGLE) for n, size in of_block.items()}
            self._enter(self._blocks[i], f"block {i} ", **arrays)
        if self._shape.spelling is not None:
            self._make_room_for_characters(self._shape.spelling, U)
        self._coming = [self._room_of_table(i, U) for i in range(len(self._shape.widths))]

    def _make_room_for_characters(self, spelling: SpellingShape, U: int) -> None:
        (F, size, D), letters = spelling, 1 + self.step.characters.V
        singles: dict[str, tuple[int, int]] = {
            **dict.fromkeys(("vectors", "dvectors"), (letters, D)),
            **dict.fromkeys(("by_position", "dby_position"), (size * F, D)),
            **dict.fromkeys(("rows", "drows"), (letters, size * F)),
            "slopes": (U, F),
        }
        for dtype, shapes in ((SINGLE, singles), (INT32, {"winners": (U, F)})):
            arrays = {n: self._scratch.array(f"characters {n}", *of, dtype=dtype) for n, of in shapes.items()}
            self._enter(self.step.characters, "characters ", **arrays)

    def _room_of_table(self, i: int, U: int) -> ComingRows:
        table, count = self._tables[i], U * self._shape.features[i]
        sizes = {"values": (count, table.width), "sums": (count, table.width)}
        arrays = {n: self._scratch.array(f"{n} {i}", *size, dtype=SINGLE) for n, size in sizes.items()}
        rows = self._scratch.array(f"rows {i}", count, dtype=INT64)
        self._enter(table, f"table {i} ", rows=rows, **arrays)
        return ComingRows(rows, arrays["sums"], ffi.addressof(table, "found"), (table.V, table.width))


def _shapes_of_weights(shape: TaggerShape, letters: int) -> list[tuple[int, ...]]:
    """Of all weights, in the order in which they are entered; ``letters`` are the rows of the characters' table."""
    D, H, K, L = shape.D, shape.H, shape.K, shape.L
    shapes: list[tuple[int, ...]] = [(D,), (H, K * D), (H,)]
    shapes += [(H,), (H,), (H,), (H, K * H), (H,)] * shape.depth
    shapes += [(H,), (H,)] * shape.is_normed
    shapes += [(L, H), (L,), (L, L), (L,), (L,)]
    if shape.spelling is not None:
        F, size, width = shape.spelling
        shapes += [(letters, width), (width,), (F, size * width), (F,)]
    return shapes


def tagger_kernel(shape: TaggerShape, product: tuple[int, bool] | None) -> TaggerKernel | None:
    """See ``plain_training.tagger_kernel``."""
    return TaggerKernel(shape, product) if product is not None and shape.L <= MOST_LABELS else None


@final
class AdamKernel:
    """See ``plain_training.AdamKernel``: what it finds out about the parameters it keeps."""

    def __init__(self, beta1: float, beta2: float, epsilon: float) -> None:
        self.step = ffi.new("adam_steps_of *")
        self.step.beta1, self.step.beta2, self.step.epsilon = beta1, beta2, epsilon
        self._known: list[tuple[Any, ...]] = []
        self._updates: Any = None
        self._kept: list[Any] = []
        self._squares: Array = np.empty(0)

    def enter(self, updates: Sequence[AdamUpdate], clip: float) -> bool:
        """See ``plain_training.AdamKernel``."""
        known = [(memory, totals) for memory, _, _, _, _, totals in updates]
        if not self._is_known(known) and not self._enter(known):
            return False
        gradients = []
        for target, (memory, rows, found, g, rate, totals) in zip(self._updates, updates, strict=False):
            has_rows = rows is None or is_ready(rows, INT64)
            if not (has_rows and is_ready(g, SINGLE) and memory.value.flags.writeable):
                return False
            count = memory.value.shape[:1] if rows is None else rows.shape
            if g.shape != (*count, *memory.value.shape[1:]):
                raise ShapeError("gradient of a parameter", expected=memory.value.shape, got=g.shape)
            here, which = pointer(g, FLOATS), ffi.NULL if rows is None else pointer(rows, INTEGERS)
            gradients += [here, which]
            target.g, target.rows, target.found, target.rate = here, which, found or ffi.NULL, rate
            target.count = target.table if rows is None else len(rows)
            if totals is not None:
                self.step.steps = totals.steps
        units = lib.adam_units(self._updates, len(updates))
        if len(self._squares) < units or not len(self._squares):
            self._squares = np.empty(1 + 2 * units)
            self._of_squares = self.step.squares = pointer(self._squares, DOUBLES)
        self._gradients, self.step.clip = gradients, clip
        return True

    def _is_known(self, known: Sequence[tuple[Any, ...]]) -> bool:
        return len(known) == len(self._known) and all(
            a is c and b is d for (a, b), (c, d) in zip(known, self._known, strict=True)
        )

    def _enter(self, known: list[tuple[Any, ...]]) -> bool:
        """Note where the arrays of all parameters stand, if C can change them there."""
        self._known, self._kept = [], []
        self._updates = ffi.new("adam_update[]", max(1, len(known)))
        for target, (memory, totals) in zip(self._updates, known, strict=False):
            arrays = {"value": memory.value, "mean": memory.mean, "square": memory.square}
            if not _are_ready(list(arrays.values())) or not is_ready(memory.touches, INT64):
                return False
            shape, rows = memory.value.shape, memory.value.shape[:1]
            shapes = dict.fromkeys(arrays, shape) | {"touches": rows + (1,) * (len(shape) - 1)}
            arrays["touches"] = memory.touches
            if totals is not None:
                arrays |= {"total": totals.total, "settled": totals.settled}
                shapes |= {"total": shape, "settled": rows}
            for name, array in arrays.items():
                dtype = DOUBLE if name == "total" else INT64 if name in ("touches", "settled") else SINGLE
                checked = contiguous(array, dtype, shapes[name], f"{name} of a parameter", changed=name != "value")
                self._kept.append(_at(checked))
                setattr(target, name, self._kept[-1])
            target.table = len(memory.value) if memory.value.ndim else 1
            target.columns = memory.value.size // max(1, target.table)
        self.step.updates, self.step.count, self._known = self._updates, len(known), known
        return True


def adam_kernel(beta1: float, beta2: float, epsilon: float) -> AdamKernel | None:
    """See ``plain_training.adam_kernel``."""
    return AdamKernel(beta1, beta2, epsilon)
