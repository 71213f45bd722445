"""The flow graph of a served tagger on one sentence: every node with its value and its gradient, for the page (E8).

The loss is that of training, without dropout, against given labels; by default against those that the model predicts.
"""

import json
from typing import Any

import numpy as np

from postil import graph
from postil.arrays import Array
from postil.graph import Gradient, Input, Node, Parameter, Result, RowGradient, ancestors
from postil.models.explaining.flow import sentence_loss
from postil.models.scoring.tagger_network import TaggerNetwork
from postil.models.sentences import tokens_of
from postil.models.tagger import Tagger
from postil.server.answers import sentences_in
from postil.server.failures import refused
from postil.server.registry import Registry

MOST_ROWS, MOST_COLUMNS = 16, 16
MOST_TOKENS = 60
DIGITS = 6
_KINDS: dict[type[Node], str] = {Input: "input", Parameter: "parameter", Result: "result"}


def flow_graph(registry: Registry, request: dict[str, Any]) -> bytes:
    """/api/graph: the nodes, parents before children; the last one is the loss."""
    served = registry.find(request.get("model"), ("tagger",), "show its flow graph")
    tagger = served.model
    assert isinstance(tagger, Tagger), "found by its kind"
    network = tagger.fitted_parts().network
    if not isinstance(network, TaggerNetwork):
        raise refused("unfit", "an ensemble has no single flow graph")
    sentences = sentences_in(served, request)
    if len(sentences) != 1 or len(sentences[0]) > MOST_TOKENS:
        raise refused("unfit", f"the flow graph is shown for one sentence of at most {MOST_TOKENS} tokens")
    tokens = tokens_of(sentences[0])
    labels = request.get("labels") or tagger.predict([tokens])[0]
    if len(labels) != len(tokens):
        raise refused("unfit", f"labels: {len(tokens)} tokens need as many labels, not {len(labels)}")
    loss = sentence_loss(tagger, tokens, labels)
    answer = {"model": served.name, "tokens": sentences[0].tokens, "labels": labels, "nodes": nodes_as_json(loss)}
    return json.dumps(answer, ensure_ascii=False).encode()


def nodes_as_json(output: Node) -> list[dict[str, Any]]:
    """The graph that leads to ``output``. Large arrays are cut to the first rows and columns; tables to rows in use."""
    nodes = ancestors(output)
    number = {node: i for i, node in enumerate(nodes)}
    gradients = graph.gradients(output, nodes)
    return [
        {
            "name": node.name or _KINDS[type(node)],
            "kind": _KINDS[type(node)],
            "shape": list(node.shape),
            "parents": [number[parent] for parent in node.parents],
            "rms": _rounded(np.sqrt(np.mean(np.square(node.value)))) if node.value.size else 0.0,
            "norm": _rounded(np.linalg.norm(_values(gradients[node]))),
            **_cut(node, gradients[node]),
        }
        for node in nodes
    ]


def _values(gradient: Gradient) -> Array:
    return gradient.values if isinstance(gradient, RowGradient) else gradient


def _cut(node: Node, gradient: Gradient) -> dict[str, Any]:
    """Value and gradient, the same rows of both, and which rows these are."""
    if isinstance(gradient, RowGradient):
        rows = np.asarray(gradient.rows)[:MOST_ROWS]
        value, slope = node.value[rows], gradient.values[: len(rows)]
    else:
        value, slope = np.atleast_1d(node.value), np.atleast_1d(gradient)
        rows = np.arange(len(value))[:MOST_ROWS]
    return {"rows": rows.tolist(), "value": _table(value, len(rows)), "gradient": _table(slope, len(rows))}


def _table(array: Array, rows: int) -> list[list[float | None]]:
    """null stands for minus infinity: a transition that is impossible."""
    flat = array[:rows].reshape(rows, -1)[:, :MOST_COLUMNS].astype(np.float64)
    return [[_rounded(value) for value in row] for row in flat.tolist()]


def _rounded(value: Any) -> float | None:
    return round(float(value), DIGITS) if np.isfinite(value) else None
