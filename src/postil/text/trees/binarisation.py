"""Trees with two children at every inner node, as lists in post-order."""

from typing import Literal, final

from postil.errors import ConfigurationError

Direction = Literal["left", "right"]
Labels = list[str | None]
Words = list[str | None]
Children = list[tuple[int, ...]]


def binarise(
    labels: Labels, words: Words, children: Children, direction: Direction
) -> tuple[Labels, Words, Children, list[int]]:
    """The lists of the binary tree and, for each old node, the new node with the same words."""
    if direction not in ("left", "right"):
        raise ConfigurationError("direction", expected="'left' or 'right'", got=repr(direction))
    builder = _Builder(labels, words, children)
    for node in range(len(labels)):
        builder.add(node, direction)
    return builder.labels, builder.words, builder.children, builder.places


@final
class _Builder:
    """The lists of the new tree, built node by node in the order of the old one, and so in post-order as well."""

    def __init__(self, labels: Labels, words: Words, children: Children) -> None:
        self.source_labels, self.source_words, self.source_children = labels, words, children
        self.labels: list[str | None] = []
        self.words: list[str | None] = []
        self.children: list[tuple[int, ...]] = []
        self.places: list[int] = []  # old node -> new node
        self.joined: dict[int, int] = {}  # old node -> the new node that joins its children so far
        self.siblings = {
            child: (parent, place, len(siblings))
            for parent, siblings in enumerate(children)
            if len(siblings) > 2
            for place, child in enumerate(siblings)
        }

    def add(self, node: int, direction: Direction) -> None:
        children = self.source_children[node]
        label = self.source_labels[node]
        if len(children) == 1:
            place = self.places[children[0]]
            self.labels[place] = label if label is not None else self.labels[place]
        else:
            place = self._append(label, self.source_words[node], self._pair(node, direction))
        self.places.append(place)
        if direction == "left" and node in self.siblings:
            self._join_left(node)

    def _pair(self, node: int, direction: Direction) -> tuple[int, ...]:
        new = [self.places[child] for child in self.source_children[node]]
        if len(new) > 2 and direction == "left":
            return self.joined[node], new[-1]
        while len(new) > 2:
            last = new.pop()
            new[-1] = self._append(None, None, (new[-1], last))
        return tuple(new)

    def _join_left(self, node: int) -> None:
        """((a b) c): a join follows its last child at once, so that the lists stay in post-order."""
        parent, place, number = self.siblings[node]
        if place == 0:
            self.joined[parent] = self.places[node]
        elif place < number - 1:
            self.joined[parent] = self._append(None, None, (self.joined[parent], self.places[node]))

    def _append(self, label: str | None, word: str | None, children: tuple[int, ...]) -> int:
        self.labels.append(label)
        self.words.append(word)
        self.children.append(children)
        return len(self.labels) - 1
