"""Columns of tokens as bytes, in Python: what the kernels of columns.c must return."""

import re
from itertools import pairwise

import numpy as np

from postil.arrays import Array, checked_offsets
from postil.errors import IndexRangeError
from postil.kernels.checking import contiguous
from postil.kernels.plain_text import Columns, TokenCells, checked_cells, checked_columns

__all__ = ["checked_shares", "line_cells", "token_cells", "write_rows"]

_MARK = b"-DOCSTART-"
_MARK_LINE = re.compile(rb"-DOCSTART-(?:[ \t]|$)")
_CELL = re.compile(rb"[^ \t]+")
_COMMENT = {True: re.compile(rb"#[^\t]*$"), False: re.compile(rb"#(?![A-Zcdf-z0-9])[^\t]*$")}


def token_cells(text: bytes, columns: Columns) -> TokenCells | None:
    """The tokens of CoNLL columns in UTF-8 whose lines end in "\\n"; None where a reader must look at lines.

    Plain are blank lines, and rows with all their cells; a label is not empty, a token is not a document mark. Lines
    before a sentence that may be comments, and document marks, are left to the reader of heads.
    """
    columns = checked_columns(columns)
    cells: list[tuple[int, int]] = []
    offsets, heads = [0], []
    first, head = 0, -1
    for line in text.split(b"\n"):
        inside = len(cells) > offsets[-1]
        if not line.strip(b" \t"):
            offsets += [len(cells)] * inside
        elif not inside and (_MARK_LINE.match(line) or _COMMENT[columns.tabs].match(line)):
            head = first if head < 0 else head
        else:
            cell = None if _MARK_LINE.match(line) else _cell(line, columns)
            if cell is None:
                return None
            if head >= 0:
                heads.append((len(offsets) - 1, head, first))
                head = -1
            cells.append((first + cell[0], first + cell[1]))
        first += len(line) + 1
    if head >= 0:
        return None
    offsets += [len(cells)] * (len(cells) > offsets[-1])
    shaped = np.array(cells, np.int64).reshape(-1, 2), np.array(offsets), np.array(heads, np.int64).reshape(-1, 3)
    return TokenCells(*shaped)


def _cell(line: bytes, columns: Columns) -> tuple[int, int] | None:
    """The place of the token in a row; None if the row is not as it should be."""
    tabs, width, token, label = columns
    parts = line.split(b"\t") if tabs else _CELL.findall(line)
    if len(parts) != width or parts[token] == _MARK or (label >= 0 and not parts[label].strip(b" ")):
        return None
    if tabs:
        begin = sum(map(len, parts[:token])) + token
        return begin, begin + len(parts[token])
    return [cell.span() for cell in _CELL.finditer(line)][token]


def line_cells(text: bytes) -> TokenCells | None:
    """The tokens of lines in UTF-8, each a sentence, spaces and tabs between its tokens; None if one is a mark."""
    cells: list[tuple[int, int]] = []
    offsets = [0]
    first = 0
    for line in text.split(b"\n"):
        edges = [(first + cell.start(), first + cell.end()) for cell in _CELL.finditer(line)]
        cells += edges
        offsets += [len(cells)] * bool(edges)
        first += len(line) + 1
    if any(text[begin:end] == _MARK for begin, end in cells):
        return None
    return TokenCells(np.array(cells, np.int64).reshape(-1, 2), np.array(offsets), np.zeros((0, 3), np.int64))


def write_rows(
    text: bytes, cells: Array, offsets: Array, labels: Array, names: list[bytes], figures: Array | None = None
) -> tuple[bytes, Array]:
    """Sentences as rows of token, tab and label, a blank line after each; and where they begin, (B + 1,) with the end.

    labels (N, K), a column for each task, are places in ``names``; figures (N, K) are probabilities, columns before the
    labels.
    """
    cells, offsets = checked_cells(text, cells), checked_offsets(offsets, rows=len(cells))
    labels = contiguous(labels, np.int64, (len(cells), np.shape(labels)[1]), where="labels")
    if labels.size and not 0 <= labels.min() <= labels.max() < len(names):
        raise IndexRangeError("an index points outside its table", where="labels")
    columns = [[names[label] for label in row] for row in labels.tolist()]
    if figures is not None:
        figures = checked_shares(contiguous(figures, np.float64, labels.shape, where="figures"), "figures")
        columns = [
            [cell for figure, name in zip(of_row, row, strict=True) for cell in (f"{figure:.4f}".encode(), name)]
            for of_row, row in zip(figures.tolist(), columns, strict=True)
        ]
    pairs = zip(cells.tolist(), columns, strict=True)
    rows = [b"\t".join([text[first:end], *row]) + b"\n" for (first, end), row in pairs]
    sentences = [b"".join(rows[first:end]) + b"\n" for first, end in pairwise(offsets.tolist())]
    return b"".join(sentences), np.cumsum([0, *map(len, sentences)])


def checked_shares(values: Array, where: str) -> Array:
    """Probabilities, up to rounding errors."""
    if values.size and not ((values >= 0) & (values < 2)).all():
        raise IndexRangeError("a probability must be at least 0 and at most 1", where=where)
    return values
