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
from typing import Any, TypeAlias, final

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.errors import ConfigurationError, ShapeError
from postil.features.trees import Schedule
from postil.graph import Node, Parameterised, Result
from postil.network.activations import ACTIVATIONS
from postil.network.initialisers import Initialiser, new_parameter, placeholder, xavier, zeros

# dX (M, H) -> gradients of the leaves' vectors and of the parameters, in their order.
Downward: TypeAlias = Callable[[Array], tuple[Array, ...]]


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


# ------------------------------------------------------------------------------------------------ compositions


class Composition(Parameterised, ABC):
    """Computes the vectors of all nodes of a batch of trees from those of the leaves.

    ``leaf_dim`` is the width of the leaves' vectors and ``hidden`` that of all nodes'. Parameters are declared in the
    order of their gradients in ``upward``.
    """

    leaf_dim: int
    hidden: int

    @abstractmethod
    def upward(self, leaves: Array, plan: Schedule) -> tuple[Array, Downward]:
        """X (M, H), and the pullback, which propagates dX to the leaves and the parameters."""

    def word_states(self, words: Array) -> Array:
        """(U, S): the states of words (U, D) that phrases are composed from, computed once per distinct word."""
        return words

    def composed(self, states: Array, forms: Array, plan: Schedule) -> Array:
        """X (M, H) without a pullback; the leaves (n,) have the rows ``forms`` of the states (U, S)."""
        return self.upward(states[forms], plan)[0]

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

    def composed(self, states: Array, forms: Array, plan: Schedule) -> Array:
        if self.activation != "tanh":
            return super().composed(states, forms, plan)
        return kernels.composed_phrases("sums", states, forms, plan.children, plan.levels, self.W.value)


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

    def composed(self, states: Array, forms: Array, plan: Schedule) -> Array:
        if self.activation != "tanh":
            return super().composed(states, forms, plan)
        return kernels.composed_phrases("pairs", states, forms, plan.children, plan.levels, self.W.value, self.b.value)


@final
class TensorComposition(_SameWidth):
    """f(cᵀ V c + W c + b) with c = [x_1; x_2]: the parts are also multiplied with each other (RNTN)."""

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


def _small(initialise: Initialiser) -> Initialiser:
    """Products of two units are many: each of them begins with a share of what a single unit would begin with."""
    return initialise if initialise is placeholder else lambda rng, shape: initialise(rng, shape) / shape[-1]
