"""The kernel of words.c under the names and arguments of ``plain_words.py``."""

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from postil.arrays import Array
from postil.kernels import plain_words
from postil.kernels.checking import contiguous
from postil.kernels.compiled import BYTES, INTEGERS, finish, pointer
from postil.kernels.compiled_characters import tables
from postil.kernels.library import ffi, lib
from postil.kernels.orthography import shapes_of_categories
from postil.kernels.plain_words import KINDS, StringTable, WordRules

_INT32 = ffi.typeof("int32_t[]")
_known: WeakKeyDictionary[WordRules, Any] = WeakKeyDictionary()


def crc_table() -> Array:
    """uint32 (256,): what a byte contributes to CRC-32, as zlib computes it."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, table >> 1 ^ 0xEDB88320, table >> 1).astype(np.uint32)
    return table


def _string_table(table: StringTable) -> dict[str, Any]:
    sizes = {"size": len(table.text), "count": len(table), "slot_count": len(table.slots)}
    arrays = {name: ffi.from_buffer(_INT32, getattr(table, name)) for name in ("offsets", "slots")}
    return {"text": ffi.from_buffer(BYTES, table.text), **arrays, **sizes}


def _rules(rules: WordRules) -> Any:
    """A pointer to word_rules, and what it points to, which lives as long as the rules do."""
    found = _known.get(rules)
    if found is None:
        rows = [
            {"kind": KINDS.index(kind), "length": length} | ({"table": _string_table(table)} if table else {})
            for kind, length, table in rules.columns
        ]
        arrays = {
            "crc": pointer(crc_table(), ffi.typeof("uint32_t[]")),
            "shapes": pointer(shapes_of_categories(), BYTES),
            "columns": ffi.new("word_column[]", rows),
        }
        mark = -1 if rules.digit_mark is None else ord(rules.digit_mark)
        found = ffi.new("word_rules *", {**arrays, "count": len(rows), "mark": mark}), arrays, rows
        _known[rules] = found
    return found[0]


def word_features(text: bytes, cells: Array, rules: WordRules) -> Array:
    """See ``plain_words.word_features``. Tables with a keyed hash are left to that."""
    if any(table is not None and table.key is not None for _, _, table in rules.columns):
        return plain_words.word_features(text, cells, rules)
    cells = contiguous(cells, np.int64, (len(cells), 2), where="cells")
    ids = np.empty((len(cells), len(rules.columns)), np.int32)
    words = ffi.from_buffer(BYTES, text), len(text), pointer(cells, INTEGERS), len(cells)
    code = lib.word_features(*words, _rules(rules), tables(rules.characters), pointer(ids, _INT32))
    if code == lib.NOT_UTF8:  # the twin says where
        return plain_words.word_features(text, cells, rules)
    finish(code, "words")
    return ids
