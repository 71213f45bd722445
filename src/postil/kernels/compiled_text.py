"""The kernels of characters.c, columns.c, records.c and words.c: tokens as places among bytes, what is made of them.

Those of ``plain_text.py`` have the same names and arguments there. The readers and writers of columns and JSON Lines
have oracles in tests/oracles instead.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from postil.arrays import Array
from postil.errors import IndexRangeError
from postil.kernels import plain_text as plain
from postil.kernels.characters import Characters, shapes_of_categories
from postil.kernels.library import BYTES, call, ffi, pointer, remembered
from postil.kernels.plain_records import UNITS, Records, json_string

SMALL_INTEGERS = ffi.typeof("int32_t[]")
character_offsets = call.character_offsets


@remembered
def tables(characters: Characters) -> tuple[Any, ...]:
    """A pointer to character_tables."""
    arrays = {name: pointer(getattr(characters, name), BYTES) for name in ("index", "pages", "spaces")}
    arrays["records"] = pointer(characters.records, SMALL_INTEGERS)
    return ffi.new("character_tables *", arrays), arrays


_LONGEST_DECIMAL = 16  # as in decimals.h


def token_cells(text: bytes, columns: plain.Columns) -> plain.TokenCells | None:
    """The tokens of CoNLL columns in UTF-8 whose lines end in "\\n"; None if a reader must look at lines.

    Plain are blank lines, and rows with all their cells; a label is not empty, a token is not a document mark. Lines
    before a sentence that may be comments, and document marks, are left to the reader of heads.
    """
    lines = int(np.count_nonzero(np.frombuffer(text, np.uint8) == ord("\n"))) + 1  # much faster than bytes.count
    cells = call.token_cells(text, *plain.checked_columns(columns), lines)
    return None if cells is None else plain.TokenCells(*cells)


def line_cells(text: bytes) -> plain.TokenCells | None:
    """The tokens of lines in UTF-8, each a sentence, spaces and tabs between its tokens; None if one is a mark."""
    blanks = np.frombuffer(text, np.uint8) <= ord(" ")  # between any two tokens there is one, or a line end
    cells = call.line_cells(text, int(np.count_nonzero(blanks)) + 1)
    return None if cells is None else plain.TokenCells(cells[0], cells[1], heads=np.zeros((0, 3), np.int64))


def write_rows(
    text: bytes, cells: Array, offsets: Array, labels: Array, names: list[bytes], figures: Array | None = None
) -> tuple[bytes, Array]:
    """Sentences as rows of token, tab and label, a blank line after each; and where they begin, (B + 1,) with the end.

    labels (N, K), a column for each task, are places in ``names``; figures (N, K) are probabilities, columns before the
    labels.
    """
    cells = plain.checked_cells(text, cells)
    joined, ends = _joined(names)
    column = max(map(len, names), default=0) + 3 + _LONGEST_DECIMAL * (figures is not None)
    row = np.shape(labels)[1] * column + 1
    out = np.empty(int((cells[:, 1] - cells[:, 0]).sum()) + len(cells) * row + len(offsets) - 1, np.uint8)
    places = call.write_rows(text, cells, offsets, labels, figures, joined, ends, out)
    return out[: places[-1]].tobytes(), places


def write_records(records: Records) -> bytes:
    """A line for each text, with its spans; or, where ``labels`` are given, its labels and tokens.

    The bytes come in blocks: how many there are is not known before. The oracle is tests/oracles/records.py.
    """
    r, D = records, len(records.documents)
    if r.fields is not None and len(r.fields) != D:
        raise IndexRangeError("fields", expected=f"{D}, one per text", got=len(r.fields))
    if r.units not in UNITS:
        raise IndexRangeError("units", expected=f"one of {', '.join(UNITS)}", got=r.units)
    spans = _NO_SPANS if r.spans is None else r.spans
    fields, field_ends = _joined(r.fields) if r.fields is not None else (b"", np.zeros(D + 1, np.int64))
    names = _written_names(tuple(r.names), None if r.groups is None else tuple(r.groups))
    arguments: list[Any] = [r.text, r.documents, r.tokens, r.cells, r.sentences, r.labels, r.figures, spans]
    arguments += [r.probabilities, r.whole, *names, fields, field_ends, UNITS.index(r.units)]
    arguments.append(r.lists_tokens + 2 * r.has_layers + 4 * r.is_layer)  # see records.c
    state, room = np.zeros(4, np.int64), _first_room(r) + len(fields)
    blocks: list[bytes] = []
    while True:
        out = np.empty(room, np.uint8)
        is_done = call.write_records(*arguments, out, state)
        blocks.append(out[: state[3]].tobytes())
        if is_done:
            return blocks[0] if len(blocks) == 1 else b"".join(blocks)
        room *= 2


_NO_SPANS = np.zeros((0, 3), np.int64)


@lru_cache(maxsize=64)
def _written_names(names: tuple[str, ...], groups: tuple[str, ...] | None) -> tuple[bytes, Array]:
    """Those of a model, which writes thousands of records; a group stands after its name."""
    after = [""] * len(names) if groups is None else [f', "group": {json_string(group)}' for group in groups]
    return _joined([f"{json_string(name)}{group}".encode() for name, group in zip(names, after, strict=True)])


def _first_room(r: Records) -> int:
    """About what is needed for texts with few escapes."""
    spans = 0 if r.spans is None else len(r.spans)
    of_tokens = 120 * len(r.cells) if r.labels is not None or r.lists_tokens else 0
    of_text = 0 if r.is_layer else 5 * len(r.text) // 4
    return of_text + 100 * len(r.documents) + 160 * spans + 12 * len(r.sentences) + of_tokens + 4096


def _joined(parts: Sequence[bytes]) -> tuple[bytes, Array]:
    return b"".join(parts), np.cumsum([0, *map(len, parts)])


def crc_table() -> Array:
    """uint32 (256,): what a byte contributes to CRC-32, as zlib computes it."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, table >> 1 ^ 0xEDB88320, table >> 1).astype(np.uint32)
    return table


def string_slots(text: Array, offsets: Array, size: int, longest: int) -> Array | None:
    """See ``plain_text.string_slots``."""
    slots: Array | None = call.string_slots(text, offsets, crc_table(), longest, size)
    return slots


def _string_table(table: plain.StringTable) -> dict[str, Any]:
    sizes = {"size": len(table.text), "count": len(table), "slot_count": len(table.slots)}
    arrays = {name: ffi.from_buffer(SMALL_INTEGERS, getattr(table, name)) for name in ("offsets", "slots")}
    return {"text": ffi.from_buffer(BYTES, table.text), **arrays, **sizes}


@remembered
def _rules(rules: plain.WordRules) -> tuple[Any, ...]:
    """A pointer to word_rules."""
    rows = [
        {"kind": column.number, "length": column.length}
        | ({"table": _string_table(column.table)} if column.table else {})
        for column in rules.columns
    ]
    arrays = {
        "crc": pointer(crc_table(), ffi.typeof("uint32_t[]")),
        "shapes": pointer(shapes_of_categories(), BYTES),
        "columns": ffi.new("word_column[]", rows),
    }
    mark = -1 if rules.digit_mark is None else ord(rules.digit_mark)
    return ffi.new("word_rules *", {**arrays, "count": len(rows), "mark": mark}), arrays, rows


def word_features(text: bytes, cells: Array, rules: plain.WordRules) -> Array:
    """See ``plain_text.word_features``."""
    ids = np.empty((len(cells), len(rules.columns)), np.int32)
    is_text = call.word_features(text, cells, _rules(rules), tables(rules.characters), ids)
    return ids if is_text else plain.word_features(text, cells, rules)  # not UTF-8: the twin says where
