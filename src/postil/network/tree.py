"""Recursive networks over binary trees: the vector of a phrase is composed of those of its two parts (D1, D3).

All trees of a batch are computed at once, level (height) by level: one matrix product each. The reverse
pass goes down the same levels. Each node has one parent, so a node *fetches* what its parent has sent to it, and
nothing needs to be added up. The gradient of the parameters is a single product over all nodes at the end.

| composition   | x_p                                              | sees the order |
|---------------|--------------------------------------------------|----------------|
| sum           | f(W (x_1 + x_2))                              D1 | no             |
| concatenation | f(W [x_1; x_2] + b)                              | yes            |
| tensor        | f([x_1; x_2]ᵀ V [x_1; x_2] + W [x_1; x_2] + b)   | yes            |
| tree-lstm     | gates and a memory, see below                    | yes            |

Letters: M nodes, n of them leaves, P = M - n phrases, D the width of all vectors.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise
from typing import Any, ClassVar, NamedTuple, TypeAlias, final

import numpy as np

from postil import kernels
from postil.arrays import Array, offsets_from_lengths
from postil.errors import DataError, ShapeError
from postil.graph import Node, Parameter, Parameterised, Result
from postil.kernels import TreeCells
from postil.network.layer import ACTIVATIONS, Initialiser, Rng, Shape, checked_activation, new_parameter, xavier, zeros

_IN_PYTHON = kernels.IN_USE.startswith("plain")
"""Whether phrases are composed for prediction as in training, because no faster kernels are there."""

# ------------------------------------------------------------------------------------------------ trees as arrays
# A level holds the nodes of one height, of all trees of the batch: their children are on the levels before, so a whole
# level is computed at once. The rows of a batch are sorted by level, so that a level is a slice of one array.
#
#     (3 (2 not) (3 (3 very) (2 bad)))        row     0    1     2      3    4
#                                             height  0    0     0      1    2
#                                             node    not  very  bad    (very bad)    (not (very bad))
#                                             children                  1 2           0 3


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class TreeSchedule:
    """A batch of B trees with M nodes, n of them leaves, in rows sorted by height; P = M - n phrases follow."""

    nodes: Array  # (M,) which node of the forest each row is
    leaves: int  # n
    levels: list[tuple[int, int]]  # inner nodes first:end of each height from 1, counted without the leaves
    children: Array  # (P, 2) rows of the left and the right child
    parents: Array  # (M,) 2 i + side for the children of inner node i, side 0 is left; 2 P at roots
    roots: Array  # (B,) rows

    @property
    def inner(self) -> int:
        return len(self.children)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Forest:
    """B binary trees with N nodes, those of each tree in post-order and one tree after the other."""

    back: Array  # (N, 2) how many places before its parent each child stands; 0 at leaves
    heights: Array  # (N,)
    offsets: Array  # (B + 1,)

    @classmethod
    def of(cls, trees: Sequence[Sequence[Sequence[int]]]) -> "Forest":
        """Flatten trees once for all batches, given the children of each node. They are binary, with a word or more."""
        offsets = offsets_from_lengths([len(tree) for tree in trees])
        widths = np.fromiter(map(len, chain.from_iterable(trees)), np.int64, int(offsets[-1]))
        if not np.isin(widths, (0, 2)).all():
            expected = "two children at every inner node, as of Tree.binarised()"
            raise DataError("trees of a network", expected=expected, got=int(widths.max()))
        back, heights = kernels.binary_shape(widths.astype(np.uint8), offsets)
        # Small numbers are sorted by digits, which is several times as fast.
        small = heights.astype(np.int16) if heights.max(initial=0) <= np.iinfo(np.int16).max else heights
        return cls(back=back, heights=small, offsets=offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def tree_heights(self) -> Array:
        """(B,) heights of the roots."""
        return np.asarray(self.heights[self.offsets[1:] - 1])

    @property
    def sizes(self) -> Array:
        """(B,) nodes of each tree."""
        return np.asarray(self.offsets[1:] - self.offsets[:-1])

    def schedule(self, which: Array) -> TreeSchedule:
        """The rows of some of the trees, sorted by height; within a height in the order given."""
        starts, sizes = self.offsets[which], self.sizes[which]
        ends = np.cumsum(sizes)
        count = np.arange(int(ends[-1]))
        nodes = count + np.repeat(starts - (ends - sizes), sizes)
        heights = self.heights.take(nodes)
        order = heights.argsort(kind="stable")
        row_of = np.empty_like(count)
        row_of[order] = count
        per_height = np.bincount(heights)
        leaves = int(per_height[0])
        nodes = nodes.take(order)
        children = row_of.take(order[leaves:, None] - self.back.take(nodes[leaves:], axis=0))
        parents = np.full(len(count), children.size)
        parents[children.ravel()] = np.arange(children.size)
        cuts = (np.cumsum(per_height) - leaves).tolist()
        return TreeSchedule(
            nodes=nodes,
            leaves=leaves,
            levels=list(pairwise(cuts)),
            children=children,
            parents=parents,
            roots=row_of[ends - 1],
        )


# -------------------------------------------------------------------------------------------- compositions, up and down


# dX (M, H) -> gradients of the leaves' vectors and of the parameters, in their order.
Downward: TypeAlias = Callable[[Array], tuple[Array, ...]]
# Which word each leaf (n,) is, and the schedule of its trees -> X (M, H), without a pullback.
Composer: TypeAlias = Callable[[Array, TreeSchedule], Array]


def activate(name: str, Z: Array, out: Array) -> None:
    """f(Z) of one level."""
    if name == "tanh":
        np.tanh(Z, out=out)
    else:
        out[...] = ACTIVATIONS[name](Z)[0]


def transposed(W: Array) -> Array:
    """Wᵀ, copied once for all levels: BLAS takes much longer over few rows when a matrix is only seen as transposed."""
    return np.ascontiguousarray(W.T)


class PhraseMap(NamedTuple):
    """z of phrases, from their parts c = [x_1; x_2] in the rows of C (P, 2 D), and its gradients."""

    combine: Callable[[Array, Array], None]  # (C, Z) of a level: fills in Z (P, D)
    separate: Callable[[Array, Array, Array], None]  # (dZ, C, dC) of a level: fills in dC
    weights: Callable[[Array, Array], tuple[Array, ...]]  # (dZ, C) of all levels: the gradients of the parameters


# ------------------------------------------------------------------------------------------------ prediction


def composed(how: str, states: Array, W: Array, bias: Array | None, forms: Array, plan: TreeSchedule) -> Array:
    """All levels in one kernel; ``states`` (U, S) of the distinct words, see ``kernels.composed_phrases``."""
    return kernels.composed_phrases(how, states, forms, plan.children, plan.levels, W, bias)


OFTEN = 8  # uses of a word on one side from which a matrix is faster than the tensor


def tensor_composer(words: Array, uses: Array, V: Array, W: Array, b: Array, *, activation: str) -> Composer:
    """The tensor composition without a pullback: [l; r]ᵀ V [l; r] is a form of l, one of r, and one of both.

    The form of a word alone is computed once for each word and side. A word that is a part of many phrases has a
    matrix by which the vector of the other part is multiplied, instead of the tensor.  words (U, D), uses (2, U).
    """
    D, U = len(b), kernels.sums_of_pairs(V)
    halves = slice(0, D), slice(D, 2 * D)
    sides = [
        (np.ascontiguousarray(U[part, :, part]), np.ascontiguousarray(W[:, part]), bias)
        for part, bias in zip(halves, (b, np.zeros_like(b)), strict=True)
    ]
    both = np.ascontiguousarray(U[halves[0], :, halves[1]])

    def alone(side: int, X: Array) -> Array:
        """The forms (N, D) of parts (N, D) on one side; the bias is that of the left one."""
        Z = np.empty_like(X)
        kernels.quadratic_forms(X, *sides[side], out=Z)
        return Z

    # (2, U, D) forms of words as left and as right parts; those that are none are not filled in
    forms_of_words = np.zeros((2, *words.shape), words.dtype)
    for side, table in enumerate(forms_of_words):
        used = np.flatnonzero(uses[side])
        table[used] = alone(side, words[used])
    # (m, D, D) a matrix [other part, unit] for each frequent word and side, and its number (2, U), -1 for none
    matrix_of, found = np.full(uses.shape, -1), list[Array]()
    for side, axes in ((0, (0, 2, 1)), (1, (2, 0, 1))):
        frequent = np.flatnonzero(uses[side] >= OFTEN)
        matrix_of[side, frequent] = sum(map(len, found)) + np.arange(len(frequent))
        tensor = np.ascontiguousarray(both.transpose(axes)).reshape(D, D * D)
        found.append((words[frequent] @ tensor).reshape(len(frequent), D, D))
    matrices = np.concatenate(found)

    def composer(forms: Array, plan: TreeSchedule) -> Array:
        n, P = plan.leaves, plan.inner
        X, forms_alone = np.empty((n + P, D), words.dtype), np.empty((n + P, D), words.dtype)
        X[:n] = words[forms]
        sides = plan.parents & 1
        is_part = plan.parents < 2 * P  # all but roots
        forms_alone[:n] = forms_of_words[sides[:n], forms]
        numbers = np.full(n + P, -1)
        numbers[:n] = matrix_of[sides[:n], forms]
        by_word = numbers[plan.children]  # (P, 2)
        for a, b in plan.levels:
            children = plan.children[a:b]
            pair = forms_alone[children]
            Z = pair[:, 0] + pair[:, 1]
            # The forms of both parts: by the matrix of the left one, of the right one, or by the tensor.
            left, right = (by_word[a:b] >= 0).T
            for which, rows in enumerate(map(np.flatnonzero, (left, right & ~left, ~(left | right)))):
                part, parts = np.zeros((len(rows), D), Z.dtype), (X[children[rows, 0]], X[children[rows, 1]])
                if which < 2:
                    kernels.chosen_products(parts[1 - which], matrices, by_word[a:b][rows, which], out=part)
                else:
                    kernels.bilinear_forms(*parts, both, out=part)
                Z[rows] += part
            activate(activation, Z, out=X[n + a : n + b])
            for side in (0, 1):
                rows = n + a + np.flatnonzero((sides[n + a : n + b] == side) & is_part[n + a : n + b])
                forms_alone[rows] = alone(side, X[rows])
        return X

    return composer


# ----------------------------------------------------------------------------------------- compositions with parameters


class Composition(Parameterised, ABC):
    """Computes the vectors of all nodes of a batch of trees from those of the leaves.

    ``leaf_dim`` is the width of the leaves' vectors and ``hidden`` that of all nodes'. Parameters are declared in the
    order of their gradients in ``upward``.
    """

    leaf_dim: int
    hidden: int
    # Nodes predicted at once: large enough for matrix products, small enough for the cache.
    nodes_per_block: ClassVar[int] = 4096

    @abstractmethod
    def upward(self, leaves: Array, plan: TreeSchedule) -> tuple[Array, Downward]:
        """X (M, H), and the pullback, which propagates dX to the leaves and the parameters."""

    def composer(self, words: Array, uses: Callable[[], Array]) -> Composer:
        """A function that composes batches for prediction, over distinct words (U, D).

        It computes what depends on a word alone once. ``uses()`` returns how often each word is the left and how often
        it is the right part of a phrase, (2, U).
        """
        return lambda forms, plan: self.upward(words[forms], plan)[0]

    def __call__(self, leaves: Node, plan: TreeSchedule) -> Result:
        """The whole recursion as one node (M, H). ``leaves`` (n, D) are the vectors of the leaves, row by row."""
        if leaves.shape != (plan.leaves, self.leaf_dim):
            expected = plan.leaves, self.leaf_dim
            raise ShapeError("vectors of leaves", expected=expected, got=leaves.shape, where=type(self).__name__)
        X, downward = self.upward(leaves.value, plan)
        return Result(X, (leaves, *self.parameters().values()), downward, type(self).__name__, is_layer=True)


class _SameWidth(Composition):
    """Compositions x_p = f(z(c)) for which words and phrases have vectors of one width; the user chooses f.

    ``SIZES`` are the shapes of the parameters as multiples of D; ``kernel`` computes phrases with tanh.
    """

    SIZES: ClassVar[Mapping[str, tuple[int, ...]]]
    kernel: ClassVar[str] = ""
    V: Parameter
    W: Parameter
    b: Parameter

    def __init__(
        self, D: int, *, rng: Rng, activation: str = "tanh", initialise: Initialiser = xavier, dtype: Any = np.float32
    ) -> None:
        self.leaf_dim = self.hidden = D
        self.activation = checked_activation(activation)

        # Products of two units are many: each of them begins with a share of what a single unit would begin with.
        def small(rng: Rng, shape: Shape) -> Array:
            return initialise(rng, shape) / shape[-1]

        for name, sizes in self.SIZES.items():
            shape = tuple(D * size for size in sizes)
            first, fan_in = {"V": small, "b": zeros}.get(name, initialise), math.prod(shape) // D
            setattr(self, name, new_parameter(name, shape, first, rng, dtype, fan_in=fan_in, decays=name != "b"))

    @abstractmethod
    def _map(self) -> PhraseMap:
        """z with the present parameters."""

    def upward(self, leaves: Array, plan: TreeSchedule) -> tuple[Array, Downward]:
        z, activation = self._map(), self.activation
        n, P, D = plan.leaves, plan.inner, leaves.shape[1]
        X = np.empty((n + P, D), leaves.dtype)
        X[:n] = leaves
        C, Z = np.empty((P, 2 * D), X.dtype), np.empty((P, D), X.dtype)
        pair = C.reshape(P, 2, D)
        for a, b in plan.levels:
            X.take(plan.children[a:b], axis=0, out=pair[a:b], mode="clip")  # 1
            z.combine(C[a:b], Z[a:b])  # 2
            activate(activation, Z[a:b], out=X[n + a : n + b])  # 3

        def downward(dX: Array) -> tuple[Array, ...]:
            """From the roots down: dZ is f' times what the loss and the parent send to each node (D3)."""
            sent = np.zeros((2 * P + 1, D), X.dtype)  # what each child is sent; the last row is for the roots
            dC, dZ, Y = sent[: 2 * P].reshape(P, 2 * D), np.empty_like(Z), X[n:]
            F = 1 - Y * Y if activation == "tanh" else ACTIVATIONS[activation](Z)[1](np.ones_like(Z))  # f'(Z)
            for a, b in reversed(plan.levels):
                sent.take(plan.parents[n + a : n + b], axis=0, out=dZ[a:b], mode="clip")  # undoes 1
                np.add(dZ[a:b], dX[n + a : n + b], out=dZ[a:b])
                np.multiply(dZ[a:b], F[a:b], out=dZ[a:b])  # undoes 3
                z.separate(dZ[a:b], C[a:b], dC[a:b])  # undoes 2
            return dX[:n] + sent[plan.parents[:n]], *z.weights(dZ, C)

        return X, downward

    def composer(self, words: Array, uses: Callable[[], Array]) -> Composer:
        if self.activation != "tanh" or _IN_PYTHON:
            return super().composer(words, uses)
        return partial(composed, self.kernel, words, self.W.value, self.b.value if "b" in self.SIZES else None)


@final
class SumComposition(_SameWidth):
    """D1: x_p = f(W (x_1 + x_2)). It cannot tell which part comes first."""

    SIZES = {"W": (1, 1)}
    kernel = "sums"

    def _map(self) -> PhraseMap:
        W, D = self.W.value, self.hidden
        across = transposed(W)

        def combine(C: Array, Z: Array) -> None:
            np.matmul(C[:, :D] + C[:, D:], across, out=Z)

        def separate(dZ: Array, C: Array, dC: Array) -> None:
            np.matmul(dZ, W, out=dC[:, :D])
            dC[:, D:] = dC[:, :D]  # both children get the same

        return PhraseMap(combine, separate, lambda dZ, C: (dZ.T @ (C[:, :D] + C[:, D:]),))


@final
class AffineComposition(_SameWidth):
    """x_p = f(W [x_1; x_2] + b)."""

    SIZES = {"W": (1, 2), "b": (1,)}
    kernel = "pairs"

    def _map(self) -> PhraseMap:
        W, b = self.W.value, self.b.value
        across = transposed(W)

        def combine(C: Array, Z: Array) -> None:
            np.matmul(C, across, out=Z)  # 1
            np.add(Z, b, out=Z)  # 2

        def separate(dZ: Array, C: Array, dC: Array) -> None:
            np.matmul(dZ, W, out=dC)  # undoes 1

        return PhraseMap(combine, separate, lambda dZ, C: (dZ.T @ C, dZ.sum(axis=0)))  # undoes 1 and 2


@final
class TensorComposition(_SameWidth):
    """x_p = f(cᵀ V c + W c + b) with c = [x_1; x_2] (RNTN): the parts are also multiplied with each other.

    Unit d has its own matrix V[:, d, :]. The product c_j c_k has the factor V[j, d, k] + V[k, d, j]: half as many sums
    as there are entries are all that the passes need.
    """

    SIZES = {"V": (2, 1, 2), "W": (1, 2), "b": (1,)}
    nodes_per_block = 16384  # each level reads the whole tensor, which is larger than the vectors

    def _map(self) -> PhraseMap:
        U, W, b = kernels.sums_of_pairs(self.V.value), self.W.value, self.b.value

        def combine(C: Array, Z: Array) -> None:
            kernels.quadratic_forms(C, U, W, b, out=Z)  # 1

        def separate(dZ: Array, C: Array, dC: Array) -> None:
            kernels.quadratic_forms_back(dZ, C, U, W, out=dC)  # undoes 1

        def weights(dZ: Array, C: Array) -> tuple[Array, ...]:
            return kernels.quadratic_weights(dZ, C), dZ.T @ C, dZ.sum(axis=0)  # undoes 1

        return PhraseMap(combine, separate, weights)

    def composer(self, words: Array, uses: Callable[[], Array]) -> Composer:
        if _IN_PYTHON:
            return Composition.composer(self, words, uses)
        V, W, b = self.V.value, self.W.value, self.b.value
        return tensor_composer(words, uses(), V, W, b, activation=self.activation)


# ------------------------------------------------------------------------------------------------ the binary Tree-LSTM
# A phrase has a vector h and a memory c, and gates decide what of its parts' memory it keeps.
#
#     o, f_1, f_2, i = σ(U_· [h_1; h_2] + b_·)      u = tanh(U_u [h_1; h_2] + b_u)
#     c = i ⊙ u + f_1 ⊙ c_1 + f_2 ⊙ c_2             h = o ⊙ tanh(c)
#
# Each child has its own forget gate. A word has no parts: o, i and u come from its vector by separate maps,
# and c = i ⊙ u. The five (three) maps are one matrix, in the order o, f_1, f_2, i, u: then the four gates stand side by
# side, and so do the four that the memory depends on.


WORDS_AT_ONCE = 512  # words whose cells stay in the cache


@final
class TreeLSTM(Composition):
    """The binary Tree-LSTM. Forget gates start open: their biases start at 1.

    W (3 H, D) and b (3 H,) are of words, U (5 H, 2 H) and d (5 H,) of phrases.
    """

    def __init__(self, D: int, H: int, *, rng: Rng, initialise: Initialiser = xavier, dtype: Any = np.float32) -> None:
        self.leaf_dim, self.hidden = D, H
        self.W = new_parameter("W", (3 * H, D), initialise, rng, dtype, fan_in=D)
        self.b = new_parameter("b", (3 * H,), zeros, rng, dtype, decays=False)
        self.U = new_parameter("U", (5 * H, 2 * H), initialise, rng, dtype, fan_in=2 * H)
        self.d = new_parameter(
            "d", (5 * H,), lambda *_: np.repeat((0.0, 1.0, 1.0, 0.0, 0.0), H), rng, dtype, decays=False
        )

    def upward(self, leaves: Array, plan: TreeSchedule) -> tuple[Array, Downward]:
        W, b, U, d = (parameter.value for parameter in self.parameters().values())
        n, P, H = plan.leaves, plan.inner, U.shape[1] // 2
        cells, across = TreeCells.empty(n, P, H, leaves.dtype), transposed(U)
        np.matmul(leaves, W.T, out=cells.words.reshape(n, 3 * H))  # 1
        kernels.leaf_cells_up(cells, b, plan.parents)  # 2
        parts, A = cells.parts[: 2 * P].reshape(P, 2 * H), cells.phrases.reshape(P, 5 * H)
        open_gates = kernels.cells_up(cells, d, plan.children, plan.parents)
        for first, end in plan.levels:
            np.matmul(parts[first:end], across, out=A[first:end])  # 3
            open_gates(first, end)  # 4: and each h is brought to its parent's parts

        def downward(dH: Array) -> tuple[Array, ...]:
            dZ = np.empty((P, 5, H), leaves.dtype)
            dA = dZ.reshape(P, 5 * H)
            sent_h, sent_c = (np.empty((2 * P + 1, H), leaves.dtype) for _ in range(2))
            sent_h[-1] = sent_c[-1] = 0  # to roots
            to_parts = sent_h[: 2 * P].reshape(P, 2 * H)
            close_gates = kernels.cells_down(cells, plan.children, plan.parents, dH, sent_h, sent_c, out=dZ)
            for first, end in reversed(plan.levels):
                close_gates(first, end)  # undoes 4
                np.matmul(dA[first:end], U, out=to_parts[first:end])  # undoes 3
            of_words = kernels.leaf_cells_down(cells, plan.parents, dH, sent_h, sent_c).reshape(n, 3 * H)  # undoes 2
            of_phrases = dA.T @ parts, dA.sum(axis=0)
            return of_words @ W, of_words.T @ leaves, of_words.sum(axis=0), *of_phrases  # undoes 1

        return cells.h, downward

    def composer(self, words: Array, uses: Callable[[], Array]) -> Composer:
        if _IN_PYTHON:
            return super().composer(words, uses)
        H = self.hidden
        states = np.empty((len(words), 2 * H), words.dtype)
        for first in range(0, len(words), WORDS_AT_ONCE):
            some = words[first : first + WORDS_AT_ONCE]
            cells = TreeCells.empty(len(some), 0, H, words.dtype)
            np.matmul(some, self.W.value.T, out=cells.words.reshape(len(some), -1))
            kernels.leaf_cells_up(cells, self.b.value, np.zeros(len(some), np.int64))
            states[first : first + len(some), :H], states[first : first + len(some), H:] = cells.h, cells.c
        return partial(composed, "cells", states, self.U.value, self.d.value)


# ------------------------------------------------------------------------------------------------ by name


def new_composition(name: str, D: int, H: int, *, rng: Rng, activation: str = "tanh", **options: Any) -> Composition:
    """Create a composition with vectors of width H. Only a Tree-LSTM accepts word vectors of another width D.

    ``options`` are the others of its class: ``initialise`` and ``dtype``.
    """
    if name == "tree-lstm":
        return TreeLSTM(D, H, rng=rng, **options)
    kinds: dict[str, Any] = {"sum": SumComposition, "concatenation": AffineComposition, "tensor": TensorComposition}
    composition: Composition = kinds[name](H, rng=rng, activation=activation, **options)
    return composition
