"""Which labels each token can have, given partial annotation: the smallest set per token that loses no labelling.

A labelling of spans is *possible* if, spelt in the scheme of the data, it agrees with every label and every mark. Here
the labels are those of an inner scheme (IOBES, or BIO), which the network learns; one label of the data may be several
inner ones (B-PER of BIO is B-PER or S-PER), and which one depends on tokens that may be unknown.

A label is kept at a token if it lies on a possible labelling: reachable from the left and from the right. For BIO and
IOBES data the valid labellings under the kept labels are exactly the possible ones. In IOB1 the letter of a token
depends on the token before it, which sets per token cannot say: the kept labels are then the smallest sets that hold
all possible labellings, and may hold a few more.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from postil.text.labels.partial import classes_of
from postil.text.labels.partial_label import SEPARATOR, UNKNOWN, PartialLabel
from postil.text.labels.schemes import LETTERS, Span, labels_from_spans, parse_label, spans_from_labels, transition_mask

Flags = NDArray[np.bool_]

# How a label's role in the data may be spelt in IOBES; BIO as the inner scheme has only the first of each pair.
_SPELLINGS = {"O": "O", "B": "BS", "I": "IE"}
_SAME = {role: role for role in "OBIES"}


class _Choice(NamedTuple):
    """The inner labels (L,) that agree with a label or mark: behind a touching span of the same class, and else."""

    touching: Flags
    otherwise: Flags


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
        self._choices: dict[tuple[bool, str], _Choice] = {}

    def __call__(self, labels: Sequence[str]) -> Flags:
        """(T, L) of one sentence.

        Labels that break their scheme are read by conlleval's rules, as far as their neighbours are known; where
        nothing agrees even then, every label stands for its class.
        """
        if self.scheme == "none":
            return np.array([self._choice(label).otherwise for label in labels]).reshape(-1, len(self.labels))
        for reading in (self._as_written, self._mended, self._classes_only):
            possible = self._on_some_path(reading(labels))
            if possible.any() or not len(labels):
                return possible
        raise AssertionError("classes alone always have a labelling")

    # -------------------------------------------------------------------------------------------- one token

    def _choice(self, label: str) -> _Choice:
        key = isinstance(label, PartialLabel), str(label)
        if key not in self._choices:
            self._choices[key] = (
                self._union(label.alternatives) if isinstance(label, PartialLabel) else self._one(label)
            )
        return self._choices[key]

    def _union(self, alternatives: Sequence[str]) -> _Choice:
        if not alternatives:
            everything = np.ones(len(self.labels), bool)
            return _Choice(everything, everything)
        choices = [self._one(alternative) for alternative in alternatives]
        return _Choice(*(np.logical_or.reduce(sides) for sides in zip(*choices, strict=True)))

    def _one(self, label: str) -> _Choice:
        """A label, or where it is one of several a class."""
        if self.scheme == "none":
            return _twice(np.array([label == other for other in self.labels]))
        if label in self._names:
            return _twice((self._classes == label) & (self._roles != "O"))
        tag = parse_label(label)
        if tag.role == "O":
            return _twice(self._roles == "O")
        of_class = self._classes == tag.label
        if self.scheme != "iob1":
            spellings = _SPELLINGS if self.scheme == "bio" else _SAME
            return _twice(of_class & np.isin(self._roles, [*spellings[tag.role]]))
        opening, inside = of_class & np.isin(self._roles, ["B", "S"]), of_class & np.isin(self._roles, ["I", "E"])
        nothing = np.zeros(len(self.labels), bool)
        return _Choice(opening, nothing) if tag.role == "B" else _Choice(inside, opening | inside)

    # -------------------------------------------------------------------------------------------- one sentence

    def _on_some_path(self, choices: Sequence[_Choice]) -> Flags:
        """(T, L) labels that lie on a valid labelling which agrees with all choices."""
        T = len(choices)
        forward, backward = np.zeros((T, len(self.labels)), bool), np.zeros((T, len(self.labels)), bool)
        for t, choice in enumerate(choices):
            if t == 0:
                forward[t] = self._start & choice.otherwise
            else:
                before = forward[t - 1].astype(np.float32)
                forward[t] = choice.otherwise & (before @ self._others > 0)
                forward[t] |= choice.touching & (before @ self._touching > 0)
        if T:
            backward[-1] = self._end
        for t in range(T - 1, 0, -1):
            touching, otherwise = ((side & backward[t]).astype(np.float32) for side in choices[t])
            backward[t - 1] = (self._others @ otherwise > 0) | (self._touching @ touching > 0)
        return forward & backward

    def _as_written(self, labels: Sequence[str]) -> list[_Choice]:
        return [self._choice(label) for label in labels]

    def _mended(self, labels: Sequence[str]) -> list[_Choice]:
        return [self._choice(label) for label in mended(labels, self.scheme)]

    def _classes_only(self, labels: Sequence[str]) -> list[_Choice]:
        return [self._class_of(label) for label in labels]

    def _class_of(self, label: str) -> _Choice:
        """Every place in a span of the classes that a choice has."""
        touching, otherwise = self._choice(label)
        names = {*self._classes[touching | otherwise].tolist()}
        outside = (self._roles == "O") & (touching | otherwise)
        return _twice(outside | ((self._roles != "O") & np.isin(self._classes, [*names])))


def _twice(flags: Flags) -> _Choice:
    return _Choice(flags, flags)


# ------------------------------------------------------------------------------------------------ broken labels


def mended(labels: Sequence[str], scheme: str) -> list[str]:
    """The labels between two marks, where they break their scheme, as conlleval reads them.

    Beside a mark a span may go on: there a label keeps its role.
    """
    answer: list[str] = list(labels)
    for start, end in runs(labels, lambda label: not isinstance(label, PartialLabel)):
        if scheme in ("bio", "iob1"):
            new = _respelt(labels[start:end], scheme)
            new[0] = labels[start] if start else new[0]
        else:
            new = _respelt(labels[start:end], "iobes")
            if end < len(labels) and parse_label(labels[end - 1]).role in "BI":
                new[-1] = _moved(new[-1], {"S": "B", "E": "I"})
            if start and parse_label(labels[start]).role in "IE":
                new[0] = _moved(new[0], {"B": "I", "S": "E"})
        answer[start:end] = new
    return answer


def _respelt(labels: Sequence[str], scheme: str) -> list[str]:
    return labels_from_spans(spans_from_labels(labels, scheme), len(labels), scheme)


def _moved(label: str, roles: dict[str, str]) -> str:
    return roles.get(label[0], label[0]) + label[1:]


def runs(items: Sequence[str], wanted: Callable[[str], bool]) -> list[tuple[int, int]]:
    """Start and end of every longest stretch of wanted items."""
    edges = np.flatnonzero(np.diff([False, *map(wanted, items), False]))
    return [(int(start), int(end)) for start, end in edges.reshape(-1, 2)]


# ------------------------------------------------------------------------------------------------ another scheme

_OTHER_CLASS = "\0"  # stands for all classes that a sentence does not name


def respelt(labels: Sequence[str], source: str, target: str) -> list[str]:
    """The labels of a sentence with unknown ones in another span scheme; ``?`` stays ``?``.

    A label whose spelling depends on an unknown neighbour becomes a choice: B-PER of BIO before ``?`` is B-PER|S-PER of
    IOBES.
    """
    names = [*sorted(classes_of([labels])), _OTHER_CLASS]
    inner = iobes_labels(names)
    possible = PossibleLabels(inner, "iobes", source)(labels)
    answer: list[str] = []
    for t, label in enumerate(labels):
        choices = [inner[i] for i in np.flatnonzero(possible[t])]
        before = {parse_label(inner[i]).label for i in np.flatnonzero(possible[t - 1])} if t else {""}
        spellings = [*dict.fromkeys(text for one in choices for text in _spelt(one, target, before))]
        unknown = label == UNKNOWN or any(_OTHER_CLASS in text for text in spellings)
        answer.append(PartialLabel(UNKNOWN) if unknown else _joined(spellings))
    return answer


def _joined(spellings: list[str]) -> str:
    return spellings[0] if len(spellings) == 1 else PartialLabel(SEPARATOR.join(spellings))


def _spelt(label: str, scheme: str, before: set[str]) -> list[str]:
    """An IOBES label in another scheme; two spellings where IOB1 depends on which class stands ``before``."""
    role, name, _ = parse_label(label)
    if role == "O":
        return ["O"]
    if scheme == "iob1":
        touching = name in before
        letters = ["I"] * (role in "IE" or before != {name}) + ["B"] * (role in "BS" and touching)
    else:
        letters = [LETTERS[scheme]["BIES".index(role)]]
    return [f"{letter}-{name}" if name else letter for letter in letters]


def iobes_labels(classes: Sequence[str]) -> list[str]:
    """All labels of some classes."""
    return ["O", *(f"{letter}-{name}" if name else letter for name in classes for letter in LETTERS["iobes"])]


# ------------------------------------------------------------------------------------------------ spans


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
        return [span for span in spans_from_labels(only, "iobes") if self._is_certain(span, only)]

    def _is_certain(self, span: Span, only: Sequence[str]) -> bool:
        return [self._number[label] for label in only[span.start : span.end]] == self._numbers(span)

    def _numbers(self, span: Span) -> list[int]:
        length = span.end - span.start
        return [self._number[label] for label in labels_from_spans([Span(span.label, 0, length)], length, "iobes")]
