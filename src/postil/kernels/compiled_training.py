"""The kernels of training.c: gradients of taggers, and Adam, by any number of threads; float32.

A step of C is a struct whose fields point to arrays, which are of three kinds:

    parameters   tables, weights and the weights' gradients; the same ones until the model has others
    the batch    a ``TaggerBatch``, another one each time
    memory       what the phases of training.c hand on to each other; it grows with the largest batch

A ``TaggerKernel`` points to all of them (``enter``), the threads of a ``Crew`` compute (``begin``, ``finish``), and the
gradients are read from the memory. ``AdamKernel`` points to parameters, their gradients and Adam's memory in the same
way.
"""

import operator
from collections.abc import Sequence
from threading import Thread
from typing import Any, NamedTuple, Self, final

import numpy as np

from postil.arrays import Array
from postil.errors import IndexRangeError, ShapeError
from postil.kernels.checking import ACTIVATIONS, contiguous
from postil.kernels.library import DOUBLES, INT64, INTEGERS, MOST_LABELS, ffi, is_ready, lib, pointer
from postil.kernels.plain_chain import Scratch
from postil.kernels.plain_training import AdamUpdate, TaggerBatch, TaggerShape

SINGLE, DOUBLE, INT32, BYTES = map(np.dtype, (np.float32, np.float64, np.int32, np.uint8))
FLOATS = ffi.typeof("float[]")
_KINDS = {
    SINGLE: FLOATS,
    DOUBLE: DOUBLES,
    INT64: INTEGERS,
    INT32: ffi.typeof("int32_t[]"),
    BYTES: ffi.typeof("uint8_t[]"),
}
BLOCK_TOKENS = 160  # a worker takes about this many tokens at a time: their layers stay near the processor
EPSILON = 1e-5  # of layer normalisation


@final
class _Struct:
    """A struct of C, and the arrays that its fields point to: C does not keep them alive."""

    def __init__(self, c: Any) -> None:
        self.c, self._arrays = c, dict[str, Any]()

    def point(self, **arrays: Array) -> None:
        for name, array in arrays.items():
            self._arrays[name] = pointer(array, _KINDS[array.dtype])
            setattr(self.c, name, self._arrays[name])


# ------------------------------------------------------------------------------------------------ threads


@final
class CompiledCrew:
    """See ``plain_training.Crew``: helpers wait inside C, without the interpreter's lock."""

    def __init__(self, threads: int) -> None:
        self._crew = ffi.new("crew *", {"helpers": threads - 1})
        self._threads = [Thread(target=lib.help, args=(self._crew,), daemon=True) for _ in range(threads - 1)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        lib.stop(self._crew)
        for thread in self._threads:
            thread.join()

    def begin(self, taggers: "Sequence[TaggerKernel]") -> None:
        self._taggers = ffi.new("tagger_step *[]", [tagger.step.c for tagger in taggers])
        lib.post_step(self._crew, self._taggers, len(taggers), ffi.NULL)

    def finish(self) -> bool:
        return bool(lib.join_step(self._crew) == lib.DONE)

    def step(self, adam: "AdamKernel") -> bool:
        lib.post_step(self._crew, ffi.NULL, 0, adam.step)
        code = lib.join_step(self._crew)
        if code == lib.WRONG_INDEX:
            raise IndexRangeError("an index points outside its table", where="rows of a gradient")
        return bool(code == lib.DONE)


def new_crew(threads: int) -> CompiledCrew:
    """See ``plain_training.new_crew``."""
    return CompiledCrew(threads)


# ------------------------------------------------------------------------------------------------ gradients of taggers


class _Weight(NamedTuple):
    """A weight's place: a field of a struct, next to the field of its gradient, ``d`` and the same name."""

    struct: _Struct
    field: str
    shape: tuple[int, ...]


@final
class TaggerKernel:
    """See ``plain_training.TaggerKernel``: memory is used again from batch to batch."""

    def __init__(self, shape: TaggerShape, forbidden: Sequence[Array], product: tuple[int, bool]) -> None:
        self._shape, self._scratch = shape, Scratch()
        self._wide = shape.D if shape.D < 16 else -(-shape.D // 8) * 8  # on odd widths BLAS takes a fifth longer
        self._room: tuple[int, ...] = (0, 0, 0)  # tokens, sentences and words that the memory is for
        self._parameters: list[Array] = []  # that the step points to
        self._of_tables: list[tuple[Array, Array]] = []  # memory for the rows and the gradients of each table
        self._allocated = tables, blocks = (
            ffi.new("table_step[]", max(1, len(shape.tables))),
            ffi.new("convolution_step[]", max(1, shape.depth)),
        )
        self._tables = [_Struct(tables[i]) for i in range(len(shape.tables))]
        self._blocks = [_Struct(blocks[i]) for i in range(shape.depth)]
        self._spelling = None
        self.step = _Struct(ffi.new("tagger_step *"))
        c = self.step.c
        c.product, c.wide_integers = ffi.cast("void *", product[0]), product[1]
        c.activation, c.epsilon = ACTIVATIONS.index(shape.activation), EPSILON
        c.D, c.wide, c.K, c.H, c.L, c.depth = shape.D, self._wide, shape.K, shape.H, shape.L, shape.depth
        c.vector_dim, c.input_dropped, c.hidden_dropped = shape.vector_dim, shape.input_dropped, shape.hidden_dropped
        c.tables, c.table_count, c.blocks = tables, len(shape.tables), blocks
        column = 0
        for table, (V, width, features) in zip(self._tables, shape.tables, strict=True):
            table.c.V, table.c.width, table.c.features, table.c.column = V, width, features, column
            column += width * features
        if shape.spelling is not None:
            self._spelling = _Struct(ffi.new("character_step *", shape.spelling._asdict()))
            c.characters = self._spelling.c
        flags = np.concatenate([np.ravel(table) for table in forbidden], dtype=np.uint8)
        size = shape.L * shape.L + 2 * shape.L
        self.step.point(forbidden=contiguous(flags, BYTES, (size,), "forbidden steps"))
        self._weights = self._places_of_weights()
        self._gradients = [np.empty(weight.shape, SINGLE) for weight in self._weights]
        for weight, gradient in zip(self._weights, self._gradients, strict=True):
            weight.struct.point(**{f"d{weight.field}": gradient})

    def _places_of_weights(self) -> list[_Weight]:
        D, H, K, L = self._shape.D, self._shape.H, self._shape.K, self._shape.L
        layer = {"padding": (D,), "W": (H, K * D), "b": (H,)}
        convolution = {"gain": (H,), "bias": (H,), "padding": (H,), "W": (H, K * H), "b": (H,)}
        norm = {"gain": (H,), "bias": (H,)} if self._shape.is_normed else {}
        output = {"output_W": (L, H), "output_b": (L,)}
        chain = {"transition_scores": (L, L), "start_scores": (L,), "end_scores": (L,)}
        fields: list[tuple[_Struct, dict[str, tuple[int, ...]]]] = [(self.step, layer)]
        fields += [(block, convolution) for block in self._blocks]
        fields += [(self.step, norm | output | chain)]
        if self._shape.spelling is not None and self._spelling is not None:
            V, F, size, width = self._shape.spelling
            filters = {"table": (V, width), "padding": (width,), "W": (F, size * width), "b": (F,)}
            fields.append((self._spelling, filters))
        return [_Weight(struct, name, size) for struct, named in fields for name, size in named.items()]

    def enter(self, batch: TaggerBatch, parameters: Sequence[Array]) -> bool:
        if not len(batch.places):
            return False
        same = len(parameters) == len(self._parameters) and all(map(operator.is_, parameters, self._parameters))
        if not same and not self._enter_parameters(parameters):
            return False
        self._enter_batch(batch)
        self._make_room(len(batch.places), len(batch.offsets) - 1, self.step.c.U)
        return True

    def gradients(self) -> tuple[list[tuple[Array, Array]], list[Array]]:
        found = [table.c.found for table in self._tables]
        tables = [(rows[:n], sums[:n]) for (rows, sums), n in zip(self._of_tables, found, strict=True)]
        return tables, self._gradients

    def loss(self) -> float:
        return float(self.step.c.loss * self.step.c.share)

    # -------------------------------------------------------------------------------------------- parameters, batch

    def _enter_parameters(self, parameters: Sequence[Array]) -> bool:
        if not all(is_ready(parameter, SINGLE) for parameter in parameters):
            return False
        self._parameters = []
        count = len(self._tables)
        for struct, table, (V, width, _) in zip(self._tables, parameters[:count], self._shape.tables, strict=True):
            struct.point(table=contiguous(table, SINGLE, (V, width), "table"))
        for (struct, field, shape), value in zip(self._weights, parameters[count:], strict=True):
            struct.point(**{field: contiguous(value, SINGLE, shape, "weights of a tagger")})
        self._parameters = list(parameters)
        return True

    def _enter_batch(self, batch: TaggerBatch) -> None:
        shape, step, c = self._shape, self.step, self.step.c
        expected = len(shape.tables), shape.vector_dim > 0, shape.spelling is not None, 2 + shape.depth
        got = len(batch.ids), batch.vectors is not None, batch.characters is not None, len(batch.keys)
        if got != expected:
            raise ShapeError("parts of a batch (tables, vectors, characters, keys)", expected=expected, got=got)
        of_words = [*batch.ids, *([] if batch.vectors is None else batch.vectors[1:]), batch.characters]
        U = next((len(of_each) for of_each in of_words if of_each is not None), 0)
        N, B = len(batch.places), len(batch.offsets) - 1
        c.N, c.B, c.U, c.share = N, B, U, batch.share
        c.block_tokens = -(-N // max(1, -(-N // BLOCK_TOKENS)))  # blocks of about the same size
        c.input_key, c.hidden_key, *keys = batch.keys
        for block, key in zip(self._blocks, keys, strict=True):
            block.c.key = key
        step.point(
            places=contiguous(batch.places, INT64, (N,), "places"),
            offsets=contiguous(batch.offsets, INT64, (B + 1,), "offsets"),
        )
        for table, ids, (_, _, features) in zip(self._tables, batch.ids, shape.tables, strict=True):
            table.point(ids=contiguous(ids, INT64, (U, features), "ids of a table"))
        if batch.vectors is not None:
            matrix, ids = batch.vectors
            c.vector_count = len(matrix)
            vectors = contiguous(matrix, SINGLE, (len(matrix), shape.vector_dim), "vectors")
            step.point(vectors=vectors, vector_ids=contiguous(ids, INT64, (U,), "ids of vectors"))
        if batch.characters is not None and self._spelling is not None:
            M = self._spelling.c.M = batch.characters.shape[1]
            self._spelling.point(ids=contiguous(batch.characters, INT64, (U, M), "characters of words"))
        if isinstance(batch.gold, tuple):
            L, what = shape.L, "a teacher's expectations"
            labels, steps = batch.gold
            step.point(targets=contiguous(labels, DOUBLE, (N, L), what))
            step.point(target_steps=contiguous(steps, DOUBLE, (L, L), what))
        else:
            c.targets = ffi.NULL
            step.point(gold=contiguous(batch.gold, INT64, (N,), "gold labels"))

    # -------------------------------------------------------------------------------------------- memory

    def _make_room(self, N: int, B: int, U: int) -> None:
        """Memory for this many tokens, sentences and words, and a quarter more, if there is less."""
        if all(map(operator.le, (N, B, U), self._room)):
            return
        N, B, U = self._room = tuple(5 * max(*pair) // 4 for pair in zip((N, B, U), self._room, strict=True))
        K, H, L, depth, wide = self._shape.K, self._shape.H, self._shape.L, self._shape.depth, self._wide
        blocks = -(-N // BLOCK_TOKENS) + 1
        words, weights, tokens, labels = (1 + U, wide), (K * H, wide), (N, H), (N, L)
        self._allocate(self.step, "", SINGLE, X=words, noise=words, dX=words, rows=(1 + U, K * H))
        self._allocate(self.step, "", SINGLE, by_position=weights, dby_position=weights, scores=labels, dscores=labels)
        self._allocate(self.step, "", SINGLE, Y=tokens, slopes=tokens, hidden=tokens, Z=tokens, normed=tokens)
        self._allocate(self.step, "", SINGLE, dhidden=tokens, dnormed=tokens, deviation=(N,))
        self._allocate(self.step, "", SINGLE, dwindows=(N, K * H if depth else 0), partial=(blocks, 3 * depth + 2, H))
        self._allocate(self.step, "", DOUBLE, transitions=(L, L), start=(L,), end=(L,), counts=(blocks, L, L))
        self._allocate(self.step, "", DOUBLE, marginals=labels, log_partition=(B,), losses=(B,))
        self._allocate(self.step, "", INT64, ids=(N,), local=(B + blocks + 2,))
        self._allocate(self.step, "", BYTES, exact=(B,))
        for i, block in enumerate(self._blocks):
            whose = f"block {i} "
            self._allocate(block, whose, SINGLE, Z=tokens, deviation=(N,), windows=(N, K * H), Y=tokens, slopes=tokens)
        if self._spelling is not None and self._shape.spelling is not None:
            V, F, size, D = self._shape.spelling
            letters, filters, rows = (1 + V, D), (size * F, D), (1 + V, size * F)
            self._allocate(self._spelling, "characters ", SINGLE, vectors=letters, dvectors=letters, slopes=(U, F))
            self._allocate(self._spelling, "characters ", SINGLE, by_position=filters, dby_position=filters)
            self._allocate(self._spelling, "characters ", SINGLE, rows=rows, drows=rows)
            self._allocate(self._spelling, "characters ", INT32, winners=(U, F))
        self._of_tables = []
        for i, (table, (_, width, features)) in enumerate(zip(self._tables, self._shape.tables, strict=True)):
            count = U * features
            self._allocate(table, f"table {i} ", SINGLE, values=(count, width))
            (sums,) = self._allocate(table, f"table {i} ", SINGLE, sums=(count, width))
            (occurring,) = self._allocate(table, f"table {i} ", INT64, rows=(count,))
            self._of_tables.append((occurring, sums))

    def _allocate(self, struct: _Struct, whose: str, dtype: Any, **shapes: tuple[int, ...]) -> list[Array]:
        arrays = {name: self._scratch.array(whose + name, *shape, dtype=dtype) for name, shape in shapes.items()}
        struct.point(**arrays)
        return list(arrays.values())


def tagger_kernel(
    shape: TaggerShape, forbidden: Sequence[Array], product: tuple[int, bool] | None
) -> TaggerKernel | None:
    """See ``plain_training.tagger_kernel``."""
    return TaggerKernel(shape, forbidden, product) if product is not None and shape.L <= MOST_LABELS else None


# ------------------------------------------------------------------------------------------------ Adam


@final
class AdamKernel:
    """See ``plain_training.AdamKernel``: what it finds out about the parameters it keeps."""

    def __init__(self, beta1: float, beta2: float, epsilon: float) -> None:
        self.step = ffi.new("adam_steps_of *", {"beta1": beta1, "beta2": beta2, "epsilon": epsilon})
        self._states: list[tuple[Any, Any]] = []  # memory and totals of each parameter that the updates point to
        self._updates: Any = None
        self._arrays: list[Any] = []
        self._gradients: list[Any] = []
        self._squares: Array = np.empty(0)

    def enter(self, updates: Sequence[AdamUpdate], clip: float) -> bool:
        states = [(update.memory, update.totals) for update in updates]
        same = len(states) == len(self._states) and all(
            memory is known and totals is known_totals
            for (memory, totals), (known, known_totals) in zip(states, self._states, strict=True)
        )
        if not same and not self._enter_states(states):
            return False
        gradients = []
        for target, (memory, totals, rows, g, rate) in zip(self._updates, updates, strict=False):
            has_rows = rows is None or is_ready(rows, INT64)
            if not (has_rows and is_ready(g, SINGLE) and memory.value.flags.writeable):
                return False
            count = memory.value.shape[:1] if rows is None else rows.shape
            if g.shape != (*count, *memory.value.shape[1:]):
                raise ShapeError("gradient of a parameter", expected=memory.value.shape, got=g.shape)
            here, which = pointer(g, FLOATS), ffi.NULL if rows is None else pointer(rows, INTEGERS)
            gradients += [here, which]
            target.g, target.rows, target.rate = here, which, rate
            target.count = target.table if rows is None else len(rows)
            if totals is not None:
                self.step.steps = totals.steps
        units = lib.adam_units(self._updates, len(updates))
        if len(self._squares) < units or not len(self._squares):
            self._squares = np.empty(1 + 2 * units)
            self._of_squares = self.step.squares = pointer(self._squares, DOUBLES)
        self._gradients, self.step.clip = gradients, clip
        return True

    def _enter_states(self, states: list[tuple[Any, Any]]) -> bool:
        """Note where the arrays of all parameters are, if C can change them there."""
        self._states, self._arrays = [], []
        self._updates = ffi.new("adam_update[]", max(1, len(states)))
        for target, (memory, totals) in zip(self._updates, states, strict=False):
            shape, rows = memory.value.shape, memory.value.shape[:1]
            fields = [(name, getattr(memory, name), SINGLE, shape) for name in ("value", "mean", "square")]
            fields += [("touches", memory.touches, INT64, rows + (1,) * (len(shape) - 1))]
            if not all(is_ready(array, dtype) for _, array, dtype, _ in fields):
                return False
            if totals is not None:
                fields += [("total", totals.total, DOUBLE, shape), ("settled", totals.settled, INT64, rows)]
            for name, array, dtype, of in fields:
                checked = contiguous(array, dtype, of, f"{name} of a parameter", changed=name != "value")
                self._arrays.append(pointer(checked, _KINDS[checked.dtype]))
                setattr(target, name, self._arrays[-1])
            target.table = len(memory.value) if memory.value.ndim else 1
            target.columns = memory.value.size // max(1, target.table)
        self.step.updates, self.step.count, self._states = self._updates, len(states), states
        return True


def adam_kernel(beta1: float, beta2: float, epsilon: float) -> AdamKernel | None:
    """See ``plain_training.adam_kernel``."""
    return AdamKernel(beta1, beta2, epsilon)
