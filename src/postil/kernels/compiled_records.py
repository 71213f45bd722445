"""The kernel of records.c: labelled texts as JSON Lines. Its oracle is tests/oracles/records.py."""

from functools import lru_cache
from typing import Any

import numpy as np

from postil.arrays import Array
from postil.kernels.library import BYTES, DOUBLES, INTEGERS, ffi, finish, lib, pointer
from postil.kernels.plain_records import UNITS, Records, json_string

_ROOM = 1 << 12  # bytes at least that are allocated at once


def write_records(records: Records) -> bytes:
    """A line for each text, with its spans; or, where ``labels`` are given, its labels and tokens.

    The bytes come in blocks: how many there are is not known before.
    """
    r = records.checked()
    assert r.spans is not None, "checked"
    state = np.zeros(4, np.int64)
    arguments = [
        *(ffi.from_buffer(BYTES, r.text), len(r.text)),
        *(pointer(r.documents, INTEGERS), pointer(r.tokens, INTEGERS), len(r.documents)),
        *(pointer(r.cells, INTEGERS), len(r.cells)),
        *(pointer(r.sentences, INTEGERS), len(r.sentences) - 1),
        *(_optional(r.labels, INTEGERS), _optional(r.figures, DOUBLES)),
        *(pointer(r.spans, INTEGERS), _optional(r.probabilities, DOUBLES), len(r.spans)),
        _optional(r.whole, DOUBLES),
    ]
    names, name_ends = _written_names(tuple(r.names))
    fields, field_ends = _joined(r.fields) if r.fields is not None else (b"", np.zeros(len(r.documents) + 1, np.int64))
    arguments += [ffi.from_buffer(BYTES, names), len(names), pointer(name_ends, INTEGERS), len(r.names)]
    arguments += [ffi.from_buffer(BYTES, fields), len(fields), pointer(field_ends, INTEGERS)]
    arguments += [UNITS.index(r.units), r.lists_tokens]
    room = _first_room(r) + len(fields)
    blocks: list[bytes] = []
    while True:
        out = np.empty(room, np.uint8)
        code = lib.write_records(*arguments, pointer(out, BYTES), room, pointer(state, INTEGERS))
        if code != lib.NO_ROOM:
            finish(code, "records")
        blocks.append(out[: state[3]].tobytes())
        if code == lib.DONE:
            return blocks[0] if len(blocks) == 1 else b"".join(blocks)
        room *= 2


@lru_cache(maxsize=64)
def _written_names(names: tuple[str, ...]) -> tuple[bytes, Array]:
    """Those of a model, which writes thousands of records."""
    return _joined([json_string(name).encode() for name in names])


def _first_room(r: Records) -> int:
    """About what is needed for texts with few escapes."""
    assert r.spans is not None, "checked"
    texts = int((r.documents[:, 1] - r.documents[:, 0]).sum())
    of_tokens = 120 * len(r.cells) if r.labels is not None or r.lists_tokens else 0
    return 5 * texts // 4 + 100 * len(r.documents) + 160 * len(r.spans) + 12 * len(r.sentences) + of_tokens + _ROOM


def _optional(array: Array | None, kind: Any) -> Any:
    return ffi.NULL if array is None else pointer(array, kind)


def _joined(parts: Any) -> tuple[bytes, Array]:
    return b"".join(parts), np.cumsum([0, *map(len, parts)])
