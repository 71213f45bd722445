"""The kernel of sentences.c under the names and arguments of ``plain_sentences.py``."""

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from postil.arrays import Array
from postil.kernels.compiled import BYTES, INTEGERS, finish, pointer
from postil.kernels.compiled_characters import tables
from postil.kernels.compiled_tokens import program_arrays
from postil.kernels.library import ffi, lib
from postil.kernels.plain_sentences import Kind, SentencePatterns, checked_tokens

_known: WeakKeyDictionary[SentencePatterns, Any] = WeakKeyDictionary()


def _rules(rules: SentencePatterns) -> Any:
    found = _known.get(rules)
    if found is None:
        words = sorted((word.encode("utf-8", "surrogatepass"), kind) for word, kind in rules.words.items())
        final_bytes = np.zeros(256, np.uint8)
        final_bytes[[word[-1] for word, kind in words if kind & Kind.FINAL]] = 1
        fields = {
            "program": program_arrays(rules.program),
            **dict(zip(("line_break", "emoticon", "ellipsis"), rules.program.entries, strict=True)),
            "line_bytes": pointer(rules.program.first_bytes(0), BYTES),
            "final_bytes": pointer(final_bytes, BYTES),
            "words": ffi.from_buffer(BYTES, b"".join(word for word, _ in words)),
            "kinds": pointer(np.array([kind for _, kind in words], np.uint8), BYTES),
            "ends": pointer(np.cumsum([0, *(len(word) for word, _ in words)]), INTEGERS),
            "count": len(words),
        }
        found = ffi.new("sentence_rules *", fields), fields
        _known[rules] = found
    return found[0]


def split_sentences(text: bytes, documents: Array, cells: Array, offsets: Array, rules: SentencePatterns) -> Array:
    """See ``plain_sentences.split_sentences``."""
    documents, cells, offsets = checked_tokens(text, documents, cells, offsets)
    out, found = np.empty(len(cells) + 1, np.int64), np.zeros(1, np.int64)
    code = lib.split_sentences(
        *(ffi.from_buffer(BYTES, text), len(text)),
        *(pointer(documents, INTEGERS), pointer(offsets, INTEGERS), len(documents)),
        *(pointer(cells, INTEGERS), len(cells)),
        *(_rules(rules), tables(rules.characters)),
        *(pointer(out, INTEGERS), pointer(found, INTEGERS)),
    )
    finish(code, "cells", offsets, len(cells))
    return out[: found[0] + 1]
