"""What a single line looks like: label, comment, document mark, tree."""

import re

DOCUMENT_MARK = "-DOCSTART-"

_COMMENT = re.compile(r"# |#(?:begin|end) document\b")
_HEADER = re.compile(r"#\s*annotates\s*[=:]")
_TREE = re.compile(r"\((?:[^\s()]+ ?)?\(.*\)\s*$|\([^\s()]+ [^\s()]+\)\s*$")
_LABEL = re.compile(r"O$|[BIESLUMW]-.|[A-Z][A-Z0-9$|+:-]*$|[^\w\s]+$")


def looks_like_label(cell: str) -> bool:
    """Whether a cell could be a label: O, B-PER, NN, $ - but not an ordinary word."""
    return _LABEL.match(cell) is not None


def looks_like_tree(line: str) -> bool:
    """Whether a line is a bracketed parse tree."""
    return _TREE.match(line) is not None


def could_be_comment(line: str) -> bool:
    """Whether a line begins as comments do. In a file of spaces it could still be a row whose token is '#'."""
    return "\t" not in line and _COMMENT.match(line) is not None


def is_header(line: str) -> bool:
    """Whether a line says which classes a corpus annotates: always a comment, however many columns there are."""
    return "\t" not in line and _HEADER.match(line) is not None


def is_mark(line: str) -> bool:
    """Whether a document begins with this line."""
    return line.startswith(DOCUMENT_MARK) and line[len(DOCUMENT_MARK) :][:1] in ("", " ", "\t")
