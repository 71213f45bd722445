"""The fused step of training, training.c: gradients of taggers, and Adam, by any number of threads; float32.

A step of C is a struct whose fields point to arrays, which are of three kinds:

    parameters   tables, weights and the weights' gradients; the same ones until the model has others
    the batch    a ``TaggerBatch``, another one each time
    memory       what the phases of training.c hand on to each other; it grows with the largest batch

A ``TaggerKernel`` points to all of them (``enter``), the threads of a ``Crew`` compute (``begin``, ``finish``), and the
gradients are read from the memory. ``AdamKernel`` points to parameters, their gradients and Adam's memory in the same
way. The fused step needs the compiled kernels: without them ``tagger_kernel`` and ``adam_kernel`` return None.
"""

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from threading import Thread
from typing import Any, NamedTuple, Self, final

import numpy as np

from postil.arrays import Array
from postil.errors import IndexRangeError, ShapeError
from postil.kernels.checking import ACTIVATIONS, contiguous
from postil.kernels.choice import PREFIX
from postil.kernels.plain_chain import Scratch
from postil.kernels.plain_layers import AdamMemory, Totals

SINGLE, DOUBLE, INT64, INT32, BYTE = map(np.dtype, (np.float32, np.float64, np.int64, np.int32, np.uint8))
IS_COMPILED = PREFIX == "compiled"
if IS_COMPILED:
    from postil.kernels.library import MOST_LABELS_AT_ONCE, ffi, is_ready, lib, pointer

    _C = {SINGLE: "float[]", DOUBLE: "double[]", INT64: "int64_t[]", INT32: "int32_t[]", BYTE: "uint8_t[]"}
    _KINDS = {dtype: ffi.typeof(name) for dtype, name in _C.items()}

BLOCK_TOKENS = 160  # a worker takes about this many tokens at a time: their layers stay near the processor
EPSILON = 1e-5  # of layer normalisation


class TableShape(NamedTuple):
    """Features of words that share one table (rows, width)."""

    rows: int
    width: int
    features: int


class SpellingShape(NamedTuple):
    """A ``CharacterConvolution`` over V characters: each of F filters sees ``size`` of them, with D numbers each."""

    V: int
    F: int
    size: int
    D: int


@final
@dataclass(frozen=True, kw_only=True)
class TaggerShape:
    """A tagger that begins with a window of K words, each of D numbers: see ``kernels.h``."""

    K: int
    D: int
    H: int
    L: int
    dilations: tuple[int, ...]  # of the residual convolutions after the first layer; a norm follows them if `is_normed`
    is_normed: bool
    activation: str
    tables: tuple[TableShape, ...]
    vector_dim: int  # width of fixed vectors: the columns of D after the tables
    input_dropped: int
    hidden_dropped: int  # elements are dropped with these probabilities times 2³²
    spelling: SpellingShape | None = None  # the columns of D after the vectors
    extra: tuple[TableShape, ...] = ()  # tables of features of words in their sentences: the last columns of D


class TaggerBatch(NamedTuple):
    """One batch of sentences."""

    ids: Sequence[Array]  # (U, features) rows of each feature table
    vectors: tuple[Array, Array] | None  # (V, vector_dim) fixed vectors, (U,) which of them
    places: Array  # (N,) the word of each token
    offsets: Array  # (B + 1,)
    gold: Array | tuple[Array, Array]  # (N,) labels; or what a teacher expects: labels (N, L), transitions (L, L)
    share: float  # factor of the loss of each sentence
    keys: Sequence[int]  # of the noise: at the inputs, after the first layer, after each convolution
    characters: Array | None = None  # (U, M) 1 + the id of each character, zeros after the last one


class AdamUpdate(NamedTuple):
    """One parameter's part of a step of Adam."""

    memory: AdamMemory
    totals: Totals | None
    rows: Array | None  # None: all of them
    g: Array
    rate: float


@final
class _Struct:
    """A struct of C, and the arrays that its fields point to: C does not keep them alive."""

    def __init__(self, c: Any) -> None:
        self.c, self.arrays, self._scratch = c, dict[str, Array](), Scratch()

    def point(self, **arrays: Array) -> None:
        for name, array in arrays.items():
            self.arrays[name] = array
            setattr(self.c, name, pointer(array, _KINDS[array.dtype]))

    def allocate(self, dtype: Any, **shapes: tuple[int, ...]) -> None:
        self.point(**{name: self._scratch.array(name, *shape, dtype=dtype) for name, shape in shapes.items()})


# ------------------------------------------------------------------------------------------------ gradients of taggers


@final
class TaggerKernel:
    """Loss and gradients of a tagger: enter a batch, have a ``Crew`` compute them. Memory is used again."""

    def __init__(self, shape: TaggerShape, forbidden: Sequence[Array], product: tuple[int, bool]) -> None:
        D, H, K, L, depth = shape.D, shape.H, shape.K, shape.L, len(shape.dilations)
        self._shape = shape
        self._wide = D if D < 16 else -(-D // 8) * 8  # on odd widths BLAS takes a fifth longer
        self._room: tuple[int, ...] = (0, 0, 0)  # tokens, sentences and words that the memory is for
        self._parameters: Sequence[Array] = ()  # that the step points to
        self._all_tables = (*shape.tables, *shape.extra)
        sizes = [table.width * table.features for table in self._all_tables]
        extra_dim = sum(sizes[len(shape.tables) :])
        columns = np.cumsum([0, *sizes[: len(shape.tables)]])[:-1].tolist()
        columns += np.cumsum([D - extra_dim, *sizes[len(shape.tables) :]])[:-1].tolist()
        rows = [
            {"V": V, "width": width, "features": features, "column": column}
            for (V, width, features), column in zip(self._all_tables, columns, strict=True)
        ]
        self._allocated = tables, blocks = (
            ffi.new("table_step[]", rows or 1),
            ffi.new("convolution_step[]", [{"dilation": dilation} for dilation in shape.dilations] or 1),
        )
        self._tables = [_Struct(tables[i]) for i in range(len(rows))]
        self._blocks = [_Struct(blocks[i]) for i in range(depth)]
        fields = {name: getattr(shape, name) for name in "D K H L vector_dim input_dropped hidden_dropped".split()}
        fields |= {"depth": depth, "extra_dim": extra_dim}
        fields |= {"product": ffi.cast("void *", product[0]), "wide_integers": product[1], "wide": self._wide}
        fields |= {"activation": ACTIVATIONS.index(shape.activation), "epsilon": EPSILON}
        fields |= {"tables": tables, "table_count": len(rows), "blocks": blocks}
        self.step = _Struct(ffi.new("tagger_step *", fields))
        flags = np.concatenate([np.ravel(table) for table in forbidden], dtype=np.uint8)
        self.step.point(forbidden=contiguous(flags, BYTE, (L * L + 2 * L,), "forbidden steps"))
        first = {"padding": (D,), "W": (H, K * D), "b": (H,)}
        convolution = {"gain": (H,), "bias": (H,), "padding": (H,), "W": (H, K * H), "b": (H,)}
        last: dict[str, tuple[int, ...]] = {"gain": (H,), "bias": (H,)} if shape.is_normed else {}
        last |= {"output_W": (L, H), "output_b": (L,)}
        last |= {"transition_scores": (L, L), "start_scores": (L,), "end_scores": (L,)}
        layers = [(self.step, first), *((block, convolution) for block in self._blocks), (self.step, last)]
        self._spelling = None
        if shape.spelling is not None:
            V, F, size, width = shape.spelling
            self._spelling = _Struct(ffi.new("character_step *", shape.spelling._asdict()))
            self.step.c.characters = self._spelling.c
            layers.append(
                (self._spelling, {"table": (V, width), "padding": (width,), "W": (F, size * width), "b": (F,)})
            )
        # A weight is a field of a struct; its gradient is the field with d before the name.
        self._weights = [(struct, field, of) for struct, layer in layers for field, of in layer.items()]
        self._gradients = [np.empty(of, SINGLE) for _, _, of in self._weights]
        for (struct, field, _), gradient in zip(self._weights, self._gradients, strict=True):
            struct.point(**{f"d{field}": gradient})

    def enter(self, batch: TaggerBatch, parameters: Sequence[Array]) -> bool:
        """Point to a batch and to the parameters as they are now. False: C cannot read them.

        The parameters, in this order: the feature tables; padding, W and b of the first layer; gain, bias, padding, W
        and b of each convolution; gain and bias of the norm; W and b of the output; transitions (L, L), start and end
        (L,) of the CRF; table, padding, W and b of the convolution over characters.
        """
        if not len(batch.places):
            return False
        if len(parameters) != len(self._parameters) or not all(map(operator.is_, parameters, self._parameters)):
            if not all(is_ready(parameter, SINGLE) for parameter in parameters):
                return False
            self._parameters = ()
            count = len(self._tables)
            for struct, table, (V, width, _) in zip(self._tables, parameters[:count], self._all_tables, strict=True):
                struct.point(table=contiguous(table, SINGLE, (V, width), "table"))
            for (struct, field, of), value in zip(self._weights, parameters[count:], strict=True):
                struct.point(**{field: contiguous(value, SINGLE, of, "weights of a tagger")})
            self._parameters = list(parameters)
        self._enter_batch(batch)
        self._make_room(len(batch.places), len(batch.offsets) - 1, self.step.c.U)
        return True

    def loss(self) -> float:
        """The summed loss times the share of a sentence."""
        return float(self.step.c.loss * self.step.c.share)

    def gradients(self) -> tuple[list[tuple[Array, Array]], list[Array]]:
        """Rows and their gradients of each table, gradients of the weights; valid until the next batch is entered."""
        tables = [(t.arrays["rows"][: t.c.found], t.arrays["sums"][: t.c.found]) for t in self._tables]
        return tables, self._gradients

    def _enter_batch(self, batch: TaggerBatch) -> None:
        shape, step, c = self._shape, self.step, self.step.c
        expected = len(self._all_tables), shape.vector_dim > 0, shape.spelling is not None, 2 + len(shape.dilations)
        got = len(batch.ids), batch.vectors is not None, batch.characters is not None, len(batch.keys)
        if got != expected:
            raise ShapeError("parts of a batch (tables, vectors, characters, keys)", expected=expected, got=got)
        of_words = [*batch.ids, *([] if batch.vectors is None else batch.vectors[1:]), batch.characters]
        U = next((len(of_each) for of_each in of_words if of_each is not None), 0)
        N, B, L = len(batch.places), len(batch.offsets) - 1, shape.L
        c.N, c.B, c.U, c.share = N, B, U, batch.share
        c.block_tokens = -(-N // max(1, -(-N // BLOCK_TOKENS)))  # blocks of about the same size
        c.input_key, c.hidden_key, *keys = batch.keys
        for block, key in zip(self._blocks, keys, strict=True):
            block.c.key = key
        step.point(
            places=contiguous(batch.places, INT64, (N,), "places"),
            offsets=contiguous(batch.offsets, INT64, (B + 1,), "offsets"),
        )
        for table, ids, (_, _, features) in zip(self._tables, batch.ids, self._all_tables, strict=True):
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
            labels, steps = batch.gold
            step.point(targets=contiguous(labels, DOUBLE, (N, L), "a teacher's expectations"))
            step.point(target_steps=contiguous(steps, DOUBLE, (L, L), "a teacher's expectations"))
        else:
            c.targets = ffi.NULL
            step.point(gold=contiguous(batch.gold, INT64, (N,), "gold labels"))

    def _make_room(self, N: int, B: int, U: int) -> None:
        """Memory for this many tokens, sentences and words, and a quarter more, if there is less."""
        if all(map(operator.le, (N, B, U), self._room)):
            return
        N, B, U = self._room = tuple(5 * max(*pair) // 4 for pair in zip((N, B, U), self._room, strict=True))
        K, H, L, depth, step = self._shape.K, self._shape.H, self._shape.L, len(self._shape.dilations), self.step
        blocks = -(-N // BLOCK_TOKENS) + 1
        words, weights, tokens, labels = (1 + U, self._wide), (K * H, self._wide), (N, H), (N, L)
        step.allocate(SINGLE, X=words, noise=words, dX=words, rows=(1 + U, K * H))
        step.allocate(SINGLE, by_position=weights, dby_position=weights, scores=labels, dscores=labels)
        step.allocate(SINGLE, Y=tokens, slopes=tokens, hidden=tokens, Z=tokens, normed=tokens, deviation=(N,))
        step.allocate(SINGLE, dhidden=tokens, dnormed=tokens, dwindows=(N, K * H if depth else 0))
        step.allocate(SINGLE, partial=(blocks, 3 * depth + 2, H))
        step.allocate(DOUBLE, transitions=(L, L), start=(L,), end=(L,), counts=(blocks, L, L))
        step.allocate(DOUBLE, marginals=labels, log_partition=(B,), losses=(B,))
        step.allocate(INT64, ids=(N,), local=(B + blocks + 2,))
        step.allocate(BYTE, exact=(B,))
        for block in self._blocks:
            block.allocate(SINGLE, Z=tokens, deviation=(N,), windows=(N, K * H), Y=tokens, slopes=tokens)
        if self._spelling is not None and self._shape.spelling is not None:
            V, F, size, D = self._shape.spelling
            letters, filters, rows = (1 + V, D), (size * F, D), (1 + V, size * F)
            self._spelling.allocate(SINGLE, vectors=letters, dvectors=letters, slopes=(U, F), rows=rows, drows=rows)
            self._spelling.allocate(SINGLE, by_position=filters, dby_position=filters)
            self._spelling.allocate(INT32, winners=(U, F))
        for table, (_, width, features) in zip(self._tables, self._all_tables, strict=True):
            table.allocate(SINGLE, values=(U * features, width), sums=(U * features, width))
            table.allocate(INT64, rows=(U * features,))


def tagger_kernel(
    shape: TaggerShape, forbidden: Sequence[Array], product: tuple[int, bool] | None
) -> TaggerKernel | None:
    """The fused step for networks of this shape; None: there is none here.

    ``forbidden`` tells which transitions (L, L), first and last labels (L,) are impossible; ``product`` is a matrix
    product as ``threads.blas_product`` finds it.
    """
    is_there = IS_COMPILED and product is not None and shape.L <= MOST_LABELS_AT_ONCE
    return TaggerKernel(shape, forbidden, product) if is_there and product is not None else None


# ------------------------------------------------------------------------------------------------ Adam


@final
class AdamKernel:
    """Steps of Adam on all parameters: enter the gradients, have a ``Crew`` clip them together and step."""

    def __init__(self, beta1: float, beta2: float, epsilon: float) -> None:
        self.step = ffi.new("adam_steps_of *", {"beta1": beta1, "beta2": beta2, "epsilon": epsilon})
        self._states: list[tuple[AdamMemory, Totals | None]] = []  # of each parameter that the updates point to
        self._updates: Any = None
        self._kept: list[_Struct] = []
        self._gradients: list[Any] = []
        self._squares: Array = np.empty(0)

    def enter(self, updates: Sequence[AdamUpdate], clip: float) -> bool:
        """Point to all that a step takes. False: C cannot change these arrays."""
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
            here, which = pointer(g, _KINDS[SINGLE]), ffi.NULL if rows is None else pointer(rows, _KINDS[INT64])
            gradients += [here, which]
            target.g, target.rows, target.rate = here, which, rate
            target.count = target.table if rows is None else len(rows)
            if totals is not None:
                self.step.steps = totals.steps
        units = lib.adam_units(self._updates, len(updates))
        if len(self._squares) < units or not len(self._squares):
            self._squares = np.empty(1 + 2 * units)
            self.step.squares = pointer(self._squares, _KINDS[DOUBLE])
        self._gradients, self.step.clip = gradients, clip
        return True

    def _enter_states(self, states: list[tuple[AdamMemory, Totals | None]]) -> bool:
        """Note where the arrays of all parameters are, if C can change them there."""
        self._states, self._updates = [], ffi.new("adam_update[]", max(1, len(states)))
        self._kept = [_Struct(self._updates[i]) for i in range(len(states))]
        for struct, (memory, totals) in zip(self._kept, states, strict=True):
            shape, rows = memory.value.shape, memory.value.shape[:1]
            fields = [(name, getattr(memory, name), SINGLE, shape) for name in ("value", "mean", "square")]
            fields += [("touches", memory.touches, INT64, rows + (1,) * (len(shape) - 1))]
            if not all(is_ready(array, dtype) for _, array, dtype, _ in fields):
                return False
            if totals is not None:
                fields += [("total", totals.total, DOUBLE, shape), ("settled", totals.settled, INT64, rows)]
            for name, array, dtype, of in fields:
                where = f"{name} of a parameter"
                struct.point(**{name: contiguous(array, dtype, of, where, changed=name != "value")})
            struct.c.table = len(memory.value) if shape else 1
            struct.c.columns = memory.value.size // max(1, struct.c.table)
        self.step.updates, self.step.count, self._states = self._updates, len(states), states
        return True


def adam_kernel(beta1: float, beta2: float, epsilon: float) -> AdamKernel | None:
    """Adam on all parameters in one call; None: there is none here."""
    return AdamKernel(beta1, beta2, epsilon) if IS_COMPILED else None


# ------------------------------------------------------------------------------------------------ threads


@final
class Crew:
    """Threads, the caller's own one among them, that work on the same step until the end of the ``with`` block.

    Helpers wait inside C, without the interpreter's lock.
    """

    def __init__(self, threads: int) -> None:
        helpers = threads - 1 if IS_COMPILED else 0  # else there is nothing to help with
        self._crew = ffi.new("crew *", {"helpers": helpers}) if IS_COMPILED else None
        self._threads = [Thread(target=lib.help, args=(self._crew,), daemon=True) for _ in range(helpers)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._crew is not None:
            lib.stop(self._crew)
        for thread in self._threads:
            thread.join()

    def begin(self, taggers: Sequence[TaggerKernel]) -> None:
        """Have the helpers begin with the gradients of these, into which a batch was entered."""
        self._taggers = ffi.new("tagger_step *[]", [tagger.step.c for tagger in taggers])
        lib.post_step(self._crew, self._taggers, len(taggers), ffi.NULL)

    def finish(self) -> bool:
        """Take part in what has begun. False: C cannot tell, because scores are too far apart or labels impossible."""
        return bool(lib.join_step(self._crew) == lib.DONE)

    def step(self, adam: AdamKernel) -> bool:
        """Take the step of Adam into which gradients were entered. False: their norm is not finite."""
        lib.post_step(self._crew, ffi.NULL, 0, adam.step)
        code = lib.join_step(self._crew)
        if code == lib.WRONG_INDEX:
            raise IndexRangeError("an index points outside its table", where="rows of a gradient")
        return bool(code == lib.DONE)
