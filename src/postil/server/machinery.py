"""Data for the page's drawings of a tagger: the lattice of a sentence, and the flow graph of its loss.

The lattice, with everything that forward-backward computes on it (A8, C3, C4):

    α_0(j) = start(j) + u_0(j)              α_t(j) = u_t(j) + log Σ_i exp(α_t-1(i) + A(i, j))
    β_T-1(i) = end(i)                       β_t(i) = log Σ_j exp(A(i, j) + u_t+1(j) + β_t+1(j))
    log Z = log Σ_j exp(α_T-1(j) + end(j))  p(y_t = j) = exp(α_t(j) + β_t(j) - log Z)

All in logarithms, unscaled, as the equations stand: the numbers on the screen can be checked by hand.

The flow graph has every node with its value and its gradient (E8). The loss is that of training, without dropout,
against given labels; by default against those that the model predicts. Every request brings the edits made in the page:
the server keeps nothing, and never changes its models.
"""

import json
import math
from typing import Any

import numpy as np

from postil import graph
from postil.arrays import Array
from postil.graph import Input, Node, Parameter, Result, ancestors, dense
from postil.models.decoding.posteriors import Posteriors
from postil.models.laboratory import Laboratory, as_table
from postil.models.sentences import tokens_of
from postil.models.tagger import Tagger
from postil.objectives.crf import Lattice, k_best
from postil.server.answers import check_cost, sentences_in
from postil.server.api import GraphAsked, LatticeAsked
from postil.server.batching import Steps
from postil.server.registry import Registry
from postil.server.requests import refused

# ------------------------------------------------------------------------------------------------ the lattice

USUAL_NBEST = 5
MOST_STEPS = 2_000_000
"""Tokens times squared labels: terms of the recursions. A sentence counts as one token more, for its transitions."""
_DIGITS = 9


def lattices(registry: Registry, request: LatticeAsked, most_cells: int) -> Steps:
    """/api/lattice: one object per sentence, which is a step."""
    served = registry.find(request.model or None, ("tagger",), "show a lattice")
    tagger = served.model
    assert isinstance(tagger, Tagger), "found by its kind"
    labels, sentences = tagger.model.codec.labels, sentences_in(served, request)
    cells = sum(map(len, sentences)) * len(labels)
    if cells > most_cells:
        raise refused("tokens", f"the lattice has {cells:,} cells; at most {most_cells:,} are shown")
    steps = sum(len(sentence) + 1 for sentence in sentences) * len(labels) ** 2
    check_cost(steps, MOST_STEPS, "the lattice", "terms (tokens times squared labels)")
    answers = []
    for sentence in sentences:
        yield
        _, lattice = next(Posteriors(tagger.model).lattices([tokens_of(sentence)]))
        answers.append(_as_json(lattice, sentence.tokens, labels, request.nbest or USUAL_NBEST))
    return json.dumps({"model": served.name, "sentences": answers}, ensure_ascii=False).encode()


def forward_backward(lattice: Lattice) -> tuple[Array, Array, float]:
    """Log α (T, L), log β (T, L) and log Z of the only sentence of a lattice."""
    unary, chain = lattice.unary.astype(np.float64), lattice.chain
    alphas, betas = np.empty_like(unary), np.empty_like(unary)
    alphas[0], betas[-1] = chain.start + unary[0], chain.end
    for t in range(1, len(unary)):
        alphas[t] = unary[t] + _log_sum(alphas[t - 1][:, None] + chain.transitions, axis=0)
        betas[-t - 1] = _log_sum(chain.transitions + unary[-t] + betas[-t], axis=1)
    return alphas, betas, float(_log_sum(alphas[-1] + chain.end, axis=0))


def _log_sum(values: Array, axis: int) -> Array:
    with np.errstate(divide="ignore"):  # log 0 = -inf: nothing is possible
        return np.asarray(np.logaddexp.reduce(values, axis=axis))


def _as_json(lattice: Lattice, tokens: list[str], labels: list[str], nbest: int) -> dict[str, Any]:
    alphas, betas, log_partition = forward_backward(lattice)
    chain = lattice.chain
    (paths,) = k_best(lattice, min(nbest, len(labels) ** min(len(tokens), 64)))
    return {
        "tokens": tokens,
        "labels": labels,
        "unary": _numbers(lattice.unary),
        "transitions": _numbers(chain.transitions),
        "start": _numbers(chain.start),
        "end": _numbers(chain.end),
        "alphas": _numbers(alphas),
        "betas": _numbers(betas),
        "marginals": _numbers(np.exp(alphas + betas - log_partition)),
        "log_partition": _numbers(log_partition),
        "paths": [{"labels": path.labels.tolist(), "probability": _numbers(path.probability)} for path in paths],
    }


def _numbers(array: Any, digits: int = _DIGITS) -> Any:
    """An array, or a number, as nested lists; null for what is impossible (log 0) or not a number."""

    def rounded(value: Any) -> Any:
        if isinstance(value, list):
            return [rounded(one) for one in value]
        return round(value, digits) if math.isfinite(value) else None

    return rounded(np.asarray(array, np.float64).tolist())


# ------------------------------------------------------------------------------------------------ the flow graph

MOST_ROWS, MOST_COLUMNS = 16, 16
MOST_CHECKED = 8
"""Rows and columns of a numerical check: every entry is two passes through the network."""
MOST_TOKENS = 60
_GRAPH_DIGITS = 6
_KINDS: dict[type[Node], str] = {Input: "input", Parameter: "parameter", Result: "result"}


def flow_graph(registry: Registry, request: GraphAsked) -> Steps:
    """/api/graph: the nodes, parents before children; the last one is the loss. Every edit is a step."""
    served = registry.find(request.model or None, ("tagger",), "show its flow graph")
    tagger = served.model
    assert isinstance(tagger, Tagger), "found by its kind"
    if tagger.config.ensemble > 1:
        raise refused("unfit", "an ensemble has no single flow graph")
    sentences = sentences_in(served, request)
    if len(sentences) != 1 or len(sentences[0]) > MOST_TOKENS:
        raise refused("unfit", f"the flow graph is shown for one sentence of at most {MOST_TOKENS} tokens")
    tokens = tokens_of(sentences[0])
    labels = request.labels or tagger.predict([tokens])[0]
    if len(labels) != len(tokens):
        raise refused("unfit", f"labels: {len(tokens)} tokens need as many labels, not {len(labels)}")
    laboratory = Laboratory(tagger, tokens, labels)
    losses, edits = [], list[Any](request.edits or ())
    for edit in edits:
        with np.errstate(all="ignore"):  # a large rate ends in NaN or infinity: shown as null
            if edit.optimiser:
                losses.append(laboratory.step(edit.optimiser, edit.rate))
            else:
                laboratory.set(edit.node, edit.row, edit.column, edit.value)
                losses.append(laboratory.loss())
        yield
    with np.errstate(all="ignore"):
        loss, keys = laboratory.graph()
        answer: dict[str, Any] = {
            "model": served.name,
            "tokens": sentences[0].tokens,
            "labels": labels,
            "nodes": nodes_as_json(loss, keys),
            "losses": _numbers(losses, _GRAPH_DIGITS),
        }
        if request.check:  # numerical slopes of the shown part of a node
            slopes = laboratory.slopes(request.check.node, MOST_CHECKED, MOST_CHECKED, request.check.step)
            tables = zip(("central", "one_sided"), map(_table, slopes), strict=True)
            answer["check"] = {"node": request.check.node, **dict(tables)}
    return json.dumps(answer, ensure_ascii=False).encode()


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
            "sent": _sent(node, gradients[node]),
            "rms": _numbers(np.sqrt(np.mean(np.square(node.value))), _GRAPH_DIGITS) if node.value.size else 0.0,
            "norm": _numbers(np.linalg.norm(dense(gradients[node])), _GRAPH_DIGITS),
            "rows": list(range(min(len(np.atleast_1d(node.value)), MOST_ROWS))),
            "value": _table(np.atleast_1d(node.value)),
            "gradient": _table(np.atleast_1d(dense(gradients[node]))),
        }
        for node in nodes
    ]


def _sent(node: Node, gradient: Any) -> list[float]:
    """The size of the gradient that a node sends back to each of its parents."""
    pulled = node.pullback(dense(gradient)) if isinstance(node, Result) else ()
    return [0.0 if one is None else _numbers(np.linalg.norm(dense(one)), _DIGITS) or 0.0 for one in pulled]


def _table(array: Array) -> list[list[float | None]]:
    """The first rows and columns."""
    table: list[list[float | None]] = _numbers(as_table(array[:MOST_ROWS])[:, :MOST_COLUMNS], _GRAPH_DIGITS)
    return table
