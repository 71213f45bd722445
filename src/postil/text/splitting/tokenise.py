"""Text -> tokens with their offsets; nothing is changed, added or lost.

White space cuts the text into chunks, and one regular expression cuts a chunk into tokens: `postil.kernels`, by way of
`Segmenter`.

The conventions are those of the Penn Treebank as UD English writes them: ``do|n't``, ``Ann|'s``, ``can|not``,
``well|-|known`` but ``e-mail`` and ``non-human``, ``$|5``, ``50|%``, ``10:30``, ``Mr.``, ``U.S.``, ``!!!``.
"""

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from postil.text.offsets import utf8_offsets, utf16_offsets
from postil.text.splitting.segmenter import Segmenter, default_segmenter
from postil.text.splitting.token_rules import DEFAULT, Rules


@dataclass(frozen=True, slots=True)
class Tokens:
    """A text and its tokens: ``text[starts[i]:ends[i]] == tokens[i]``; offsets count characters."""

    text: str
    tokens: list[str]
    starts: list[int]
    ends: list[int]

    def __len__(self) -> int:
        return len(self.tokens)

    def utf16(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Starts and ends (N,) in UTF-16 code units, as JavaScript and Java count."""
        return utf16_offsets(self.text, self.starts), utf16_offsets(self.text, self.ends)

    def utf8(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Starts and ends (N,) in bytes of the UTF-8 text."""
        return utf8_offsets(self.text, self.starts), utf8_offsets(self.text, self.ends)


def tokenise(text: str, rules: Rules = DEFAULT) -> Tokens:
    """Split a text into tokens. Every character that is not whitespace belongs to exactly one token."""
    segmenter = default_segmenter() if rules is DEFAULT else _segmenter_of(rules)  # to hash rules takes long
    return Tokens(text, *segmenter.tokens(text))


@functools.lru_cache(maxsize=16)
def _segmenter_of(rules: Rules) -> Segmenter:
    return Segmenter(rules)
