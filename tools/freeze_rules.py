"""Writes ``programs.bin``: the rules of the tokeniser and the sentence splitter that the kernels know, compiled.

    python -m tools.freeze_rules        (make rules)

Run after a change of those rules, of the compiler in ``tools/patterns.py`` or of ``characters.bin``.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

from postil.kernels.characters import frozen
from postil.kernels.plain_segmentation import ARRAYS, FILE, key_of
from postil.models.segmentation import ADDRESS
from postil.text.splitting.rules import (
    NEUTRAL,
    Apostrophes,
    Hyphens,
    LineBreaks,
    SentenceRules,
    TokenRules,
    sentence_patterns,
    token_patterns,
)
from tools.patterns import compiled


def expressions() -> list[list[str]]:
    """The default rules, those with hyphens kept, the neutral ones, every setting of line breaks, and addresses."""
    neutral = [
        replace(NEUTRAL, hyphens=hyphens, apostrophes=apostrophes)
        for hyphens in get_args(Hyphens)
        for apostrophes in get_args(Apostrophes)
    ]
    tokens = [token_patterns(rules) for rules in (TokenRules(), TokenRules(hyphens="keep"), *neutral)]
    sentences = [sentence_patterns(SentenceRules(line_breaks=breaks)) for breaks in get_args(LineBreaks)]
    of_rules = [[patterns.token, patterns.depends] for patterns in tokens] + [
        list(rules.sources) for rules in sentences
    ]
    return [*of_rules, [ADDRESS.pattern]]


def content(rows: Sequence[Sequence[str]]) -> bytes:
    """What ``programs.bin`` holds for these lists of expressions."""
    programs, body = [], b""
    first: dict[bytes, int] = {}  # programs share arrays that are equal
    for row in rows:
        program = compiled(row, frozen())
        places = []
        for name, kind in ARRAYS.items():
            array = getattr(program, name)
            written = array.astype(kind).tobytes()
            if written not in first:
                body += b"\0" * (-len(body) % 8)
                first[written] = len(body)
                body += written
            places.append([first[written], *array.shape])
        programs.append(
            {
                "expressions": key_of(row),
                "arrays": places,
                "entries": program.entries,
                "widths": program.widths,
                "firsts": [f"{bits:x}" for bits in program.firsts],
            }
        )
    head = json.dumps(programs).encode()
    head += b" " * (-(4 + len(head)) % 8)
    return len(head).to_bytes(4, "little") + head + body


if __name__ == "__main__":
    FILE.write_bytes(content(expressions()))
