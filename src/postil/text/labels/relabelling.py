"""The labels of a stream of sentences in another scheme; what breaks the scheme is counted."""

from collections.abc import Iterable, Iterator
from itertools import chain, islice

from postil.errors import ConfigurationError, DataError
from postil.text.document import Sentence
from postil.text.labels.partial import is_partial, with_marks
from postil.text.labels.possible import respelt
from postil.text.labels.schemes import convert, recognise, violations
from postil.text.report import Report

SAMPLE = 10_000
"""Sentences from which a scheme is recognised."""


def peek_scheme(sentences: Iterable[Sentence]) -> tuple[str, Iterator[Sentence]]:
    """The scheme of the first sentences ("none" if they have no labels), and all the sentences again."""
    iterator = iter(sentences)
    sample = list(islice(iterator, SAMPLE))
    labelled = [sentence for sentence in sample if sentence.labels is not None]
    labels = with_marks([sentence.labels or [] for sentence in labelled], [sentence.tokens for sentence in labelled])
    return recognise(labels) if labelled else "none", chain(sample, iterator)


def relabel(
    sentences: Iterable[Sentence], source: str, target: str, report: Report, *, name: str, strict: bool = False
) -> Iterator[Sentence]:
    """The sentences with their labels in the scheme ``target``.

    Labels that break ``source`` are read by conlleval's rules and counted, or refused if ``strict``.
    """
    if (source == "none") != (target == "none"):
        raise ConfigurationError(
            f"cannot turn labels of scheme {source!r} into {target!r}",
            expected="a span scheme such as BIO on both sides",
            where=name,
        )
    for sentence in sentences:
        if sentence.labels is not None and source != "none":
            (sentence.labels,) = map(list, with_marks([sentence.labels], partial=True))
            broken = violations(sentence.labels, source)
            if broken:
                _count_broken(sentence, broken[0], len(broken), source, report, name, strict)
            if broken or source != target:
                respell = respelt if is_partial(sentence.labels) else convert
                sentence.labels = respell(sentence.labels, source, target)
        yield sentence


def _count_broken(
    sentence: Sentence, position: int, number: int, scheme: str, report: Report, name: str, strict: bool
) -> None:
    labels = sentence.labels or []
    if strict:
        before = labels[position - 1] if position else "the start of the sentence"
        raise DataError(
            f"a label violates the {scheme.upper()} scheme",
            expected="a label that may follow",
            got=f"{labels[position]} after {before}",
            where=f"{name}, line {sentence.line}, token {position + 1}",
        )
    report.changed[f"labels that violate the {scheme.upper()} scheme, read by conlleval's rules"] += number
