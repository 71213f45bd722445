"""Passages: parts of a long source that can be read separately, by other processes and in any order."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import final

from postil.errors import DataError
from postil.text.lines import Lines, NumberedLines, line_ends, lines_of

Border = Callable[[str, int], int]
"""From a text of whole lines and a position to the first position at or after it where the text can be split, with a
sentence before it; 0 if there is none."""


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Passage(NumberedLines):
    """Some lines of a source."""

    name: str
    """The source."""
    format: str
    first: int
    """Number of the first line in the source, from 1."""
    text: str
    """The lines, each with its end, but for the last one of the source perhaps."""
    opening: "Passage | None" = None
    whole: bool = False
    """Whether the source has no other lines."""
    mistake: DataError | None = None
    """The error of the source after these lines."""

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        yield self.first, lines_of(self.text)
        if self.mistake is not None:
            raise self.mistake


def cut(lines: Lines, format: str, border: Border, size: int) -> Iterator[Passage]:
    """Passages up to the first border after ``size`` characters each: the same however the source arrives."""
    make = partial(Passage, name=lines.name, format=format)
    first, opening, mistake = 1, None, None
    held, enough = "", size
    for text, failure in _texts(lines):
        held, mistake = held + text, failure
        enough = enough if text else size
        while len(held) > enough:
            end = border(held, size)
            if not end:
                enough = 5 * len(held) // 4  # so that a long search is not done again for every little piece
                break
            passage = make(first=first, text=held[:end], opening=opening)
            yield passage
            opening = opening or make(first=1, text=held[: border(held, 0)])
            first += line_ends(passage.text)
            held, enough = held[end:], size
    if held or first == 1 or mistake is not None:
        yield make(first=first, text=held, opening=opening, whole=first == 1, mistake=mistake)


def _texts(lines: Lines) -> Iterator[tuple[str, DataError | None]]:
    """The texts of a source, then an empty one and the mistake with which the source ends, if it does."""
    try:
        for text in lines.texts():
            yield text, None
    except DataError as error:
        yield "", error
    else:
        yield "", None
