"""Partial annotation: which strings of a corpus are marks, and which classes a corpus annotates at all.

Where labels spell spans (B-PER), ``?`` and ``|`` are marks. Where they have no scheme (parts of speech) both may be
labels of their own: there ``?`` is a mark if some of its tokens have a letter or a digit (the tag of question marks
has not), and ``A|B`` if A and B both occur alone (and are no features such as Case=Nom).
"""

import re
from collections.abc import Iterable, Sequence
from itertools import chain

from postil.errors import DataError
from postil.text.annotations.records import Record
from postil.text.document import Sentence
from postil.text.labels.partial_label import SEPARATOR, UNKNOWN, PartialLabel, looks_like_mark
from postil.text.labels.schemes import parse_label, recognise

Labels = Sequence[Sequence[str]]

_ANNOTATES = re.compile(r"#\s*annotates\s*[=:]\s*(.*)")


def with_marks(
    sequences: Labels,
    tokens: Sequence[Sequence[object]] | None = None,
    *,
    partial: bool | None = None,
    known: Iterable[str] = (),
) -> Labels:
    """The labels, with a `PartialLabel` for every string that marks an unknown label.

    With ``partial=True``, everything that looks like a mark is one; with False, nothing; None decides by the rules
    above. A token is a form or a tuple that begins with it. Labels in ``known`` (those of a model) always stand for
    themselves.
    """
    if partial is False:
        return sequences
    distinct = {label for label in chain.from_iterable(sequences) if not isinstance(label, PartialLabel)}
    candidates = {label for label in distinct if looks_like_mark(label)}.difference(known)
    marks = candidates if partial or not candidates else _marks_among(candidates, distinct, sequences, tokens)
    if not marks:
        return sequences
    by_label = {label: PartialLabel(label) for label in marks}
    return [[by_label.get(label, label) for label in labels] for labels in sequences]


def _marks_among(
    candidates: set[str], distinct: set[str], sequences: Labels, tokens: Sequence[Sequence[object]] | None
) -> set[str]:
    marked = [[PartialLabel(label) if label in candidates else label for label in labels] for labels in sequences]
    if recognise(marked) != "none":
        return candidates
    alone = distinct - candidates
    marks = {label for label in candidates - {UNKNOWN} if _is_choice(label, alone)}
    return marks | ({UNKNOWN} if _stands_on_words(sequences, tokens) else set())


def _is_choice(label: str, alone: set[str]) -> bool:
    return "=" not in label and alone.issuperset(PartialLabel(label).alternatives)


def _stands_on_words(sequences: Labels, tokens: Sequence[Sequence[object]] | None) -> bool:
    """Whether ``?`` is the label of something else than punctuation."""
    pairs = chain.from_iterable(map(zip, tokens or (), sequences))
    return any(label == UNKNOWN and any(map(str.isalnum, _form(token))) for token, label in pairs)


def _form(token: object) -> str:
    return token if isinstance(token, str) else str(token[0]) if isinstance(token, tuple) else ""


def is_partial(labels: Sequence[str]) -> bool:
    """Whether a sentence has a mark."""
    return any(isinstance(label, PartialLabel) for label in labels)


def is_unknown(labels: Sequence[str]) -> bool:
    """Whether nothing at all is known about a sentence."""
    return all(label == UNKNOWN and isinstance(label, PartialLabel) for label in labels)


def count_marks(sequences: Labels) -> dict[str, int]:
    """How many tokens are unknown, and of how many several labels are possible."""
    marks = [label for label in chain.from_iterable(sequences) if isinstance(label, PartialLabel)]
    unknown = marks.count(PartialLabel(UNKNOWN))
    return {"unknown": unknown, "several": len(marks) - unknown}


# ------------------------------------------------------------------------------------------------ classes in labels


def classes_of(sequences: Labels) -> set[str]:
    """The entity classes of labels and marks of a span scheme."""
    marks = {label for label in chain.from_iterable(sequences) if isinstance(label, PartialLabel)}
    tags = map(parse_label, {label for label in chain.from_iterable(sequences) if not isinstance(label, PartialLabel)})
    classes = {tag.label for tag in tags if tag.role != "O"}
    return classes | {name for mark in marks for part in mark.alternatives for name in _class_of(part, classes)}


def _class_of(alternative: str, classes: set[str]) -> list[str]:
    if alternative in classes:
        return [alternative]
    tag = parse_label(alternative)
    if tag.known:
        return [tag.label] if tag.role != "O" else []
    return [alternative]


# ------------------------------------------------------------------------------------------------ annotated classes

Annotates = Sequence[str] | Sequence[Sequence[str] | None] | None
"""The classes that all sentences annotate, or those of each sentence; None: all of them."""


def annotated_classes(sentences: Iterable[Sentence]) -> list[tuple[str, ...] | None]:
    """The classes that each sentence annotates, or None if it does not say.

    A comment ``# annotates = PER LOC`` applies from its sentence onwards; the field ``"annotates": ["PER", "LOC"]`` of
    a JSON object applies to that object.
    """
    current: tuple[str, ...] | None = None
    classes = []
    for sentence in sentences:
        for comment in sentence.comments:
            match = _ANNOTATES.fullmatch(comment.strip())
            current = parse_classes(match[1]) if match else current
        classes.append(_of_record(sentence) or current)
    return classes


def parse_classes(text: str) -> tuple[str, ...]:
    """``PER, LOC`` or ``PER LOC``."""
    return tuple(text.replace(",", " ").split())


def _of_record(sentence: Sentence) -> tuple[str, ...] | None:
    names = sentence.rest.fields.get("annotates") if isinstance(sentence.rest, Record) else None
    if names is None:
        return None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        where = f"line {sentence.line}"
        raise DataError("annotates is not a list of classes", expected='["PER", "LOC"]', got=repr(names), where=where)
    return tuple(names)


def per_sentence(annotates: Annotates, number: int) -> list[tuple[str, ...] | None]:
    """What users hand over, as one entry per sentence."""
    if annotates is None:
        return [None] * number
    if isinstance(annotates, str):
        raise DataError("annotates", expected="a list of classes", got=repr(annotates))
    if annotates and all(isinstance(entry, str) for entry in annotates):
        return [tuple(str(name) for name in annotates)] * number
    if len(annotates) != number:
        raise DataError("annotates", expected=f"one list of classes, or {number} of them", got=f"{len(annotates)}")
    return [None if entry is None else tuple(entry) for entry in annotates]


def widened(
    sequences: Labels, annotates: Sequence[Sequence[str] | None], classes: Iterable[str], scheme: str
) -> Labels:
    """Where a sentence does not annotate all ``classes``, its O means O or one of the others.

    Without a scheme, classes are the labels themselves, and O is one of them.
    """
    known = sorted({*classes} - {"O"})
    marks: dict[tuple[str, ...], PartialLabel | None] = {}
    answers: list[Sequence[str]] = []
    for number, (labels, annotated) in enumerate(zip(sequences, annotates, strict=True)):
        if annotated is None:
            answers.append(labels)
            continue
        _check_annotated(labels, annotated, scheme, number)
        if tuple(annotated) not in marks:
            others = [name for name in known if name not in annotated]
            marks[tuple(annotated)] = PartialLabel(SEPARATOR.join(["O", *others])) if others else None
        wide = marks[tuple(annotated)]
        answers.append(labels if wide is None else [wide if label == "O" else label for label in labels])
    return answers


def _check_annotated(labels: Sequence[str], classes: Sequence[str], scheme: str, number: int) -> None:
    sure = [label for label in labels if not isinstance(label, PartialLabel)]
    strangers = ({*sure} if scheme == "none" else classes_of([sure])) - {*classes, "O"}
    if strangers:
        raise DataError(
            "a label of a class that is not annotated there",
            expected=f"one of {', '.join(classes) or 'none'}, as annotates says",
            got=repr(min(strangers)),
            where=f"sentence {number}",
        )
