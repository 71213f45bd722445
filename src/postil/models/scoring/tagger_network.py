"""The network of a tagger: scores of labels, learnt with a CRF or a softmax, and the lattice of label sequences."""

from copy import copy
from typing import Any, final

import numpy as np

from postil.arrays import Array
from postil.features.inputs import Inputs
from postil.graph import Node, Result
from postil.models.config import TaggerConfig
from postil.models.scoring.encoders import LayerMaker
from postil.models.scoring.network import Example, ScoringNetwork
from postil.objectives import softmax_cross_entropy
from postil.objectives.crf_decoding import viterbi
from postil.objectives.crf_objective import CRF
from postil.objectives.lattice import ChainScores, Lattice
from postil.text import TransitionMask


@final
class TaggerNetwork(ScoringNetwork):
    """Scores and losses of one tagger."""

    def __init__(self, config: TaggerConfig, *, mask: TransitionMask, dtype: Any = np.float32, **sizes: Any) -> None:
        """``sizes`` and the rest as ScoringNetwork takes them."""
        super().__init__(config, len(mask.start), dtype=dtype, **sizes)
        self.mask = mask
        self.crf = _crf(config, mask, dtype) if config.objective == "crf" else None

    def with_head(self, mask: TransitionMask, rng: "np.random.Generator | None") -> "TaggerNetwork":
        """A network for other labels: it shares the tables and the encoder of this one, its output maps are new."""
        make = LayerMaker(self.config, rng, self.dtype)
        other = copy(self)
        H = self.outputs[0].W.shape[1]
        other.outputs = [make.linear(H, len(mask.start)) for _ in self.outputs]
        other.mask, other.crf = mask, None if self.crf is None else _crf(self.config, mask, self.dtype)
        return other

    def objective(self, scores: Result, example: Example, rng: "np.random.Generator") -> Node:
        """The mean over words (softmax) or sentences (CRF)."""
        if self.crf is not None:
            return self.crf.loss(scores, example.gold)
        return softmax_cross_entropy(scores, example.gold)

    def weight(self, example: Example) -> float:
        """Sentences for a CRF, words for a softmax; not those of which every label is possible."""
        offsets, gold = example.inputs.offsets, example.gold
        if self.crf is None:
            return float(len(gold) if gold.ndim == 1 else (~gold.all(axis=1)).sum())
        return float(len(offsets) - 1)

    def resized(self, **sizes: Any) -> "TaggerNetwork":
        return TaggerNetwork(self.config, mask=self.mask, rng=None, **sizes)

    def random_gold(self, offsets: Array, rng: "np.random.Generator") -> Array:
        """The best labels under random scores and the scheme's mask."""
        L = len(self.mask.start)
        chain = ChainScores.under_mask(L, **_masks(self.mask))
        return viterbi(Lattice.over(rng.normal(size=(int(offsets[-1]), L)), offsets, chain))

    def lattice(self, inputs: Inputs, *, allowed: Array | None = None, bias: Array | None = None) -> Lattice:
        """All label sequences of the batch: marginals, best paths and spans are read from it."""
        return self.lattice_over(self.unary(inputs), inputs.offsets, allowed=allowed, bias=bias)

    def lattice_over(
        self, scores: Array, offsets: Array, *, allowed: Array | None = None, bias: Array | None = None
    ) -> Lattice:
        """The lattice of scores (N, L) that are there already."""
        return Lattice.over(scores, offsets, self.chain(), allowed=allowed, bias=bias)

    def chain(self) -> ChainScores:
        """What follows what: learnt by a CRF; for a softmax model only the scheme's rules."""
        if self.crf is not None:
            return self.crf.chain()
        return ChainScores.under_mask(len(self.mask.start), **_allowed(self.config, self.mask))


def _masks(mask: TransitionMask) -> dict[str, Any]:
    return {"allowed_transitions": mask.transitions, "allowed_start": mask.start, "allowed_end": mask.end}


def _allowed(config: TaggerConfig, mask: TransitionMask) -> dict[str, Any]:
    return _masks(mask) if config.constrained else {}


def _crf(config: TaggerConfig, mask: TransitionMask, dtype: Any) -> CRF:
    return CRF(len(mask.start), **_allowed(config, mask), dtype=dtype)
