"""Several networks of one architecture as one: the scores of the members are averaged before forward-backward.

Members differ in what they began with and in their noise, so their mistakes differ and partly cancel out. They are
trained side by side, each by its own loss on the same batches.
"""

from collections.abc import Sequence
from functools import reduce
from typing import Any, final

import numpy as np

from postil import graph
from postil.arrays import Array
from postil.features.inputs import Inputs
from postil.graph import Node, Parameterised, Result
from postil.models.scoring.network import Example
from postil.models.scoring.tagger_network import TaggerNetwork
from postil.objectives.lattice import ChainScores, Lattice


@final
class EnsembleNetwork(Parameterised):
    """Answers as a TaggerNetwork does, with the mean of its members' scores."""

    PATHS = {"members": "member{}"}

    def __init__(self, members: Sequence[TaggerNetwork]) -> None:
        self.members = list(members)
        first = self.members[0]
        # Members share the features: the tables' sizes, the fixed vectors, the counts of words.
        self.config, self.mask, self.vectors, self.word_counts = (
            first.config,
            first.mask,
            first.vectors,
            first.word_counts,
        )
        self.named = None  # the members have their own
        self.form_tables, self.extra_tables, self.form_dim = first.form_tables, first.extra_tables, first.form_dim

    def scores(self, inputs: Inputs, rng: "np.random.Generator | None" = None) -> Result:
        """The mean of the members' scores, a node (N, L) that carries the offsets."""
        total = reduce(graph.add, [member.scores(inputs, rng) for member in self.members])
        mean = graph.multiply(total, 1 / len(self.members))
        mean.offsets = inputs.offsets
        return mean

    def unary(self, inputs: Inputs) -> Array:
        """The scores (N, L) alone, to predict with."""
        return mean_scores([member.unary(inputs) for member in self.members])

    def loss(self, example: Example, *, rng: "np.random.Generator") -> Node:
        """The sum of the members' losses: each learns as it would alone."""
        return reduce(graph.add, [member.loss(example, rng=rng) for member in self.members])

    def form_columns(self, forms: Array) -> tuple[Array, Array]:
        """See ``ScoringNetwork.form_columns``."""
        return self.members[0].form_columns(forms)

    @property
    def alphabet(self) -> int:
        return self.members[0].alphabet

    def weight(self, example: Example) -> float:
        return self.members[0].weight(example)

    def resized(self, **sizes: Any) -> "EnsembleNetwork":
        return EnsembleNetwork([member.resized(**sizes) for member in self.members])

    def random_gold(self, offsets: Array, rng: "np.random.Generator") -> Array:
        return self.members[0].random_gold(offsets, rng)

    def lattice_over(self, scores: Array, offsets: Array) -> Lattice:
        return Lattice.over(scores, offsets, self.chain())

    def chain(self) -> ChainScores:
        """The mean of what the members score for what follows what; they forbid the same."""
        chains = [member.chain() for member in self.members]

        def mean(name: str) -> Array:
            return mean_scores([getattr(chain, name) for chain in chains])

        return ChainScores(transitions=mean("transitions"), start=mean("start"), end=mean("end"))

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.members[0].dtype


def members_of(network: Any) -> list[Any]:
    """The networks of an ensemble, or the one network that it is."""
    return list(network.members) if isinstance(network, EnsembleNetwork) else [network]


def mean_scores(of_members: Sequence[Array]) -> Array:
    """The mean of equal arrays, in their own float type."""
    total = of_members[0].copy()
    for scores in of_members[1:]:
        total += scores
    total /= len(of_members)
    return total
