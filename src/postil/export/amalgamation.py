"""The C runtime as one source: the kernels of ``postil/kernels`` that it uses, and the engine.

The kernels have one source, that of the package. Here their files are put one after the other, without what nothing
uses; kernels become static functions, and names that two files share get the name of their file. So a program that
compiles ``postil.c`` sees the names of ``postil.h`` and no others.

    python -m postil.export.amalgamation > postil.c
"""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from postil import kernels

KERNELS = Path(kernels.__file__).parent
RUNTIME = KERNELS / "engine"
KERNEL_FILES = (
    *("kernels.h", "portable.h", "characters.h", "matcher.h", "shared.h", "viterbi.h"),
    *("forward_backward.h", "characters.c", "words.c", "tokens.c", "sentences.c", "windows.c", "answers.c"),
)
"""The files that exported models need, in an order in which each comes after those that it includes."""
RUNTIME_FILES = ("memory.c", "model.c", "folds.c", "tagging.c", "cuts.c", "votes.c", "trees.c")
_INCLUDED = "math.h stddef.h stdint.h stdio.h stdlib.h string.h".split()
_KEYWORDS = {"if", "for", "while", "switch", "return", "sizeof", "__attribute__", "defined"}
_WORD = re.compile(r"[A-Za-z_]\w*")
_PROTOTYPE = re.compile(r"(?:int|int64_t|double|void|const char \*)\s*\**\w+\(")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_OPENING = """\
/* Postil's runtime in one file: see postil.h. Generated from the sources of Postil, where changes belong. MIT licence.

   Plain C99 with the vector types of GCC and Clang. Results do not depend on the level of optimisation as long as the
   compiler keeps to IEEE 754: no -ffast-math. */

#if defined(__FAST_MATH__)
#error "-ffast-math changes results: compile without it"
#endif
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

"""


class Declaration(NamedTuple):
    """A definition at the top level of a file, with the comment before it."""

    text: str
    code: str
    """Without comments."""
    names: frozenset[str]
    """The names that it defines; an item without names is always kept."""


def amalgamation() -> str:
    """The text of ``postil.c``."""
    runtime = {name: (RUNTIME / name).read_text(encoding="utf-8") for name in RUNTIME_FILES}
    kept = _used({name: list(items(_source(name))) for name in KERNEL_FILES}, words_of(runtime.values()))
    parts = [
        _OPENING,
        *(f"#include <{name}>\n" for name in _INCLUDED),
        '\n#include "postil.h"\n\n',
        runtime["memory.c"],
    ]
    parts += ["\n#define malloc kernel_malloc\n#define free kernel_free\n"]
    defined = {file: {name for item in of_file for name in item.names} for file, of_file in kept.items()}
    shared = {name for name, files in Counter(chain.from_iterable(defined.values())).items() if files > 1}
    for file, of_file in kept.items():
        # A kernel becomes a function that nobody else sees.
        text = "\n\n".join(re.sub(r"^(?=int \w+\()", "static ", item.text, flags=re.MULTILINE) for item in of_file)
        for name in sorted(shared & defined[file]):
            text = re.sub(rf"\b{name}\b", f"{Path(file).stem}_{name}", text)
        parts.append(f"\n/* {'=' * 96} {file} */\n\n{text}\n")
    parts += ["\n#undef malloc\n#undef free\n\n", *(runtime[name] + "\n" for name in RUNTIME_FILES[1:])]
    return "".join(parts)


def header() -> str:
    """The text of ``postil.h``."""
    return (RUNTIME / "postil.h").read_text(encoding="utf-8")


def _source(name: str) -> str:
    """A file of the kernels without its includes and its guard."""
    text = (KERNELS / name).read_text(encoding="utf-8")
    guard = re.search(r"#ifndef (POSTIL_\w+_H)\n#define \1\n", text)
    if guard is not None:
        text = text.replace(guard.group(), "", 1).rstrip().removesuffix("#endif")
    return "\n".join(line for line in text.split("\n") if not line.startswith("#include"))


# ------------------------------------------------------------------------------------------------ definitions


def items(text: str) -> Iterator[Declaration]:
    """The definitions at the top level, one after the other."""
    lines: list[str] = []
    depth = conditions = 0
    in_comment = False
    for line in text.split("\n"):
        if not lines and not line.strip():
            continue
        lines.append(line)
        code, in_comment = _without_comments(line, in_comment)
        if code.startswith("#"):
            conditions += code.startswith("#if") - code.startswith("#endif")
        elif "#define" not in lines[-1]:
            depth += code.count("{") - code.count("}")
        stripped = code.strip()
        ends_macro = stripped.startswith("#") or (len(lines) > 1 and lines[-2].endswith("\\"))
        ends = not line.endswith("\\") and (stripped.endswith(("}", ";")) or ends_macro)
        if not depth and not conditions and not in_comment and ends:
            whole = "\n".join(lines)
            without = _COMMENT.sub("", whole).strip()
            yield Declaration(whole.strip("\n"), without, frozenset(_names(without)))
            lines = []


def _without_comments(line: str, in_comment: bool) -> tuple[str, bool]:
    """A line without its comments, and whether one goes on after it."""
    code = ""
    while line:
        before, mark, line = line.partition("*/" if in_comment else "/*")
        code += "" if in_comment else before
        in_comment = in_comment != bool(mark)
    return code, in_comment


def _names(code: str) -> Iterable[str]:
    if code.startswith("#"):
        return re.findall(r"^#\s*(?:define|undef)\s+(\w+)", code, re.MULTILINE)
    if code.startswith("enum"):
        body = code[code.index("{") + 1 : code.rindex("}")]
        return [found.group() for part in body.split(",") if (found := _WORD.search(part))]
    if code.startswith("typedef"):
        last = re.search(r"(\w+)(?:\s+__attribute__.*)?;$", code, re.DOTALL)
        return [last.group(1)] if last else []
    function = re.search(r"(\w+)\(", re.sub(r"__attribute__\(\(.*?\)\)", "", code))
    if function and ("=" not in code[: function.start()]):
        return [function.group(1)]
    variable = re.search(r"(\w+)\s*(?:\[|=|;)", code)
    return [variable.group(1)] if variable else []


def words_of(texts: Iterable[str]) -> set[str]:
    """Every word of some C without comments."""
    return {word for text in texts for word in _WORD.findall(_COMMENT.sub("", text))}


def _used(files: dict[str, list[Declaration]], wanted: set[str]) -> dict[str, list[Declaration]]:
    """The definitions that something wanted uses, and what those use, and so on."""
    wanted = wanted - _KEYWORDS
    kept: set[int] = set()
    grows = True
    while grows:
        grows = False
        for item in (item for of_file in files.values() for item in of_file):
            # Static functions need no prototypes: each is defined before its callers.
            is_prototype = _PROTOTYPE.match(item.code) is not None and item.code.endswith(");")
            if id(item) not in kept and not is_prototype and (not item.names or item.names & wanted):
                kept.add(id(item))
                wanted |= words_of([item.code])
                grows = True
    return {name: [item for item in of_file if id(item) in kept] for name, of_file in files.items()}


if __name__ == "__main__":
    sys.stdout.write(amalgamation())
