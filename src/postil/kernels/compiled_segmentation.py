"""The kernels of tokens.c and sentences.c under the names and arguments of ``plain_segmentation.py``."""

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from postil.arrays import Array
from postil.errors import IndexRangeError, ShapeError
from postil.kernels import plain_segmentation
from postil.kernels.characters import character_places, decoded
from postil.kernels.checking import contiguous
from postil.kernels.compiled_text import tables
from postil.kernels.library import BYTES, INT64, INTEGERS, call, ffi, finish, lib, pointer
from postil.kernels.plain_segmentation import (
    ChunkCache,
    Kind,
    Program,
    SentencePatterns,
    TokenisedText,
    TokenPatterns,
    checked_documents,
    checked_tokens,
    cut_chunk,
)

_KINDS = {"code": "int32_t[]", "sets": "uint64_t[]", "index": "uint16_t[]", "pages": "uint16_t[]"}
_known_tokens: WeakKeyDictionary[TokenPatterns, Any] = WeakKeyDictionary()
_ROOM = 1024  # cells at least that are allocated at once
_STATE, _DONE = ffi.typeof("int64_t[6]"), lib.DONE


def program_arrays(program: Program) -> dict[str, Any]:
    """The fields of a pattern_program, which keep their arrays alive."""
    return {name: ffi.from_buffer(kind, getattr(program, name)) for name, kind in _KINDS.items()}


def token_rules(patterns: TokenPatterns, program: Program) -> Any:
    """Pointers to token_rules and character_tables, and what they point to, which lives as long as the patterns do."""
    found = _known_tokens.get(patterns)
    if found is None:
        arrays, (token, depends) = program_arrays(program), program.entries
        fields = {"program": arrays, "token": token, "depends": depends, "reach": program.widths[1][1]}
        found = _known_tokens[patterns] = (ffi.new("token_rules *", fields), tables(patterns.characters)), arrays
    return found[0]


def tokenise_text(
    text: bytes, documents: Array, patterns: TokenPatterns, cache: ChunkCache, surrogates: bool = False
) -> TokenisedText:
    """See ``plain_segmentation.tokenise_text``. The cells come in blocks: how many there are is not known before."""
    program = patterns.program
    if program is None:
        return plain_segmentation.tokenise_text(text, documents, patterns, cache, surrogates)
    D, size = len(documents), len(text)
    documents = contiguous(documents, np.int64, (D, 2), where="documents")
    offsets, state, blocks = np.zeros(D + 1, INT64), ffi.new(_STATE), []
    source = text if type(text) is bytes else ffi.from_buffer(BYTES, text), size, pointer(documents, INTEGERS), D
    rules = *token_rules(patterns, program), surrogates
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
            checked_documents(text, documents)  # C sees that something is wrong, Python says what
            if code == lib.NOT_UTF8:
                first, end = documents[state[0]].tolist()
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


# ------------------------------------------------------------------------------------------------ sentences

_known_sentences: WeakKeyDictionary[SentencePatterns, Any] = WeakKeyDictionary()


def sentence_rules(rules: SentencePatterns, program: Program) -> Any:
    """Pointers to sentence_rules and character_tables, and what they point to, which lives as long as the rules do."""
    found = _known_sentences.get(rules)
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
        found = _known_sentences[rules] = (ffi.new("sentence_rules *", fields), tables(rules.characters)), fields
    return found[0]


def split_sentences(text: bytes, documents: Array, cells: Array, offsets: Array, rules: SentencePatterns) -> Array:
    """See ``plain_segmentation.split_sentences``. C checks every place; Python says what is wrong."""
    program = rules.program
    if program is None:
        return plain_segmentation.split_sentences(text, documents, cells, offsets, rules)
    try:
        found: Array = call.split_sentences(text, documents, offsets, cells, *sentence_rules(rules, program))
    except (IndexRangeError, ShapeError):
        checked_tokens(text, documents, cells, offsets)
        raise
    return found
