"""What a tree classifier answers: the labels of all phrases of a tree, and how they are shown."""

from collections.abc import Iterable
from typing import Any, NamedTuple, final

from postil.errors import printable
from postil.markup import Markup, element, joined
from postil.markup.fragments import figure, fragment, note
from postil.text.trees.bracketing import bracketed
from postil.text.trees.tree import Tree
from postil.text.trees.tree_drawing import LONGEST_DRAWN, colours_of_trees, drawn_tree

MOST_SHOWN = 20
"""Trees that a notebook draws."""
MOST_LEVELS = 30
"""Deeper phrases are printed no further to the right."""


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
            return joined(
                [element("p", element("strong", caption)), element("p", bracketed(answered), class_="excerpt")]
            )
        notes = [f"{node.probability:.2f}" for node in self]
        picture = drawn_tree(answered, [None] * len(self), colours_of_trees([answered]), notes)
        return element("div", figure(caption, picture), class_="scroll")

    def _repr_html_(self) -> str:
        """What a notebook shows."""
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
        """What a notebook shows."""
        more = len(self) - MOST_SHOWN
        rest = note(f"{more:,} more trees are not shown.") if more > 0 else None
        return fragment(*(nodes.drawn() for nodes in self[:MOST_SHOWN]), rest)
