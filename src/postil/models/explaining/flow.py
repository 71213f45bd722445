"""The flow graph of a tagger's loss on one sentence, every layer a node: to be drawn, or walked on the page (E8)."""

from collections.abc import Sequence
from functools import reduce

import numpy as np

from postil import graph
from postil.errors import DataError
from postil.features.inputs import Token
from postil.graph import Node
from postil.models.scoring.ensemble_network import members_of
from postil.models.scoring.network import Example
from postil.models.tagger import Tagger


def sentence_loss(tagger: Tagger, tokens: Sequence[Token], labels: Sequence[str] | None = None) -> Node:
    """The loss of training, without noise, against ``labels`` or else those that the tagger predicts.

    That of an ensemble is the sum over its members.
    """
    labels = list(labels) if labels is not None else tagger.predict([list(tokens)])[0]
    if len(labels) != len(tokens):
        raise DataError("labels", expected=f"one for each of the {len(tokens)} tokens", got=len(labels))
    parts = tagger.fitted_parts()
    inputs = parts.features.inputs([list(tokens)])
    (gold,) = tagger.labelling.numbers([labels])
    example, rng = Example(inputs=inputs, gold=gold), np.random.default_rng(0)
    # scores_of(token_vectors(…)) is unfused, unlike scores(…): every layer is a node.
    losses: list[Node] = [
        member.objective(member.scores_of(member.token_vectors(inputs)), example, rng)
        for member in members_of(parts.network)
    ]
    return reduce(graph.add, losses)
