"""The flow graph of a tagger's loss on one sentence, every layer a node: to be drawn, or walked on the page (E8)."""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, TypeAlias

import numpy as np

from postil import graph
from postil.errors import DataError
from postil.features.inputs import Token
from postil.graph import Node
from postil.models.networks.network import Example, members_of
from postil.models.tagger import Tagger
from postil.network import Chain, Dropout, Layer, Residual

Visit: TypeAlias = Callable[[Node], Node]
"""Called with every node as it is computed; what it returns is used in its place."""


def _as_it_is(node: Node) -> Node:
    return node


def sentence_loss(tagger: Tagger, tokens: Sequence[Token], labels: Sequence[str] | None = None) -> Node:
    """The loss of training, without noise, against ``labels`` or else those that the tagger predicts.

    That of an ensemble is the sum over its members.
    """
    return loss_graph(tagger.model.network, sentence_example(tagger, tokens, labels))


def sentence_example(tagger: Tagger, tokens: Sequence[Token], labels: Sequence[str] | None = None) -> Example:
    """One sentence with its gold as a network learns from it."""
    labels = list(labels) if labels is not None else tagger.predict([list(tokens)])[0]
    if len(labels) != len(tokens):
        raise DataError("labels", expected=f"one for each of the {len(tokens)} tokens", got=len(labels))
    (gold,) = tagger.model.codec.numbers([labels])
    return Example(inputs=tagger.model.features.inputs([list(tokens)]), gold=gold)


def loss_graph(network: Any, example: Example, visit: Visit = _as_it_is) -> Node:
    """The same for any network of taggers: unlike ``network.loss``, unfused, and layers of a chain are nodes."""
    losses = [_loss_of_member(member, example, visit) for member in members_of(network)]
    return reduce(graph.add, losses)


def _loss_of_member(network: Any, example: Example, visit: Visit) -> Node:
    offsets = example.inputs.offsets
    hidden = _through(network.encoder, visit(network.token_vectors(example.inputs)), visit)
    maps = [output(hidden) for output in network.outputs]
    for node in maps:  # the sentence approach ends with one row per token
        node.offsets = offsets
    visited = [visit(node) for node in maps]
    scores = visit(network.scores_of_maps(visited)) if len(visited) > 1 else visited[0]
    loss: Node = network.objective(scores, example, np.random.default_rng(0))
    return loss


def _through(layer: Layer, X: Node, visit: Visit) -> Node:
    """The output of a layer. Layers made of other layers are visited part by part; dropout does nothing."""
    match layer:
        case Chain():
            for part in layer.layers:
                X = _through(part, X, visit)
            return X
        case Dropout():
            return X
        case Residual():
            inner = _through(layer.layer, X, visit)
            total = graph.add(X, inner)
            total.offsets = X.offsets
            return visit(total)
    return visit(layer(X))
