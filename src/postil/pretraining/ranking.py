"""True windows against corrupt ones (E4, Collobert & Weston): words that fit into the same windows get similar vectors.

A kernel (``kernels/plain_pretraining.py``) works on shards of text; what it needs at random is drawn here. The table
has two rows more than the dictionary: an unknown word, and the padding outside of a sentence.
"""

from typing import final

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.errors import ShapeError
from postil.graph import Node, Result
from postil.graph.node import note_branches
from postil.kernels.plain_pretraining import LANES, RankingLayers, RankingRates, RankingText, ShardRoom, ranking_losses
from postil.pretraining.config import PretrainingConfig
from postil.pretraining.corpus import SENTENCE_END, UNKNOWN_WORD, Corpus
from postil.pretraining.method import Method, Parameters, ShardResult, padded_table
from postil.pretraining.sampling import WordSampler

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

    def __init__(self, config: PretrainingConfig, corpus: Corpus) -> None:
        self._config, self._V = config, len(corpus.words)
        self._sampler = WordSampler(corpus.counts)

    def initial(self, V: int, rng: np.random.Generator) -> Parameters:
        S, D, H = 2 * self._config.reach + 1, self._config.dimensions, self._config.hidden
        words = padded_table(rng.normal(0, _INITIAL_SIZE, (V + 2, D)), LANES)
        W = np.zeros((S, words.shape[1], H), np.float32)
        W[:, :D] = rng.normal(0, (S * D) ** -0.5, (S, D, H))
        u = rng.normal(0, H**-0.5, H).astype(np.float32)
        return {"words": words, "W": W, "b": np.zeros(H, np.float32), "u": u}

    def run(
        self, parameters: Parameters, ids: Array, rate: float, rng: np.random.Generator, room: ShardRoom
    ) -> ShardResult:
        layers = RankingLayers(parameters["W"], parameters["b"], parameters["u"])
        rates = RankingRates(rate, LAYER_RATIO, MARGIN)
        changes = kernels.ranking_shard(parameters["words"], layers, self.drawn(ids, rng), rates, room)
        return ShardResult({"words": changes.rows}, changes.layers._asdict(), changes.loss, changes.windows)

    def drawn(self, ids: Array, rng: np.random.Generator) -> RankingText:
        """The sentences of a shard with a corrupt centre for each word."""
        is_word = ids != SENTENCE_END
        words = ids[is_word]
        words[words == UNKNOWN_WORD] = self._V
        offsets = np.concatenate([[0], np.cumsum(is_word)[~is_word], [len(words)]])
        return RankingText(words, offsets, self._sampler.draw((len(words),), rng), self._V)


def window_ranking(windows: Node, corrupt: Node, W: Node, b: Node, u: Node, margin: float = MARGIN) -> Result:
    """A node with the sum of max(0, Δ - s(true) + s(corrupt)) over windows (n, S, D) and corrupt centres (n, D).

    s = u · hardtanh(W x + b) of the words of a window side by side; W (S, D, H), b (H,), u (H,).
    """
    X, C, layers = windows.value, corrupt.value, RankingLayers(W.value, b.value, u.value)
    if X.ndim != 3 or C.shape != (len(X), X.shape[2]) or layers.W.shape[:2] != X.shape[1:]:
        got = f"{X.shape}, {C.shape}, {layers.W.shape}"
        expected = "windows (n, S, D), corrupt centres (n, D), W (S, D, H)"
        raise ShapeError("windows", expected=expected, got=got, where="ranking")
    found = ranking_losses(X, C, layers, margin)
    note_branches(found.violated)
    note_branches(found.pieces)
    parts = [found.dX, found.dC, *found.layers]
    value = np.asarray(found.loss, X.dtype)
    return Result(value, (windows, corrupt, W, b, u), lambda dY: [dY * part for part in parts], "window ranking")
