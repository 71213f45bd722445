"""Labelled texts that become JSON Lines: what ``write_records`` takes."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from postil.arrays import Array, checked_offsets
from postil.errors import IndexRangeError
from postil.kernels.checking import contiguous
from postil.kernels.plain_segmentation import checked_documents
from postil.kernels.plain_text import checked_cells

ESCAPED = {code: f"\\u{code:04x}" for code in (0x85, 0x2028, 0x2029)}
"""Legal in JSON, but some programs cut lines at them."""
UNITS = ("characters", "utf16", "bytes")
"""Units in which offsets can count."""


@final
@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Records:
    """D texts with N tokens in B sentences, and what is answered about them: M spans, or labels of tokens."""

    text: bytes  # UTF-8
    documents: Array  # (D, 2) the first byte of each text and the one after its last
    tokens: Array  # (D + 1,) of the texts among the tokens
    cells: Array  # (N, 2) the first byte of each token and the one after its last, in their order
    sentences: Array  # (B + 1,) among the tokens; none is empty, none runs from one text into another
    names: Sequence[str]
    """The labels of spans or tokens."""
    spans: Array | None = None
    """(M, 3) first token, end, and place in ``names``, in the order of the text; none overlap. None: labels."""
    probabilities: Array | None = None  # (M,) of spans
    labels: Array | None = None  # (N,) places in ``names``; only without spans
    figures: Array | None = None  # (N,) probabilities of labels
    whole: Array | None = None  # (B,) probabilities of whole labellings
    fields: Sequence[bytes] | None = None
    """The other fields of each text as they are written: JSON with a leading comma and space."""
    units: str = "characters"
    """The unit of offsets, one of ``UNITS``."""
    lists_tokens: bool = False
    """Whether tokens come right after the text, as of sentences that are given as tokens."""

    def checked(self) -> "Records":
        """Arrays as C expects them."""
        D, N, B = len(self.documents), len(self.cells), len(self.sentences) - 1
        spans = np.zeros((0, 3), np.int64) if self.spans is None else self.spans
        spans = contiguous(spans, np.int64, (len(spans), 3), where="spans")
        if self.fields is not None and len(self.fields) != D:
            raise IndexRangeError("fields", expected=f"{D}, one per text", got=len(self.fields))
        if self.units not in UNITS:
            raise IndexRangeError("units", expected=f"one of {', '.join(UNITS)}", got=self.units)
        sizes = {"probabilities": len(spans), "figures": N, "whole": B}
        given = {name: getattr(self, name) for name in sizes}
        return Records(
            text=self.text,
            documents=checked_documents(self.text, self.documents),
            tokens=checked_offsets(self.tokens, rows=N),
            cells=checked_cells(self.text, self.cells),
            sentences=checked_offsets(self.sentences, rows=N),
            names=self.names,
            spans=spans,
            labels=None if self.labels is None else contiguous(self.labels, np.int64, (N,), where="labels"),
            fields=self.fields,
            units=self.units,
            lists_tokens=self.lists_tokens,
            **{
                name: None if array is None else contiguous(array, np.float64, (sizes[name],), where=name)
                for name, array in given.items()
            },
        )


def json_string(text: str) -> str:
    """A text in quotes, as it is written in JSON Lines."""
    return json.dumps(text, ensure_ascii=False).translate(ESCAPED)
