"""Labelled texts that become JSON Lines: what ``write_records`` takes."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from postil.arrays import Array

ESCAPED = {code: f"\\u{code:04x}" for code in (0x85, 0x2028, 0x2029)}
"""Legal in JSON, but some programs cut lines at them."""
UNITS = ("characters", "utf16", "bytes")  # units in which offsets can count


@final
@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Records:
    """D texts with N tokens in B sentences, and what is answered about them: M spans, or labels of tokens."""

    text: bytes  # UTF-8
    documents: Array  # (D, 2) the first byte of each text and the one after its last
    tokens: Array  # (D + 1,) of the texts among the tokens
    cells: Array  # (N, 2) the first byte of each token and the one after its last, in their order
    sentences: Array  # (B + 1,) among the tokens; none is empty, none runs from one text into another
    names: Sequence[str]  # the labels of spans or tokens
    spans: Array | None = None
    """(M, 3) first token, end, and place in ``names``, in the order of their first tokens. None: labels."""
    groups: Sequence[str] | None = None  # the group of each name, if spans have one
    probabilities: Array | None = None  # (M,) of spans
    labels: Array | None = None  # (N,) places in ``names``; only without spans
    figures: Array | None = None  # (N,) probabilities of labels
    whole: Array | None = None  # (B,) probabilities of whole labellings
    fields: Sequence[bytes] | None = None
    """The other fields of each text as they are written: JSON with a leading comma and space."""
    units: str = "characters"  # the unit of offsets, one of `UNITS`
    lists_tokens: bool = False  # whether tokens come right after the text, as of sentences that are given as tokens
    has_layers: bool = False  # whether `fields` contains layers, which list the tokens of labels: the record does not
    is_layer: bool = False
    """Whether only the insides of a layer are written, spans or tokens, a line of them for each text."""


def json_string(text: str) -> str:
    """A text in quotes, as it is written in JSON Lines."""
    return json.dumps(text, ensure_ascii=False).translate(ESCAPED)
