"""The network of a detector: one unnormalised score per token, learnt from pairs of windows (B2, E4)."""

from typing import Any, final

import numpy as np

from postil import graph
from postil.arrays import Array
from postil.features.inputs import Inputs
from postil.graph import Node, Result
from postil.models.config import TaggerConfig
from postil.models.scoring.network import Example, ScoringNetwork
from postil.objectives import max_margin


@final
class DetectorNetwork(ScoringNetwork):
    """s = Uᵀ f(W x + b) for the window x around every token (B1). ``gold`` of its examples is 1 at true centres.

    The score has no bias: shifting all scores by the same number changes no cost.
    """

    def __init__(self, config: TaggerConfig, **sizes: Any) -> None:
        """``sizes`` and the rest as ScoringNetwork takes them."""
        super().__init__(config, 1, bias=False, **sizes)

    def objective(self, scores: Result, example: Example, rng: "np.random.Generator") -> Node:
        """Every true window against some corrupt ones: mean cost of the pairs, or the sum.

        Corrupt windows are drawn from the example, whose windows are all scored in any case. Where all windows are
        true, or all corrupt, there are no pairs and nothing is learnt.
        """
        true, corrupt = sampled_pairs(example.gold, self.config.corrupt, rng)
        s = graph.reshape(graph.take_rows(scores, true), len(true))
        s_c = graph.reshape(graph.take_rows(scores, corrupt.ravel()), *corrupt.shape)
        loss: Node = max_margin(s, s_c, margin=self.config.margin, normalise=self.config.pairs)
        # The loop multiplies by the share to make a mean of means. A sum must not be made smaller by it.
        return loss if self.config.pairs == "mean" else loss * (1 / example.share)

    def weight(self, example: Example) -> float:
        """Pairs."""
        trues = int((example.gold == 1).sum())
        return float(trues * self.config.corrupt) if (example.gold == 0).any() else 0.0

    def resized(self, **sizes: Any) -> "DetectorNetwork":
        return DetectorNetwork(self.config, rng=None, **sizes)

    def random_gold(self, offsets: Array, rng: "np.random.Generator") -> Array:
        """About every third window is true, the first one always and the last one never."""
        gold = (rng.random(int(offsets[-1])) < 1 / 3).astype(np.int64)
        gold[0], gold[-1] = 1, 0
        return gold

    def token_scores(self, inputs: Inputs) -> Array:
        """s of every token, (N,), in float64 so that comparing with a threshold is exact."""
        return self.unary(inputs)[:, 0].astype(np.float64)


def sampled_pairs(gold: Array, corrupt: int, rng: "np.random.Generator") -> tuple[Array, Array]:
    """Places of the true windows (P,), and for each of them of ``corrupt`` others, (P, C), drawn with replacement."""
    true, others = np.flatnonzero(gold == 1), np.flatnonzero(gold == 0)
    if not len(others):
        return true[:0], np.zeros((0, corrupt), np.int64)
    return true, others[rng.integers(0, len(others), (len(true), corrupt))]
