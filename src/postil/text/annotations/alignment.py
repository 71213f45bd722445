"""Character spans onto tokens: which spans fit, which are moved, refused or dropped, and why."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from postil.text.labels.schemes import Span
from postil.text.lines import shortened
from postil.text.options import ReadOptions
from postil.text.report import Problem, Report, excerpt

REFUSED = "refused"


class CharacterSpan(NamedTuple):
    """Characters ``start`` to ``end`` (exclusive) carry ``label``."""

    start: int
    end: int
    label: str


@dataclass(frozen=True, slots=True)
class TokenisedText:
    """A text and where its T tokens stand; starts and ends never decrease."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]
    where: str

    def touched(self, start: int, end: int) -> tuple[int, int]:
        """The range of tokens that share a character with ``start:end``."""
        first = bisect_right(self.ends, start)
        return first, max(first, bisect_left(self.starts, end))

    def fits(self, start: int, end: int) -> bool:
        """Whether tokens begin at ``start`` and end at ``end``."""
        first, last = self.touched(start, end)
        return first < last and self.starts[first] == start and self.ends[last - 1] == end


def align(spans: Iterable[CharacterSpan], text: TokenisedText, options: ReadOptions, report: Report) -> list[Span]:
    """Spans over tokens, sorted, that do not overlap.

    What does not fit is listed in ``report.problems``; the caller raises if one of them was refused.
    """
    fitted = []
    for span in spans:
        fit = _fit(span, text, options, report)
        if fit is not None:
            fitted.append((fit, span))
    return _separate(fitted, text, options, report)


def _fit(span: CharacterSpan, text: TokenisedText, options: ReadOptions, report: Report) -> Span | None:
    first, last = text.touched(span.start, span.end)
    if text.fits(span.start, span.end):
        return Span(span.label, first, last)
    what = f"{_described(span, text)} does not fit the tokens {_tokens(text, first, last)}"
    if options.misaligned == "error":
        report.problems.append(_problem(what, REFUSED, span, text))
    elif options.misaligned == "drop" or first == last:
        report.problems.append(_problem(what, "dropped", span, text))
        report.dropped["spans that do not fit token boundaries"] += 1
    else:
        snapped = text.text[text.starts[first] : text.ends[last - 1]]
        report.problems.append(_problem(what, f"snapped to {shortened(snapped)}", span, text))
        report.changed["spans snapped to token boundaries"] += 1
        return Span(span.label, first, last)
    return None


def _separate(
    fitted: list[tuple[Span, CharacterSpan]], text: TokenisedText, options: ReadOptions, report: Report
) -> list[Span]:
    """Of overlapping spans, keep those that come first by the user's rule."""
    if options.overlaps == "longest":
        fitted = sorted(fitted, key=lambda pair: pair[0].start - pair[0].end)  # stable: equal lengths keep their order
    taken: dict[int, CharacterSpan] = {}  # token -> the span that has it
    kept = []
    for span, source in fitted:
        tokens = range(span.start, span.end)
        rival = next((taken[token] for token in tokens if token in taken), None)
        refused = rival is not None and options.overlaps == "error"
        if rival is None or refused:  # a refused span counts: whatever overlaps it is listed, too
            taken.update(dict.fromkeys(tokens, source))
        if rival is None:
            kept.append(span)
            continue
        what = f"{_described(source, text)} overlaps {_described(rival, text)}"
        report.problems.append(_problem(what, REFUSED if refused else "dropped", source, text))
        report.dropped["overlapping spans"] += not refused
    return sorted(kept, key=lambda span: span.start)


def _described(span: CharacterSpan, text: TokenisedText) -> str:
    return f"{span.label} {span.start}:{span.end} {shortened(text.text[span.start : span.end])}"


def _tokens(text: TokenisedText, first: int, last: int) -> str:
    tokens = [text.text[start:end] for start, end in zip(text.starts[first:last], text.ends[first:last], strict=True)]
    return shortened(" ".join(tokens)) if tokens else "(there are none)"


def _problem(what: str, action: str, span: CharacterSpan, text: TokenisedText) -> Problem:
    line, carets = excerpt(text.text, span.start, span.end)
    return Problem(text.where, what, line, carets, action)
