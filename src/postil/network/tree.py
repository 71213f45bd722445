"""Recursive networks over binary trees: the vector of a phrase is composed of those of its two parts (D1, D3).

All trees of a batch are computed at once, level (height) by level: one matrix product each. The reverse
pass goes down the same levels. Each node has one parent, so a node *fetches* what its parent has sent to it, and
nothing needs to be added up. What belongs to the parameters is a single product over all nodes at the end.

| composition   | x_p                                              | sees the order |
|---------------|--------------------------------------------------|----------------|
| sum           | f(W (x_1 + x_2))                              D1 | no             |
| concatenation | f(W [x_1; x_2] + b)                              | yes            |
| tensor        | f([x_1; x_2]ᵀ V [x_1; x_2] + W [x_1; x_2] + b)   | yes            |
| tree-lstm     | gates and a memory, see ``tree_lstm.py``         | yes            |

Letters: M nodes, n of them leaves, P = M - n phrases, D the width of all vectors.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias, final

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.errors import ConfigurationError, ShapeError
from postil.features.trees import Schedule
from postil.graph import Node, Parameterised, Result
from postil.kernels.plain_phrases import PAIRS, SUMS
from postil.network.activations import ACTIVATIONS
from postil.network.initialisers import Initialiser, new_parameter, placeholder, xavier, zeros

# dX (M, H) -> gradients of the leaves' vectors and of the parameters, in their order.
Downward: TypeAlias = Callable[[Array], tuple[Array, ...]]
# Which word each leaf (n,) is, and the schedule of its trees -> X (M, H), without a pullback.
Composer: TypeAlias = Callable[[Array, Schedule], Array]


# ------------------------------------------------------------------------------------------------ kernels


def activate(name: str, Z: Array, out: Array) -> None:
    """f(Z) of one level."""
    if name == "tanh":
        np.tanh(Z, out=out)
    else:
        out[...] = ACTIVATIONS[name](Z)[0]


def slopes(name: str, Z: Array, Y: Array) -> Array:
    """f'(Z) at all inner nodes at once; Y = f(Z)."""
    return 1 - Y * Y if name == "tanh" else ACTIVATIONS[name](Z)[1](np.ones_like(Z))


def transposed(W: Array) -> Array:
    """Wᵀ, copied once for all levels: BLAS takes much longer over few rows when a matrix is only seen as transposed."""
    return np.ascontiguousarray(W.T)


def upward_rows(leaves: Array, plan: Schedule) -> Array:
    """(M, D) with the leaves' vectors in front; the levels are to be filled in."""
    X = np.empty((plan.leaves + plan.inner, leaves.shape[1]), leaves.dtype)
    X[: plan.leaves] = leaves
    return X


def descended(
    dX: Array, plan: Schedule, F: Array, parents: Array, sent: Array, send: Callable[[int, int, Array], None]
) -> Array:
    """dZ (P, D) of x = f(Z), from the roots down: f' times what the loss and the parent send to each node (D3).

    ``F`` (P, D) is f'. ``sent`` holds what parents send, a row each, the last one zeros for the roots; ``parents`` (M,)
    says which row is a node's, and ``send(a, b, dZ)`` fills in those that come from the inner nodes a:b.
    """
    n, dZ = plan.leaves, np.empty_like(F)
    for a, b in reversed(plan.levels):
        level = dZ[a:b]
        sent.take(parents[n + a : n + b], axis=0, out=level, mode="clip")
        np.add(level, dX[n + a : n + b], out=level)
        np.multiply(level, F[a:b], out=level)
        send(a, b, level)
    return dZ


def sum_composition(leaves: Array, plan: Schedule, W: Array, *, activation: str) -> tuple[Array, Downward]:
    """x_p = f(W (x_1 + x_2)), D1.  leaves (n, D), W (D, D) -> X (M, D)."""
    n, P, D = plan.leaves, plan.inner, leaves.shape[1]
    X = upward_rows(leaves, plan)
    pair, S, Z = (np.empty(shape, X.dtype) for shape in ((P, 2, D), (P, D), (P, D)))
    across = transposed(W)
    for a, b in plan.levels:
        X.take(plan.children[a:b], axis=0, out=pair[a:b], mode="clip")  # 1
        np.add(pair[a:b, 0], pair[a:b, 1], out=S[a:b])  # 2
        np.matmul(S[a:b], across, out=Z[a:b])  # 3
        activate(activation, Z[a:b], out=X[n + a : n + b])  # 4

    def downward(dX: Array) -> tuple[Array, Array]:
        sent = np.zeros((P + 1, D), X.dtype)

        def send(a: int, b: int, dZ: Array) -> None:
            np.matmul(dZ, W, out=sent[a:b])  # undoes 3; both children get the same, so 2 needs nothing

        parents = plan.parents >> 1
        dZ = descended(dX, plan, slopes(activation, Z, X[n:]), parents, sent, send)  # undoes 4 and 1
        return dX[:n] + sent[parents[:n]], dZ.T @ S

    return X, downward


def affine_composition(
    leaves: Array, plan: Schedule, W: Array, b_: Array, *, activation: str
) -> tuple[Array, Downward]:
    """x_p = f(W [x_1; x_2] + b).  leaves (n, D), W (D, 2 D), b (D,) -> X (M, D)."""
    n, P, D = plan.leaves, plan.inner, leaves.shape[1]
    X = upward_rows(leaves, plan)
    C, Z = np.empty((P, 2 * D), X.dtype), np.empty((P, D), X.dtype)
    pair, across = C.reshape(P, 2, D), transposed(W)
    for a, b in plan.levels:
        X.take(plan.children[a:b], axis=0, out=pair[a:b], mode="clip")  # 1
        np.matmul(C[a:b], across, out=Z[a:b])  # 2
        np.add(Z[a:b], b_, out=Z[a:b])  # 3
        activate(activation, Z[a:b], out=X[n + a : n + b])  # 4

    def downward(dX: Array) -> tuple[Array, Array, Array]:
        sent = np.zeros((2 * P + 1, D), X.dtype)
        dC = sent[: 2 * P].reshape(P, 2 * D)

        def send(a: int, b: int, dZ: Array) -> None:
            np.matmul(dZ, W, out=dC[a:b])  # undoes 2

        dZ = descended(dX, plan, slopes(activation, Z, X[n:]), plan.parents, sent, send)  # undoes 4 and 1
        return dX[:n] + sent[plan.parents[:n]], dZ.T @ C, dZ.sum(axis=0)  # the last one undoes 3

    return X, downward


def tensor_composition(
    leaves: Array, plan: Schedule, V: Array, W: Array, b_: Array, *, activation: str
) -> tuple[Array, Downward]:
    """x_p = f(cᵀ V c + W c + b) with c = [x_1; x_2]: unit d has the matrix V[:, d, :] of its own.

    leaves (n, D), V (2 D, D, 2 D), W (D, 2 D), b (D,) -> X (M, D). The product c_j c_k has the factor V[j, d, k] +
    V[k, d, j]: half as many sums as there are entries are all that the passes need.
    """
    n, P, D = plan.leaves, plan.inner, leaves.shape[1]
    X = upward_rows(leaves, plan)
    C, Z = np.empty((P, 2 * D), X.dtype), np.empty((P, D), X.dtype)
    pair, U = C.reshape(P, 2, D), kernels.sums_of_pairs(V)
    for a, b in plan.levels:
        X.take(plan.children[a:b], axis=0, out=pair[a:b], mode="clip")  # 1
        kernels.quadratic_forms(C[a:b], U, W, b_, out=Z[a:b])  # 2
        activate(activation, Z[a:b], out=X[n + a : n + b])  # 3

    def downward(dX: Array) -> tuple[Array, ...]:
        sent = np.zeros((2 * P + 1, D), X.dtype)
        dC = sent[: 2 * P].reshape(P, 2 * D)

        def send(a: int, b: int, dZ: Array) -> None:
            kernels.quadratic_forms_back(dZ, C[a:b], U, W, out=dC[a:b])  # undoes 2

        dZ = descended(dX, plan, slopes(activation, Z, X[n:]), plan.parents, sent, send)  # undoes 3 and 1
        return dX[:n] + sent[plan.parents[:n]], kernels.quadratic_weights(dZ, C), dZ.T @ C, dZ.sum(axis=0)

    return X, downward


# ------------------------------------------------------------------------------------------------ prediction


def phrases_of(how: str, states: Array, W: Array, bias: Array | None = None) -> Composer:
    """All levels in one kernel; ``states`` (U, S) of the distinct words, see ``kernels.composed_phrases``."""
    return lambda forms, plan: kernels.composed_phrases(how, states, forms, plan.children, plan.levels, W, bias)


@final
class TensorComposer:
    """The tensor composition without a pullback: [l; r]ᵀ V [l; r] is a form of l, one of r, and one of both.

    The form of a word alone is computed once for each word and side. A word that is a part of many phrases has a
    matrix by which the vector of the other part is multiplied, instead of the tensor.
    """

    OFTEN = 8  # uses of a word on one side that are worth a matrix

    def __init__(self, words: Array, uses: Array, V: Array, W: Array, b: Array, *, activation: str) -> None:
        """``words`` (U, D), ``uses`` (2, U)."""
        self.words, self.activation, D = words, activation, len(b)
        U = kernels.sums_of_pairs(V)
        left, right = slice(0, D), slice(D, 2 * D)
        self.sides = [
            (np.ascontiguousarray(U[part, :, part]), np.ascontiguousarray(W[:, part]), bias)
            for part, bias in ((left, b), (right, np.zeros_like(b)))
        ]
        self.both = np.ascontiguousarray(U[left, :, right])
        # (2, U, D) forms of words as left and as right parts; those that are none are not filled in
        self.forms_of_words = np.zeros((2, *words.shape), words.dtype)
        for side, table in enumerate(self.forms_of_words):
            used = np.flatnonzero(uses[side])
            table[used] = self.alone(side, words[used])
        self.matrices, self.matrix_of = self._matrices(uses)

    def alone(self, side: int, X: Array) -> Array:
        """The forms (N, D) of parts (N, D) on one side; the bias is that of the left one."""
        Z = np.empty_like(X)
        U, W, bias = self.sides[side]
        kernels.quadratic_forms(X, U, W, bias, out=Z)
        return Z

    def _matrices(self, uses: Array) -> tuple[Array, Array]:
        """(m, D, D) a matrix [other part, unit] for each frequent word and side, and its number (2, U), -1 for none."""
        numbers, D = np.full(uses.shape, -1), self.words.shape[1]
        found: list[Array] = []
        for side, axes in ((0, (0, 2, 1)), (1, (2, 0, 1))):
            frequent = np.flatnonzero(uses[side] >= self.OFTEN)
            numbers[side, frequent] = sum(map(len, found)) + np.arange(len(frequent))
            tensor = np.ascontiguousarray(self.both.transpose(axes)).reshape(D, D * D)
            found.append((self.words[frequent] @ tensor).reshape(len(frequent), D, D))
        return np.concatenate(found), numbers

    def __call__(self, forms: Array, plan: Schedule) -> Array:
        n, P, D = plan.leaves, plan.inner, self.words.shape[1]
        X, alone = np.empty((n + P, D), self.words.dtype), np.empty((n + P, D), self.words.dtype)
        X[:n] = self.words[forms]
        side = plan.parents & 1
        is_part = plan.parents < 2 * P  # all but roots
        alone[:n] = self.forms_of_words[side[:n], forms]
        matrices = np.full(n + P, -1)
        matrices[:n] = self.matrix_of[side[:n], forms]
        by_word = matrices[plan.children]  # (P, 2)
        for a, b in plan.levels:
            children = plan.children[a:b]
            pair = alone[children]
            Z = pair[:, 0] + pair[:, 1]
            self._add_both(Z, X, children, by_word[a:b])
            activate(self.activation, Z, out=X[n + a : n + b])
            for which in (0, 1):
                rows = n + a + np.flatnonzero((side[n + a : n + b] == which) & is_part[n + a : n + b])
                alone[rows] = self.alone(which, X[rows])
        return X

    def _add_both(self, Z: Array, X: Array, children: Array, matrices: Array) -> None:
        """Add the forms of both parts: by the matrix of the left one, of the right one, or by the tensor."""
        left, right = matrices[:, 0] >= 0, matrices[:, 1] >= 0
        for which, rows in ((0, np.flatnonzero(left)), (1, np.flatnonzero(right & ~left))):
            part = np.zeros((len(rows), Z.shape[1]), Z.dtype)
            kernels.chosen_products(X[children[rows, 1 - which]], self.matrices, matrices[rows, which], out=part)
            Z[rows] += part
        rows = np.flatnonzero(~(left | right))
        part = np.zeros((len(rows), Z.shape[1]), Z.dtype)
        kernels.bilinear_forms(X[children[rows, 0]], X[children[rows, 1]], self.both, out=part)
        Z[rows] += part


# ------------------------------------------------------------------------------------------------ compositions


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
    def upward(self, leaves: Array, plan: Schedule) -> tuple[Array, Downward]:
        """X (M, H), and the pullback, which propagates dX to the leaves and the parameters."""

    def composer(self, words: Array, uses: Callable[[], Array]) -> Composer:
        """A function that composes batches for prediction, over distinct words (U, D).

        It computes what depends on a word alone once. ``uses()`` returns how often each word is the left and how often
        it is the right part of a phrase, (2, U).
        """
        return lambda forms, plan: self.upward(words[forms], plan)[0]

    @property
    def name(self) -> str:
        return type(self).__name__

    def __call__(self, leaves: Node, plan: Schedule) -> Result:
        """The whole recursion as one node (M, H). ``leaves`` (n, D) are the vectors of the leaves, row by row."""
        if leaves.shape != (plan.leaves, self.leaf_dim):
            raise ShapeError(
                "vectors of leaves", expected=(plan.leaves, self.leaf_dim), got=leaves.shape, where=self.name
            )
        X, downward = self.upward(leaves.value, plan)
        return Result(X, (leaves, *self.parameters().values()), downward, self.name, is_layer=True)


class _SameWidth(Composition):
    """Compositions for which words and phrases have vectors of one width, and an activation of the user's choice."""

    def __init__(self, D: int, *, activation: str = "tanh") -> None:
        if activation not in ACTIVATIONS:
            raise ConfigurationError("activation", expected=f"one of {', '.join(ACTIVATIONS)}", got=repr(activation))
        self.leaf_dim = self.hidden = D
        self.activation = activation


@final
class SumComposition(_SameWidth):
    """D1: tanh(W (x_1 + x_2)). It cannot tell which part comes first."""

    def __init__(
        self,
        D: int,
        *,
        rng: np.random.Generator,
        activation: str = "tanh",
        initialise: Initialiser = xavier,
        dtype: Any = np.float32,
    ) -> None:
        super().__init__(D, activation=activation)
        self.W = new_parameter("W", (D, D), initialise, rng, dtype, fan_in=D)

    def upward(self, leaves: Array, plan: Schedule) -> tuple[Array, Downward]:
        return sum_composition(leaves, plan, self.W.value, activation=self.activation)

    def composer(self, words: Array, uses: Callable[[], Array]) -> Composer:
        return phrases_of(SUMS, words, self.W.value) if self.activation == "tanh" else super().composer(words, uses)


@final
class AffineComposition(_SameWidth):
    """f(W [x_1; x_2] + b)."""

    def __init__(
        self,
        D: int,
        *,
        rng: np.random.Generator,
        activation: str = "tanh",
        initialise: Initialiser = xavier,
        dtype: Any = np.float32,
    ) -> None:
        super().__init__(D, activation=activation)
        self.W = new_parameter("W", (D, 2 * D), initialise, rng, dtype, fan_in=2 * D)
        self.b = new_parameter("b", (D,), zeros, rng, dtype, decays=False)

    def upward(self, leaves: Array, plan: Schedule) -> tuple[Array, Downward]:
        return affine_composition(leaves, plan, self.W.value, self.b.value, activation=self.activation)

    def composer(self, words: Array, uses: Callable[[], Array]) -> Composer:
        if self.activation != "tanh":
            return super().composer(words, uses)
        return phrases_of(PAIRS, words, self.W.value, self.b.value)


@final
class TensorComposition(_SameWidth):
    """f(cᵀ V c + W c + b) with c = [x_1; x_2]: the parts are also multiplied with each other (RNTN)."""

    nodes_per_block = 16384  # each level reads the whole tensor, which is larger than the vectors

    def __init__(
        self,
        D: int,
        *,
        rng: np.random.Generator,
        activation: str = "tanh",
        initialise: Initialiser = xavier,
        dtype: Any = np.float32,
    ) -> None:
        super().__init__(D, activation=activation)
        self.V = new_parameter("V", (2 * D, D, 2 * D), _small(initialise), rng, dtype, fan_in=4 * D * D)
        self.W = new_parameter("W", (D, 2 * D), initialise, rng, dtype, fan_in=2 * D)
        self.b = new_parameter("b", (D,), zeros, rng, dtype, decays=False)

    def upward(self, leaves: Array, plan: Schedule) -> tuple[Array, Downward]:
        V, W, b = self.V.value, self.W.value, self.b.value
        return tensor_composition(leaves, plan, V, W, b, activation=self.activation)

    def composer(self, words: Array, uses: Callable[[], Array]) -> Composer:
        V, W, b = self.V.value, self.W.value, self.b.value
        return TensorComposer(words, uses(), V, W, b, activation=self.activation)


def _small(initialise: Initialiser) -> Initialiser:
    """Products of two units are many: each of them begins with a share of what a single unit would begin with."""
    return initialise if initialise is placeholder else lambda rng, shape: initialise(rng, shape) / shape[-1]
