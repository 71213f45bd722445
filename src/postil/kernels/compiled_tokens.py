"""The kernel of tokens.c under the names and arguments of ``plain_tokens.py``."""

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from postil.arrays import Array
from postil.kernels import plain_tokens
from postil.kernels.checking import contiguous
from postil.kernels.compiled import BYTES, INT64, INTEGERS, bytes_of, finish, pointer
from postil.kernels.compiled_characters import tables
from postil.kernels.library import ffi, lib
from postil.kernels.plain_characters import character_places, decoded
from postil.kernels.plain_tokens import ChunkCache, TokenisedText, TokenPatterns, checked_documents, cut_chunk
from postil.kernels.programs import Program

_KINDS = {"code": "int32_t[]", "sets": "uint64_t[]", "index": "uint16_t[]", "pages": "uint16_t[]"}
_known: WeakKeyDictionary[TokenPatterns, Any] = WeakKeyDictionary()
_ROOM = 1024  # cells at least that are allocated at once
_STATE, _DONE = ffi.typeof("int64_t[6]"), lib.DONE


def program_arrays(program: Program) -> dict[str, Any]:
    """The fields of a pattern_program, which keep their arrays alive."""
    return {name: ffi.from_buffer(kind, getattr(program, name)) for name, kind in _KINDS.items()}


def _rules(patterns: TokenPatterns, program: Program) -> Any:
    """Pointers to token_rules and character_tables, and what they point to, which lives as long as the patterns do."""
    found = _known.get(patterns)
    if found is None:
        arrays, (token, depends) = program_arrays(program), program.entries
        fields = {"program": arrays, "token": token, "depends": depends, "reach": program.widths[1][1]}
        found = _known[patterns] = (ffi.new("token_rules *", fields), tables(patterns.characters)), arrays
    return found[0]


def tokenise_text(
    text: bytes, documents: Array, patterns: TokenPatterns, cache: ChunkCache, surrogates: bool = False
) -> TokenisedText:
    """See ``plain_tokens.tokenise_text``. The cells come in blocks: how many there are is not known before."""
    program = patterns.program
    if program is None:
        return plain_tokens.tokenise_text(text, documents, patterns, cache, surrogates)
    D, size = len(documents), len(text)
    documents = contiguous(documents, np.int64, (D, 2), where="documents")
    offsets, state, blocks = np.zeros(D + 1, INT64), ffi.new(_STATE), []
    source = bytes_of(text), size, pointer(documents, INTEGERS), D
    rules = *_rules(patterns, program), surrogates
    table = pointer(cache.table, BYTES), cache.BUCKETS, cache.seed
    edges = pointer(offsets, INTEGERS)
    while True:
        room = max((size - state[1]) // 4, state[3] - state[1]) + _ROOM
        cells, before = np.empty((room, 2), INT64), state[2]
        code = lib.tokenise_text(*source, *rules, *table, room, pointer(cells, INTEGERS), edges, state)
        blocks.append(cells[: state[2] - before])
        if code == _DONE:
            return TokenisedText(blocks[0] if len(blocks) == 1 else np.concatenate(blocks), offsets)
        if code == lib.TOO_LONG:
            blocks.append(_cut_by_twin(text, state, patterns))
        elif code != lib.NO_ROOM:
            _fail(code, text, documents, state[0], surrogates)


def _fail(code: int, text: bytes, documents: Array, document: int, surrogates: bool) -> None:
    """Raise the error of a code. C sees that something is wrong, Python says what."""
    checked_documents(text, documents)
    if code == lib.NOT_UTF8:
        first, end = documents[document].tolist()
        decoded(text[first:end], surrogates, first)
    finish(code, "documents")


def _cut_by_twin(text: bytes, state: Any, patterns: TokenPatterns) -> Array:
    """The cells of the chunk that the matcher has given up on, after which the kernel goes on."""
    _, first, _, end, next_first, next_end = state
    chunk, following = (decoded(text[a:b], surrogates=True) for a, b in ((first, end), (next_first, next_end)))
    spans = cut_chunk(chunk, following, patterns)
    state[1], state[2] = end, state[2] + len(spans)
    cells: Array = character_places(text[first:end])[np.array(spans, np.int64).reshape(-1, 2)] + first
    return cells
