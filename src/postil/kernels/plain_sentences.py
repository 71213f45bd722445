"""Tokens to sentences in Python: the twin of sentences.c.

Two signs end a sentence: a line break that the rules count, and a final mark with whatever closes after it, unless what
stands before (a title, an initial, the number of a list) or after it (a small letter, a comma) says no.
"""

import functools
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import final

import numpy as np

from postil.arrays import Array, checked_offsets, offsets_from_lengths
from postil.errors import IndexRangeError, ShapeError
from postil.kernels.characters import Characters, Flag, frozen
from postil.kernels.plain_characters import character_offsets, decoded
from postil.kernels.plain_columns import checked_cells
from postil.kernels.plain_tokens import checked_documents
from postil.kernels.programs import Program, program_of


class Kind:
    """What a word is to the splitter, as bits; plain numbers, for enumerations are slow."""

    FINAL = 1
    """A character that ends a sentence."""
    CLOSES = 2
    """Closes what went before, so that a sentence ends after it."""
    CLOSES_IF_GLUED = 4
    """The same, if no space stands before it."""
    OPENS = 8
    """The word that counts as a sentence's first comes after it."""
    GOES_ON = 16
    """No sentence begins with it."""
    NEVER_FINAL = 32
    """With a period, an abbreviation after which a sentence goes on."""
    STARTS = 64
    """Begins a sentence even after an abbreviation."""


@final
class SentencePatterns:
    """What the splitter knows: three expressions, and words with their kinds.

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
    def line_break(self) -> re.Pattern[str]:
        return re.compile(self.sources[0])

    @functools.cached_property
    def emoticon(self) -> re.Pattern[str]:
        return re.compile(self.sources[1])

    @functools.cached_property
    def ellipsis(self) -> re.Pattern[str]:
        return re.compile(self.sources[2])

    @functools.cached_property
    def program(self) -> Program | None:
        """For the compiled kernel."""
        return program_of(self.sources, self.characters)

    @functools.cached_property
    def stand_ins(self) -> dict[int, int]:
        """What is exchanged before the running Python is asked; almost always nothing."""
        if not len(self.characters.disputed) or self.program is None:
            return {}
        case_and_digits = self.characters.flags & (Flag.DIGIT | Flag.LOWER | Flag.UPPER | Flag.TITLE)
        return self.characters.stand_ins(self.program.classes().astype(np.int64) << 32 | case_and_digits)

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
        self.kind = rules.words.get
        self.finals = rules.finals
        self.lines = self._line_edges(rules.seen(text))

    def _line_edges(self, text: str) -> list[int]:
        """Indices of the tokens that begin after a counted line break, in order, and the end."""
        indices = {bisect_left(self.starts, match.start()) for match in self.rules.line_break.finditer(text)}
        return [*sorted(indices - {0, len(self.tokens)}), len(self.tokens)]

    def edges(self) -> Iterator[int]:
        """Indices of the tokens that begin a sentence, except the first."""
        begin = 0
        for line_end in self.lines:
            for index in range(begin, line_end):
                if self.tokens[index][-1:] in self.finals and index >= begin:
                    edge = self._skip_closing(index + 1, line_end)
                    if edge < line_end and self._ends_sentence(begin, index, edge, line_end):
                        yield edge
                        begin = edge
            if line_end < len(self.tokens):
                yield line_end
                begin = line_end

    def _skip_closing(self, index: int, limit: int) -> int:
        """The first token from `index` on that no longer closes what went before."""
        while index < limit:
            kind = self.kind(self.tokens[index], 0)
            closes = kind & Kind.CLOSES or (kind & Kind.CLOSES_IF_GLUED and self._is_glued(index))
            if not closes and not self.rules.emoticon.match(self.seen[index]):
                break
            index += 1
        return index

    def _is_glued(self, index: int) -> bool:
        return self.starts[index] == self.ends[index - 1]

    def _ends_sentence(self, begin: int, index: int, edge: int, limit: int) -> bool:
        mark, following = self.tokens[index], self.tokens[edge]
        if self.kind(following, 0) & Kind.GOES_ON or following[:1] in self.finals:
            return False
        if self._is_glued(edge) and self.seen[edge][:1].isdigit():
            return False
        while edge + 1 < limit and self.kind(self.tokens[edge], 0) & Kind.OPENS:
            edge += 1
        if mark[:1] not in self.finals:
            return self._ends_after_abbreviation(index, edge)
        if index == begin or (mark == "." and self._is_list_mark(begin, index)):
            return False
        if self.seen[edge][:1].islower():
            return edge == index + 1 and not self.rules.ellipsis.match(mark) and self._is_common_word(index - 1)
        return True

    def _ends_after_abbreviation(self, index: int, edge: int) -> bool:
        stem = self.tokens[index][:-1]
        is_initial = len(stem) == 1 and self.seen[index][:-1].isupper()
        never_final = self.kind(stem, 0) & Kind.NEVER_FINAL
        return not is_initial and not never_final and bool(self.kind(self.tokens[edge], 0) & Kind.STARTS)

    def _is_common_word(self, index: int) -> bool:
        """Not a name ("Yahoo! is") nor short ("approx. ten"): even a small letter may begin a sentence after it."""
        return self.seen[index].islower() and len(self.seen[index]) > 3

    def _is_list_mark(self, begin: int, index: int) -> bool:
        """ "1. Wash the rice": the number is the sentence's first token."""
        first = self.seen[begin]
        return index == begin + 1 and (len(first) == 1 or (first.isdigit() and len(first) <= 3))
