"""Parse trees as parallel lists in post-order, and the shapes that a network needs: binary, balanced, right-branching.

Nothing here calls itself for each level: a tree of a hundred thousand levels is made, compared and hashed like others.
"""

import reprlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any, Literal, final

from postil.errors import ConfigurationError, DataError

Shape = Literal["balanced", "right"]
Direction = Literal["left", "right"]


@final
@dataclass(frozen=True, slots=True)
class Tree:
    """A parse tree: ``N`` nodes in post-order. The descendants of a node come right before it, and the root is last.

    (3 (2 good) (2 film))      labels    "2"     "2"     "3"
                               words     "good"  "film"  None
                               children  ()      ()      (0, 1)

    ``(2 film)`` is one node with a label and a word. The lists must not be modified, because trees are compared and
    hashed.
    """

    labels: list[str | None]
    """None if a node has no label."""
    words: list[str | None]
    """The word of a leaf, None at inner nodes."""
    children: list[tuple[int, ...]]
    """Indices of the children, all smaller than that of the node; () at leaves."""

    def __post_init__(self) -> None:
        """Networks take the shape from the numbers of children alone: another order would be misread in silence."""
        first = list(range(len(self.children)))  # of each node's own nodes
        for node, children in enumerate(self.children):
            expected = node - 1
            for child in reversed(children):
                if child != expected:
                    what = f"children of node {node} of a tree"
                    raise DataError(what, expected="nodes in post-order, each a child once", got=children)
                expected = first[child] - 1
            first[node] = expected + 1
        if len({len(self.labels), len(self.words), len(self.children)}) > 1 or (first and first[-1] != 0):
            raise DataError("nodes of a tree", expected="one root, and a label and a word or None for each node")

    @classmethod
    def unchecked(cls, labels: list[str | None], words: list[str | None], children: list[tuple[int, ...]]) -> "Tree":
        """A tree of lists known to be in post-order: for readers, to avoid the check at every tree."""
        tree = object.__new__(cls)
        for name, values in (("labels", labels), ("words", words), ("children", children)):
            object.__setattr__(tree, name, values)
        return tree

    def __len__(self) -> int:
        return len(self.labels)

    def __hash__(self) -> int:
        return hash((tuple(self.labels), tuple(self.words), tuple(self.children)))

    def __iter__(self) -> Iterator[tuple[str | None, str | None, tuple[int, ...]]]:
        """Label, word and children of each node, children before their parent."""
        return zip(self.labels, self.words, self.children, strict=True)

    @property
    def tokens(self) -> list[str]:
        """The words from left to right."""
        return [word for word in self.words if word is not None]

    @property
    def root_label(self) -> str | None:
        return self.labels[-1]

    @property
    def is_binary(self) -> bool:
        """Whether every inner node has exactly two children."""
        return all(len(children) in (0, 2) for children in self.children)

    @property
    def heights(self) -> list[int]:
        """Longest path from each node down to a leaf; 0 at leaves."""
        heights: list[int] = []
        for children in self.children:
            heights.append(1 + max(heights[child] for child in children) if children else 0)
        return heights

    @property
    def spans(self) -> list[tuple[int, int]]:
        """The first token of each node's phrase, and the one after its last."""
        spans: list[tuple[int, int]] = []
        position = 0
        for children in self.children:
            if children:
                spans.append((spans[children[0]][0], spans[children[-1]][1]))
            else:
                spans.append((position, position + 1))
                position += 1
        return spans

    @classmethod
    def of(cls, value: Any, shape: Shape = "balanced") -> "Tree":
        """Convert to a tree:

        a `Tree`; nested tuples or lists ``("3", ("2", "good"), ("2", "film"))``, the label first (None: no label); an
        ``nltk.Tree``; a list of tokens, which gets a tree of the given ``shape`` without labels.
        """
        if isinstance(value, Tree):
            return value
        if isinstance(value, str) or (isinstance(value, list | tuple) and not value):
            raise DataError("not a tree", expected=_EXPECTED, got=reprlib.repr(value))
        if isinstance(value, list) and not _is_nltk(value) and all(isinstance(token, str) for token in value):
            return shaped(value, shape)
        return _from_nested(value)

    def binarised(self, direction: Direction = "left") -> "Tree":
        """The same words in a tree whose inner nodes have two children each.

        A node with one child is merged with it and keeps the upper label (the lower one if the upper is None).
        More than two children are joined from the given ``direction``, ((a b) c) or (a (b c)), by nodes without a
        label, so no label is invented. `binarised_with_places` also returns the mapping.
        """
        return self if self.is_binary else self.binarised_with_places(direction)[0]

    def binarised_with_places(self, direction: Direction = "left") -> tuple["Tree", list[int]]:
        """The binarised tree and, for each node of this tree, the node there that has the same words.

        Merged nodes share their place; a node that only joins others is the place of none.
        """
        if direction not in ("left", "right"):
            raise ConfigurationError("direction", expected="'left' or 'right'", got=repr(direction))
        labels: list[str | None] = []
        words: list[str | None] = []
        children: list[tuple[int, ...]] = []
        places: list[int] = []  # old node -> new node
        joined: dict[int, int] = {}  # old node -> the new node that joins its children so far
        siblings = {
            child: (parent, place, len(nodes))
            for parent, nodes in enumerate(self.children)
            if len(nodes) > 2
            for place, child in enumerate(nodes)
        }

        def append(label: str | None, word: str | None, pair: tuple[int, ...]) -> int:
            labels.append(label)
            words.append(word)
            children.append(pair)
            return len(labels) - 1

        for node, (label, word, old) in enumerate(self):
            pair = [places[child] for child in old]
            if len(pair) > 2 and direction == "left":
                pair = [joined[node], pair[-1]]
            while len(pair) > 2:  # (a (b c)): the last child of all comes right before its joins
                last = pair.pop()
                pair[-1] = append(None, None, (pair[-1], last))
            if len(old) == 1:
                labels[pair[0]] = label if label is not None else labels[pair[0]]
            places.append(pair[0] if len(old) == 1 else append(label, word, tuple(pair)))
            if direction == "left" and node in siblings:
                # ((a b) c): a join follows its last child at once, so that the lists stay in post-order.
                parent, place, number = siblings[node]
                if place == 0:
                    joined[parent] = places[node]
                elif place < number - 1:
                    joined[parent] = append(None, None, (joined[parent], places[node]))
        return Tree(labels, words, children), places

    def with_labels(self, labels: Sequence[str | None]) -> "Tree":
        """The same tree with other labels, one per node."""
        if len(labels) != len(self):
            raise DataError("labels do not fit the tree", expected=f"{len(self)} labels", got=len(labels))
        return Tree(list(labels), self.words, self.children)


def widths_of_nodes(trees: Sequence[Tree]) -> bytes | None:
    """The number of children, 0 or 2, of all nodes, tree by tree; None if a node has another."""
    try:
        widths = bytes(map(len, chain.from_iterable([tree.children for tree in trees])))
    except ValueError:  # more than 255
        return None
    return None if widths.translate(None, b"\0\2") else widths


def shaped(tokens: Sequence[str], shape: Shape = "balanced") -> Tree:
    """A tree without labels over tokens, in one of the shapes of `SHAPES`."""
    if shape not in SHAPES:
        raise ConfigurationError("unknown shape of trees", expected=" or ".join(SHAPES), got=repr(shape))
    return SHAPES[shape](tokens)


def balanced(tokens: Sequence[str]) -> Tree:
    """A binary tree without labels over tokens, halved recursively; its height is ceil(log2(T))."""
    T = len(tokens)
    return _over(tokens, _balanced_children(T) if T <= _USUAL_LENGTH else _balanced_children.__wrapped__(T))


def right_branching(tokens: Sequence[str]) -> Tree:
    """A binary tree (a (b (c d))) without labels over tokens; its height is T - 1."""
    T = len(tokens)
    joins = [(T - 2 - join, T - 1 if join == 0 else T + join - 1) for join in range(T - 1)]
    return _over(tokens, [*[()] * T, *joins])


SHAPES = {"balanced": balanced, "right": right_branching}


def _over(tokens: Sequence[str], children: Sequence[tuple[int, ...]]) -> Tree:
    if isinstance(tokens, str) or not all(isinstance(token, str) and token for token in tokens):
        raise DataError("not a list of tokens", expected="texts that are not empty", got=reprlib.repr(tokens))
    if not tokens:
        raise DataError("a tree without a word", expected="at least one token", got="none")
    rest = iter(tokens)
    words = [None if pair else next(rest) for pair in children]
    return Tree([None] * len(words), words, list(children))


_USUAL_LENGTH = 256  # tokens of a sentence whose tree is kept for the next one of the same length


@lru_cache(maxsize=_USUAL_LENGTH)
def _balanced_children(T: int) -> tuple[tuple[int, ...], ...]:
    """Children of the nodes of the balanced tree over T tokens, in post-order."""
    children: list[tuple[int, ...]] = []

    def add(size: int) -> int:
        """Nodes over ``size`` tokens; it calls itself as often as the tree is high, the logarithm of T."""
        pair = (add(size - size // 2), add(size // 2)) if size > 1 else ()
        children.append(pair)
        return len(children) - 1

    add(T)
    return tuple(children)


_EXPECTED = "a Tree, nested tuples (label, child, …) and (label, word), an nltk.Tree or a list of tokens"


def _is_nltk(value: object) -> bool:
    return callable(getattr(value, "label", None))


def _from_nested(value: Any) -> Tree:
    """Nested tuples, lists or nltk.Tree objects, without recursion: a node is opened, children follow, it closes."""
    labels: list[str | None] = []
    words: list[str | None] = []
    children: list[tuple[int, ...]] = []
    todo: list[tuple[Any, bool, bool]] = [(value, False, False)]  # value, whether it is closed now, inside nltk.Tree
    roots: list[int] = []  # nodes that are done and have no parent yet
    while todo:
        item, closing, nltk = todo.pop()
        if closing:
            label, number = item
            children.append(tuple(roots[-number:]))
            del roots[-number:]
            labels.append(label)
            words.append(None)
        else:
            label, word, inside = _opened(item, nltk)
            if word is None:
                todo.append(((label, len(inside)), True, False))
                todo += [(child, False, _is_nltk(item)) for child in reversed(inside)]
                continue
            labels.append(label)
            words.append(word)
            children.append(())
        roots.append(len(labels) - 1)
    return Tree(labels, words, children)


def _opened(item: Any, nltk: bool) -> tuple[str | None, str | None, Sequence[Any]]:
    """Label, word and children of one nested item; the word is None if there are children."""
    label: Any = None
    if isinstance(item, str):
        inside: list[Any] = [item]
    elif _is_nltk(item):
        label, inside = item.label(), list(item)
    elif nltk and isinstance(item, tuple) and len(item) == 2:  # nltk's chunk trees have leaves (word, tag)
        label, inside = item[1], [item[0]]
    elif isinstance(item, list | tuple) and item:
        label, inside = item[0], list(item[1:])
    else:
        raise DataError("not a tree", expected=_EXPECTED, got=reprlib.repr(item))
    if not inside:
        raise DataError("a node without word or child", expected=_EXPECTED, got=reprlib.repr(item))
    if isinstance(label, list | tuple | dict | float | bool):
        expected = "a text, a number or None before the children"
        raise DataError("not a label", expected=expected, got=reprlib.repr(label))
    label = str(label) or None if label is not None else None
    if len(inside) > 1 or not isinstance(inside[0], str):
        return label, None, inside
    if not inside[0]:
        raise DataError("an empty word", expected="a text", got="''")
    return label, inside[0], ()
