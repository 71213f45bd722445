"""Brackets to trees, bracket by bracket: trees that are spread over lines, and exact messages about mistakes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import final

from postil.errors import DataError
from postil.text.lines import NumberedLines, shortened
from postil.text.trees.bracketing import decoded
from postil.text.trees.tree import Tree

TREE_LIMIT = 2_000_000
"""Maximum number of nodes of a tree. Beyond it a bracket is missing, and memory use would not stay flat."""


@final
@dataclass(slots=True)
class _Open:
    """A bracket that is not closed yet."""

    line: int
    column: int
    children: list[int] = field(default_factory=list)
    atoms: list[str] = field(default_factory=list)
    """The label, then words without brackets of their own."""
    has_blank: bool = False
    """Whether there is a blank between the bracket and its first atom."""


_BRACKET_OR_ATOM = re.compile(r"[()]|[^ \t()]+")


@final
class BracketReader:
    """Brackets to trees, bracket by bracket, over any number of lines."""

    def __init__(self, lines: NumberedLines) -> None:
        self.lines = lines
        self.begin()

    def begin(self) -> None:
        """Empty lists for the next tree."""
        self.labels: list[str | None] = []
        self.words: list[str | None] = []
        self.children: list[tuple[int, ...]] = []
        self.open: list[_Open] = []
        self.next_tree = ""  # where another tree seems to begin inside this one

    @property
    def is_inside(self) -> bool:
        return bool(self.open)

    def line(self, number: int, line: str) -> Iterator[tuple[int, Tree]]:
        """The trees that end on a line, each with the line on which it begins."""
        if self.open and line.startswith("(") and not self.next_tree:
            self.next_tree = f"; the next tree seems to begin on line {number}"
        for match in _BRACKET_OR_ATOM.finditer(line):
            what, column = match[0], match.start() + 1
            if what == "(":
                self._opens(number, column)
            elif what == ")":
                start = self.open[0].line if self.open else number
                self._closes(number, column)
                if not self.open:
                    yield start, self._whole()
            else:
                self._atom(what, number, column, line)
        if len(self.labels) + len(self.open) > TREE_LIMIT:
            raise self._unclosed(f"{TREE_LIMIT:,} nodes and no end")

    def finish(self) -> None:
        """Refuse a tree that the end of the file cuts off."""
        if self.open:
            raise self._unclosed("the end of the file")

    def _opens(self, line: int, column: int) -> None:
        if self.open:
            parent = self.open[-1]
            if len(parent.atoms) > 1:
                raise self._mistake(
                    f"a bracket next to the word {shortened(parent.atoms[1])}", _EVERY_WORD, "(", line, column
                )
        self.open.append(_Open(line, column))

    def _atom(self, text: str, number: int, column: int, line: str) -> None:
        if not self.open:
            raise self._mistake("text outside the trees", "(", shortened(line[column - 1 :]), number, column)
        parent = self.open[-1]
        if parent.children:
            raise self._mistake("a word next to brackets", _EVERY_WORD, shortened(text), number, column)
        if not parent.atoms:
            parent.has_blank = (number, column) != (parent.line, parent.column + 1)
        parent.atoms.append(text)

    def _closes(self, line: int, column: int) -> None:
        if not self.open:
            raise self._mistake("a closing bracket without an opening one", "(", ")", line, column)
        node = self.open.pop()
        label, words = self._label_and_words(node)
        if node.children:
            self._add(label, None, tuple(node.children))
        elif len(words) == 1:
            self._add(label, decoded(words[0]), ())
        else:
            first = len(self.labels)
            for word in words:
                self._add(None, decoded(word), ())
            self._add(label, None, tuple(range(first, first + len(words))))
        if self.open:
            self.open[-1].children.append(len(self.labels) - 1)

    def _label_and_words(self, node: _Open) -> tuple[str | None, list[str]]:
        if node.children or len(node.atoms) > 1:
            return (node.atoms[0] if node.atoms else None), node.atoms[1:]
        if node.atoms and node.has_blank:
            return None, node.atoms
        what = f"a node {shortened(node.atoms[0])} with nothing in it" if node.atoms else "an empty node"
        raise self._mistake(what, "(LABEL word) or (LABEL (…) …)", "()", node.line, node.column)

    def _add(self, label: str | None, word: str | None, children: tuple[int, ...]) -> None:
        self.labels.append(label)
        self.words.append(word)
        self.children.append(children)

    def _whole(self) -> Tree:
        """The tree that has just closed, without the Penn Treebank's empty outer bracket."""
        if self.labels[-1] is None and len(self.children[-1]) == 1:
            for nodes in (self.labels, self.words, self.children):
                nodes.pop()
        tree = Tree.unchecked(self.labels, self.words, self.children)
        self.begin()
        return tree

    def _unclosed(self, got: str) -> DataError:
        first, number = self.open[0], len(self.open)
        brackets = "a bracket is" if number == 1 else f"{number:,} brackets are"
        got = f"{got}{self.next_tree}"
        return self._mistake(f"{brackets} never closed", f"{number:,} more )", got, first.line, first.column)

    def _mistake(self, what: str, expected: str, got: str, line: int, column: int) -> DataError:
        where = f"{self.lines.where(line)}, column {column}"
        return DataError(what, expected=expected, got=got, where=where)


_EVERY_WORD = "(LABEL word), or ( word) without a label"
