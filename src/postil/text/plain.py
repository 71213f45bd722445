"""Text without labels: plain text, a paragraph a line, and pre-tokenised lines, a sentence a line."""

import re
from collections.abc import Iterator
from itertools import islice

from postil.errors import DataError
from postil.text.document import Sentence
from postil.text.lines import NumberedLines, split_spaces
from postil.text.options import ReadOptions
from postil.text.report import Report
from postil.text.splitting.segmenter import ENGLISH, Segmenter

_WORD = re.compile(r"\S")
_SPACE = re.compile(r"\s")
_FIELD = re.compile(r"[^ \t]+")
PIECE = 1 << 18  # characters of a long line that are cut into tokens at once
MOST_TOKENS = 1_000_000
"""Of one pre-tokenised line. A token takes hundreds of bytes, and such a line is hardly a sentence."""


def read_text(lines: NumberedLines, options: ReadOptions, report: Report) -> Iterator[Sentence]:
    """The sentences of plain text. A line end ends a sentence."""
    segmenter = options.segmenter
    for number, line in lines.numbered():
        if not segmenter.has_rules and len(line) > MOST_TOKENS:
            expected, got = f"at most {MOST_TOKENS:,} characters", f"{len(line):,} characters"
            raise DataError("a line of too many tokens", expected=expected, got=got, where=lines.where(number))
        if options.split and segmenter.has_rules:
            for words, starts, ends in sentences_of_line(line, segmenter):
                yield Sentence(words, text=line, starts=starts, ends=ends, line=number)
            continue
        tokens = segmenter.tokenise(line)
        for first, last in segmenter.split(tokens) if options.split else [(0, len(tokens))] * bool(len(tokens)):
            sentence = tokens.sentence(first, last)
            sentence.line = number
            yield sentence


def sentences_of_line(
    line: str, segmenter: Segmenter = ENGLISH, piece: int = PIECE
) -> Iterator[tuple[list[str], list[int], list[int]]]:
    """The tokens of each sentence, their starts and ends. A line may be a whole book: it is cut piece by piece.

    Where a sentence ends depends on what comes after it, up to the next sentence; on nothing before it. So the last two
    sentences of a piece are cut again, with the next one.
    """
    begin, size = 0, piece
    while begin < len(line):
        space = _SPACE.search(line, begin + size)
        end = space.start() if space is not None else len(line)
        tokens = segmenter.tokenise(line[begin:end])
        ranges = segmenter.split(tokens)
        sure = len(ranges)  # sentences that are cut as in the whole line; a new piece begins behind a space
        if end < len(line):
            firsts = ((n, tokens.starts[ranges[n][0]]) for n in range(len(ranges) - 2, 0, -1))
            sure = next((n for n, start in firsts if tokens.text[start - 1].isspace()), 0)
        for first, last in ranges[:sure]:
            starts, ends = ([begin + place for place in places[first:last]] for places in (tokens.starts, tokens.ends))
            yield tokens.tokens[first:last], starts, ends
        if end == len(line):
            return
        size = piece if sure else 2 * size
        begin += tokens.starts[ranges[sure][0]] if sure else 0


def read_tokens(lines: NumberedLines, options: ReadOptions, report: Report) -> Iterator[Sentence]:
    """One sentence a line, spaces between its tokens."""
    for number, line in lines.numbered():
        if len(line) > MOST_TOKENS and next(islice(_FIELD.finditer(line), MOST_TOKENS, None), None) is not None:
            expected, got = f"a sentence per line, of at most {MOST_TOKENS:,} tokens", f"{len(line):,} characters"
            raise DataError("a line of too many tokens", expected=expected, got=got, where=lines.where(number))
        yield Sentence(split_spaces(line), line=number)


def line_border(text: str, start: int) -> int:
    """The end of the first line from ``start`` on that has a sentence before it; 0: none. There a file can be cut."""
    word = _WORD.search(text)
    return text.find("\n", max(start, word.start())) + 1 if word else 0
