"""Skip-gram with negative samples on one shard of text, in NumPy: the twin of skipgram.c.

A window is a centre word, the M words around it, and K words drawn at random, the negatives. Every word around it
predicts that the centre is the true word and the negatives are not:

    J = - Σ_m [ log σ(x_m · o_0) + Σ_k log σ(-x_m · o_k) ]

x are rows of the table of inputs, o rows of the table of outputs. The negatives are shared by the words of a window,
which then is a product of two small matrices. A negative that is the centre itself is left out.

A shard works on copies of the rows that it touches and returns what it has added to them, so that shards can run at
the same time and be merged in a fixed order.
"""

from typing import NamedTuple, final

import numpy as np

from postil.arrays import Array, checked_offsets
from postil.errors import IndexRangeError
from postil.kernels.checking import contiguous

MOST_REACH = 32
"""Words on each side of a centre, at most."""
MOST_NEGATIVES = 63
LOSS_EVERY = 16
"""The loss is that of every so many windows: it takes logarithms, the gradient does not."""
LANES = 8
"""Tables are padded to a multiple of this many columns."""


class SkipgramText(NamedTuple):
    """N words in B sentences, and what was drawn for each of them."""

    ids: Array  # int32 (N,)
    offsets: Array  # (B + 1,)
    reach: Array  # uint8 (N,): how many words on each side are around it
    negatives: Array  # int32 (N, K)


class RowChanges(NamedTuple):
    """What a shard has added to rows of a table (V, P)."""

    rows: Array  # (n,)
    values: Array  # (n, P)
    touches: Array  # int32 (n,): how many pairs or windows did


class SkipgramChanges(NamedTuple):
    inputs: RowChanges
    outputs: RowChanges
    loss: float
    """The sum over ``pairs`` words and their centres."""
    pairs: int


@final
class ShardRoom:
    """Memory of the compiled kernel that is used again; one for each shard that runs at the same time."""

    def __init__(self) -> None:
        self._arrays: dict[str, Array] = {}

    def array(self, name: str, shape: tuple[int, ...], dtype: type, fill: int | None = None) -> Array:
        """An array with room for at least this shape; ``fill`` is what a new one holds."""
        size = int(np.prod(shape))
        held = self._arrays.get(name)
        if held is None or held.size < size:
            held = np.empty(size, dtype) if fill is None else np.full(size, fill, dtype)
            self._arrays[name] = held
        return held[:size].reshape(shape)


def pair_losses(X: Array, Y: Array, wanted: Array) -> tuple[float, Array, Array]:
    """J of a window and its gradients dX, dY.  X (M, D), Y (Q, D); wanted (Q,): 1 true, 0 negative, -1 left out."""
    S = X @ Y.T  # 1
    P = 0.5 + 0.5 * np.tanh(0.5 * S)  # 2: σ, which does not overflow so
    counted = wanted >= 0
    costs = np.logaddexp(0, np.where(wanted > 0, -S, S))  # 3: -log σ(±s)
    dS = np.where(counted, P - (wanted > 0), 0).astype(X.dtype)  # 3, 2
    return float(costs[:, counted].sum(dtype=np.float64)), dS @ Y, dS.T @ X  # 1


def checked_text(text: SkipgramText, V: int) -> SkipgramText:
    """The arrays as C expects them. Ids are checked where they are used."""
    N = len(text.ids)
    K = text.negatives.shape[1]
    if not 1 <= K <= MOST_NEGATIVES:
        raise IndexRangeError("negatives", expected=f"must be 1 to {MOST_NEGATIVES}", got=K)
    return SkipgramText(
        contiguous(text.ids, np.int32, (N,), "words"),
        checked_offsets(text.offsets, rows=N),
        contiguous(text.reach, np.uint8, (N,), "reach of words"),
        contiguous(text.negatives, np.int32, (N, K), "negatives"),
    )


def _check_ids(text: SkipgramText, V: int) -> None:
    for ids in (text.ids, text.negatives):
        if ids.size and not 0 <= ids.min() <= ids.max() < V:
            raise IndexRangeError("an index points outside its table", where="skip-gram")
    if len(text.reach) and text.reach.max() > MOST_REACH:
        raise IndexRangeError("an index points outside its table", where="skip-gram")


def skipgram_shard(
    inputs: Array, outputs: Array, text: SkipgramText, rate: float, room: ShardRoom | None = None
) -> SkipgramChanges:
    """One pass of gradient descent over a shard, window after window.  inputs (V, P), outputs (V, P)."""
    text = checked_text(text, len(inputs))
    _check_ids(text, len(inputs))
    X, Y = inputs.copy(), outputs.copy()
    touches = np.zeros((2, len(inputs)), np.int32)
    loss, pairs = 0.0, 0
    for begin, end in zip(text.offsets[:-1].tolist(), text.offsets[1:].tolist(), strict=True):
        for t in range(begin, end):
            reach = int(text.reach[t])
            around = [i for i in range(max(begin, t - reach), min(end, t + reach + 1)) if i != t]
            if not around:
                continue
            contexts, words = text.ids[around], np.append(text.ids[t], text.negatives[t])
            wanted = np.where(words == words[0], -1, 0)
            wanted[0] = 1
            cost, dX, dY = pair_losses(X[contexts], Y[words], wanted)
            np.subtract.at(X, contexts, X.dtype.type(rate) * dX)
            np.subtract.at(Y, words, Y.dtype.type(rate) * dY)
            np.add.at(touches[0], contexts, len(words))
            np.add.at(touches[1], words, len(around))
            if t % LOSS_EVERY == 0:
                loss, pairs = loss + cost, pairs + len(around)
    changed = _changes(X, inputs, touches[0]), _changes(Y, outputs, touches[1])
    return SkipgramChanges(changed[0], changed[1], loss, pairs)


def _changes(table: Array, before: Array, touches: Array) -> RowChanges:
    rows = np.flatnonzero(touches)
    return RowChanges(rows, table[rows] - before[rows], touches[rows])


def merge_rows(table: Array, changes: RowChanges, scales: Array) -> None:
    """Row ``rows[i]`` of the table += ``scales[i]`` × ``values[i]``. No row stands twice."""
    table[changes.rows] += scales[:, None] * changes.values
