"""Statistics of reading and writing: everything that is dropped or changed is counted."""

import unicodedata
from collections import Counter
from dataclasses import dataclass, field

from postil.errors import DataError, RepairWarning, warn_caller

_CONTEXT = 40  # characters shown on both sides of a span
_LONGEST = 80  # characters shown of the span itself


@dataclass(frozen=True, slots=True)
class Problem:
    """A span that could not be used as it is."""

    where: str
    what: str
    excerpt: str
    carets: str
    action: str
    """The action: "rejected", "dropped", "snapped to 'Paris'"."""
    needs_groups: bool = False
    """Whether it overlaps a span of another class, as groups of classes may."""

    def __str__(self) -> str:
        return f"{self.where}: {self.what}: {self.action}\n    {self.excerpt}\n    {self.carets}"


class SpanError(DataError):
    """Some spans do not fit the tokens; ``problems`` lists them all."""

    def __init__(self, problems: list[Problem], where: str) -> None:
        what = "1 span does" if len(problems) == 1 else f"{len(problems):,} spans do"
        remedies = "--misaligned snap, --overlaps longest"
        if problems[0].needs_groups:
            remedies += "; postil train --group learns classes that overlap"
        super().__init__(
            f"{what} not fit",
            expected=f"spans on token boundaries that do not overlap (or {remedies})",
            got=f"{problems[0].what} on {problems[0].where.rsplit(', ', 1)[-1]}{' and others' * (len(problems) > 1)}",
            where=where,
        )
        self.problems = problems


@dataclass(slots=True)
class Report:
    """Statistics of the data that was read, or read and written."""

    format: str = ""
    sentences: int = 0
    tokens: int = 0
    documents: int = 0
    texts: int = 0
    """Whole texts, where they were not cut into sentences."""
    notes: Counter[str] = field(default_factory=Counter)
    """Noteworthy things that were kept, such as comments and empty tokens."""
    changed: Counter[str] = field(default_factory=Counter)
    """Things that differ from the source."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Things that were read but not passed on."""
    repaired: Counter[str] = field(default_factory=Counter)
    """Small mistakes that were put right; one warning counts them all."""
    problems: list[Problem] = field(default_factory=list)

    def lines(self) -> list[str]:
        """The report as text, one fact per line."""
        size = [counted(self.sentences, "sentence"), counted(self.tokens, "token")]
        if self.texts:
            size = [counted(self.texts, "text")]
        if self.documents:
            size.append(counted(self.documents, "document mark"))
        lines = [", ".join(size)]
        for title, counts in (("", self.notes), ("changed: ", self.changed), ("dropped: ", self.dropped)):
            lines += [f"{title}{what}: {number:,}" for what, number in counts.items() if number]
        return lines

    def warn_of_repairs(self, where: str) -> None:
        """Issue one `RepairWarning` that counts all repairs, if there were any."""
        counts = ", ".join(f"{what}: {number:,}" for what, number in self.repaired.items() if number)
        if counts:
            warn_caller(f"{where}: repaired {counts}", RepairWarning)


def counted(number: int, what: str) -> str:
    """1 sentence, 2,000 sentences."""
    return f"{number:,} {what}{'s' * (number != 1)}"


def excerpt(text: str, start: int, end: int) -> tuple[str, str]:
    """The text around ``start:end`` on one line, and the carets that stand under that stretch."""
    left, right = max(0, start - _CONTEXT), min(len(text), end + _CONTEXT)
    before = "…" * (left > 0) + _flat(text[left:start])
    inside = _flat(text[start:end] if end - start <= _LONGEST else text[start : start + _LONGEST] + "…")
    after = _flat(text[end:right]) + "…" * (right < len(text))
    return before + inside + after, " " * _width(before) + "^" * max(1, _width(inside))


def _flat(text: str) -> str:
    """Control characters would break the line or move the carets."""
    return "".join(" " if unicodedata.category(character) in ("Cc", "Zl", "Zp") else character for character in text)


def _width(text: str) -> int:
    """Columns that a terminal needs for the text."""
    return sum(_CHARACTER_WIDTHS.get(unicodedata.east_asian_width(c), 1) for c in text if not unicodedata.combining(c))


_CHARACTER_WIDTHS = {"W": 2, "F": 2}
