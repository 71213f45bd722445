"""The flow graph of a served tagger on one sentence: every node with its value and its gradient, for the page (E8).

The loss is that of training, without dropout, against given labels; by default against those that the model predicts.
What was changed in the page comes with every request: the server keeps nothing, and never changes its models.
"""

import json
from typing import Any

import numpy as np

from postil import graph
from postil.arrays import Array
from postil.gradients.laboratory import Laboratory, as_table
from postil.graph import Gradient, Input, Node, Parameter, Result, ancestors, dense
from postil.models.sentences import tokens_of
from postil.models.tagger import Tagger
from postil.server.answers import sentences_in
from postil.server.batching import Steps
from postil.server.failures import refused
from postil.server.registry import Registry

MOST_ROWS, MOST_COLUMNS = 16, 16
MOST_CHECKED = 8
"""Rows and columns of a numerical check: every entry is two passes through the network."""
MOST_TOKENS = 60
DIGITS = 6
_KINDS: dict[type[Node], str] = {Input: "input", Parameter: "parameter", Result: "result"}


def flow_graph(registry: Registry, request: dict[str, Any]) -> Steps:
    """/api/graph: the nodes, parents before children; the last one is the loss. Every edit is a step."""
    served = registry.find(request.get("model"), ("tagger",), "show its flow graph")
    tagger = served.model
    assert isinstance(tagger, Tagger), "found by its kind"
    if tagger.config.ensemble > 1:
        raise refused("unfit", "an ensemble has no single flow graph")
    sentences = sentences_in(served, request)
    if len(sentences) != 1 or len(sentences[0]) > MOST_TOKENS:
        raise refused("unfit", f"the flow graph is shown for one sentence of at most {MOST_TOKENS} tokens")
    tokens = tokens_of(sentences[0])
    labels = request.get("labels") or tagger.predict([tokens])[0]
    if len(labels) != len(tokens):
        raise refused("unfit", f"labels: {len(tokens)} tokens need as many labels, not {len(labels)}")
    laboratory = Laboratory(tagger, tokens, labels)
    losses = []
    for edit in request.get("edits", ()):
        losses.append(_edited(laboratory, edit))
        yield
    with np.errstate(all="ignore"):
        loss, keys = laboratory.graph()
        answer = {
            "model": served.name,
            "tokens": sentences[0].tokens,
            "labels": labels,
            "nodes": nodes_as_json(loss, keys),
            "losses": [_rounded(value) for value in losses],
        }
        if "check" in request:
            answer["check"] = _checked(laboratory, request["check"])
    return json.dumps(answer, ensure_ascii=False).encode()


def _edited(laboratory: Laboratory, edit: dict[str, Any]) -> float:
    """Change a number or take a step, as the page says; returns the loss after it."""
    with np.errstate(all="ignore"):  # a large rate ends in numbers that are none: shown as null
        if "optimiser" in edit:
            return laboratory.step(edit["optimiser"], float(edit["rate"]))
        laboratory.set(edit["node"], int(edit["row"]), int(edit["column"]), float(edit["value"]))
        return laboratory.loss()


def _checked(laboratory: Laboratory, asked: dict[str, Any]) -> dict[str, Any]:
    """Numerical slopes of the shown part of a node."""
    central, one_sided = laboratory.slopes(asked["node"], MOST_CHECKED, MOST_CHECKED, float(asked["step"]))
    tables = {"central": _table(central, len(central)), "one_sided": _table(one_sided, len(central))}
    return {"node": asked["node"], **tables}


def nodes_as_json(output: Node, keys: dict[Node, str] | None = None) -> list[dict[str, Any]]:
    """The graph that leads to ``output``. Large arrays are cut to the first rows and columns.

    Nodes with ``keys`` can be changed and checked.
    """
    nodes = ancestors(output)
    number = {node: i for i, node in enumerate(nodes)}
    gradients = graph.gradients(output, nodes)
    return [
        {
            "name": node.name or _KINDS[type(node)],
            "key": (keys or {}).get(node),
            "kind": _KINDS[type(node)],
            "shape": list(node.shape),
            "parents": [number[parent] for parent in node.parents],
            "rms": _rounded(np.sqrt(np.mean(np.square(node.value)))) if node.value.size else 0.0,
            "norm": _rounded(np.linalg.norm(dense(gradients[node]))),
            **_cut(node, gradients[node]),
        }
        for node in nodes
    ]


def _cut(node: Node, gradient: Gradient) -> dict[str, Any]:
    """Value and gradient, the same rows of both, and which rows these are."""
    value, slope = np.atleast_1d(node.value), np.atleast_1d(dense(gradient))
    rows = np.arange(len(value))[:MOST_ROWS]
    return {"rows": rows.tolist(), "value": _table(value, len(rows)), "gradient": _table(slope, len(rows))}


def _table(array: Array, rows: int) -> list[list[float | None]]:
    """null stands for minus infinity: a transition that is impossible."""
    flat = as_table(array[:rows])[:, :MOST_COLUMNS].astype(np.float64)
    return [[_rounded(value) for value in row] for row in flat.tolist()]


def _rounded(value: Any) -> float | None:
    return round(float(value), DIGITS) if np.isfinite(value) else None
