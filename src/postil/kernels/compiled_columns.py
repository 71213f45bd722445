"""The kernels of columns.c: CoNLL columns and lines of tokens as places among bytes, and rows written from them.

Their oracles are in tests/oracles/columns.py.
"""

import numpy as np

from postil.arrays import Array
from postil.kernels.compiled import call
from postil.kernels.plain_columns import Columns, TokenCells, Words, checked_cells, checked_columns

_LONGEST_DECIMAL = 16  # as in decimals.h


def token_cells(text: bytes, columns: Columns) -> TokenCells | None:
    """The tokens of CoNLL columns in UTF-8 whose lines end in "\\n"; None where a reader must look at lines.

    Plain are blank lines, and rows with all their cells; a label is not empty, a token is not a document mark. Lines
    before a sentence that may be comments, and document marks, are left to the reader of heads.
    """
    lines = int(np.count_nonzero(_characters(text) == ord("\n"))) + 1  # much faster than bytes.count
    cells = call.token_cells(text, *checked_columns(columns), lines)
    if cells is None:
        return None
    tokens, offsets, heads, (N, B, H) = cells
    return TokenCells(tokens[:N], offsets[: B + 1], heads[:H])


def line_cells(text: bytes) -> TokenCells | None:
    """The tokens of lines in UTF-8, each a sentence, spaces and tabs between its tokens; None if one is a mark."""
    room = int(np.count_nonzero(_characters(text) <= ord(" "))) + 1  # no two tokens without a blank or a line end
    cells = call.line_cells(text, room)
    if cells is None:
        return None
    tokens, offsets, (N, B) = cells
    return TokenCells(tokens[:N], offsets[: B + 1], np.zeros((0, 3), np.int64))


def _characters(text: bytes) -> Array:
    return np.frombuffer(text, np.uint8)


def number_words(text: bytes, cells: Array, words: Words, known: int) -> tuple[Array, int]:
    """See ``plain_columns.number_words``."""
    count = np.array([known], np.int64)
    numbers = call.number_words(text, cells, words.key, words.slots, words.pool, words.ends, count)
    return numbers, int(count[0])


def write_rows(
    text: bytes, cells: Array, offsets: Array, labels: Array, names: list[bytes], figures: Array | None = None
) -> tuple[bytes, Array]:
    """Sentences as rows of token, tab and label, a blank line after each; and where they begin, (B + 1,) with the end.

    labels (N,) are places in ``names``; figures (N,) are probabilities, a column before the label.
    """
    cells = checked_cells(text, cells)
    ends, joined = np.cumsum([0, *map(len, names)]), b"".join(names)
    row = max(map(len, names), default=0) + 3 + _LONGEST_DECIMAL * (figures is not None)
    out = np.empty(int((cells[:, 1] - cells[:, 0]).sum()) + len(cells) * row + len(offsets) - 1, np.uint8)
    places = call.write_rows(text, cells, offsets, labels, figures, joined, ends, out)
    return out[: places[-1]].tobytes(), places
