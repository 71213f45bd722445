"""Text to tokens and tokens to sentences by rules, in Python: the twins of tokens.c and sentences.c.

White space cuts the text into chunks, and one regular expression cuts a chunk into tokens. English repeats itself: most
chunks have been seen before, so the cut of each distinct chunk is cached and the expression runs only on new ones.

Two signs end a sentence: a line break that the rules count, and a final mark with whatever closes after it, unless what
stands before (a title, an initial, the number of a list) or after it (a small letter, a comma) says no.
"""

import functools
import json
import os
import re
import warnings
import zlib
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np

from postil.arrays import Array, checked_offsets, offsets_from_lengths
from postil.errors import IndexRangeError, ShapeError, SlowRulesWarning
from postil.kernels.characters import BLOCK, Characters, Flag, character_places, decoded, frozen
from postil.kernels.checking import contiguous
from postil.kernels.plain_text import character_offsets, check_inside, checked_cells

# ------------------------------------------------------------------------------------------------ programs

# The rules as programs for the matcher of matcher.h. ``programs.bin`` holds those of the default rules and of the
# settings of ``line_breaks``; ``make rules`` writes it. The compiler is a tool of the sources (tools/patterns.py), not
# part of the package: expressions that the file does not hold are run by Python's ``re``.

FILE = Path(__file__).with_name("programs.bin")
ARRAYS = {"code": "<i4", "sets": "<u8", "index": "<u2", "pages": "<u2"}
"""The arrays of a program, in the order of the file, and their types there."""


@final
@dataclass(frozen=True, eq=False)
class Program:
    """Expressions over one division of characters into classes."""

    code: Array  # int32
    sets: Array  # uint64; a set begins at the place that an operand names
    index: Array  # uint16 (0x110000 // BLOCK,)
    pages: Array  # uint16 (P, BLOCK)
    entries: tuple[int, ...]  # where the expressions begin in the code
    widths: tuple[tuple[int, int], ...]  # the fewest and the most characters that they match
    firsts: tuple[int, ...]  # the classes of characters with which they can begin, as bits

    def first_bytes(self, place: int) -> Array:
        """uint8 (256,): whether an expression's match can begin with a byte, in UTF-8."""
        bits = self.firsts[place]
        wanted = np.isin(self.pages, [number for number in range(bits.bit_length()) if bits >> number & 1])
        blocks = np.flatnonzero(
            np.asarray(wanted.any(axis=1))[self.index]
        )  # much less than the classes of all characters
        codes = (blocks[:, None] * BLOCK + np.arange(BLOCK))[wanted[self.index[blocks]]]
        found = np.zeros(256, np.uint8)
        found[[ord(character.encode("utf-8", "surrogatepass")[:1]) for character in map(chr, codes.tolist())]] = 1
        return found

    def classes(self) -> Array:
        """uint16 (0x110000,)"""
        classes: Array = self.pages[self.index].ravel()
        return classes


def program_of(expressions: Sequence[str], characters: Characters) -> Program | None:
    """The stored program of some expressions; None if there is none."""
    stored = _stored().get(key_of(expressions)) if characters is frozen() else None
    if stored is None:
        return None
    arrays = {
        name: np.frombuffer(stored["content"], kind, int(np.prod(shape)), first).reshape(shape).astype(kind[1:])
        for (name, kind), (first, *shape) in zip(ARRAYS.items(), stored["arrays"], strict=True)
    }
    widths = tuple((low, high) for low, high in stored["widths"])
    firsts = tuple(int(bits, 16) for bits in stored["firsts"])
    return Program(**arrays, entries=tuple(stored["entries"]), widths=widths, firsts=firsts)


def key_of(expressions: Sequence[str]) -> str:
    """The name of a program in the file: two checksums and the size."""
    content = "\0".join(expressions).encode()
    return f"{zlib.crc32(content):08x} {zlib.adler32(content):08x} {len(content)}"


@functools.cache
def _stored() -> dict[str, dict[str, Any]]:
    """Key of some expressions -> what is stored of their program."""
    content = FILE.read_bytes()
    size = int.from_bytes(content[:4], "little")
    programs: list[dict[str, Any]] = json.loads(content[4 : 4 + size])
    body = memoryview(content)[4 + size :]
    return {fields["expressions"]: {**fields, "content": body} for fields in programs}


# ------------------------------------------------------------------------------------------------ text to tokens


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
        """Characters to replace before the running Python matches; almost always none."""
        if not len(self.characters.disputed) or self.program is None:
            return {}
        return self.characters.stand_ins(self.program.classes())


@final
class Cuts(dict[str, tuple[tuple[int, int], ...] | None]):
    """Chunk -> where its tokens begin and end, found when first asked for; None: that depends on what follows.

    A key ``chunk + " " + character`` holds the cut of a chunk before a chunk that begins so.
    """

    MOST_CHUNKS = 1 << 16
    LONGEST_CHUNK = 64

    def __init__(self, patterns: TokenPatterns) -> None:
        super().__init__()
        self.patterns = patterns

    def __missing__(self, key: str) -> tuple[tuple[int, int], ...] | None:
        chunk, space, _ = key.partition(" ")
        size, cut = len(chunk), None
        if space or not chunk.endswith(".") or not self.patterns.search.search(chunk):
            spans = (match.span() for match in self.patterns.scan.finditer(key))  # a user's may match nothing somewhere
            cut = tuple((first, min(end, size)) for first, end in spans if first < min(end, size))
        if len(key) <= self.LONGEST_CHUNK:
            if len(self) >= self.MOST_CHUNKS:
                self.clear()
            self[key] = cut
        return cut


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

    cells: Array  # (N, 2): the first byte of each token and the one after its last
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


_SPACES = re.compile(r"(\s+)")


def cut_text(text: str, patterns: TokenPatterns, cache: ChunkCache) -> tuple[list[str], list[int], list[int]]:
    """The tokens of a text, and where they begin and end, in characters."""
    parts = _SPACES.split(text.translate(patterns.stand_ins) if patterns.stand_ins else text)
    chunks = parts[::2]  # chunk, space, chunk, …, chunk; only the first and the last chunk may be empty
    spans: list[tuple[int, int]] = []
    for index, (chunk, start) in enumerate(zip(chunks, [0, *accumulate(map(len, parts))][::2], strict=True)):
        cut = cache.cuts[chunk]
        if cut is None:
            cut = cache.cuts[f"{chunk} {chunks[index + 1][:1] if index + 1 < len(chunks) else ''}"] or ()
        spans += [(start + first, start + end) for first, end in cut]
    return [text[a:b] for a, b in spans], [start for start, _ in spans], [end for _, end in spans]


def cut_chunk(chunk: str, following: str, patterns: TokenPatterns) -> list[tuple[int, int]]:
    """Where the tokens of a chunk begin and end, in characters, if ``following`` is the next character but spaces."""
    _, starts, ends = cut_text(f"{chunk} {following}", patterns, ChunkCache(patterns))
    return [(start, end) for start, end in zip(starts, ends, strict=True) if end <= len(chunk)]


# ------------------------------------------------------------------------------------------------ tokens to sentences


class Kind:
    """Properties of a word for the sentence splitter, as bits; plain integers, because enumerations are slow."""

    FINAL = 1  # A character that ends a sentence
    CLOSES = 2  # closes what went before, so that a sentence ends after it
    CLOSES_IF_GLUED = 4  # the same, if no space stands before it
    OPENS = 8  # the word that counts as a sentence's first comes after it
    GOES_ON = 16  # no sentence begins with it
    NEVER_FINAL = 32  # with a period, an abbreviation after which a sentence goes on
    STARTS = 64  # begins a sentence even after an abbreviation


@final
class SentencePatterns:
    """The rules of the sentence splitter: three regular expressions, and words with their kinds.

    ``line_break`` is found where a sentence ends whatever the tokens are. It begins with whitespace, takes nothing
    else, and sees no more than 16 characters after that. ``emoticon`` matches a whole token, ``ellipsis`` the beginning
    of one.
    """

    def __init__(
        self,
        line_break: str,
        emoticon: str,
        ellipsis: str,
        words: Mapping[str, int],
        characters: Characters | None = None,
    ) -> None:
        self.sources = (line_break, emoticon + r"\Z", ellipsis)
        self.words = dict(words)
        self.finals = {word for word, kind in self.words.items() if kind & Kind.FINAL}
        self.characters = characters if characters is not None else frozen()

    @functools.cached_property
    def expressions(self) -> tuple[re.Pattern[str], ...]:
        return tuple(map(re.compile, self.sources))

    @functools.cached_property
    def program(self) -> Program | None:
        """For the compiled kernel."""
        return program_of(self.sources, self.characters)

    @functools.cached_property
    def stand_ins(self) -> dict[int, int]:
        """Characters to replace before the running Python matches; almost always none."""
        if not len(self.characters.disputed) or self.program is None:
            return {}
        case_and_digits = self.characters.flags & (Flag.DIGIT | Flag.LOWER | Flag.UPPER | Flag.TITLE)
        return self.characters.stand_ins(self.program.classes().astype(np.int64) << 32 | case_and_digits)

    def arrays(self, program: Program) -> dict[str, Array]:
        """The fields of sentence_rules (kernels.h) besides the program."""
        words = sorted((word.encode("utf-8", "surrogatepass"), kind) for word, kind in self.words.items())
        final_bytes = np.zeros(256, np.uint8)
        final_bytes[[word[-1] for word, kind in words if kind & Kind.FINAL]] = 1
        return {
            "line_bytes": program.first_bytes(0),
            "final_bytes": final_bytes,
            "words": np.frombuffer(b"".join(word for word, _ in words), np.uint8),
            "kinds": np.array([kind for _, kind in words], np.uint8),
            "ends": np.cumsum([0, *(len(word) for word, _ in words)]).astype(np.int64),
        }

    def seen(self, text: str) -> str:
        return text.translate(self.stand_ins) if self.stand_ins else text


def split_sentences(text: bytes, documents: Array, cells: Array, offsets: Array, rules: SentencePatterns) -> Array:
    """Sentences as offsets (B + 1,) among the tokens that `tokenise_text` has found in documents (D, 2).

    cells (N, 2), offsets (D + 1,) as there. A document ends a sentence; one without tokens has none.
    """
    documents, cells, offsets = checked_tokens(text, documents, cells, offsets)
    lengths: list[int] = []
    for (first, end), (begin, last) in zip(documents.tolist(), pairwise(offsets.tolist()), strict=True):
        places = cells[begin:last].ravel()
        inside = np.concatenate([[first], places, [end]])
        if (np.diff(inside) < 0).any() or (cells[begin:last, 0] == cells[begin:last, 1]).any():
            raise IndexRangeError("an index points outside its table", where="cells")
        content = decoded(text[first:end], surrogates=True, first=first)
        starts, ends = character_offsets(text[first:end], places - first).reshape(-1, 2).T.tolist()
        tokens = [content[start:stop] for start, stop in zip(starts, ends, strict=True)]
        lengths += (end - start for start, end in ranges(content, tokens, starts, ends, rules))
    return offsets_from_lengths(lengths)


def checked_tokens(text: bytes, documents: Array, cells: Array, offsets: Array) -> tuple[Array, Array, Array]:
    """Documents (D, 2), their cells (N, 2) and offsets (D + 1,) as C expects them."""
    documents, cells = checked_documents(text, documents), checked_cells(text, cells)
    offsets = np.ascontiguousarray(checked_offsets(offsets, rows=len(cells)))
    if len(offsets) != len(documents) + 1:
        got = f"{len(offsets) - 1} offsets for {len(documents)} documents"
        raise ShapeError("wrong shape", expected="offsets of each document and the end", got=got, where="offsets")
    return documents, cells, offsets


def ranges(
    text: str, tokens: Sequence[str], starts: Sequence[int], ends: Sequence[int], rules: SentencePatterns
) -> list[tuple[int, int]]:
    """Ranges of tokens ``(first, last + 1)``, one after the other, that together hold every token of a text."""
    if not tokens:
        return []
    splitter = _Splitter(text, tokens, starts, ends, rules)
    return list(pairwise([0, *splitter.edges(), len(tokens)]))


class _Splitter:
    """One text's worth of state: the tokens, and where the current sentence began."""

    def __init__(
        self, text: str, tokens: Sequence[str], starts: Sequence[int], ends: Sequence[int], rules: SentencePatterns
    ) -> None:
        self.tokens, self.starts, self.ends, self.rules = tokens, starts, ends, rules
        self.seen = tokens if not rules.stand_ins else [rules.seen(token) for token in tokens]
        self.kinds = [rules.words.get(token, 0) for token in tokens]
        self.line_break, self.emoticon, self.ellipsis = rules.expressions
        breaks = {bisect_left(starts, match.start()) for match in self.line_break.finditer(rules.seen(text))}
        self.lines = [*sorted(breaks - {0, len(tokens)}), len(tokens)]  # tokens after a counted line break, and the end

    def edges(self) -> Iterator[int]:
        """Indices of the tokens that begin a sentence, except the first."""
        begin = 0
        for line_end in self.lines:
            for index in range(begin, line_end):
                if self.tokens[index][-1:] in self.rules.finals and index >= begin:
                    edge = self._skip_closing(index + 1, line_end)
                    if edge < line_end and self._ends_sentence(begin, index, edge, line_end):
                        yield edge
                        begin = edge
            if line_end < len(self.tokens):
                yield line_end
                begin = line_end

    def _is_glued(self, index: int) -> bool:
        return self.starts[index] == self.ends[index - 1]

    def _skip_closing(self, index: int, limit: int) -> int:
        """The first token from `index` on that no longer closes what went before."""
        while index < limit:
            kind = self.kinds[index]
            closes = kind & Kind.CLOSES or (kind & Kind.CLOSES_IF_GLUED and self._is_glued(index))
            if not closes and not self.emoticon.match(self.seen[index]):
                break
            index += 1
        return index

    def _ends_sentence(self, begin: int, index: int, edge: int, limit: int) -> bool:
        """Whether the mark at ``index`` ends the sentence from ``begin`` on; then the next one begins at ``edge``."""
        mark, seen, finals = self.tokens[index], self.seen, self.rules.finals
        if self.kinds[edge] & Kind.GOES_ON or self.tokens[edge][:1] in finals:
            return False
        if self._is_glued(edge) and seen[edge][:1].isdigit():
            return False
        while edge + 1 < limit and self.kinds[edge] & Kind.OPENS:
            edge += 1
        if mark[:1] not in finals:  # an abbreviation
            is_initial = len(mark) == 2 and seen[index][:-1].isupper()
            never_final = self.rules.words.get(mark[:-1], 0) & Kind.NEVER_FINAL
            return not is_initial and not never_final and bool(self.kinds[edge] & Kind.STARTS)
        first, before = seen[begin], seen[index - 1]
        # "1. Wash the rice": the number is the sentence's first token.
        is_list_mark = mark == "." and index == begin + 1 and (len(first) == 1 or (first.isdigit() and len(first) <= 3))
        if index == begin or is_list_mark:
            return False
        if seen[edge][:1].islower():
            # Not after a name ("Yahoo! is") nor a short word ("approx. ten"): a small letter may begin a sentence.
            is_common = before.islower() and len(before) > 3
            return edge == index + 1 and not self.ellipsis.match(mark) and is_common
        return True
