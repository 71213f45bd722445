"""The kernel of tokens.c under the names and arguments of ``plain_tokens.py``."""

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from postil.arrays import Array
from postil.kernels import plain_tokens
from postil.kernels.compiled import BYTES, INTEGERS, finish, pointer
from postil.kernels.compiled_characters import tables
from postil.kernels.library import ffi, lib
from postil.kernels.matcher import Program
from postil.kernels.plain_characters import character_places, decoded
from postil.kernels.plain_tokens import ChunkCache, TokenisedText, TokenPatterns, checked_documents, cut_chunk

_KINDS = {"code": "int32_t[]", "sets": "uint64_t[]", "index": "uint16_t[]", "pages": "uint16_t[]"}
_known: WeakKeyDictionary[TokenPatterns, Any] = WeakKeyDictionary()
_ROOM = 1024  # cells at least that are allocated at once


def program_arrays(program: Program) -> dict[str, Any]:
    """The fields of a pattern_program, which keep their arrays alive."""
    return {name: ffi.from_buffer(kind, getattr(program, name)) for name, kind in _KINDS.items()}


def _rules(patterns: TokenPatterns, program: Program) -> Any:
    found = _known.get(patterns)
    if found is None:
        arrays, (token, depends) = program_arrays(program), program.entries
        fields = {"program": arrays, "token": token, "depends": depends, "reach": program.widths[1][1]}
        found = ffi.new("token_rules *", fields), arrays
        _known[patterns] = found
    return found[0]


def tokenise_text(
    text: bytes, documents: Array, patterns: TokenPatterns, cache: ChunkCache, surrogates: bool = False
) -> TokenisedText:
    """See ``plain_tokens.tokenise_text``. The cells come in blocks: how many there are is not known before."""
    program = patterns.program
    if program is None:
        return plain_tokens.tokenise_text(text, documents, patterns, cache, surrogates)
    documents = checked_documents(text, documents)
    offsets, state = np.zeros(len(documents) + 1, np.int64), np.zeros(6, np.int64)
    blocks: list[Array] = []
    source = ffi.from_buffer(BYTES, text), len(text), pointer(documents, INTEGERS), len(documents)
    rules = _rules(patterns, program), tables(patterns.characters), surrogates
    table = pointer(cache.table, BYTES), cache.BUCKETS, cache.seed
    outputs = pointer(offsets, INTEGERS), pointer(state, INTEGERS)
    code, room = lib.NO_ROOM, len(text) // 4 + _ROOM
    while code != lib.DONE:
        cells, before = np.empty((room, 2), np.int64), int(state[2])
        code = lib.tokenise_text(*source, *rules, *table, room, pointer(cells, INTEGERS), *outputs)
        blocks.append(cells[: state[2] - before])
        if code == lib.TOO_LONG:
            blocks.append(_cut_by_twin(text, state, patterns))
        elif code == lib.NOT_UTF8:
            first, end = documents[state[0]].tolist()
            decoded(text[first:end], surrogates, first)
        elif code != lib.NO_ROOM:
            finish(code, "documents")
        room = max((len(text) - int(state[1])) // 4, int(state[3] - state[1])) + _ROOM
    return TokenisedText(blocks[0] if len(blocks) == 1 else np.concatenate(blocks), offsets)


def _cut_by_twin(text: bytes, state: Array, patterns: TokenPatterns) -> Array:
    """The cells of the chunk that the matcher has given up on, after which the kernel goes on."""
    _, first, _, end, next_first, next_end = state.tolist()
    chunk, following = (decoded(text[a:b], surrogates=True) for a, b in ((first, end), (next_first, next_end)))
    spans = cut_chunk(chunk, following, patterns)
    state[1], state[2] = end, state[2] + len(spans)
    cells: Array = character_places(text[first:end])[np.array(spans, np.int64).reshape(-1, 2)] + first
    return cells
