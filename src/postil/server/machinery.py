"""What the page draws: the lattice of a sentence, the flow graph of its loss, and what the library draws itself.

The lattice is its scores. Forward-backward and the best paths are computed in the page, after every change anew.

The flow graph has every node with its value and its gradient (E8). The loss is that of training, without dropout,
against given labels; by default against those that the model predicts. Every request brings the edits made in the page:
the server keeps nothing, and never changes its models.

The policy of the page lets no markup in, so an element is sent as data: [tag, attributes, children …].
"""

import base64
import io
import json
import math
from html.parser import HTMLParser
from typing import Any, final

import numpy as np

from postil import graph
from postil.arrays import Array
from postil.errors import DataError, PostilError
from postil.graph import Input, Node, Parameter, Result, ancestors, dense
from postil.html import Markup, element, joined
from postil.html.elements import VOID
from postil.html.fragments import note
from postil.metrics.evaluation import prepare
from postil.metrics.tables import drawn_table
from postil.models.decoding.posteriors import Posteriors
from postil.models.laboratory import Laboratory, as_table
from postil.models.sentences import tokens_of
from postil.models.tagger import Tagger
from postil.reports import Answers, Heading, tagger_page
from postil.reports.card import card_of
from postil.server.answers import check_cost, sentences_in, trees_to_explain
from postil.server.api import CardAsked, ErrorsAsked, GraphAsked, TextAsked, TreeAsked
from postil.server.batching import Steps
from postil.server.registry import Registry, Served
from postil.server.requests import refused
from postil.text import read
from postil.text.formats import FORMATS
from postil.text.labelled import LabelledFile
from postil.text.labels.partial import annotated_classes, with_marks
from postil.text.labels.schemes import recognise

# ------------------------------------------------------------------------------------------------ the lattice

MOST_CELLS = 20_000
"""Tokens times labels."""
MOST_STEPS = 2_000_000
"""Tokens times squared labels: terms of the recursions. A sentence counts as one token more, for its transitions."""
_DIGITS = 9


def lattices(registry: Registry, request: TextAsked) -> Steps:
    """/api/lattice: one object per sentence, which is a step."""
    served = registry.find(request.model or None, ("tagger",), "show a lattice")
    tagger = served.model
    assert isinstance(tagger, Tagger), "found by its kind"
    labels, sentences = tagger.model.codec.labels, sentences_in(served, request)
    check_cost(sum(map(len, sentences)) * len(labels), MOST_CELLS, "the lattice", "cells (tokens times labels)")
    steps = sum(len(sentence) + 1 for sentence in sentences) * len(labels) ** 2
    check_cost(steps, MOST_STEPS, "the lattice", "terms (tokens times squared labels)")
    answers = []
    for sentence in sentences:
        yield
        _, lattice = next(Posteriors(tagger.model).lattices([tokens_of(sentence)]))
        chain = lattice.chain
        scores = {"unary": lattice.unary, "transitions": chain.transitions, "start": chain.start, "end": chain.end}
        shown = {name: _numbers(values) for name, values in scores.items()}
        answers.append({"tokens": sentence.tokens, "labels": labels, **shown})
    return json.dumps({"model": served.name, "sentences": answers}, ensure_ascii=False).encode()


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
            "sent": [  # the size of the gradient that each parent gets
                0.0 if one is None else _numbers(np.linalg.norm(dense(one)), _DIGITS) or 0.0
                for one in (node.pullback(dense(gradients[node])) if isinstance(node, Result) else ())
            ],
            "rms": _numbers(np.sqrt(np.mean(np.square(node.value))), _GRAPH_DIGITS) if node.value.size else 0.0,
            "norm": _numbers(np.linalg.norm(dense(gradients[node])), _GRAPH_DIGITS),
            "rows": list(range(min(len(np.atleast_1d(node.value)), MOST_ROWS))),
            "value": _table(np.atleast_1d(node.value)),
            "gradient": _table(np.atleast_1d(dense(gradients[node]))),
        }
        for node in nodes
    ]


def _table(array: Array) -> list[list[float | None]]:
    """The first rows and columns."""
    table: list[list[float | None]] = _numbers(as_table(array[:MOST_ROWS])[:, :MOST_COLUMNS], _GRAPH_DIGITS)
    return table


# ------------------------------------------------------------------------------------------------ drawn by the library

MOST_REPORTED = 200_000
"""Tokens of a labelled file that one request may report on."""


def tree(registry: Registry, request: TreeAsked) -> Steps:
    """/api/page/tree: each tree with its labels, the words that the model does not know, and why. A step is a tree."""
    served = registry.find(request.model or None, ("tree-classifier",), "classify trees")
    model: Any = served.model
    parts = []
    for one in trees_to_explain(served, request, request.shape or ""):
        yield
        words = list(dict.fromkeys(one.tokens))  # known by a row of the table or of the vectors
        rows = model.model.features.words.rows(words)
        unknown = [word for word, row in zip(words, rows, strict=True) if not (row[0] or row[-1])]
        said = note(f"Unknown to the model: {', '.join(unknown)}.") if unknown else None
        labels = element("section", model.predict_nodes([one])[0].drawn(), said, class_="card labels")
        parts += [labels, element("section", element("h2", "Why?"), model.explain(one).drawn(), class_="card why")]
    return _answer(served, joined(parts))


def errors(registry: Registry, request: ErrorsAsked) -> bytes:
    """/api/page/errors: the report of ``postil evaluate --report`` on a labelled file."""
    served = registry.find(request.model or None, ("tagger",), "be scored")
    model: Any = served.model
    try:
        content = base64.b64decode(request.content, validate=True)
    except ValueError:
        raise refused("unfit", "content: must be the bytes of a file in base64") from None
    if content.startswith(b"\x1f\x8b"):  # a small body may unpack to a large file
        raise refused("unfit", "content: must not be compressed")
    stream = io.BytesIO(content)
    stream.name = request.name
    try:
        with read(stream, features=(), segmenter=model.model.segmenter) as reading:
            file, tokens = LabelledFile(request.name, reading.format, []), 0
            for one in reading:
                tokens += len(one)
                check_cost(tokens, MOST_REPORTED, "the report", "tokens")
                file.sentences.append(one)
            kind = FORMATS[reading.format].title
        for number, one in enumerate(file.sentences):
            if one.labels is None:
                raise DataError("no labels", expected="a label for every token", got=kind, where=file.where(number, 0))
        codec, X = model.model.codec, [tokens_of(one) for one in file.sentences]
        labels = with_marks(file.labels, X, known=codec.answers)
        for one, of_tokens in zip(
            file.sentences, codec.widened(labels, annotated_classes(file.sentences)), strict=True
        ):
            one.labels = list(of_tokens)
        scheme = recognise(file.labels)
        if codec.has_spans != (scheme != "none"):
            got = repr(next(label for labels in file.labels for label in labels))
            expected = "spans such as B-PER" if codec.has_spans else "labels of words, as in training"
            raise DataError("other labels than the model's", expected=expected, got=got, where=file.path)
        compared = prepare(file.labels, model.predict(X), scheme, codec.scheme)
        heading = Heading.of(model, model_name=served.name, data_name=request.name)
        page = tagger_page(heading, Answers.of(model, file.sentences, compared, file.place))
    except PostilError as error:
        raise refused("unfit", str(error)) from None
    return _answer(served, Markup(page), ("header", "main"))


def card(registry: Registry, request: CardAsked) -> bytes:
    """/api/page/card: what is known about a model, as ``postil info`` shows it."""
    served = registry.find(request.model or None, tuple(one.kind for one in registry), "be described")
    path = registry.path_of(served.name)
    if path is None:
        raise refused("unfit", "this model was not opened from a file: it has no card")
    known = card_of(path, served.name)
    tables = [
        element("section", drawn_table(table), note(table.note) if table.note else None) for table in known.tables
    ]
    weak = element("ul", *(element("li", weakness) for weakness in known.weaknesses)) if known.weaknesses else None
    about = element("p", known.texts["about"]) if "about" in known.texts else None
    bad = joined([element("h2", "What it is bad at"), weak]) if weak else None
    return _answer(served, joined([about, drawn_table(known.facts_table()), *tables, bad]))


def _answer(served: Served, markup: Markup, only: tuple[str, ...] = ()) -> bytes:
    """The elements of markup as nested lists; with ``only``, elements of these names wherever they are."""
    reader = _Reader()
    reader.feed(markup)
    reader.close()
    drawn = [part for part in reader.every if part[0] in only] if only else reader.top
    return json.dumps({"model": served.name, "drawn": drawn}, ensure_ascii=False).encode()


@final
class _Reader(HTMLParser):
    """Builds nested lists; all markup is ours and well-formed."""

    def __init__(self) -> None:
        super().__init__()
        self.top: list[Any] = []
        self.every: list[list[Any]] = []
        self._open: list[list[Any]] = [self.top]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.every.append([tag, {name: value or "" for name, value in attrs}])
        self._open[-1].append(self.every[-1])
        if tag not in VOID:
            self._open.append(self.every[-1])

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        self._open[-1].append(data)
