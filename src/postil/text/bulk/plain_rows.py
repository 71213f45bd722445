"""Well-formed columns, CoNLL-U and lines of tokens, read and written as bytes, without an object per token.

What is read here is what ``read_conll``, ``read_conllu`` and ``read_tokens`` read, and what is written is what
``write_conll`` writes.
Whatever is not plain, mistakes above all, is left to them.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.errors import PostilError
from postil.kernels import TokenCells
from postil.text import plain
from postil.text.bulk.passages import Passage
from postil.text.columns.conll import columns_of, read_conll
from postil.text.columns.conll_writer import write_conll
from postil.text.document import Sentence
from postil.text.options import ReadOptions, WriteOptions
from postil.text.output import is_utf8
from postil.text.report import Report

_UNWRITABLE = re.compile("[\t\n\r\0]")
LONGEST = 1 << 24
"""Characters. What is longer has very long sentences, or no sentence ends at all."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class PlainRows:
    """B sentences with N tokens."""

    text: bytes  # UTF-8
    cells: Array  # (N, 2) the first byte of each token and the one after its last
    offsets: Array  # (B + 1,)
    heads: Sequence[tuple[int, Sentence]] = ()
    """Sentences with comments or document marks, in their order, and a sentence of one token that has the same."""


def read_plain(passage: Passage, options: ReadOptions) -> PlainRows | None:
    """The sentences of a passage of columns, CoNLL-U or tokens.

    None where there is none, or the readers of sentences have to look at them.
    """
    if passage.mistake is not None or len(passage.text) > LONGEST:
        return None
    try:
        text = passage.text.encode()
        cells = _FINDERS[passage.format](passage, text, options) if passage.format in _FINDERS else None
        if cells is None or not len(cells.tokens):
            return None
        if passage.format == "tokens" and np.diff(cells.offsets).max() > plain.MOST_TOKENS:
            return None
        return PlainRows(text, cells.tokens, cells.offsets, list(_heads(passage, text, cells.heads, options)))
    except (PostilError, UnicodeEncodeError, _NotPlain):
        return None


def _columns(passage: Passage, text: bytes, options: ReadOptions) -> TokenCells | None:
    if options.features != () or options.strict or options.comment != "auto":
        return None
    columns = columns_of(passage, options)
    return kernels.token_cells(text, columns) if columns is not None else None


def _lines(passage: Passage, text: bytes, options: ReadOptions) -> TokenCells | None:
    return kernels.line_cells(text)


def _words(passage: Passage, text: bytes, options: ReadOptions) -> TokenCells | None:
    if options.features != () or options.label not in ("auto", None):
        return None
    from postil.text.bulk.plain_conllu import word_cells  # other formats are more common

    return word_cells(text)


# Format -> how its tokens are found.
_FINDERS = {"conll": _columns, "conllu": _words, "tokens": _lines}


class _NotPlain(Exception):
    """There is more before a sentence than comments and marks."""


def _heads(passage: Passage, text: bytes, heads: Array, options: ReadOptions) -> Iterator[tuple[int, Sentence]]:
    """Of each head its sentence and what is read of it: by the reader, which gets the sentence's first row only."""
    if not len(heads):
        return
    if passage.format == "conllu":
        from postil.text.bulk.plain_conllu import read_heads

        sentences = list(read_heads([text[head:row].decode() for _, head, row in heads.tolist()]))
    else:
        ends = [text.find(b"\n", row) for _, _, row in heads.tolist()]
        rows = [text[head : end if end >= 0 else None] for (_, head, _), end in zip(heads.tolist(), ends, strict=True)]
        short = replace(passage, text=b"\n\n".join(rows).decode(), opening=passage.opening or passage)
        sentences = list(read_conll(short, options, Report()))
    if len(sentences) != len(heads) or any(len(sentence) != 1 for sentence in sentences):
        raise _NotPlain
    for (place, _, _), sentence in zip(heads.tolist(), sentences, strict=True):
        sentence.labels = ["O"]
        yield place, sentence


def write_plain(rows: PlainRows, labels: Array, names: list[bytes], figures: Array | None = None) -> bytes:
    """The sentences with labels (N,), which are places in ``names``, and probabilities (N,) in a column before them."""
    content, places = kernels.write_rows(rows.text, rows.cells, rows.offsets, labels, names, figures)
    if not rows.heads:
        return content
    edges = [0, *(int(places[sentence]) for sentence, _ in rows.heads), len(content)]
    heads = [b"", *_written_heads([sentence for _, sentence in rows.heads], figures is not None)]
    pieces = zip(heads, edges[:-1], edges[1:], strict=True)
    return b"".join(piece for head, first, end in pieces for piece in (head, content[first:end]))


def _written_heads(sentences: Sequence[Sentence], has_figures: bool) -> Iterator[bytes]:
    """What the writer writes before each sentence; a document mark is as wide as the rows."""
    for sentence in sentences:
        sentence.columns = [("1",)] if has_figures else None
    for sentence, content in zip(sentences, write_conll(sentences, WriteOptions(), Report()), strict=True):
        row = [sentence.tokens[0], *(["1"] if has_figures else []), "O"]
        yield content.removesuffix("\t".join(row) + "\n\n").encode()


def are_writable(names: Sequence[str]) -> bool:
    """Whether labels can be written in a column, in UTF-8."""
    return all(map(is_utf8, names)) and all(
        name == name.strip(" ") != "" and _UNWRITABLE.search(name) is None for name in names
    )
