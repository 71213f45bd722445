"""Files of bracketed trees, as in the Penn Treebank and the Stanford Sentiment Treebank: a reader and a writer.

    (3 (2 good) (2 film))                   one tree a line, or spread over lines
    ( (S (NP-SBJ (PRP It)) (VP (VBZ ends))) )     with the Penn Treebank's empty outer bracket, which is removed
    (NP a good film)                        words without brackets are leaves without labels
    ( (2 good) ( film))                     no label: nothing, or a blank, after the bracket

A label comes first in its bracket. Lines that begin with "#" outside a tree are comments. Nothing here calls itself.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from itertools import islice
from typing import Any, NamedTuple, final

from postil.errors import DataError
from postil.lazy import Remembered
from postil.text.document import Rest, Sentence
from postil.text.labels.schemes import labels_from_spans
from postil.text.lines import Lines, NumberedLines, Source, shortened
from postil.text.options import ReadOptions, WriteOptions
from postil.text.output import Target, write_text
from postil.text.report import Report
from postil.text.trees.chunks import CHUNKS, TRACE, chunks_of, without_empty_elements
from postil.text.trees.tree import Tree, shaped

TREE_LIMIT = 2_000_000
"""Maximum number of nodes of a tree. Beyond it a bracket is missing, and memory use would not stay flat."""
_CACHED = 1 << 18  # distinct leaves and labels that a reader keeps


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


def tree_over(sentence: Sentence, shape: Any) -> Tree:
    """The tree that a sentence was read with, or else a tree of this shape over its tokens."""
    if isinstance(sentence.rest, Bracketing):
        return sentence.rest.tree
    # Tokens of treebanks often come with their escapes; models are trained without them.
    return shaped([decoded(token) for token in sentence.tokens], shape)


def read_treebank(lines: NumberedLines, options: ReadOptions, report: Report) -> Iterator[Sentence]:
    """A sentence for each tree: its words, the labels of its words if all have one, and the tree itself.

    With the label column ``chunks``, the labels are those of chunks, and the parts of speech are a feature column.
    """
    for tree, line, comments in _trees(lines, "#" if options.comment == "auto" else options.comment, report):
        if options.label == CHUNKS:
            if (found := without_empty_elements(tree)) is not None:
                tokens, tags = found.tokens, [label for label, word, _ in found if word is not None]
                if None in tags:
                    expected, got = "(NP (DT the) (NN film)), to find chunks", shortened(tokens[tags.index(None)])
                    where = lines.where(line)
                    raise DataError("a word has no part of speech", expected=expected, got=got, where=where)
                columns: list[tuple[str, ...]] | None = (
                    None if options.features == () else [(tag or "",) for tag in tags]
                )
                chunks = labels_from_spans(chunks_of(found), len(tokens))
                yield Sentence(tokens, chunks, columns, line=line, comments=comments)
            continue
        leaves = [label for label, word in zip(tree.labels, tree.words, strict=True) if word is not None]
        labels = [label for label in leaves if label is not None]
        every = labels if len(labels) == len(leaves) else None
        yield Sentence(tree.tokens, every, line=line, comments=comments, rest=Bracketing(tree))


def _trees(lines: NumberedLines, prefix: str | None, report: Report) -> Iterator[tuple[Tree, int, list[str]]]:
    """Each tree with the line on which it begins and the comments before it, which begin with ``prefix``."""
    reader = BracketReader(lines)
    comments: list[str] = []
    for number, line in lines.numbered():
        if prefix and not reader.open and line.lstrip(" \t").startswith(prefix):
            comments.append(line.strip(" \t"))
            continue
        for start, tree in reader.line(number, line):
            if comments:
                report.notes["comments"] += len(comments)
            yield tree, start, comments
            comments = []
    if reader.open:
        raise reader.unclosed("the end of the file")
    report.dropped["comments after the last sentence"] += len(comments)


_PIECE = re.compile(r"\([^ \t()]+ [^ \t()]+\)|\([^ \t()]*|\)|[^ \t()]+")
"""A leaf, an opening bracket with the label right after it, a closing bracket, or an atom: a label or a word."""


def _parsed(piece: str) -> tuple[str | None, str | None] | None:
    """(label, word) of a leaf, (label or "", None) where a node opens, (None, atom); None where one closes."""
    if piece[0] != "(":
        return None if piece == ")" else (None, piece)
    label, _, word = piece.strip("()").partition(" ")
    return label, decoded(word) if word else None


class _OpenBracket(NamedTuple):
    """A bracket that is not closed yet."""

    atoms: list[str]  # the label, then words without separate brackets
    children: list[int]
    number: int
    line: str
    place: int  # number and text of its line, and which of its pieces it is
    has_label: bool  # whether the first of ``atoms`` follows the bracket without a space


@final
class BracketReader:
    """Brackets to trees, bracket by bracket, over any number of lines."""

    def __init__(self, lines: NumberedLines) -> None:
        self.lines = lines
        self.known = Remembered(_parsed, _CACHED)  # all places of a piece share the same strings
        self.begin()

    def begin(self) -> None:
        """Empty lists for the next tree."""
        self.labels: list[str | None] = []
        self.words: list[str | None] = []
        self.children: list[tuple[int, ...]] = []
        self.open: list[_OpenBracket] = []
        self.next_tree = ""  # where another tree seems to begin inside this one

    def line(self, number: int, line: str) -> Iterator[tuple[int, Tree]]:
        """The trees that end on a line, each with the line on which it begins."""
        if self.open and line.startswith("(") and not self.next_tree:
            self.next_tree = f"; the next tree seems to begin on line {number}"
        known, labels, parent = self.known, self.labels, self.open[-1] if self.open else None
        for place, piece in enumerate(_PIECE.findall(line)):
            parts, start = known[piece], number
            if parts is None:
                if parent is None:
                    raise self._mistake("a closing bracket without an opening one", "(", ")", number, line, place)
                self._close(parent)
                start = self.open.pop().number
                parent = self.open[-1] if self.open else None
            elif parent is not None and parts[0] is not None and len(parent.atoms) > 1:
                mistake = f"a bracket next to the word {shortened(parent.atoms[1])}"
                raise self._mistake(mistake, _EVERY_WORD, "(", number, line, place)
            elif parts[1] is None:
                parent = _OpenBracket([parts[0]] if parts[0] else [], [], number, line, place, bool(parts[0]))
                self.open.append(parent)
                continue
            elif parts[0] is None:
                if parent is None:
                    rest = shortened(line[_column(line, place) - 1 :])
                    raise self._mistake("text outside the trees", "(", rest, number, line, place)
                if parent.children:
                    raise self._mistake("a word next to brackets", _EVERY_WORD, shortened(piece), number, line, place)
                parent.atoms.append(piece)
                continue
            else:
                labels.append(parts[0])
                self.words.append(parts[1])
                self.children.append(())
            if parent is not None:
                parent.children.append(len(labels) - 1)
                continue
            if labels[-1] is None and len(self.children[-1]) == 1:  # the Penn Treebank's empty outer bracket
                for nodes in (labels, self.words, self.children):
                    nodes.pop()
            tree = Tree.unchecked(labels, self.words, self.children)
            self.begin()
            labels = self.labels
            yield start, tree
        if len(self.labels) + len(self.open) > TREE_LIMIT:
            raise self.unclosed(f"{TREE_LIMIT:,} nodes and no end")

    def _close(self, node: _OpenBracket) -> None:
        """Append a node after its children, or with its word; before it words without brackets."""
        atoms, inside, word = node.atoms, tuple(node.children), None
        label = atoms[0] if atoms else None
        if not inside:
            if not atoms or (len(atoms) == 1 and node.has_label):
                what = f"a node {shortened(atoms[0])} with nothing in it" if atoms else "an empty node"
                raise self._mistake(what, "(LABEL word) or (LABEL (…) …)", "()", node.number, node.line, node.place)
            label, words = (label, atoms[1:]) if len(atoms) > 1 else (None, atoms)
            if len(words) == 1:
                word = decoded(words[0])
            else:
                inside = tuple(range(len(self.labels), len(self.labels) + len(words)))
                self.labels += [None] * len(words)
                self.words += map(decoded, words)
                self.children += [()] * len(words)
        self.labels.append(label)
        self.words.append(word)
        self.children.append(inside)

    def unclosed(self, got: str) -> DataError:
        """The error about a tree that is cut off."""
        first, number = self.open[0], len(self.open)
        brackets = "a bracket is" if number == 1 else f"{number:,} brackets are"
        what, got = f"{brackets} never closed", f"{got}{self.next_tree}"
        return self._mistake(what, f"{number:,} more )", got, first.number, first.line, first.place)

    def _mistake(self, what: str, expected: str, got: str, number: int, line: str, place: int) -> DataError:
        where = f"{self.lines.where(number)}, column {_column(line, place)}"
        return DataError(what, expected=expected, got=got, where=where)


def _column(line: str, place: int) -> int:
    """Where a piece of a line begins, from 1."""
    return next(islice(_PIECE.finditer(line), place, None)).start() + 1


_EVERY_WORD = "(LABEL word), or ( word) without a label"


def write_treebank(sentences: Iterable[Sentence], options: WriteOptions, report: Report) -> Iterator[str]:
    """The trees of sentences, one a line, each after its comments."""
    for sentence in sentences:
        comments = [comment if comment.startswith("#") else f"# {comment}" for comment in sentence.comments]
        yield "".join(f"{line}\n" for line in (*comments, bracketed(tree_of(sentence))))


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
