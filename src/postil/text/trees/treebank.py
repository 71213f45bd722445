"""Files of bracketed trees, as in the Penn Treebank and the Stanford Sentiment Treebank: a reader and a writer.

    (3 (2 good) (2 film))                   one tree a line, or spread over lines
    ( (S (NP-SBJ (PRP It)) (VP (VBZ ends))) )     with the Penn Treebank's empty outer bracket, which is taken off
    (NP a good film)                        words without brackets are leaves without labels
    ( (2 good) ( film))                     no label: nothing, or a blank, after the bracket

A label comes first in its bracket. Lines that begin with "#" outside a tree are comments.

The fast path takes a whole line at once; only a line that does not pass is read bracket by bracket, to assemble a
tree that is spread over lines, or to say exactly what is wrong with it. Nothing here calls itself.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO

from postil.errors import DataError
from postil.text.document import Rest, Sentence
from postil.text.lines import Lines, NumberedLines, Source, shortened
from postil.text.options import ReadOptions, WriteOptions
from postil.text.output import Target, write_text
from postil.text.report import Report
from postil.text.trees.bracket_reader import BracketReader
from postil.text.trees.bracketing import bracketed, decoded
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
    """A sentence for each tree: its words, the labels of its words if all have one, and the tree itself."""
    for tree, line, comments in _trees(lines, "#" if options.comment == "auto" else options.comment, report):
        leaves = [label for label, word in zip(tree.labels, tree.words, strict=True) if word is not None]
        labels = [label for label in leaves if label is not None]
        every = labels if len(labels) == len(leaves) else None
        yield Sentence(tree.tokens, every, line=line, comments=comments, rest=Bracketing(tree))


def _trees(lines: NumberedLines, prefix: str | None, report: Report) -> Iterator[tuple[Tree, int, list[str]]]:
    """Each tree with the line on which it begins and the comments before it, which begin with ``prefix``."""
    reader = BracketReader(lines)
    known = _Pieces()
    comments: list[str] = []
    for first, batch in lines:
        for number, line in enumerate(batch, first):
            if not line:
                continue
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

    Each distinct piece is taken apart once, and all its places share the same strings.
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
