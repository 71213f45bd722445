"""The binary Tree-LSTM: a phrase has a vector h and a memory c, and gates decide what of its parts' memory it keeps.

    o, f_1, f_2, i = σ(U_· [h_1; h_2] + b_·)      u = tanh(U_u [h_1; h_2] + b_u)
    c = i ⊙ u + f_1 ⊙ c_1 + f_2 ⊙ c_2             h = o ⊙ tanh(c)

Each child has a forget gate of its own. A word has no parts: o, i and u come from its vector by maps of their own, and
c = i ⊙ u. The five (three) maps are one matrix, in the order o, f_1, f_2, i, u: then the four gates stand side by side,
and so do the four that the memory depends on.
"""

from typing import Any, final

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.features.trees import Schedule
from postil.network.initialisers import Initialiser, constant, new_parameter, xavier, zeros
from postil.network.tree import Composition, Downward


def halved_gates(U: Array, gates: int) -> Array:
    """The rows of the gates divided by 2: σ(z) = (1 + tanh(z / 2)) / 2, so that one tanh serves gates and u alike.

    U (K H, …) holds K maps, the first ``gates`` of them gates.
    """
    H = len(U) // (gates + 1)
    half = U.copy()
    half[: gates * H] *= U.dtype.type(0.5)
    return half


def open_gates(A: Array, gates: int) -> None:
    """tanh of all maps in place, then σ of the gates.  A (N, K, H)."""
    half = A.dtype.type(0.5)
    np.tanh(A, out=A)
    A[:, :gates] *= half
    A[:, :gates] += half


def leaf_cells(X: Array, W: Array, b: Array) -> tuple[Array, Array, Array]:
    """Gates and u (n, 3, H), c and tanh(c) (n, H) of words X (n, D).  W (3 H, D): o, i, u."""
    H = len(W) // 3
    A = X @ halved_gates(W, 2).T  # 1
    A += halved_gates(b, 2)
    A = A.reshape(len(X), 3, H)
    open_gates(A, 2)  # 2
    c = A[:, 1] * A[:, 2]  # 3
    return A, c, np.tanh(c)


def tree_lstm(leaves: Array, plan: Schedule, W: Array, b: Array, U: Array, d: Array) -> tuple[Array, Downward]:
    """h (M, H) of all nodes.  leaves (n, D), W (3 H, D) and b (3 H,) of words, U (5 H, 2 H) and d (5 H,) of phrases."""
    n, P, H = plan.leaves, plan.inner, U.shape[1] // 2
    h, c = (np.empty((n + P, H), leaves.dtype) for _ in range(2))
    words, c[:n], tanh_of_words = leaf_cells(leaves, W, b)
    np.multiply(words[:, 0], tanh_of_words, out=h[:n])  # 4
    half_U, half_d = halved_gates(U, 4).T, halved_gates(d, 4)
    parts, A, tanh_c = (np.empty(shape, h.dtype) for shape in ((P, 2 * H), (P, 5, H), (P, H)))
    pairs, flat = parts.reshape(P, 2, H), A.reshape(P, 5 * H)
    for first, end in plan.levels:
        here, rows = slice(first, end), slice(n + first, n + end)
        h.take(plan.children[here], axis=0, out=pairs[here], mode="clip")  # 5
        np.matmul(parts[here], half_U, out=flat[here])  # 6
        np.add(flat[here], half_d, out=flat[here])
        np.tanh(flat[here], out=flat[here])  # 7
        kernels.cells_up(A[here], c, plan.children[here], out=c[rows])  # 8
        np.tanh(c[rows], out=tanh_c[here])
        np.multiply(A[here, 0], tanh_c[here], out=h[rows])  # 9

    def downward(dH: Array) -> tuple[Array, ...]:
        dZ = np.empty((P, 5, H), h.dtype)
        flat_dZ = dZ.reshape(P, 5 * H)
        sent_h, sent_c = (np.zeros((2 * P + 1, H), h.dtype) for _ in range(2))
        to_h = sent_h[: 2 * P].reshape(P, 2 * H)
        for first, end in reversed(plan.levels):
            here, rows = slice(first, end), slice(n + first, n + end)
            places = plan.children[here], plan.parents[rows]
            kernels.cells_down(  # undoes 9, 8 and 7
                A[here], tanh_c[here], c, *places, dH[rows], first, sent_h, sent_c, out=dZ[here]
            )
            np.matmul(flat_dZ[here], U, out=to_h[here])  # undoes 6; each child fetches its part, which undoes 5
        of_words = kernels.leaf_cells_down(words, tanh_of_words, plan.parents[:n], dH[:n], sent_h, sent_c)
        dA = of_words.reshape(n, 3 * H)  # 4, 3 and 2 are undone
        return dA @ W, dA.T @ leaves, dA.sum(axis=0), flat_dZ.T @ parts, flat_dZ.sum(axis=0)  # undoes 1

    return h, downward


@final
class TreeLSTM(Composition):
    """The binary Tree-LSTM. Forget gates begin open: their biases begin at 1."""

    def __init__(
        self,
        D: int,
        H: int,
        *,
        rng: np.random.Generator,
        initialise: Initialiser = xavier,
        dtype: Any = np.float32,
    ) -> None:
        self.leaf_dim, self.hidden = D, H
        self.W = new_parameter("W", (3 * H, D), initialise, rng, dtype, fan_in=D)
        self.b = new_parameter("b", (3 * H,), zeros, rng, dtype, decays=False)
        self.U = new_parameter("U", (5 * H, 2 * H), initialise, rng, dtype, fan_in=2 * H)
        self.d = new_parameter("d", (5 * H,), constant(0.0), rng, dtype, decays=False)
        self.d.value[H : 3 * H] = 1

    def upward(self, leaves: Array, plan: Schedule) -> tuple[Array, Downward]:
        return tree_lstm(leaves, plan, self.W.value, self.b.value, self.U.value, self.d.value)
