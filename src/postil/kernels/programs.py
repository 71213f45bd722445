"""Programs of the usual expressions, compiled beforehand: to compile them takes longer than to start a process.

``programs.bin`` is written by ``python -m postil.text.splitting.freeze_rules``. Any other expressions are compiled when
they are first used.
"""

import functools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from postil.kernels.characters import Characters, frozen
from postil.kernels.matcher import Program

FILE = Path(__file__).with_name("programs.bin")
_ARRAYS = {"code": "<i4", "sets": "<u8", "index": "<u2", "pages": "<u2"}


def program_of(expressions: Sequence[str], characters: Characters) -> Program:
    """The program of some expressions: that of the file if it holds them, else compiled here."""
    stored = _stored().get(tuple(expressions)) if characters is frozen() else None
    return compiled(expressions, characters) if stored is None else _read(stored)


def compiled(expressions: Sequence[str], characters: Characters) -> Program:
    from postil.kernels import patterns  # the compiler takes longer to import than all programs to read

    return patterns.compiled(expressions, characters)


@functools.cache
def _stored() -> dict[tuple[str, ...], dict[str, Any]]:
    """Expressions -> what is stored of their program; nothing where the file is missing."""
    try:
        content = FILE.read_bytes()
    except OSError:
        return {}
    size = int.from_bytes(content[:4], "little")
    programs: list[dict[str, Any]] = json.loads(content[4 : 4 + size])
    return {tuple(fields["expressions"]): {**fields, "content": content[4 + size :]} for fields in programs}


def _read(stored: dict[str, Any]) -> Program:
    arrays = {
        name: np.frombuffer(stored["content"], kind, int(np.prod(shape)), first).reshape(shape).astype(kind[1:])
        for (name, kind), (first, *shape) in zip(_ARRAYS.items(), stored["arrays"], strict=True)
    }
    widths = tuple((low, high) for low, high in stored["widths"])
    firsts = tuple(int(bits, 16) for bits in stored["firsts"])
    return Program(**arrays, entries=tuple(stored["entries"]), widths=widths, firsts=firsts)


def content(rows: Sequence[Sequence[str]]) -> bytes:
    """What ``programs.bin`` holds for these lists of expressions."""
    programs, body = [], b""
    for expressions in rows:
        program = compiled(expressions, frozen())
        places = []
        for name, kind in _ARRAYS.items():
            array = getattr(program, name)
            body += b"\0" * (-len(body) % 8)
            places.append([len(body), *array.shape])
            body += array.astype(kind).tobytes()
        programs.append(
            {
                "expressions": list(expressions),
                "arrays": places,
                "entries": program.entries,
                "widths": program.widths,
                "firsts": [f"{bits:x}" for bits in program.firsts],
            }
        )
    head = json.dumps(programs).encode()
    head += b" " * (-(4 + len(head)) % 8)
    return len(head).to_bytes(4, "little") + head + body
