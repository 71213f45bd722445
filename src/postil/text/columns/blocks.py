"""Lines to blocks: the runs of lines between blank lines, and the places where such a file can be cut."""

import re
from collections.abc import Callable, Iterator

from postil.errors import DataError
from postil.text.columns.line_kinds import could_be_comment, is_header, is_mark
from postil.text.lines import NumberedLines

_BLANK_LINE = re.compile(r"\n[ \t]*\n")

SENTENCE_LIMIT = 10_000_000
"""Maximum number of lines without a blank line. Beyond it, memory use would not stay flat."""


def blocks(lines: NumberedLines) -> Iterator[tuple[int, list[str]]]:
    """The runs of lines without an empty line, each with the number of its first line."""
    block: list[str] = []
    first = 1
    for number, batch in lines:
        first = first if block else number
        begin = 0
        for _ in range(batch.count("")):
            end = batch.index("", begin)
            block += batch[begin:end]
            if block:
                yield first, block
            block = []
            begin = end + 1
            first = number + begin
        block += batch[begin:]
        if len(block) > SENTENCE_LIMIT:
            raise DataError(
                "no end of the sentence",
                expected=f"a blank line within {SENTENCE_LIMIT:,} lines",
                got="more lines without one",
                where=lines.where(first),
            )
    if block:
        yield first, block


def conll_border(text: str, start: int) -> int:
    """The first position at or after ``start`` where a file can be split into parts that are read separately; or 0.

    That is after a blank line, but not between comments or marks and the sentence that follows them. A text with too
    many lines and no blank line is cut at its end, for the reader to refuse.
    """
    return _border(text, start, lambda line: could_be_comment(line) or is_header(line) or is_mark(line))


def conllu_border(text: str, start: int) -> int:
    """The same for CoNLL-U, where every line that begins with ``#`` is a comment on the sentence after it."""
    return _border(text, start, lambda line: line.startswith("#"))


def _border(text: str, start: int, goes_before: Callable[[str], bool]) -> int:
    """``goes_before``: whether a line belongs to the sentence after it."""
    blank = None
    for blank in _BLANK_LINE.finditer(text, start):
        line = text[text.rfind("\n", 0, blank.start()) + 1 : blank.start()]
        if line.strip(" \t") and not goes_before(line):
            return blank.end()
    return len(text) if blank is None and text.count("\n", start) > SENTENCE_LIMIT else 0
