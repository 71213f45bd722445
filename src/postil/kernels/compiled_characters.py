"""The kernels of characters.c under the names and arguments of ``plain_characters.py``."""

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from postil.kernels.characters import Characters
from postil.kernels.compiled import BYTES, INTEGERS, call, finish, pointer
from postil.kernels.library import ffi, lib
from postil.kernels.plain_characters import decoded

_INT32 = ffi.typeof("int32_t[]")
_known: WeakKeyDictionary[Characters, Any] = WeakKeyDictionary()


def tables(characters: Characters) -> Any:
    """A pointer to character_tables, which lives as long as the characters do."""
    found = _known.get(characters)
    if found is None:
        arrays = {
            "records": pointer(characters.records, _INT32),
            **{name: pointer(getattr(characters, name), BYTES) for name in ("index", "pages", "spaces")},
        }
        found = ffi.new("character_tables *", arrays), arrays
        _known[characters] = found
    return found[0]


def lower_case(word: bytes, characters: Characters) -> bytes:
    """See ``plain_characters.lower_case``."""
    out, found = np.empty(2 * len(word) + 8, np.uint8), np.zeros(1, np.int64)
    source = ffi.from_buffer(BYTES, word), len(word)
    code = lib.lower_case(tables(characters), *source, pointer(out, BYTES), len(out), pointer(found, INTEGERS))
    if code == lib.NOT_UTF8:
        decoded(word, surrogates=True)
    finish(code, "word")
    return out[: found[0]].tobytes()


character_offsets = call.character_offsets
