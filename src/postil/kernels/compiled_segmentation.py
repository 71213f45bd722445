"""The kernels of tokens.c and sentences.c under the names and arguments of ``plain_segmentation.py``."""

from typing import Any

import numpy as np

from postil.arrays import Array
from postil.errors import IndexRangeError, ShapeError
from postil.kernels import plain_segmentation as plain
from postil.kernels.characters import character_places, decoded
from postil.kernels.checking import contiguous
from postil.kernels.compiled_text import tables
from postil.kernels.library import BYTES, INT64, INTEGERS, call, ffi, finish, lib, pointer, remembered

_KINDS = {"code": "int32_t[]", "sets": "uint64_t[]", "index": "uint16_t[]", "pages": "uint16_t[]"}
_ROOM = 1024  # cells at least that are allocated at once
_STATE, _DONE = ffi.typeof("int64_t[6]"), lib.DONE


def program_arrays(program: plain.Program) -> dict[str, Any]:
    """The fields of a pattern_program, which keep their arrays alive."""
    return {name: ffi.from_buffer(kind, getattr(program, name)) for name, kind in _KINDS.items()}


@remembered
def token_rules(patterns: plain.TokenPatterns) -> tuple[Any, ...]:
    """Pointers to token_rules and character_tables, of patterns that have a program."""
    assert patterns.program is not None
    arrays, (token, depends) = program_arrays(patterns.program), patterns.program.entries
    fields = {"program": arrays, "token": token, "depends": depends, "reach": patterns.program.widths[1][1]}
    return (ffi.new("token_rules *", fields), tables(patterns.characters)), arrays


def tokenise_text(
    text: bytes, documents: Array, patterns: plain.TokenPatterns, cache: plain.ChunkCache, surrogates: bool = False
) -> plain.TokenisedText:
    """See ``plain_segmentation.tokenise_text``. The cells come in blocks: how many there are is not known before."""
    if patterns.program is None:
        return plain.tokenise_text(text, documents, patterns, cache, surrogates)
    D, size = len(documents), len(text)
    documents = contiguous(documents, np.int64, (D, 2), where="documents")
    offsets, state, blocks = np.zeros(D + 1, INT64), ffi.new(_STATE), []
    source = text if type(text) is bytes else ffi.from_buffer(BYTES, text), size, pointer(documents, INTEGERS), D
    rules = *token_rules(patterns), surrogates
    table = pointer(cache.table, BYTES), cache.BUCKETS, cache.seed
    edges = pointer(offsets, INTEGERS)
    while True:
        room = max((size - state[1]) // 4, state[3] - state[1]) + _ROOM
        cells, before = np.empty((room, 2), INT64), state[2]
        code = lib.tokenise_text(*source, *rules, *table, room, pointer(cells, INTEGERS), edges, state)
        blocks.append(cells[: state[2] - before])
        if code == _DONE:
            return plain.TokenisedText(blocks[0] if len(blocks) == 1 else np.concatenate(blocks), offsets)
        if code == lib.TOO_LONG:
            blocks.append(_cut_by_twin(text, state, patterns))
        elif code != lib.NO_ROOM:
            plain.checked_documents(text, documents)  # C sees that something is wrong, Python says what
            if code == lib.NOT_UTF8:
                first, end = documents[state[0]].tolist()
                decoded(text[first:end], surrogates, first)
            finish(code, "documents")


def _cut_by_twin(text: bytes, state: Any, patterns: plain.TokenPatterns) -> Array:
    """The cells of the chunk that the matcher has given up on, after which the kernel goes on."""
    _, first, _, end, next_first, next_end = state
    chunk, following = (decoded(text[a:b], surrogates=True) for a, b in ((first, end), (next_first, next_end)))
    spans = plain.cut_chunk(chunk, following, patterns)
    state[1], state[2] = end, state[2] + len(spans)
    cells: Array = character_places(text[first:end])[np.array(spans, np.int64).reshape(-1, 2)] + first
    return cells


@remembered
def sentence_rules(rules: plain.SentencePatterns) -> tuple[Any, ...]:
    """Pointers to sentence_rules and character_tables, of rules that have a program."""
    assert rules.program is not None
    arrays = rules.arrays(rules.program)
    fields = {name: pointer(array, INTEGERS if name == "ends" else BYTES) for name, array in arrays.items()}
    fields |= dict(zip(("line_break", "emoticon", "ellipsis"), rules.program.entries, strict=True))
    fields |= {"program": program_arrays(rules.program), "count": len(rules.words)}
    return (ffi.new("sentence_rules *", fields), tables(rules.characters)), fields


def split_sentences(
    text: bytes, documents: Array, cells: Array, offsets: Array, rules: plain.SentencePatterns
) -> Array:
    """See ``plain_segmentation.split_sentences``. C checks every place; Python says what is wrong."""
    if rules.program is None:
        return plain.split_sentences(text, documents, cells, offsets, rules)
    try:
        found: Array = call.split_sentences(text, documents, offsets, cells, *sentence_rules(rules))
    except (IndexRangeError, ShapeError):
        plain.checked_tokens(text, documents, cells, offsets)
        raise
    return found
