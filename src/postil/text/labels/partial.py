"""Partial annotation: which strings of a corpus are marks, and which classes a corpus annotates at all.

If labels spell spans (B-PER), ``?`` and ``|`` are marks. If they have no scheme (parts of speech) both may be
ordinary labels: there ``?`` is a mark if some of its tokens have a letter or a digit (the tag of question marks
has not), and ``A|B`` if A and B both occur alone (and are not features such as Case=Nom).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice, pairwise
from typing import final

import numpy as np
from numpy.typing import NDArray

from postil.errors import ConfigurationError, DataError
from postil.text.annotations.annotated import Record
from postil.text.document import Sentence
from postil.text.labels.schemes import (
    IO,
    LETTERS,
    SEPARATOR,
    UNKNOWN,
    PartialLabel,
    Span,
    convert,
    from_io,
    labels_from_spans,
    looks_like_mark,
    parse_label,
    recognise,
    spans_from_labels,
    transition_mask,
    violations,
)
from postil.text.report import Report

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
    marks = candidates = {label for label in distinct if looks_like_mark(label)}.difference(known)
    if not candidates:
        return sequences
    marked = [[PartialLabel(label) if label in candidates else label for label in labels] for labels in sequences]
    if not partial and recognise(marked) == "none":
        alone, choices = distinct - candidates, (label for label in candidates - {UNKNOWN} if "=" not in label)
        marks = {label for label in choices if alone.issuperset(PartialLabel(label).alternatives)}
        for token, label in chain.from_iterable(map(zip, tokens or (), sequences)):
            form = str(token[0]) if isinstance(token, tuple) else token if isinstance(token, str) else ""
            if label == UNKNOWN and any(map(str.isalnum, form)):  # not only the tag of question marks
                marks.add(UNKNOWN)
                break
    if not marks:
        return sequences
    by_label = {label: PartialLabel(label) for label in marks}
    return [[by_label.get(label, label) for label in labels] for labels in sequences]


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


def classes_of(sequences: Labels) -> set[str]:
    """The entity classes of labels and marks of a span scheme."""
    distinct = {(isinstance(label, PartialLabel), label) for label in chain.from_iterable(sequences)}
    tags = [parse_label(label) for is_mark, label in distinct if not is_mark]
    classes = {tag.label for tag in tags if tag.role != "O"}
    for part in {part for is_mark, mark in distinct if is_mark for part in PartialLabel(mark).alternatives} - classes:
        tag = parse_label(part)  # a label, or the name of a class that occurs in marks alone
        if not tag.known or tag.role != "O":
            classes.add(tag.label if tag.known else part)
    return classes


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
        names = sentence.rest.fields.get("annotates") if isinstance(sentence.rest, Record) else None
        if names is not None and (not isinstance(names, list) or not all(isinstance(name, str) for name in names)):
            what, where = "annotates is not a list of classes", f"line {sentence.line}"
            raise DataError(what, expected='["PER", "LOC"]', got=repr(names), where=where)
        classes.append(tuple(names or ()) or current)
    return classes


def parse_classes(text: str) -> tuple[str, ...]:
    """``PER, LOC`` or ``PER LOC``."""
    return tuple(text.replace(",", " ").split())


def per_sentence(annotates: Annotates, number: int) -> list[tuple[str, ...] | None]:
    """Convert ``annotates`` as users pass it to one entry per sentence."""
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
    """Where a sentence does not annotate all ``classes`` (or labels), its O means O or one of the others."""
    known = sorted({*classes} - {"O"})
    marks: dict[tuple[str, ...], PartialLabel | None] = {}
    answers: list[Sequence[str]] = []
    for number, (labels, annotated) in enumerate(zip(sequences, annotates, strict=True)):
        if annotated is None:
            answers.append(labels)
            continue
        sure = [label for label in labels if not isinstance(label, PartialLabel)]
        strangers = ({*sure} if scheme == "none" else classes_of([sure])) - {*annotated, "O"}
        if strangers:
            what, where = "a label of a class that is not annotated there", f"sentence {number}"
            expected = f"one of {', '.join(annotated) or 'none'}, as annotates says"
            raise DataError(what, expected=expected, got=repr(min(strangers)), where=where)
        if tuple(annotated) not in marks:
            others = [name for name in known if name not in annotated]
            marks[tuple(annotated)] = PartialLabel(SEPARATOR.join(["O", *others])) if others else None
        wide = marks[tuple(annotated)]
        answers.append(labels if wide is None else [wide if label == "O" else label for label in labels])
    return answers


# Which labels each token can have: the smallest set per token that loses no labelling. A labelling of spans is
# *possible* if, spelled in the data's scheme, it agrees with every label and mark. Here the labels are those of an
# inner scheme (IOBES, or BIO), which the network learns; one label of the data may be several inner ones (B-PER of BIO
# is B-PER or S-PER), and which one depends on tokens that may be unknown. A label is kept at a token if it lies on a
# possible labelling: reachable from the left and from the right. For BIO and IOBES data the valid labellings under the
# kept labels are exactly the possible ones. In IOB1 the letter of a token depends on the token before it, which sets
# per token cannot say: the kept labels are then the smallest sets that hold all possible labellings, and may hold a
# few more.
Flags = NDArray[np.bool_]

# How a label's role in the data may be spelled in IOBES; BIO as the inner scheme has only the first of each pair.
_SPELLINGS = {"O": "O", "B": "BS", "I": "IE"}


Choice = tuple[Flags, Flags]
"""The inner labels (L,) that agree with a label or mark: behind a touching span of the same class, and else."""


@final
class PossibleLabels:
    """Which ``labels`` of the inner scheme each token can have, for data in another scheme."""

    def __init__(self, labels: Sequence[str], inner: str, scheme: str) -> None:
        self.labels, self.scheme = list(labels), scheme
        mask = transition_mask(self.labels, inner)
        tags = [parse_label(label) if inner != "none" else None for label in self.labels]
        self._roles = np.array([tag.role if tag else "" for tag in tags])
        self._classes = np.array([tag.label if tag else "" for tag in tags], object)
        numbers = np.unique(self._classes.astype(str), return_inverse=True)[1]
        same = (numbers[:, None] == numbers) & (self._roles != "O")[:, None]
        touching = mask.transitions & same & np.isin(self._roles, ["B", "S"])
        self._start, self._end = mask.start, mask.end
        self._touching, self._others = touching.astype(np.float32), (mask.transitions & ~touching).astype(np.float32)
        self._names = {*self._classes[self._roles != "O"].tolist()} if inner != "none" else set()
        self._choices: dict[tuple[bool, str], Choice] = {}

    def __call__(self, labels: Sequence[str]) -> Flags:
        """(T, L) of one sentence.

        If nothing agrees with the labels, because they break their scheme, every label stands for its class.
        """
        if self.scheme == "none":
            return np.array([self._choice(label)[1] for label in labels]).reshape(-1, len(self.labels))
        possible = self._on_some_path(list(map(self._choice, labels)))
        if not possible.any() and len(labels):
            choices = []  # every place in a span of the classes that a choice has
            for touching, otherwise in map(self._choice, labels):
                outside = (self._roles == "O") & (touching | otherwise)
                names = [*{*self._classes[touching | otherwise].tolist()}]
                choices.append((outside | ((self._roles != "O") & np.isin(self._classes, names)),) * 2)
            possible = self._on_some_path(choices)
        return possible

    def _choice(self, label: str) -> Choice:
        key = isinstance(label, PartialLabel), str(label)
        if key not in self._choices:
            alternatives = label.alternatives if isinstance(label, PartialLabel) else (label,)
            ones = [self._one(alternative) for alternative in alternatives] or [(np.ones(len(self.labels), bool),) * 2]
            touching, otherwise = (np.logical_or.reduce(sides) for sides in zip(*ones, strict=True))
            self._choices[key] = touching, otherwise
        return self._choices[key]

    def _one(self, label: str) -> Choice:
        tag, is_inside = parse_label(label), self._roles != "O"
        of_class = self._classes == tag.label
        if self.scheme == "none":
            same = np.array([label == other for other in self.labels])
        elif label in self._names:
            same = (self._classes == label) & is_inside
        elif tag.role == "O":
            same = ~is_inside
        elif self.scheme != "iob1":
            same = of_class & np.isin(self._roles, [*(_SPELLINGS[tag.role] if self.scheme == "bio" else tag.role)])
        else:
            opening, inside = of_class & np.isin(self._roles, ["B", "S"]), of_class & np.isin(self._roles, ["I", "E"])
            return (opening, np.zeros_like(opening)) if tag.role == "B" else (inside, opening | inside)
        return same, same

    def _on_some_path(self, choices: Sequence[Choice]) -> Flags:
        """(T, L) labels that lie on a valid labelling which agrees with all choices."""
        T = len(choices)
        forward, backward = np.zeros((T, len(self.labels)), bool), np.zeros((T, len(self.labels)), bool)
        for t, (touching, otherwise) in enumerate(choices):
            if t == 0:
                forward[t] = self._start & otherwise
            else:
                before = forward[t - 1].astype(np.float32)
                forward[t] = (otherwise & (before @ self._others > 0)) | (touching & (before @ self._touching > 0))
        if T:
            backward[-1] = self._end
        for t in range(T - 1, 0, -1):
            glued, apart = ((side & backward[t]).astype(np.float32) for side in choices[t])
            backward[t - 1] = (self._others @ apart > 0) | (self._touching @ glued > 0)
        return forward & backward


def runs(marked: Iterable[bool]) -> list[tuple[int, int]]:
    """Start and end of every longest stretch of marked items."""
    edges = np.flatnonzero(np.diff([False, *marked, False]))
    return [(int(start), int(end)) for start, end in edges.reshape(-1, 2)]


def iobes_labels(classes: Sequence[str]) -> list[str]:
    """All labels of some classes."""
    return ["O", *(f"{letter}-{name}" if name else letter for name in classes for letter in LETTERS["iobes"])]


@final
class PossibleSpans:
    """The spans of one sentence that every possible labelling contains, and those that at least one contains."""

    def __init__(self, possible: Flags, number: dict[str, int]) -> None:
        """``possible`` (T, L) of IOBES labels, ``number`` of each of them."""
        self._possible, self._number = possible, number

    @classmethod
    def reader(cls, classes: Sequence[str], scheme: str) -> "Callable[[Sequence[str]], PossibleSpans]":
        """A function from the labels of a sentence to its PossibleSpans."""
        labels = iobes_labels(classes)
        possible, number = PossibleLabels(labels, "iobes", scheme), {label: i for i, label in enumerate(labels)}
        return lambda sequence: cls(possible(sequence), number)

    def has(self, span: Span) -> bool:
        """Whether some possible labelling contains the span."""
        return bool(all(self._possible[span.start + k, i] for k, i in enumerate(self._numbers(span))))

    def certain(self) -> list[Span]:
        """The spans that every possible labelling contains, in order."""
        names = [*self._number]
        alone = self._possible.sum(axis=1) == 1
        only = [names[int(row.argmax())] if one else "O" for row, one in zip(self._possible, alone, strict=True)]
        return [
            span
            for span in spans_from_labels(only, "iobes")
            if [self._number[label] for label in only[span.start : span.end]] == self._numbers(span)
        ]

    def _numbers(self, span: Span) -> list[int]:
        length = span.end - span.start
        return [self._number[label] for label in labels_from_spans([Span(span.label, 0, length)], length, "iobes")]


SAMPLE = 10_000  # sentences from which a scheme is recognised


def peek_scheme(sentences: Iterable[Sentence]) -> tuple[str, Iterator[Sentence]]:
    """The scheme of the first sentences ("none" if they have no labels), and all the sentences again."""
    iterator = iter(sentences)
    sample = list(islice(iterator, SAMPLE))
    labelled = [sentence for sentence in sample if sentence.labels is not None]
    labels = with_marks([sentence.labels or [] for sentence in labelled], [sentence.tokens for sentence in labelled])
    overlapping = any(sentence.spans is not None for sentence in sample)
    return recognise(labels) if labelled else "bio" if overlapping else "none", chain(sample, iterator)


def relabel(
    sentences: Iterable[Sentence], source: str, target: str, report: Report, *, name: str, strict: bool = False
) -> Iterator[Sentence]:
    """The sentences in the scheme ``target``. Labels that break ``source`` are counted, or refused if ``strict``."""
    if (source == "none") != (target == "none"):
        raise ConfigurationError(
            f"cannot turn labels of scheme {source!r} into {target!r}",
            expected="a span scheme such as BIO on both sides",
            where=name,
        )
    for sentence in sentences:
        if sentence.labels is not None and source != "none":
            (sentence.labels,) = map(list, with_marks([sentence.labels], partial=True))
            sentence.labels, scheme = (from_io(sentence.labels), "bio") if source == IO else (sentence.labels, source)
            broken = violations(sentence.labels, scheme)
            if broken and strict:
                at, labels = broken[0], sentence.labels
                raise DataError(
                    f"a label violates the {scheme.upper()} scheme",
                    expected="a label that may follow",
                    got=f"{labels[at]} after {labels[at - 1] if at else 'the start of the sentence'}",
                    where=f"{name}, line {sentence.line}, token {at + 1}",
                )
            what = f"labels that violate the {scheme.upper()} scheme, read by conlleval's rules"
            report.changed[what] += len(broken)
            if target == IO:
                spans = spans_from_labels(sentence.labels, scheme)
                touching = sum(one.label == two.label and one.end == two.start for one, two in pairwise(spans))
                report.changed["touching spans of one class, which are one span in IO"] += touching
                new = labels_from_spans(spans, len(sentence), IO)
                pairs = zip(sentence.labels, new, strict=True)
                sentence.labels = [label if isinstance(label, PartialLabel) else other for label, other in pairs]
            elif scheme != target and is_partial(sentence.labels):
                what, where = "marks of unknown labels in another scheme", f"{name}, line {sentence.line}"
                raise DataError(what, expected=f"a sentence without marks, or {scheme.upper()}", where=where)
            elif (broken or scheme != target) and not is_partial(sentence.labels):
                sentence.labels = convert(sentence.labels, scheme, target)
        yield sentence
