"""Labels that violate their scheme: counted, described, reported once."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from postil.errors import DataError, SchemeWarning, warn_caller
from postil.text.labels.partial_label import PartialLabel
from postil.text.labels.schemes import LETTERS, belongs, may_follow, recognise, violations


class SchemeReport(NamedTuple):
    """How well label sequences follow a scheme; ``first`` is (sentence, token) of the first violation, from 0."""

    scheme: str
    broken: int
    sentences: int
    first: tuple[int, int] | None
    example: str


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


def check(
    sequences: Sequence[Sequence[str]], scheme: str | None = None, *, strict: bool = False, where: str = ""
) -> SchemeReport:
    """Inspect, then warn once with the counts (`SchemeWarning`), or raise `DataError` if ``strict``.

    Without a ``scheme`` it is the one that the labels follow most.
    """
    scheme = scheme or recognise(sequences)
    report = inspect(sequences, scheme)
    if report.broken and strict:
        raise DataError(summarise(report), expected=f"valid {scheme.upper()} labels", where=where or None)
    if what := complaint(sequences, scheme):
        warn_caller(f"{where}: {what}" if where else what, SchemeWarning)
    return report


def complaint(
    sequences: Sequence[Sequence[str]], scheme: str, place: Callable[[int, int], str] | None = None
) -> str | None:
    """What is wrong with labels that are read by ``scheme``, and how they are read; None if nothing is.

    ``place`` says where a token of a sentence is, both counted from 0: ``on line 7``.
    """
    if scheme == "none":
        return _mixed(sequences, place or _in_sentence)
    report = inspect(sequences, scheme)
    if report.first is None:
        return None
    return f"{summarise(report, place(*report.first) if place else '')}; read by conlleval's rules"


def _mixed(sequences: Sequence[Sequence[str]], place: Callable[[int, int], str]) -> str | None:
    """Labels without a scheme of which many are spelt as if they had one: B-PER, I-PER and 0 where O was meant."""
    spans = [
        (sentence, token, label)
        for sentence, labels in enumerate(sequences)
        for token, label in enumerate(labels)
        if _spells_span(label)
    ]
    others = Counter(label for labels in sequences for label in labels if label != "O" and not _spells_span(label))
    prefixes = {label.partition("-")[0] for _, _, label in spans}
    if not others or not spans or (len(prefixes) == 1 and len(spans) < _FEW * others.total()):
        return None  # parts of speech, one of which has a hyphen
    sentence, token, first = spans[0]
    return (
        f"{len(spans):,} labels spell spans, first {place(sentence, token)}: {first!r}, but {others.total():,} labels "
        f"do not, such as {others.most_common(1)[0][0]!r}; all are read as labels without spans and scored by token "
        f"accuracy (the label outside of spans is 'O')"
    )


_FEW = 0.05


def _spells_span(label: str) -> bool:
    """``B-PER``, also ``b-per``."""
    prefix, _, name = label.partition("-")
    return bool(name) and prefix.upper() in _PREFIXES and not isinstance(label, PartialLabel)


_PREFIXES = frozenset(letter for letters in LETTERS.values() for letter in letters)


def _in_sentence(sentence: int, token: int) -> str:
    return f"in sentence {sentence + 1}, token {token + 1}"


def summarise(report: SchemeReport, place: str = "") -> str:
    """One line on a report with breaks: how many, where the first one is (``place``, if given) and how it looks."""
    places = "1 label" if report.broken == 1 else f"{report.broken:,} labels"
    sentences = "1 sentence" if report.sentences == 1 else f"{report.sentences:,} sentences"
    verb = "violates" if report.broken == 1 else "violate"
    sentence, token = report.first or (0, 0)
    line = f"{places} in {sentences} {verb} the {report.scheme.upper()} scheme"
    return f"{line}, first {place or _in_sentence(sentence, token)}: {report.example}"


def _describe(labels: Sequence[str], position: int, scheme: str) -> str:
    """A description of what is wrong at ``position``."""
    label, before = labels[position], labels[position - 1] if position else "O"
    if not belongs(label, scheme):
        return f"{label!r} is not a label of this scheme"
    if may_follow(before, label, scheme):
        return f"{label!r} at the end of the sentence"
    return f"{label!r} after {repr(before) if position else 'the start of the sentence'}"
