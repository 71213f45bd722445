"""Text to tokens in Python: the twin of tokens.c.

White space cuts the text into chunks, and one regular expression cuts a chunk into tokens. English repeats itself: most
chunks have been seen before, so the cut of each distinct chunk is cached and the expression runs only on new ones.
"""

import functools
import os
import re
import warnings
from itertools import accumulate
from typing import NamedTuple, final

import numpy as np

from postil.arrays import Array, offsets_from_lengths
from postil.errors import SlowRulesWarning
from postil.kernels.characters import Characters, frozen
from postil.kernels.checking import contiguous
from postil.kernels.plain_characters import character_places, decoded
from postil.kernels.plain_columns import check_inside
from postil.kernels.programs import Program, program_of


@final
class TokenPatterns:
    """The two expressions of a tokeniser.

    ``token`` matches the next token of a chunk. ``depends`` is found in chunks whose cut depends on the first character
    of the next one; it matches the end of a chunk, and a period there.
    """

    def __init__(self, token: str, depends: str, characters: Characters | None = None) -> None:
        self.token, self.depends = token, depends
        self.characters = characters if characters is not None else frozen()

    @functools.cached_property
    def scan(self) -> re.Pattern[str]:
        return re.compile(self.token)

    @functools.cached_property
    def search(self) -> re.Pattern[str]:
        return re.compile(self.depends)

    @functools.cached_property
    def program(self) -> Program | None:
        """For the compiled kernel; None, with a warning, for rules that are not compiled with the package."""
        program = program_of([self.token, self.depends], self.characters)
        if program is None:
            warnings.warn(
                "the compiled tokeniser supports the default rules and hyphens='keep' only: Python's expressions run "
                "these rules, with the same tokens, at about a tenth of the speed",
                SlowRulesWarning,
                stacklevel=2,
            )
        return program

    @functools.cached_property
    def stand_ins(self) -> dict[int, int]:
        """What is exchanged before the running Python is asked; almost always nothing."""
        if not len(self.characters.disputed) or self.program is None:
            return {}
        return self.characters.stand_ins(self.program.classes())


# The tokens of a chunk, with their offsets inside it.
Cut = tuple[tuple[str, int, int], ...]
_WHOLE: Cut = (("whole", 0, 0),)  # markers, recognised by identity: the chunk is one token;
_DEPENDS: Cut = (("depends", 0, 0),)  # its cut depends on what follows


@final
class Cuts(dict[str, Cut]):
    """Chunk -> its cut, found when first asked for.

    A key ``chunk + " " + character`` holds the cut of a chunk before a chunk that begins so. When the table is full it
    becomes the older generation and an empty one takes its place: what is common comes back from there, the rest goes.
    """

    MOST_CHUNKS = 1 << 16
    LONGEST_CHUNK = 64

    def __init__(self, patterns: TokenPatterns) -> None:
        super().__init__()
        self.patterns = patterns
        self.older: dict[str, Cut] = {}

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
        if not space and chunk.endswith(".") and self.patterns.search.search(chunk):
            return _DEPENDS
        spans = (match.span() for match in self.patterns.scan.finditer(key))
        cut = tuple((chunk[first:end], first, min(end, len(chunk))) for first, end in spans if first < len(chunk))
        cut = tuple(token for token in cut if token[0])  # an expression of the user may match nothing somewhere
        return _WHOLE if len(cut) == 1 and not space else cut


@final
class ChunkCache:
    """The cuts of chunks for one `TokenPatterns`: a dictionary for Python, a table for the compiled kernel.

    The table is for one thread at a time. Its hashes are salted, so that nobody can write a text whose chunks collide.
    """

    BUCKETS = 1 << 15
    BUCKET_SIZE = 256  # bytes

    def __init__(self, patterns: TokenPatterns) -> None:
        self.cuts = Cuts(patterns)
        self.seed = int.from_bytes(os.urandom(8))  # the module secrets takes longer to import

    @functools.cached_property
    def table(self) -> Array:
        """uint8, on a cache line; the system provides its memory as it is used."""
        memory = np.zeros(self.BUCKETS * self.BUCKET_SIZE + 64, np.uint8)
        first = -memory.ctypes.data % 64
        return memory[first : first + self.BUCKETS * self.BUCKET_SIZE]


class TokenisedText(NamedTuple):
    """The tokens of D documents, as places in their text."""

    cells: Array
    """(N, 2): the first byte of each token and the one after its last."""
    offsets: Array  # (D + 1,): of the documents among the tokens


def checked_documents(text: bytes, documents: Array) -> Array:
    """Documents (D, 2) as C expects them; each lies in the text."""
    ready = contiguous(documents, np.int64, (len(documents), 2), where="documents")
    check_inside(ready, len(text), "documents")
    return ready


def tokenise_text(
    text: bytes, documents: Array, patterns: TokenPatterns, cache: ChunkCache, surrogates: bool = False
) -> TokenisedText:
    """The tokens of documents (D, 2), which are parts ``first:end`` of a text in UTF-8.

    Every character that is not whitespace belongs to exactly one token. No token depends on another document.
    ``surrogates``: lone surrogates, as Python's ``surrogatepass`` writes them, are characters too.
    """
    cells, counts = [np.zeros((0, 2), np.int64)], []
    for first, end in checked_documents(text, documents).tolist():
        content = decoded(text[first:end], surrogates, first)
        _, starts, ends = cut_text(content, patterns, cache)
        cells.append(character_places(text[first:end])[np.array([starts, ends], np.int64).T] + first)
        counts.append(len(starts))
    return TokenisedText(np.concatenate(cells), offsets_from_lengths(counts))


_SPACE = re.compile(r"(\s+)")


def cut_text(text: str, patterns: TokenPatterns, cache: ChunkCache) -> tuple[list[str], list[int], list[int]]:
    """The tokens of a text, and where they begin and end, in characters."""
    seen = text.translate(patterns.stand_ins) if patterns.stand_ins else text
    cuts = cache.cuts
    parts = _SPACE.split(seen)  # chunk, space, chunk, …, chunk; only the first and the last chunk may be empty
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
    if seen is not text:
        tokens = [text[start:end] for start, end in zip(starts, ends, strict=True)]
    return tokens, starts, ends


def _next_letter(chunks: list[str], index: int) -> str:
    """A space and the first character of the next chunk, all that a chunk's cut may depend on."""
    return " " + chunks[index + 1][:1] if index + 1 < len(chunks) else " "


def cut_chunk(chunk: str, following: str, patterns: TokenPatterns) -> list[tuple[int, int]]:
    """Where the tokens of a chunk begin and end, in characters, if ``following`` is the next character but spaces."""
    _, starts, ends = cut_text(f"{chunk} {following}", patterns, ChunkCache(patterns))
    return [(start, end) for start, end in zip(starts, ends, strict=True) if end <= len(chunk)]
