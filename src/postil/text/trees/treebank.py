"""Files of bracketed trees, as in the Penn Treebank and the Stanford Sentiment Treebank: a reader and a writer.

    (3 (2 good) (2 film))                   one tree a line, or spread over lines
    ( (S (NP-SBJ (PRP It)) (VP (VBZ ends))) )     with the Penn Treebank's empty outer bracket, which is removed
    (NP a good film)                        words without brackets are leaves without labels
    ( (2 good) ( film))                     no label: nothing, or a blank, after the bracket

A label comes first in its bracket. Lines that begin with "#" outside a tree are comments.

The fast path takes a whole line at once; only a line that does not pass is read bracket by bracket, to assemble a
tree that is spread over lines, or to say exactly what is wrong with it. Nothing here calls itself.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from io import BytesIO
from typing import final

from postil.errors import DataError
from postil.text.document import Rest, Sentence
from postil.text.labels.schemes import labels_from_spans
from postil.text.lines import Lines, NumberedLines, Source, shortened
from postil.text.options import ReadOptions, WriteOptions
from postil.text.output import Target, write_text
from postil.text.report import Report
from postil.text.trees.chunks import CHUNKS, TRACE, chunks_of, without_empty_elements
from postil.text.trees.tree import Tree

_CACHED = 1 << 18
"""Distinct leaves and labels that the fast path keeps."""


@dataclass(frozen=True, slots=True)
class Bracketing(Rest):
    """The tree of a sentence; the sentence's own labels are those of its words."""

    tree: Tree

    def lost(self) -> Mapping[str, int]:
        return {"phrases of trees": sum(word is None for word in self.tree.words)}


def read_trees(source: Source, *, encoding: str | None = None) -> Iterator[Tree]:
    """Read the trees of a path ("-" for standard input) or a binary stream, one by one."""
    with Lines(source, encoding=encoding) as lines:
        for tree, _, _ in _trees(lines, "#", Report("trees")):
            yield tree


def parse_tree(text: str) -> Tree:
    """Parse a text that contains exactly one tree; anything else is a DataError."""
    trees = list(read_trees(BytesIO(text.encode("utf-8", "surrogatepass")), encoding="utf-8"))
    if len(trees) != 1:
        raise DataError("not one tree", expected="a text with one tree", got=f"{len(trees)} in {shortened(text)}")
    return trees[0]


def write_trees(trees: Iterable[Tree], target: Target) -> None:
    """Write trees to a path ("-" for standard output, ".gz" for gzip) or a binary stream, one per line."""
    write_text(target, (f"{bracketed(tree)}\n" for tree in trees))


def tree_of(sentence: Sentence) -> Tree:
    """The tree that a sentence was read with, or its words under a root without a label."""
    if isinstance(sentence.rest, Bracketing):
        return sentence.rest.tree
    T = len(sentence)
    labels: list[str | None] = [*sentence.labels] if sentence.labels is not None else [None] * T
    if T == 1:
        return Tree(labels, [*sentence.tokens], [()])
    return Tree([*labels, None], [*sentence.tokens, None], [*[()] * T, tuple(range(T))])


# Reading


def read_treebank(lines: NumberedLines, options: ReadOptions, report: Report) -> Iterator[Sentence]:
    """A sentence for each tree: its words, the labels of its words if all have one, and the tree itself.

    With the label column ``chunks``, the labels are those of chunks, and the parts of speech are a feature column.
    """
    for tree, line, comments in _trees(lines, "#" if options.comment == "auto" else options.comment, report):
        if options.label == CHUNKS:
            if (words := without_empty_elements(tree)) is not None:
                yield _chunked(words, line, comments, options, lines)
            continue
        leaves = [label for label, word in zip(tree.labels, tree.words, strict=True) if word is not None]
        labels = [label for label in leaves if label is not None]
        every = labels if len(labels) == len(leaves) else None
        yield Sentence(tree.tokens, every, line=line, comments=comments, rest=Bracketing(tree))


def _chunked(tree: Tree, line: int, comments: list[str], options: ReadOptions, lines: NumberedLines) -> Sentence:
    tags = [label for label, word, _ in tree if word is not None and label is not None]
    tokens = tree.tokens
    if len(tags) != len(tokens):
        got = next(word for label, word, _ in tree if word is not None and label is None)
        expected = "(NP (DT the) (NN film)), to find chunks"
        raise DataError("a word has no part of speech", expected=expected, got=shortened(got), where=lines.where(line))
    columns: list[tuple[str, ...]] | None = None if options.features == () else [(tag,) for tag in tags]
    return Sentence(tokens, labels_from_spans(chunks_of(tree), len(tokens)), columns, line=line, comments=comments)


def _trees(lines: NumberedLines, prefix: str | None, report: Report) -> Iterator[tuple[Tree, int, list[str]]]:
    """Each tree with the line on which it begins and the comments before it, which begin with ``prefix``."""
    reader = BracketReader(lines)
    known = _Pieces()
    comments: list[str] = []
    for number, line in lines.numbered():
        if prefix and not reader.is_inside and line.lstrip(" \t").startswith(prefix):
            comments.append(line.strip(" \t"))
            continue
        whole = None if reader.is_inside else _whole_line(line, known)
        for start, tree in reader.line(number, line) if whole is None else [(number, whole)]:
            report.sentences += 1
            report.tokens += len(tree) - tree.words.count(None)
            if comments:
                report.notes["comments"] += len(comments)
            yield tree, start, comments
            comments = []
    reader.finish()
    report.dropped["comments after the last sentence"] += len(comments)


class _Pieces(dict[str, tuple[str, str | None] | None]):
    """Piece of a line -> (label, word) of a leaf, (label, None) where a node opens, None where one closes.

    Each distinct piece is parsed once, and all its places share the same strings.
    """

    def __missing__(self, piece: str) -> tuple[str, str | None] | None:
        if len(self) > _CACHED:
            self.clear()
        label, _, word = piece.strip("() ").partition(" ")
        self[piece] = parts = None if piece[0] == ")" else (label, decoded(word) if word else None)
        return parts


_PIECE = re.compile(r"\([^ \t()]+ [^ \t()]+\) ?|\([^ \t()]+ (?=\()|\) ?")


def _whole_line(line: str, known: _Pieces) -> Tree | None:
    """The tree of a line in which every node has its label and every word its bracket; None for any other line."""
    pieces = _PIECE.findall(line)
    if "".join(pieces) != line:
        return None
    labels: list[str | None] = []
    words: list[str | None] = []
    children: list[tuple[int, ...]] = []
    above: list[tuple[str, list[int]]] = []
    label, inside = "", list[int]()  # the node that is open; at the beginning, what is around the tree
    for piece in pieces:
        parts = known[piece]
        if parts is None:
            if not above:
                return None
            labels.append(label)
            words.append(None)
            children.append(tuple(inside))
            label, inside = above.pop()
        elif parts[1] is None:
            above.append((label, inside))
            label, inside = parts[0], []
            continue
        else:
            labels.append(parts[0])
            words.append(parts[1])
            children.append(())
        inside.append(len(labels) - 1)
    return Tree.unchecked(labels, words, children) if len(inside) == 1 and not above else None


# Writing


def write_treebank(sentences: Iterable[Sentence], options: WriteOptions, report: Report) -> Iterator[str]:
    """The trees of sentences, one a line, each after its comments."""
    for sentence in sentences:
        if not sentence.tokens:
            report.dropped["sentences without tokens"] += 1
            continue
        report.dropped["extra columns of tokens"] += len(sentence.columns[0]) * len(sentence) if sentence.columns else 0
        comments = [comment if comment.startswith("#") else f"# {comment}" for comment in sentence.comments]
        yield "".join(f"{line}\n" for line in (*comments, bracketed(tree_of(sentence))))


# -------------------------------------------------------------- one tree as text, with the escapes of the Penn Treebank


def bracketed(tree: Tree) -> str:
    """The tree as one line of brackets, in the format that the reader reads."""
    pieces: list[str] = []
    todo = [len(tree) - 1]
    while todo:
        node = todo.pop()
        if node < 0:
            pieces.append(")")
            continue
        label, word, children = tree.labels[node], tree.words[node], tree.children[node]
        pieces.append(f" ({checked_label(label)}" if label is not None else " (")
        if word is not None:
            pieces.append(f" {encoded(word, label)})")
        elif (
            label is not None
            and len(children) > 1
            and all(tree.labels[child] is None and tree.words[child] is not None for child in children)
        ):
            pieces.append("".join(f" {encoded(tree.words[child] or '', None)}" for child in children) + ")")
        else:
            todo.append(-1)
            todo += reversed(children)
    text = "".join(pieces)[1:]
    # The reader takes off an empty outer bracket.
    return f"({text})" if tree.labels[-1] is None and len(tree.children[-1]) == 1 else text


_ESCAPES = {"(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-", "/": "\\/", "*": "\\*"}
_MEANINGS = {escape: character for character, escape in _ESCAPES.items()}
_ESCAPE = re.compile("|".join(map(re.escape, _MEANINGS)))
_ESCAPED = str.maketrans(_ESCAPES)
_UNWRITABLE = re.compile("[ \t\r\n\0\ud800-\udfff]")


def decoded(word: str) -> str:
    """The word that an escaped one stands for: ``-LRB-`` is "(", ``\\/`` is "/"."""
    if "-" not in word and "\\" not in word:
        return word
    return _ESCAPE.sub(lambda match: _MEANINGS[match[0]], word)


@lru_cache(maxsize=1 << 16)
def encoded(word: str, label: str | None) -> str:
    """The word as written in a file; DataError if it would not be read again as it is."""
    as_it_is = label == TRACE and decoded(word) == word and not any(c in word for c in "()[]{}")
    escaped = word if as_it_is else word.translate(_ESCAPED)
    if not word or _UNWRITABLE.search(word) or decoded(escaped) != word:
        expected = "a text without blanks, line ends, NUL and escapes such as -LRB-"
        raise DataError("this word cannot be written in a tree", expected=expected, got=shortened(word))
    return escaped


@lru_cache(maxsize=1 << 12)
def checked_label(label: str) -> str:
    """The label itself; DataError if it cannot stand after a bracket."""
    if not label or _UNWRITABLE.search(label) or "(" in label or ")" in label:
        expected = "a text without blanks, line ends, NUL and brackets"
        raise DataError("this label cannot be written in a tree", expected=expected, got=shortened(label))
    return label


# --------------------------------------------------------------------------------------------------- bracket by bracket
# Trees that are spread over lines, and exact messages about mistakes.


TREE_LIMIT = 2_000_000
"""Maximum number of nodes of a tree. Beyond it a bracket is missing, and memory use would not stay flat."""


@final
@dataclass(slots=True)
class _OpenBracket:
    """A bracket that is not closed yet."""

    line: int
    column: int
    children: list[int] = field(default_factory=list)
    atoms: list[str] = field(default_factory=list)
    """The label, then words without separate brackets."""
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
        self.open: list[_OpenBracket] = []
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
                if self.open and len(self.open[-1].atoms) > 1:
                    mistake = f"a bracket next to the word {shortened(self.open[-1].atoms[1])}"
                    raise self._mistake(mistake, _EVERY_WORD, "(", number, column)
                self.open.append(_OpenBracket(number, column))
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
        label: str | None = None
        words: list[str] = []
        if node.children or len(node.atoms) > 1:
            label, words = (node.atoms[0] if node.atoms else None), node.atoms[1:]
        elif node.atoms and node.has_blank:
            words = node.atoms
        else:
            what = f"a node {shortened(node.atoms[0])} with nothing in it" if node.atoms else "an empty node"
            raise self._mistake(what, "(LABEL word) or (LABEL (…) …)", "()", node.line, node.column)
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
