"""What the page shows as the library draws it: trees and why, the report on a labelled file, model cards.

The policy of the page lets no markup in, so an element is sent as data: [tag, attributes, children …].
"""

import base64
import io
import json
from html.parser import HTMLParser
from typing import Any, final

from msgspec import UNSET

from postil.errors import DataError, PostilError
from postil.html import Markup, element, joined
from postil.html.elements import VOID
from postil.html.fragments import note
from postil.metrics.evaluation import prepare
from postil.metrics.tables import drawn_table
from postil.models.sentences import tokens_of
from postil.reports import Answers, Heading, tagger_page
from postil.reports.card import card_of
from postil.server.answers import MOST_TREE_NODES, check_cost, sentences_in
from postil.server.api import CardAsked, ErrorsAsked, TreeAsked
from postil.server.batching import Steps
from postil.server.registry import Registry, Served
from postil.server.requests import refused
from postil.tagging.tree_answers import tree_over
from postil.text import read
from postil.text.formats import FORMATS
from postil.text.labelled import LabelledFile
from postil.text.labels.partial import annotated_classes, with_marks
from postil.text.labels.schemes import recognise
from postil.text.trees.treebank import parse_tree

MOST_REPORTED = 200_000
"""Tokens of a labelled file that one request may report on."""


def tree(registry: Registry, request: TreeAsked) -> Steps:
    """/api/page/tree: each tree with its labels, the words that the model does not know, and why. A step is a tree."""
    served = registry.find(request.model or None, ("tree-classifier",), "classify trees")
    model: Any = served.model
    if request.brackets is not UNSET:
        trees = [parse_tree(request.brackets)]
    else:
        trees = [tree_over(one, request.shape or model.config.tree) for one in sentences_in(served, request)]
    check_cost(sum(len(one) ** 2 for one in trees), MOST_TREE_NODES, "the explanation", "nodes of trees")
    parts = []
    for one in trees:
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
    return json.dumps({"model": served.name, "drawn": as_data(markup, only)}, ensure_ascii=False).encode()


def as_data(markup: Markup, only: tuple[str, ...] = ()) -> list[Any]:
    """The elements of markup as nested lists; with ``only``, elements of these names wherever they are."""
    reader = _Reader()
    reader.feed(markup)
    reader.close()
    return [part for part in reader.every if part[0] in only] if only else reader.top


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
