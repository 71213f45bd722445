"""The C runtime as one source: the kernels of ``postil/kernels`` that it uses, and the engine.

The kernels have one source, that of the package. Here their files are put one after the other, and kernels become
static functions: a program that compiles ``postil.c`` sees the names of ``postil.h`` and no others.

    python -m postil.export.amalgamation > postil.c
"""

import re
import sys
from pathlib import Path

from postil import kernels

KERNELS = Path(kernels.__file__).parent
RUNTIME = KERNELS / "engine"
KERNEL_FILES = (
    *("kernels.h", "portable.h", "characters.h", "matcher.h", "shared.h", "viterbi.h"),
    *("forward_backward.h", "characters.c", "words.c", "tokens.c", "sentences.c", "windows.c", "answers.c"),
)  # the files that exported models need, in an order in which each comes after those that it includes
RUNTIME_FILES = ("memory.c", "model.c", "folds.c", "tagging.c", "cuts.c", "votes.c", "trees.c")
_INCLUDED = "math.h stddef.h stdint.h stdio.h stdlib.h string.h".split()
_PROTOTYPE = re.compile(r"^(?:int|int64_t|double|void|const char \*) ?\w+\([^;{]*\);\n", re.MULTILINE)
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


def amalgamation() -> str:
    """The text of ``postil.c``."""
    memory, *runtime = ((RUNTIME / name).read_text(encoding="utf-8") for name in RUNTIME_FILES)
    parts = [_OPENING, *(f"#include <{name}>\n" for name in _INCLUDED), '\n#include "postil.h"\n\n', memory]
    parts.append("\n#define malloc kernel_malloc\n#define free kernel_free\n")
    for name in KERNEL_FILES:
        text = (KERNELS / name).read_text(encoding="utf-8")
        guard = re.search(r"#ifndef (POSTIL_\w+_H)\n#define \1\n", text)
        if guard is not None:
            text = text.replace(guard.group(), "", 1).rstrip().removesuffix("#endif")
        text = _PROTOTYPE.sub("", re.sub(r"^#include .*\n", "", text, flags=re.MULTILINE))
        # A kernel becomes a function that nobody else sees; the engine does not call all of them.
        text = re.sub(r"^(?=int \w+\()", "__attribute__((unused)) static ", text, flags=re.MULTILINE)
        parts.append(f"\n/* {'=' * 96} {name} */\n\n{text}\n")
    return "".join([*parts, "\n#undef malloc\n#undef free\n\n", *(text + "\n" for text in runtime)])


def header() -> str:
    """The text of ``postil.h``."""
    return (RUNTIME / "postil.h").read_text(encoding="utf-8")


if __name__ == "__main__":
    sys.stdout.write(amalgamation())
