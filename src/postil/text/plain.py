"""Text without labels: plain text, a paragraph a line, and pre-tokenised lines, a sentence a line."""

import re
from collections.abc import Iterator

from postil.text.document import Sentence
from postil.text.lines import NumberedLines, split_spaces
from postil.text.options import ReadOptions
from postil.text.report import Report
from postil.text.sentences import split_sentences
from postil.text.tokenise import tokenise

_WORD = re.compile(r"\S")


def read_text(lines: NumberedLines, options: ReadOptions, report: Report) -> Iterator[Sentence]:
    """The sentences of plain text. A line end ends a sentence."""
    for number, line in _numbered(lines):
        tokens = tokenise(line)
        whole = [(0, len(tokens.tokens))] if tokens.tokens else []
        for first, last in split_sentences(tokens) if options.split else whole:
            words = tokens.tokens[first:last]
            starts, ends = tokens.starts[first:last], tokens.ends[first:last]
            report.sentences += 1
            report.tokens += len(words)
            yield Sentence(words, text=line, starts=starts, ends=ends, line=number)


def read_tokens(lines: NumberedLines, options: ReadOptions, report: Report) -> Iterator[Sentence]:
    """One sentence a line, spaces between its tokens."""
    for number, line in _numbered(lines):
        words = split_spaces(line)
        report.sentences += 1
        report.tokens += len(words)
        yield Sentence(words, line=number)


def line_border(text: str, start: int) -> int:
    """The end of the first line from ``start`` on that has a sentence before it; 0: none. There a file can be cut."""
    word = _WORD.search(text)
    return text.find("\n", max(start, word.start())) + 1 if word else 0


def _numbered(lines: NumberedLines) -> Iterator[tuple[int, str]]:
    """Lines that are not empty, with their numbers."""
    for first, batch in lines:
        for number, line in enumerate(batch, first):
            if line:
                yield number, line
