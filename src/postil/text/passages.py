"""Passages: long sources cut where their parts can be read apart, by other processes and in any order."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import final

from postil.errors import DataError
from postil.text.lines import Lines, NumberedLines, lines_of

Border = Callable[[str, int], int]
"""Of a text of whole lines and a place in it: the first place from there on where it can be cut, 0 if there is none.
There is a sentence before it."""


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

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        yield self.first, lines_of(self.text)


def cut(lines: Lines, format: str, border: Border, size: int) -> Iterator[Passage]:
    """Passages of the first border after ``size`` characters each: the same however the source arrives.

    A mistake in the source is raised after the last sentence before it.
    """
    first, opening = 1, None
    for text, is_last in _pieces(lines, border, size):
        whole = is_last and first == 1
        yield Passage(name=lines.name, format=format, first=first, text=text, opening=opening, whole=whole)
        if opening is None:
            opening = Passage(name=lines.name, format=format, first=1, text=text[: border(text, 0)])
        first += text.count("\n")


def _pieces(lines: Lines, border: Border, size: int) -> Iterator[tuple[str, bool]]:
    """Texts, and whether their source ends there."""
    held, enough = "", size
    begun = False
    try:
        for text in chain(lines.texts(), [""]):
            held += text
            enough = enough if text else size
            while len(held) > enough:
                end = border(held, size)
                if not end:
                    enough = 5 * len(held) // 4  # so that a long search is not done again for every little piece
                    break
                yield held[:end], False
                held, enough, begun = held[end:], size, True
    except DataError:
        good = _last(border, held)
        if good:
            yield held[:good], False
        raise
    if held or not begun:
        yield held, True


def _last(border: Border, text: str) -> int:
    """The last border of a text."""
    last = 0
    while found := border(text, last):
        last = found
    return last
