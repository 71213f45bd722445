"""The labels of trees: which there are, which of them roots have, and how much each weighs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from postil.arrays import Array
from postil.errors import DataError, printable
from postil.html import Markup, element, joined
from postil.html.fragments import figure, fragment, note
from postil.models.decoding.codec import checked_names
from postil.text.trees.tree import Tree
from postil.text.trees.tree_drawing import LONGEST_DRAWN, colours_of_trees, drawn_tree
from postil.text.trees.treebank import bracketed

NO_LABEL = -1


@final
@dataclass(frozen=True, eq=False)
class TreeLabels:
    """``labels`` of all nodes that are learned from, in their order; ``at_roots`` are those that a root can get."""

    labels: list[str]
    at_roots: list[str]

    @classmethod
    def of(cls, trees: Sequence[Tree], loss: str) -> "TreeLabels":
        """The labels of training trees; with the loss "root" only those of roots."""
        at_roots = {tree.root_label for tree in trees} - {None}
        learnt = at_roots if loss == "root" else {label for tree in trees for label in tree.labels} - {None}
        if not learnt:
            raise DataError("no labels to learn from", expected="a label at every root, or at phrases", got="none")
        labels = checked_names(sorted(label for label in learnt if label is not None), "labels of trees")
        return cls(labels, sorted(label for label in at_roots if label is not None) or labels)

    def numbers(self, trees: Sequence[Sequence[str | None]]) -> list[Array]:
        """Label sequences as numbers; NO_LABEL if there is none, or one that training has not seen."""
        number = {label: i for i, label in enumerate(self.labels)}
        return [
            np.array([number.get(label, NO_LABEL) if label is not None else NO_LABEL for label in labels], np.int64)
            for labels in trees
        ]

    @property
    def not_at_roots(self) -> Array:
        """Numbers of the labels that no root had in training: no root will get them."""
        known = set(self.at_roots)
        return np.array([i for i, label in enumerate(self.labels) if label not in known], np.int64)

    def as_json(self) -> dict[str, Any]:
        return {"labels": self.labels, "at_roots": self.at_roots}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "TreeLabels":
        """Read and check the output of ``as_json`` from a model file."""
        labels, at_roots = (checked_names(content[part], f"{part} of trees") for part in ("labels", "at_roots"))
        if not at_roots or not set(at_roots) <= set(labels):
            raise DataError("labels of roots", expected="some of the labels", got=repr(at_roots)[:80])
        return cls(labels, at_roots)


def balanced_weights(gold: Array, L: int) -> Array:
    """(L,) weights with which all classes that occur weigh the same in total, 1 on average."""
    counts = np.bincount(gold, minlength=L)
    return len(gold) / (np.maximum(counts, 1) * max(int((counts > 0).sum()), 1))


def named_weights(weights: Mapping[str, float], labels: Sequence[str]) -> Array:
    """(L,) weights by name, 1 for the others; a name that is not a label is an error."""
    unknown = sorted(set(weights) - set(labels))
    if unknown:
        raise DataError("class_weights of an unknown label", expected=f"one of {', '.join(labels)}", got=unknown[0])
    return np.array([weights.get(label, 1.0) for label in labels])


MOST_SHOWN = 20  # trees that a notebook draws
MOST_LEVELS = 30  # deeper phrases are printed no further to the right


class NodeLabel(NamedTuple):
    """The best label of a phrase, and the probability of each label."""

    label: str
    probabilities: dict[str, float]

    @property
    def probability(self) -> float:
        """That of the best label."""
        return self.probabilities[self.label]


@final
class NodeLabels(list[NodeLabel]):
    """The labels of all phrases of one ``tree``, in post-order: a list that notebooks draw and ``print`` indents."""

    def __init__(self, nodes: Iterable[NodeLabel], tree: Tree) -> None:
        super().__init__(nodes)
        self.tree = tree

    def __reduce__(self) -> tuple[Any, ...]:
        return NodeLabels, (list(self), self.tree)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON: the ``label`` of the whole, its ``probabilities``, and the ``phrases`` in post-order."""
        tokens = self.tree.tokens
        phrases = [
            {"text": " ".join(tokens[start:end]), "start": start, "end": end, **node._asdict()}
            for node, (start, end) in zip(self, self.tree.spans, strict=True)
        ]
        return {**self[-1]._asdict(), "phrases": phrases}

    def __str__(self) -> str:
        """A line for each phrase, the whole first: its label and probability, indented by its depth."""
        if len(self) != len(self.tree):
            return repr(self)
        tokens, spans = self.tree.tokens, self.tree.spans
        levels = [0] * len(self)
        lines = []
        todo = [len(self) - 1]
        while todo:
            node = todo.pop()
            children = self.tree.children[node]
            for child in children:
                levels[child] = levels[node] + 1
            todo += reversed(children)
            words = " ".join(tokens[slice(*spans[node])])
            answer = f"{self[node].label} {self[node].probability:.2f}"
            lines.append(f"{'  ' * min(levels[node], MOST_LEVELS)}{printable(answer)}  {printable(words)}")
        return "\n".join(lines)

    def drawn(self) -> Markup:
        """The tree as a picture, with a caption; very long sentences in brackets."""
        if len(self) != len(self.tree):  # changed by its owner
            return element("p", repr(self), class_="excerpt text")
        answered = self.tree.with_labels([node.label for node in self])
        caption = f"{self[-1].label} ({self[-1].probability:.2f})"
        if len(answered.tokens) > LONGEST_DRAWN:
            words = element("p", bracketed(answered), class_="excerpt")
            return joined([element("p", element("strong", caption)), words])
        notes = [f"{node.probability:.2f}" for node in self]
        picture = drawn_tree(answered, [None] * len(self), colours_of_trees([answered]), notes)
        return element("div", figure(caption, picture), class_="scroll")

    def _repr_html_(self) -> str:
        return fragment(self.drawn())


@final
class TreeAnswers(list[NodeLabels]):
    """The labels of all phrases of many trees: a list that notebooks draw."""

    def __str__(self) -> str:
        """Tree after tree."""
        return "\n\n".join(map(str, self))

    def to_dict(self) -> list[dict[str, Any]]:  # as its elements: a list becomes a list
        """One dict for each tree, ready for JSON."""
        return [nodes.to_dict() for nodes in self]

    def _repr_html_(self) -> str:
        more = len(self) - MOST_SHOWN
        rest = note(f"{more:,} more trees are not shown.") if more > 0 else None
        return fragment(*(nodes.drawn() for nodes in self[:MOST_SHOWN]), rest)
