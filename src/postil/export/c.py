"""A model as a folder of C99 without dependencies: header, source, model, example, conformance test."""

import os
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, final

import numpy as np

import postil
from postil.export import amalgamation, flat
from postil.models.decoding.posteriors import Posteriors
from postil.models.decoding.tagged import Tagged
from postil.models.model import FittedModel
from postil.models.tree_classifier import TreeClassifier
from postil.samples.corpora import made_up_sentences, made_up_trees
from postil.text.trees.treebank import bracketed, parse_tree

MARK = "conformance.txt"  # a folder with this file and postil.c is an earlier export, which a new one replaces.
_COPIED = ("Makefile", "conformance.c")
_BUILT = ("example", "conformance", "sanitised", "libpostil.so", "model.h", "model.c")
"""Files that make built from an earlier export, and files that only earlier exports had."""
_WORDS_PER_LINE = 4


@final
@dataclass(frozen=True, kw_only=True)
class WrittenC:
    """The result of an export."""

    path: Path
    files: dict[str, int]  # name -> bytes
    change: flat.Rounding | None  # the effect of half precision, if it was requested


def export_c(
    model: Any,
    path: str | os.PathLike[str],
    *,
    half: bool = False,
    array: bool = False,
    texts: Iterable[str] | None = None,
    source: Path | None = None,
) -> WrittenC:
    """Write a fitted model as a folder of C.

    ``half``: tables of words have half precision. ``array``: the model is also a C array. ``texts`` are those of the
    conformance file (trees in brackets for a tree classifier); without them it has samples.
    ``source`` is the file of the model, whose card states its licence. A folder that an earlier
    export wrote is replaced, any other that is not empty is an error.
    """
    path = Path(path)
    flat.check_target(path, MARK, "postil.c")
    content = flat.exported(model, half=half)
    compared = flat.whole_tokens(flat.halved(model) if half else model)
    made = {
        "postil.h": amalgamation.header().encode(),
        "postil.c": amalgamation.amalgamation().encode(),
        "model.bin": content,
        MARK: conformance_file(compared, texts),
        "README.md": _readme(model, array).encode(),
        flat.FILE: flat.licences(source).encode(),
        **{name: _template(name) for name in _COPIED},
        "example.c": _template("example_tree.c" if isinstance(model, TreeClassifier) else "example.c"),
    }
    if array:
        made |= {"model.h": _ARRAY_HEADER.encode(), "model.c": _array_source(content).encode()}
    flat.write_folder(path, made, _BUILT)
    changed = flat.change(model, compared, flat.sample(model)) if compared is not model else None
    return WrittenC(path=path, files={name: len(written) for name, written in made.items()}, change=changed)


def _template(name: str) -> bytes:
    return (files("postil.export") / "c_files" / name).read_bytes()


_ARRAY_HEADER = """\
/* The model as a part of the program: postil_open_memory(postil_model_data, postil_model_size, &model). */

#ifndef POSTIL_MODEL_H
#define POSTIL_MODEL_H

#include <stddef.h>
#include <stdint.h>

extern const uint64_t postil_model_data[];
extern const size_t postil_model_size;

#endif
"""


def _array_source(content: bytes) -> str:
    """Words of 64 bits: aligned as the runtime wants them, and shorter than bytes."""
    padded = content + bytes(-len(content) % 8)
    words = [f"0x{word:x}u" for (word,) in struct.iter_unpack("<Q", padded)]
    rows = (",".join(words[i : i + _WORDS_PER_LINE]) for i in range(0, len(words), _WORDS_PER_LINE))
    body = ",\n".join(rows)
    return (
        f'#include "model.h"\n\nconst size_t postil_model_size = {len(content)};\n'
        f"const uint64_t postil_model_data[] = {{\n{body}}};\n"
    )


def _readme(model: Any, array: bool) -> str:
    what, call = "labels words and finds names", "postil_tag"
    if isinstance(model, TreeClassifier):
        what, call = "labels sentences and their phrases, given as trees in brackets", "postil_tree"
    more = (
        "\n`model.c` and `model.h` hold the same model as an array: compile `model.c` with your program and open it\n"
        "with `postil_open_memory(postil_model_data, postil_model_size, &model)`. No file is needed then.\n"
        if array
        else ""
    )
    return f"""\
# A Postil model in C

A model that {what}, exported by Postil {postil.__version__}. Plain C99; nothing but the standard library is needed.
GCC, Clang and zig cc compile it.

    make            # the example and the conformance program
    ./example       # see example.c
    make check      # are the answers of this machine those of Python?
    make shared     # libpostil.so, for other languages

| file | what it is |
|---|---|
| `postil.h` | the interface, with comments |
| `postil.c` | the runtime: compile it with your program, link with `-lm` |
| `model.bin` | the model |
| `conformance.txt`, `conformance.c` | texts with their expected answers, and the program that compares |
| `LICENSES.txt` | the licences of the model, of the runtime and of its Unicode tables: pass them on |

```c
postil_model *model;
postil_workspace *workspace;
if (postil_open("model.bin", &model) || postil_workspace_new(model, 0, &workspace)) return 1;
if ({call}(model, workspace, text, strlen(text), &result)) return 1;
```
{more}
A model never changes: threads may share it. Each thread needs its own workspace. With
`postil_workspace_new(model, max_bytes, &workspace)` nothing is allocated while tagging.
"""


SENTENCES, TREES = 60, 40  # of a conformance file of our own; `c_files/conformance.c` describes its format.
_HARD = (
    "",
    " \t\n ",
    "Dr. Smith didn't pay $3.50 (or €4) to A. B. Jones on 3/4/2024... did he?! :-)",
    "See https://example.org/a_(b)?c=d#e, mail someone@example.org or call 555-1234.\n\n- first\n- second\n\nThe end.",
    "ΟΔΥΣΣΕΥΣ in ΑΘΗΝΑ, İstanbul'da; naïve café — “Straße” … 東京は大きい。次の文！ ١٢٣ 👩‍🔬👍🏽",
    "She said: 'I'd've gone.' \"Really?\" Mr. O'Neil-McDonald of the U.S. (est. 1999) said no.",
    "pneumonoultramicroscopicsilicovolcanoconiosis " + "x" * 100 + " " + "ab-" * 30 + "c.",
)


def sample_texts() -> list[str]:
    """Texts of our own: made-up sentences, and what tokenisers stumble over."""
    made_up = made_up_sentences(SENTENCES, np.random.default_rng(7), new_names=True)
    lines = [" ".join(sentence.tokens) for sentence in made_up]
    return [*_HARD, *(" ".join(lines[i : i + 4]) for i in range(0, len(lines), 4))]


def conformance_file(model: Any, texts: Iterable[str] | None = None) -> bytes:
    """The file of a model: of these texts, or trees in brackets, or of samples."""
    if isinstance(model, TreeClassifier):
        return b"".join(_tree_records(model, texts))
    return b"".join(_record(model.model, text) for text in (sample_texts() if texts is None else texts))


def _record(parts: FittedModel, text: str) -> bytes:
    """One text: its tokens and sentences, and the answers of every task."""
    content = text.encode()
    heads = {task: Posteriors(head) for task, head in parts.by_task().items()}
    tagged = Tagged.cut(content, np.array([[0, len(content)]]), parts.segmenter).by(heads, label_probabilities=True)
    layers = []
    for task, decoded in tagged.tasks.items():
        assert decoded.label_probabilities is not None and decoded.span_probabilities is not None, "asked for"
        names = [label for of_sentence in decoded.texts() for label in of_sentence]
        lines = [f"{p:.9g} {name}" for p, name in zip(decoded.label_probabilities.tolist(), names, strict=True)]
        places = tagged.entity_places(task).tolist()
        classes = [decoded.codec.classes[kind] for kind in decoded.entities()[:, 2].tolist()]
        entities = zip(places, decoded.span_probabilities.tolist(), classes, strict=True)
        lines += [f"{begin} {end} {p:.9g} {name}" for (begin, end), p, name in entities]
        layers.append("\n".join([f"L {len(places)}", *lines]) + "\n")
    head_line = f"T {len(content)} {len(tagged.cells)} {len(tagged.offsets) - 1} {len(heads)}\n"
    spans = "".join(f"{begin} {end}\n" for begin, end in tagged.cells.tolist())
    sizes = " ".join(map(str, np.diff(tagged.offsets).tolist())) + "\n"
    return head_line.encode() + content + b"\n" + (spans + sizes + "".join(layers)).encode()


def _tree_records(model: TreeClassifier, texts: Iterable[str] | None) -> Iterator[bytes]:
    """Trees of the user's, or made-up ones."""
    drawn = made_up_trees(TREES, np.random.default_rng(7), new_pairs=True)
    trees = [parse_tree(text) for text in texts] if texts is not None else drawn
    labels = len(model.model.codec.labels)
    for tree, P in zip(trees, model.node_probabilities(trees), strict=True):
        content = bracketed(tree).encode()
        rows = "".join(f"{row.argmax()} {' '.join(f'{p:.9g}' for p in row.tolist())}\n" for row in P)
        yield f"R {len(content)} {len(P)} {labels}\n".encode() + content + b"\n" + rows.encode()
