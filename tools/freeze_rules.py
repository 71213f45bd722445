"""Writes ``programs.bin``: the rules of the tokeniser and the sentence splitter that the kernels know, compiled.

    python -m tools.freeze_rules        (make rules)

Run after a change of those rules, of the compiler in ``tools/patterns.py`` or of ``characters.bin``.
"""

import json
from collections.abc import Sequence
from typing import get_args

from postil.kernels.characters import frozen
from postil.kernels.plain_segmentation import ARRAYS, FILE
from postil.text.splitting.rules import LineBreaks, Rules, SentenceRules, sentence_patterns, token_patterns
from tools.patterns import compiled


def expressions() -> list[list[str]]:
    """The default rules, those with hyphens kept, and every setting of line breaks."""
    tokens = [token_patterns(rules) for rules in (Rules(), Rules(hyphens="keep"))]
    sentences = [sentence_patterns(SentenceRules(line_breaks=breaks)) for breaks in get_args(LineBreaks)]
    return [[patterns.token, patterns.depends] for patterns in tokens] + [list(rules.sources) for rules in sentences]


def content(rows: Sequence[Sequence[str]]) -> bytes:
    """What ``programs.bin`` holds for these lists of expressions."""
    programs, body = [], b""
    for row in rows:
        program = compiled(row, frozen())
        places = []
        for name, kind in ARRAYS.items():
            array = getattr(program, name)
            body += b"\0" * (-len(body) % 8)
            places.append([len(body), *array.shape])
            body += array.astype(kind).tobytes()
        programs.append(
            {
                "expressions": list(row),
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
