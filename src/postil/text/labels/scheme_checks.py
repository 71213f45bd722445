"""Labels that violate their scheme: counted, described, reported once."""

import warnings
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from postil.errors import DataError
from postil.text.labels.schemes import belongs, may_follow, violations


class SchemeReport(NamedTuple):
    """How well label sequences follow a scheme; ``first`` is (sentence, token) of the first violation, from 0."""

    scheme: str
    broken: int
    sentences: int
    first: tuple[int, int] | None
    example: str


class SchemeWarning(UserWarning):
    """Some label sequences break their scheme and were read by conlleval's rules."""


def inspect(sequences: Iterable[Sequence[str]], scheme: str) -> SchemeReport:
    """Count the places that break ``scheme`` over all sentences."""
    broken, sentences, first, example = 0, 0, None, ""
    for number, labels in enumerate(sequences):
        positions = violations(labels, scheme)
        if positions and first is None:
            first, example = (number, positions[0]), _describe(labels, positions[0], scheme)
        broken += len(positions)
        sentences += bool(positions)
    return SchemeReport(scheme, broken, sentences, first, example)


def check(sequences: Iterable[Sequence[str]], scheme: str, *, strict: bool = False, where: str = "") -> SchemeReport:
    """Inspect, then warn once with the counts (`SchemeWarning`), or raise `DataError` if ``strict``."""
    report = inspect(sequences, scheme)
    if report.broken and strict:
        raise DataError(summarise(report), expected=f"valid {scheme.upper()} labels", where=where or None)
    if report.broken:
        prefix = f"{where}: " if where else ""
        warnings.warn(f"{prefix}{summarise(report)}; read by conlleval's rules", SchemeWarning, stacklevel=2)
    return report


def summarise(report: SchemeReport, place: str = "") -> str:
    """One line on a report with breaks: how many, where the first one is (``place``, if given) and how it looks."""
    places = "1 label" if report.broken == 1 else f"{report.broken:,} labels"
    sentences = "1 sentence" if report.sentences == 1 else f"{report.sentences:,} sentences"
    verb = "violates" if report.broken == 1 else "violate"
    sentence, token = report.first or (0, 0)
    line = f"{places} in {sentences} {verb} the {report.scheme.upper()} scheme"
    return f"{line}, first {place or f'in sentence {sentence + 1}, token {token + 1}'}: {report.example}"


def _describe(labels: Sequence[str], position: int, scheme: str) -> str:
    """A description of what is wrong at ``position``."""
    label, before = labels[position], labels[position - 1] if position else "O"
    if not belongs(label, scheme):
        return f"{label!r} is not a label of this scheme"
    if may_follow(before, label, scheme):
        return f"{label!r} at the end of the sentence"
    return f"{label!r} after {repr(before) if position else 'the start of the sentence'}"
