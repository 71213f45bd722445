"""Skip-gram with negative samples: every word predicts the words around it, against random ones.

The two tables are learned; the vectors are the inputs. What is computed on a shard of text is a kernel
(``kernels/plain_pretraining.py``); here stands what is drawn at random for it.
"""

from typing import final

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.errors import ShapeError
from postil.graph import Node, Result
from postil.kernels.plain_pretraining import LANES, ShardRoom, SkipgramText, pair_losses
from postil.pretraining.config import PretrainingConfig
from postil.pretraining.corpus import SENTENCE_END, Corpus
from postil.pretraining.method import Method, Parameters, ShardResult, padded_table
from postil.pretraining.sampling import WordSampler, keeping_probabilities


@final
class Skipgram(Method):
    """See ``Method``."""

    vectors = "inputs"
    unit_length = False
    curvature = 0.1
    """Of the cost of one pair along a row: σ'(s) |x|² with vectors of an ordinary length."""

    def __init__(self, config: PretrainingConfig, corpus: Corpus) -> None:
        self._config = config
        self._sampler = WordSampler(corpus.counts)
        self._kept = keeping_probabilities(corpus.counts, corpus.tokens, config.sample)

    def initial(self, V: int, rng: np.random.Generator) -> Parameters:
        D = self._config.dimensions
        inputs = padded_table(rng.uniform(-0.5 / D, 0.5 / D, (V, D)), LANES)
        return {"inputs": inputs, "outputs": np.zeros_like(inputs)}

    def run(
        self, parameters: Parameters, ids: Array, rate: float, rng: np.random.Generator, room: ShardRoom
    ) -> ShardResult:
        changes = kernels.skipgram_shard(parameters["inputs"], parameters["outputs"], self.drawn(ids, rng), rate, room)
        rows = {"inputs": changes.inputs, "outputs": changes.outputs}
        return ShardResult(rows, {}, changes.loss, changes.pairs)

    def drawn(self, ids: Array, rng: np.random.Generator) -> SkipgramText:
        """A text without unknown words and some of the frequent ones; with the reach and the negatives of each word."""
        is_kept = ids >= 0
        is_kept[is_kept] = rng.random(int(is_kept.sum()), np.float32) < self._kept[ids[is_kept]]
        kept = ids[is_kept]
        ends = np.cumsum(is_kept)[ids == SENTENCE_END]
        offsets = np.concatenate([[0], ends, [len(kept)]])
        reach = rng.integers(1, self._config.reach, len(kept), np.uint8, endpoint=True)
        return SkipgramText(kept, offsets, reach, self._sampler.draw((len(kept), self._config.negatives), rng))


def negative_sampling(contexts: Node, outputs: Node, wanted: Array) -> Result:
    """A node with the cost of one window: contexts (M, D), outputs (Q, D); wanted (Q,) is 1 for the true word, 0 for a
    negative, -1 for one that is left out."""
    X, Y = contexts.value, outputs.value
    if X.ndim != 2 or Y.ndim != 2 or X.shape[1] != Y.shape[1] or wanted.shape != (len(Y),):
        got = f"{X.shape}, {Y.shape}, {wanted.shape}"
        raise ShapeError(
            "a window", expected="contexts (M, D), outputs (Q, D), wanted (Q,)", got=got, where="skip-gram"
        )
    loss, dX, dY = pair_losses(X, Y, wanted)
    return Result(np.asarray(loss, X.dtype), (contexts, outputs), lambda dJ: [dJ * dX, dJ * dY], "negative sampling")
