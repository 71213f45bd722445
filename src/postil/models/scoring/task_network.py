"""Several tasks in one network: the tables of words and the encoder are shared, each task has a head of its own.

A head is an ordinary TaggerNetwork: its tables and its encoder are the same objects as those of the other heads, its
output maps and its CRF belong to it alone. So whatever is true of a tagger is true of each head.
"""

from collections.abc import Mapping
from typing import Any, final

import numpy as np

from postil.arrays import Array
from postil.features.inputs import Inputs
from postil.graph import Node, Parameter, Parameterised
from postil.models.scoring.network import Example
from postil.models.scoring.tagger_network import TaggerNetwork
from postil.text import TransitionMask


@final
class TaskNetwork(Parameterised):
    """The heads by task. A batch is of one task, and only what this task uses has a gradient."""

    PATHS = {"form_tables": "forms", "extra_tables": "extra"}

    def __init__(self, heads: Mapping[str, TaggerNetwork]) -> None:
        first = next(iter(heads.values()))
        self.config, self.vectors, self.word_counts = first.config, first.vectors, first.word_counts
        # Declared before the heads: the paths of shared parameters are those of a tagger with one task.
        self.form_tables, self.extra_tables, self.form_dim = first.form_tables, first.extra_tables, first.form_dim
        self.characters, self.encoder = first.characters, first.encoder
        self.heads = dict(heads)

    @classmethod
    def of(
        cls, first: TaggerNetwork, masks: Mapping[str, TransitionMask], rng: "np.random.Generator | None"
    ) -> "TaskNetwork":
        """A head for each mask; that of the first is the network ``first`` itself."""
        others = list(masks.items())[1:]
        return cls({next(iter(masks)): first} | {task: first.with_head(mask, rng) for task, mask in others})

    def loss(self, example: Example, *, rng: "np.random.Generator") -> Node:
        """The loss of the example's task."""
        return self.heads[example.task].loss(example, rng=rng)

    def form_columns(self, forms: Array) -> tuple[Array, Array]:
        """See ``ScoringNetwork.form_columns``."""
        return next(iter(self.heads.values())).form_columns(forms)

    @property
    def alphabet(self) -> int:
        return next(iter(self.heads.values())).alphabet

    def weight(self, example: Example) -> float:
        return self.heads[example.task].weight(example)

    def unary(self, inputs: Inputs) -> dict[str, Array]:
        """The scores (N, L) of each task, to predict with."""
        return {task: head.unary(inputs) for task, head in self.heads.items()}

    def head_parameters(self) -> dict[str, Parameter]:
        """Those that belong to one head: what is learnt while the encoder is frozen."""
        return {name: one for name, one in self.parameters().items() if name.startswith("heads.")}

    def resized(self, **sizes: Any) -> "TaskNetwork":
        masks = {task: head.mask for task, head in self.heads.items()}
        first = next(iter(self.heads.values()))
        return TaskNetwork.of(first.resized(**sizes), masks, None)

    @property
    def dtype(self) -> np.dtype[Any]:
        return next(iter(self.heads.values())).dtype
