"""The kernels of columns.c: CoNLL columns and lines of tokens as places among bytes, and rows written from them.

Their oracles are in tests/oracles/columns.py.
"""

import numpy as np

from postil.arrays import Array
from postil.kernels.checking import contiguous
from postil.kernels.compiled import BYTES, DOUBLES, INTEGERS, finish, pointer, ready_offsets
from postil.kernels.library import ffi, lib
from postil.kernels.plain_columns import Columns, TokenCells, Words, checked_cells, checked_columns

_SLOTS = ffi.typeof("uint64_t[]")
_LONGEST_DECIMAL = 16  # as in decimals.h


def token_cells(text: bytes, columns: Columns) -> TokenCells | None:
    """The tokens of CoNLL columns in UTF-8 whose lines end in "\\n"; None where a reader must look at lines.

    Plain are blank lines, and rows with all their cells; a label is not empty, a token is not a document mark. Lines
    before a sentence that may be comments, and document marks, are left to the reader of heads.
    """
    lines = int(np.count_nonzero(_characters(text) == ord("\n"))) + 1  # much faster than bytes.count
    tokens, offsets = np.empty((lines, 2), np.int64), np.empty(lines + 1, np.int64)
    heads, counts = np.empty((lines, 3), np.int64), np.zeros(3, np.int64)
    outputs = [pointer(array, INTEGERS) for array in (tokens, offsets, heads, counts)]
    code = lib.token_cells(ffi.from_buffer(BYTES, text), len(text), *checked_columns(columns), lines, *outputs)
    if code == lib.NOT_PLAIN:
        return None
    finish(code, "lines")
    N, B, H = counts.tolist()
    return TokenCells(tokens[:N], offsets[: B + 1], heads[:H])


def line_cells(text: bytes) -> TokenCells | None:
    """The tokens of lines in UTF-8, each a sentence, spaces and tabs between its tokens; None if one is a mark."""
    room = int(np.count_nonzero(_characters(text) <= ord(" "))) + 1  # no two tokens without a blank or a line end
    tokens, offsets, counts = np.empty((room, 2), np.int64), np.empty(room + 1, np.int64), np.zeros(2, np.int64)
    outputs = [pointer(array, INTEGERS) for array in (tokens, offsets, counts)]
    code = lib.line_cells(ffi.from_buffer(BYTES, text), len(text), room, *outputs)
    if code == lib.NOT_PLAIN:
        return None
    finish(code, "lines")
    N, B = counts.tolist()
    return TokenCells(tokens[:N], offsets[: B + 1], np.zeros((0, 3), np.int64))


def _characters(text: bytes) -> Array:
    return np.frombuffer(text, np.uint8)


def number_words(text: bytes, cells: Array, words: Words, known: int) -> tuple[Array, int]:
    """See ``plain_columns.number_words``."""
    cells = contiguous(cells, np.int64, (len(cells), 2), where="cells")
    for name, dtype in (("key", np.uint64), ("slots", np.uint64), ("pool", np.uint8), ("ends", np.int64)):
        array = getattr(words, name)
        contiguous(array, dtype, (2,) if name == "key" else (array.size,), name, changed=name != "key")
    numbers, count = np.empty(len(cells), np.int64), np.array([known], np.int64)
    code = lib.number_words(
        *(ffi.from_buffer(BYTES, text), len(text)),
        *(pointer(cells, INTEGERS), len(cells)),
        *(pointer(words.key, _SLOTS), pointer(words.slots, _SLOTS), len(words.slots)),
        *(pointer(words.pool, BYTES), len(words.pool)),
        *(pointer(words.ends, INTEGERS), len(words.ends) - 1),
        *(pointer(count, INTEGERS), pointer(numbers, INTEGERS)),
    )
    finish(code, "words")
    return numbers, int(count[0])


def write_rows(
    text: bytes, cells: Array, offsets: Array, labels: Array, names: list[bytes], figures: Array | None = None
) -> tuple[bytes, Array]:
    """Sentences as rows of token, tab and label, a blank line after each; and where they begin, (B + 1,) with the end.

    labels (N,) are places in ``names``; figures (N,) are probabilities, a column before the label.
    """
    cells = checked_cells(text, cells)
    labels = contiguous(labels, np.int64, (len(cells),), where="labels")
    if figures is not None:
        figures = contiguous(figures, np.float64, (len(cells),), where="figures")
    offsets = ready_offsets(offsets, len(cells))
    B, ends, joined = len(offsets) - 1, np.cumsum([0, *map(len, names)]), b"".join(names)
    row = max(map(len, names), default=0) + 3 + _LONGEST_DECIMAL * (figures is not None)
    out = np.empty(int((cells[:, 1] - cells[:, 0]).sum()) + len(cells) * row + B, np.uint8)
    places = np.empty(B + 1, np.int64)
    code = lib.write_rows(
        *(ffi.from_buffer(BYTES, text), len(text)),
        *(pointer(cells, INTEGERS), len(cells)),
        *(pointer(offsets, INTEGERS), B, pointer(labels, INTEGERS)),
        ffi.NULL if figures is None else pointer(figures, DOUBLES),
        *(ffi.from_buffer(BYTES, joined), len(joined), pointer(ends, INTEGERS), len(names)),
        *(pointer(out, BYTES), len(out), pointer(places, INTEGERS)),
    )
    finish(code, "cells", offsets, len(cells))
    return out[: places[-1]].tobytes(), places
