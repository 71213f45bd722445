"""The kernel of sentences.c under the names and arguments of ``plain_sentences.py``."""

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from postil.arrays import Array
from postil.kernels import plain_sentences
from postil.kernels.checking import contiguous
from postil.kernels.compiled import BYTES, INT64, INTEGERS, bytes_of, finish, pointer, ready_offsets
from postil.kernels.compiled_characters import tables
from postil.kernels.compiled_tokens import program_arrays
from postil.kernels.library import ffi, lib
from postil.kernels.plain_sentences import Kind, SentencePatterns, checked_tokens
from postil.kernels.programs import Program

_known: WeakKeyDictionary[SentencePatterns, Any] = WeakKeyDictionary()


def _rules(rules: SentencePatterns, program: Program) -> Any:
    """Pointers to sentence_rules and character_tables, and what they point to, which lives as long as the rules do."""
    found = _known.get(rules)
    if found is None:
        words = sorted((word.encode("utf-8", "surrogatepass"), kind) for word, kind in rules.words.items())
        final_bytes = np.zeros(256, np.uint8)
        final_bytes[[word[-1] for word, kind in words if kind & Kind.FINAL]] = 1
        fields = {
            "program": program_arrays(program),
            **dict(zip(("line_break", "emoticon", "ellipsis"), program.entries, strict=True)),
            "line_bytes": pointer(program.first_bytes(0), BYTES),
            "final_bytes": pointer(final_bytes, BYTES),
            "words": ffi.from_buffer(BYTES, b"".join(word for word, _ in words)),
            "kinds": pointer(np.array([kind for _, kind in words], np.uint8), BYTES),
            "ends": pointer(np.cumsum([0, *(len(word) for word, _ in words)]), INTEGERS),
            "count": len(words),
        }
        found = _known[rules] = (ffi.new("sentence_rules *", fields), tables(rules.characters)), fields
    return found[0]


def split_sentences(text: bytes, documents: Array, cells: Array, offsets: Array, rules: SentencePatterns) -> Array:
    """See ``plain_sentences.split_sentences``. C checks every place; Python says what is wrong."""
    program = rules.program
    if program is None:
        return plain_sentences.split_sentences(text, documents, cells, offsets, rules)
    D, N = len(documents), len(cells)
    documents = contiguous(documents, np.int64, (D, 2), where="documents")
    cells = contiguous(cells, np.int64, (N, 2), where="cells")
    if len(offsets) != D + 1:
        checked_tokens(text, documents, cells, offsets)
    offsets = ready_offsets(offsets, N)
    out = np.empty(N + 2, INT64)  # the last one is how many sentences there are
    places = pointer(out, INTEGERS)
    code = lib.split_sentences(
        *(bytes_of(text), len(text)),
        *(pointer(documents, INTEGERS), pointer(offsets, INTEGERS), D),
        *(pointer(cells, INTEGERS), N),
        *_rules(rules, program),
        *(places, places + (N + 1)),
    )
    if code:
        checked_tokens(text, documents, cells, offsets)
        finish(code, "cells", offsets, N)
    return out[: places[N + 1] + 1]
