"""The two ways to learn vectors from text, and how the shards of a block of text become one step.

Skip-gram: every word predicts the words around it, against random ones; two tables, the vectors are the inputs.
Ranking (E4, Collobert & Weston): true windows score higher than corrupt ones, so that words that fit into the same
windows get similar vectors. Its table has two rows more than the dictionary: an unknown word, and the padding outside
of a sentence.

Kernels (``kernels/plain_pretraining.py``) work on shards of text; what they need at random is drawn here. All shards of
a block start from the same parameters and run independently, on any number of threads. Their changes are added in the
order of the shards, so the result does not depend on the threads.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple, TypeAlias, final

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.errors import ShapeError
from postil.graph import Node, Result
from postil.graph.node import note_branches
from postil.kernels import plain_pretraining as plain
from postil.kernels.plain_pretraining import LANES, RowChanges, ShardRoom
from postil.pretraining.config import PretrainingConfig
from postil.pretraining.corpus import SENTENCE_END, UNKNOWN_WORD, Corpus

Parameters: TypeAlias = dict[str, Array]


class ShardResult(NamedTuple):
    """The changes made by a shard: rows of tables, and whole arrays."""

    rows: Mapping[str, RowChanges]
    arrays: Mapping[str, Array]
    loss: float
    """The sum over ``terms`` pairs or windows."""
    terms: int


class Method(ABC):
    """A way to learn vectors from text: initial parameters, and one pass over a shard."""

    vectors: str
    """The parameter whose rows are the vectors."""
    unit_length: bool
    """Whether the vectors are brought to length 1 in the end."""
    curvature: float
    """Of the cost of one touch along a row, roughly; see ``merging_scales``."""

    def __init__(self, config: PretrainingConfig, corpus: Corpus) -> None:
        self.config, self.corpus, self.sampler = config, corpus, WordSampler(corpus.counts)

    @abstractmethod
    def initial(self, V: int, rng: np.random.Generator) -> Parameters:
        """The parameters at the beginning; tables are float32 (rows, P)."""

    @abstractmethod
    def run(
        self, parameters: Parameters, ids: Array, rate: float, rng: np.random.Generator, room: ShardRoom
    ) -> ShardResult:
        """Train on one shard of ``Corpus.ids``; ``parameters`` are not changed."""


def padded_table(values: Array) -> Array:
    """(V, D) -> float32 (V, P): P is the next multiple of LANES, the columns after D are zero."""
    V, D = values.shape
    table = np.zeros((V, -(-D // LANES) * LANES), np.float32)
    table[:, :D] = values
    return table


@final
class WordSampler:
    """Draws words with probability count^¾ / Σ count^¾, each in constant time (Walker's alias method).

    Rare words are drawn more often than they occur. Slot ``i`` holds word ``i`` with probability ``own[i]``, else word
    ``other[i]``; all slots are equally likely.
    """

    def __init__(self, counts: Array, power: float = 0.75) -> None:
        weights = counts.astype(np.float64) ** power
        shares = weights * len(weights) / weights.sum()
        self.own, self.other = np.minimum(shares, 1).astype(np.float32), np.arange(len(shares), dtype=np.int32)
        # Slots with too little take the rest from one with too much.
        left = shares.tolist()
        poor = [i for i, share in enumerate(left) if share < 1]
        rich = [i for i, share in enumerate(left) if share >= 1]
        while poor and rich:
            receiver, giver = poor.pop(), rich[-1]
            self.own[receiver], self.other[receiver] = left[receiver], giver
            left[giver] -= 1 - left[receiver]
            if left[giver] < 1:
                poor.append(rich.pop())
        self.own[np.array(poor + rich, np.int64)] = 1  # what is left differs from 1 by rounding

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        """Numbers of words, int32."""
        slots = rng.integers(0, len(self.own), shape, np.int32)
        return np.where(rng.random(shape, np.float32) < self.own[slots], slots, self.other[slots])


# ------------------------------------------------------------------------------------------------ skip-gram


@final
class Skipgram(Method):
    """See ``Method``."""

    vectors = "inputs"
    unit_length = False
    curvature = 0.1
    """Of the cost of one pair along a row: σ'(s) |x|² with vectors of an ordinary length."""

    def initial(self, V: int, rng: np.random.Generator) -> Parameters:
        D = self.config.dimensions
        inputs = padded_table(rng.uniform(-0.5 / D, 0.5 / D, (V, D)))
        return {"inputs": inputs, "outputs": np.zeros_like(inputs)}

    def run(
        self, parameters: Parameters, ids: Array, rate: float, rng: np.random.Generator, room: ShardRoom
    ) -> ShardResult:
        changes = kernels.skipgram_shard(parameters["inputs"], parameters["outputs"], self.drawn(ids, rng), rate, room)
        rows = {"inputs": changes.inputs, "outputs": changes.outputs}
        return ShardResult(rows, {}, changes.loss, changes.pairs)

    @cached_property
    def _keeping(self) -> Array:
        return keeping_probabilities(self.corpus.counts, self.corpus.tokens, self.config.sample)

    def drawn(self, ids: Array, rng: np.random.Generator) -> plain.SkipgramText:
        """A text without unknown words and some of the frequent ones; with the reach and the negatives of each word."""
        is_kept = ids >= 0
        is_kept[is_kept] = rng.random(int(is_kept.sum()), np.float32) < self._keeping[ids[is_kept]]
        words = ids[is_kept]
        offsets = np.concatenate([[0], np.cumsum(is_kept)[ids == SENTENCE_END], [len(words)]])
        reach = rng.integers(1, self.config.reach, len(words), np.uint8, endpoint=True)
        return plain.SkipgramText(words, offsets, reach, self.sampler.draw((len(words), self.config.negatives), rng))


def keeping_probabilities(counts: Array, tokens: int, sample: float) -> Array:
    """(V,) float32: with which probability an occurrence is used, √(t/f) + t/f for a word of frequency f."""
    ratio = sample * tokens / counts
    return np.minimum(np.sqrt(ratio) + ratio, 1).astype(np.float32)


def negative_sampling(contexts: Node, outputs: Node, wanted: Array) -> Result:
    """A node with the cost of one window: contexts (M, D), outputs (Q, D); wanted (Q,) is 1 for the true word, 0 for a
    negative, -1 for one that is left out."""
    X, Y = contexts.value, outputs.value
    if X.ndim != 2 or Y.ndim != 2 or X.shape[1] != Y.shape[1] or wanted.shape != (len(Y),):
        expected, got = "contexts (M, D), outputs (Q, D), wanted (Q,)", f"{X.shape}, {Y.shape}, {wanted.shape}"
        raise ShapeError("a window", expected=expected, got=got, where="skip-gram")
    loss, dX, dY = plain.pair_losses(X, Y, wanted)
    return Result(np.asarray(loss, X.dtype), (contexts, outputs), lambda dJ: [dJ * dX, dJ * dY], "negative sampling")


# ------------------------------------------------------------------------------------------------ ranking of windows


MARGIN = 1.0
LAYER_RATIO = 0.1
"""The rate of the layers relative to that of the words: every window moves the layers, few move a word."""
_INITIAL_SIZE = 0.01  # standard deviation of the words' numbers


@final
class Ranking(Method):
    """See ``Method``."""

    vectors = "words"
    unit_length = True
    """Words grow with every window that moves them. Without this, frequent words drown all others in a tagger."""
    curvature = 0.002
    """Measured: a hinge is flat almost everywhere."""

    def initial(self, V: int, rng: np.random.Generator) -> Parameters:
        S, D, H = 2 * self.config.reach + 1, self.config.dimensions, self.config.hidden
        words = padded_table(rng.normal(0, _INITIAL_SIZE, (V + 2, D)))
        W = np.zeros((S, words.shape[1], H), np.float32)
        W[:, :D] = rng.normal(0, (S * D) ** -0.5, (S, D, H))
        u = rng.normal(0, H**-0.5, H).astype(np.float32)
        return {"words": words, "W": W, "b": np.zeros(H, np.float32), "u": u}

    def run(
        self, parameters: Parameters, ids: Array, rate: float, rng: np.random.Generator, room: ShardRoom
    ) -> ShardResult:
        layers = plain.RankingLayers(parameters["W"], parameters["b"], parameters["u"])
        rates = plain.RankingRates(rate, LAYER_RATIO, MARGIN)
        changes = kernels.ranking_shard(parameters["words"], layers, self.drawn(ids, rng), rates, room)
        return ShardResult({"words": changes.rows}, changes.layers._asdict(), changes.loss, changes.windows)

    def drawn(self, ids: Array, rng: np.random.Generator) -> plain.RankingText:
        """The sentences of a shard with a corrupt centre for each word."""
        V, is_word = len(self.corpus.words), ids != SENTENCE_END
        words = ids[is_word]
        words[words == UNKNOWN_WORD] = V
        offsets = np.concatenate([[0], np.cumsum(is_word)[~is_word], [len(words)]])
        return plain.RankingText(words, offsets, self.sampler.draw((len(words),), rng), V)


def window_ranking(windows: Node, corrupt: Node, W: Node, b: Node, u: Node, margin: float = MARGIN) -> Result:
    """A node with the sum of max(0, Δ - s(true) + s(corrupt)) over windows (n, S, D) and corrupt centres (n, D).

    s = u · hardtanh(W x + b) of the words of a window side by side; W (S, D, H), b (H,), u (H,).
    """
    X, C, layers = windows.value, corrupt.value, plain.RankingLayers(W.value, b.value, u.value)
    if X.ndim != 3 or C.shape != (len(X), X.shape[2]) or layers.W.shape[:2] != X.shape[1:]:
        got = f"{X.shape}, {C.shape}, {layers.W.shape}"
        expected = "windows (n, S, D), corrupt centres (n, D), W (S, D, H)"
        raise ShapeError("windows", expected=expected, got=got, where="ranking")
    losses = plain.ranking_losses(X, C, layers, margin)
    note_branches(losses.violated)
    note_branches(losses.pieces)
    parts = [losses.dX, losses.dC, *losses.layers]
    value = np.asarray(losses.loss, X.dtype)
    return Result(value, (windows, corrupt, W, b, u), lambda dY: [dY * part for part in parts], "window ranking")


METHODS: dict[str, Callable[[PretrainingConfig, Corpus], Method]] = {"skipgram": Skipgram, "ranking": Ranking}

# ------------------------------------------------------------------------------------------------ merging shards


def merge(
    method: Method,
    parameters: Parameters,
    results: Sequence[ShardResult],
    rate: float,
    each: Callable[..., Iterable[None]] = map,
) -> None:
    """Add the changes of all shards to the parameters, in their order; ``each`` may work on several tables at once."""

    def merge_table(name: str) -> None:
        changes = [result.rows[name] for result in results]
        rows, touches = (np.concatenate(arrays) for arrays in zip(*((c.rows, c.touches) for c in changes), strict=True))
        scales = merging_scales(rows, touches, rate * method.curvature, len(parameters[name]))
        ends = np.cumsum([len(change.rows) for change in changes])[:-1]
        for change, scale in zip(changes, np.split(scales, ends), strict=True):
            kernels.merge_rows(parameters[name], change, scale)

    list(each(merge_table, results[0].rows))
    for name in results[0].arrays:  # touched by every window: the shards' results are averaged
        parameters[name] += sum(result.arrays[name] for result in results) / np.float32(len(results))


def merging_scales(rows: Array, touches: Array, pull: float, V: int) -> Array:
    """By what each shard's change of a row is multiplied, float32 (n,).

    If the cost along a row is a parabola, n touches move it by a share 1 - exp(-a) of the way to its minimum, with
    a = ``pull`` × n. Shards that run one after the other would move it by 1 - exp(-Σ a); the sum of their changes, all
    from the same beginning, is Σ (1 - exp(-a)), too far for frequent words. The ratio of both is the scale: 1 for rare
    words, whose changes add up, and 1/S for words that every one of S shards has settled already.
    """
    a = pull * touches.astype(np.float64)
    moved = -np.expm1(-a)
    totals = np.zeros((2, V))
    np.add.at(totals[0], rows, a)
    np.add.at(totals[1], rows, moved)
    return np.asarray(-np.expm1(-totals[0, rows]) / np.maximum(totals[1, rows], 1e-300), np.float32)
