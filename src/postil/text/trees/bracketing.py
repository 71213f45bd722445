"""One tree as bracketed text, with the escapes of the Penn Treebank."""

import re
from functools import lru_cache

from postil.errors import DataError
from postil.text.lines import shortened
from postil.text.trees.tree import Tree


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
        elif label is not None and len(children) > 1 and _are_bare(tree, children):
            pieces.append("".join(f" {encoded(tree.words[child] or '', None)}" for child in children) + ")")
        else:
            todo.append(-1)
            todo += reversed(children)
    text = "".join(pieces)[1:]
    # The reader takes off an empty outer bracket.
    return f"({text})" if tree.labels[-1] is None and len(tree.children[-1]) == 1 else text


def _are_bare(tree: Tree, children: tuple[int, ...]) -> bool:
    return all(tree.labels[child] is None and tree.words[child] is not None for child in children)


_ESCAPES = {"(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-", "/": "\\/", "*": "\\*"}
_MEANINGS = {escape: character for character, escape in _ESCAPES.items()}
_ESCAPE = re.compile("|".join(map(re.escape, _MEANINGS)))
_ESCAPED = str.maketrans(_ESCAPES)
_UNWRITABLE = re.compile("[ \t\r\n\0\ud800-\udfff]")
TRACE = "-NONE-"
"""Label of what the Penn Treebank puts where nothing is said, such as ``*T*-1``: its stars are not escaped."""


def decoded(word: str) -> str:
    """The word that an escaped one stands for: ``-LRB-`` is "(", ``\\/`` is "/"."""
    if "-" not in word and "\\" not in word:
        return word
    return _ESCAPE.sub(lambda match: _MEANINGS[match[0]], word)


@lru_cache(maxsize=1 << 16)
def encoded(word: str, label: str | None) -> str:
    """The word as it stands in a file; DataError if it would not be read again as it is."""
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
