"""The binary Tree-LSTM: a phrase has a vector h and a memory c, and gates decide what of its parts' memory it keeps.

    o, f_1, f_2, i = σ(U_· [h_1; h_2] + b_·)      u = tanh(U_u [h_1; h_2] + b_u)
    c = i ⊙ u + f_1 ⊙ c_1 + f_2 ⊙ c_2             h = o ⊙ tanh(c)

Each child has a forget gate of its own. A word has no parts: o, i and u come from its vector by maps of their own, and
c = i ⊙ u. The five (three) maps are one matrix, in the order o, f_1, f_2, i, u: then the four gates stand side by side,
and so do the four that the memory depends on.
"""

from collections.abc import Callable
from typing import Any, final

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.features.trees import Schedule
from postil.kernels import TreeCells
from postil.kernels.plain_phrases import CELLS
from postil.network.initialisers import Initialiser, constant, new_parameter, xavier, zeros
from postil.network.tree import Composer, Composition, Downward, phrases_of, transposed

WORDS_AT_ONCE = 512  # words whose cells stay in the cache


def phrases_up(cells: TreeCells, plan: Schedule, U: Array, d: Array) -> None:
    """Level by level, from the words' c and the vectors h that they have brought to their parents' parts."""
    P, H = plan.inner, U.shape[1] // 2
    parts, A = cells.parts[: 2 * P].reshape(P, 2 * H), cells.phrases.reshape(P, 5 * H)
    across = transposed(U)
    open_gates = kernels.cells_up(cells, d, plan.children, plan.parents)
    for first, end in plan.levels:
        np.matmul(parts[first:end], across, out=A[first:end])  # 3
        open_gates(first, end)  # 4: and each h is brought to its parent's parts


def tree_lstm(leaves: Array, plan: Schedule, W: Array, b: Array, U: Array, d: Array) -> tuple[Array, Downward]:
    """h (M, H) of all nodes.  leaves (n, D), W (3 H, D) and b (3 H,) of words, U (5 H, 2 H) and d (5 H,) of phrases."""
    n, P, H = plan.leaves, plan.inner, U.shape[1] // 2
    cells = TreeCells.empty(n, P, H, leaves.dtype)
    np.matmul(leaves, W.T, out=cells.words.reshape(n, 3 * H))  # 1
    kernels.leaf_cells_up(cells, b, plan.parents)  # 2
    phrases_up(cells, plan, U, d)

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
        parts = cells.parts[: 2 * P].reshape(P, 2 * H)
        of_phrases = dA.T @ parts, dA.sum(axis=0)
        return of_words @ W, of_words.T @ leaves, of_words.sum(axis=0), *of_phrases  # undoes 1

    return cells.h, downward


@final
class TreeLSTM(Composition):
    """The binary Tree-LSTM. Forget gates start open: their biases start at 1."""

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

    def composer(self, words: Array, uses: Callable[[], Array]) -> Composer:
        H = self.hidden
        states = np.empty((len(words), 2 * H), words.dtype)
        for first in range(0, len(words), WORDS_AT_ONCE):
            some = words[first : first + WORDS_AT_ONCE]
            cells = TreeCells.empty(len(some), 0, H, words.dtype)
            np.matmul(some, self.W.value.T, out=cells.words.reshape(len(some), -1))
            kernels.leaf_cells_up(cells, self.b.value, np.zeros(len(some), np.int64))
            states[first : first + len(some), :H], states[first : first + len(some), H:] = cells.h, cells.c
        return phrases_of(CELLS, states, self.U.value, self.d.value)
