"""Text -> tokens with their offsets; nothing is changed, added or lost.

White space cuts the text into chunks, and one regular expression cuts a chunk into tokens. English repeats itself: most
chunks have been seen before, so the cut of each distinct chunk is kept and the expression runs only on new ones.

The conventions are those of the Penn Treebank as UD English writes them: ``do|n't``, ``Ann|'s``, ``can|not``,
``well|-|known`` but ``e-mail`` and ``non-human``, ``$|5``, ``50|%``, ``10:30``, ``Mr.``, ``U.S.``, ``!!!``.
"""

import functools
import re
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from postil.text.offsets import utf8_offsets, utf16_offsets
from postil.text.token_rules import DEFAULT, Rules, depends_pattern, token_pattern


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


_SPACE = re.compile(r"(\s+)")


def tokenise(text: str, rules: Rules = DEFAULT) -> Tokens:
    """Split a text into tokens. Every character that is not whitespace belongs to exactly one token."""
    cuts = _default_cuts() if rules is DEFAULT else _cuts_of(rules)  # to hash rules costs as much as a short line
    parts = _SPACE.split(text)  # chunk, space, chunk, …, chunk; only the first and the last chunk may be empty
    edges = [0, *accumulate(map(len, parts))]
    chunks = parts[::2]
    tokens: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for index, (chunk, start, end) in enumerate(zip(chunks, edges[::2], edges[1::2], strict=True)):
        cut = cuts[chunk]
        if cut is _WHOLE:
            tokens.append(chunk)
            starts.append(start)
            ends.append(end)
            continue
        if cut is _DEPENDS:
            cut = cuts[chunk + _next_letter(chunks, index)]
        for token, first, last in cut:
            tokens.append(token)
            starts.append(start + first)
            ends.append(start + last)
    return Tokens(text, tokens, starts, ends)


def _next_letter(chunks: list[str], index: int) -> str:
    """A space and the first character of the next chunk, all that a chunk's cut may depend on."""
    return " " + chunks[index + 1][:1] if index + 1 < len(chunks) else " "


# The tokens of a chunk, with their offsets inside it.
Cut = tuple[tuple[str, int, int], ...]
_WHOLE: Cut = (("whole", 0, 0),)  # markers, recognised by identity: the chunk is one token;
_DEPENDS: Cut = (("depends", 0, 0),)  # its cut depends on what follows


class _Cuts(dict[str, Cut]):
    """Chunk -> its cut, found when first asked for.

    A key ``chunk + " " + character`` holds the cut of a chunk before a chunk that begins so. When the table is full it
    becomes the older generation and an empty one takes its place: what is common comes back from there, the rest goes.
    """

    MOST_CHUNKS = 1 << 16
    LONGEST_CHUNK = 64

    def __init__(self, rules: Rules) -> None:
        super().__init__()
        self.older: dict[str, Cut] = {}
        self.scan = re.compile(token_pattern(rules)).finditer
        self.depends = re.compile(depends_pattern(rules)).search

    def __missing__(self, key: str) -> Cut:
        cut = self.older.get(key) or self._cut(key)
        if len(key) <= self.LONGEST_CHUNK:
            if len(self) >= self.MOST_CHUNKS:
                self.older = dict(self)
                self.clear()
            self[key] = cut
        return cut

    def _cut(self, key: str) -> Cut:
        chunk, space, _ = key.partition(" ")
        if not space and chunk.endswith(".") and self.depends(chunk):
            return _DEPENDS
        cut = tuple((match[0], *match.span()) for match in self.scan(key) if match.end() <= len(chunk))
        return _WHOLE if len(cut) == 1 and not space else cut


@functools.lru_cache(maxsize=16)
def _cuts_of(rules: Rules) -> _Cuts:
    return _Cuts(rules)


@functools.cache
def _default_cuts() -> _Cuts:
    return _Cuts(DEFAULT)
