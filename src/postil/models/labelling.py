"""Between the labels of the user's data and the label numbers of a network.

Span labels are learnt as IOBES, whatever scheme the data use: the ends of entities get labels of their own, which
learn better. Valid sequences of IOB1, BIO and IOBES are in one-to-one correspondence, so probabilities of whole
labellings carry over; answers come in the scheme of the data. With very many classes BIO labels stay BIO: the cost of a
CRF grows with the square of its labels.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, final

import numpy as np

from postil.arrays import Array
from postil.errors import DataError
from postil.objectives.crf_spans import EntityLabels
from postil.text import Span, TransitionMask, labels_from_spans, recognise, spans_from_labels, transition_mask
from postil.text.partial import Annotates, Labels, classes_of, is_partial, is_unknown, per_sentence, widened
from postil.text.partial_label import UNKNOWN, PartialLabel
from postil.text.possible import PossibleLabels
from postil.text.schemes import LETTERS, convert

MANY_CLASSES = 100


@final
@dataclass(frozen=True, eq=False)
class Labelling:
    """``scheme`` of the data and ``classes``: entity classes for span schemes, else the labels themselves."""

    scheme: str
    classes: tuple[str, ...]

    @classmethod
    def of(cls, sequences: Sequence[Sequence[str]]) -> Self:
        """The scheme and the classes that occur in training labels and marks."""
        if sequences and all(map(is_unknown, sequences)):
            raise DataError("every token is unknown", expected="some labels", got=f"nothing but {UNKNOWN!r}")
        scheme = recognise(sequences)
        if scheme == "none":
            return cls(scheme, tuple(sorted(_single_labels(sequences))))
        if scheme == "iobes":
            scheme = _letters_in_use(_single_labels(sequences))
        return cls(scheme, tuple(sorted(classes_of(sequences))))

    @property
    def has_spans(self) -> bool:
        return self.scheme != "none"

    @property
    def inner(self) -> str:
        """The scheme of the network's labels."""
        if not self.has_spans:
            return "none"
        return "bio" if self.scheme in ("bio", "iob1") and len(self.classes) > MANY_CLASSES else "iobes"

    @cached_property
    def labels(self) -> list[str]:
        """The network's labels, in the order of their numbers."""
        if not self.has_spans:
            return list(self.classes)
        letters = dict.fromkeys(LETTERS[self.inner])
        return ["O", *(_spelt(letter, name) for name in self.classes for letter in letters)]

    def extended(self, sequences: Sequence[Sequence[str]]) -> "Labelling":
        """The same classes under the same numbers, and behind them those that are new in ``sequences``."""
        other = Labelling.of(sequences)
        if other.has_spans != self.has_spans:
            kinds = {True: "spans, as B-PER", False: "labels without a scheme"}
            raise DataError("labels", expected=kinds[self.has_spans], got=kinds[other.has_spans])
        return Labelling(other.scheme, self.classes + tuple(c for c in other.classes if c not in self.classes))

    @cached_property
    def mask(self) -> TransitionMask:
        return transition_mask(self.labels, self.inner)

    def numbers(self, sequences: Iterable[Sequence[str]]) -> list[Array]:
        """Label numbers (T,) of each sentence; where it has marks, (T, L) the labels that are possible.

        An unknown class or label is an error.
        """
        number = {label: i for i, label in enumerate(self.labels)}
        return [
            self._possible(labels)
            if is_partial(labels)
            else np.array([self._number(number, label) for label in self._inner(labels)])
            for labels in sequences
        ]

    def widened(self, sequences: Labels, annotates: Annotates) -> Labels:
        """The labels of sentences that do not annotate all classes: their O may be one of the others."""
        entries = per_sentence(annotates, len(sequences))
        if not any(entry is not None for entry in entries):
            return sequences
        if not self.has_spans and "O" not in self.classes:
            raise DataError("annotates", expected="a label O for what is none of the classes", got="no such label")
        return widened(sequences, entries, self.classes, self.scheme)

    @cached_property
    def _possible(self) -> PossibleLabels:
        return PossibleLabels(self.labels, self.inner, self.scheme)

    def texts(self, numbers: Array) -> list[str]:
        """One sentence's label numbers (T,) as labels of the data's scheme."""
        inner = [self.labels[i] for i in numbers]
        return inner if not self.has_spans else convert(inner, self.inner, self.scheme)

    def spans(self, numbers: Array) -> list[Span]:
        """The entities of one sentence; none where labels have no scheme."""
        return spans_from_labels([self.labels[i] for i in numbers], self.inner) if self.has_spans else []

    def entity_labels(self) -> list[EntityLabels]:
        """How each class of entity is written, for the probabilities of spans."""
        number = {label: i for i, label in enumerate(self.labels)}
        make: Callable[..., EntityLabels] = EntityLabels.bio if self.inner == "bio" else EntityLabels.iobes
        places = {"begin": "B", "inside": "I"} | ({} if self.inner == "bio" else {"end": "E", "single": "S"})
        return [
            make(len(number), **{place: number[_spelt(letter, name)] for place, letter in places.items()})
            for name in self.classes
        ]

    def marginals(self, probabilities: Array) -> list[dict[str, float]]:
        """(T, L) as one {label: probability} per token, in BIO for IOB1 data (its B depends on the neighbour)."""
        spellings = self._spellings
        answers = []
        for row in probabilities:
            merged = dict.fromkeys(spellings, 0.0)
            for label, probability in zip(spellings, map(float, row), strict=True):
                merged[label] += probability
            answers.append(merged)
        return answers

    def probabilities_of(self, numbers: Array, probabilities: Array) -> Array:
        """(N,) how probable each token's answer is: labels that the data's scheme spells alike add up."""
        shared = np.unique(self._spellings, return_inverse=True)[1]
        return np.asarray((probabilities * (shared == shared[numbers][:, None])).sum(axis=1))

    @property
    def answers(self) -> list[str]:
        """What predictions consist of."""
        return self.data_labels()

    def data_labels(self) -> list[str]:
        """The labels that may occur in answers, in the scheme of the data."""
        return list(dict.fromkeys(self._spellings))

    @cached_property
    def _spellings(self) -> list[str]:
        """For each label of the network the label of the data's scheme; two of them share one in BIO."""
        if self.inner != "iobes":
            return self.labels
        first, middle, last, only = LETTERS[self.scheme]
        return ["O", *(_spelt(letter, name) for name in self.classes for letter in (first, middle, last, only))]

    def _inner(self, labels: Sequence[str]) -> Sequence[str]:
        if not self.has_spans:
            return labels
        return labels_from_spans(spans_from_labels(labels, self.scheme), len(labels), self.inner)

    def _number(self, number: dict[str, int], label: str) -> int:
        if label not in number:
            known = ", ".join(self.classes[:12])
            raise DataError("unknown label", expected=f"one of {known}", got=repr(label))
        return number[label]

    def as_json(self) -> dict[str, Any]:
        return {"scheme": self.scheme, "classes": list(self.classes)}


def _single_labels(sequences: Iterable[Sequence[str]]) -> set[str]:
    """Labels, also those that occur only as one of several."""
    found = {label for labels in sequences for label in labels if not isinstance(label, PartialLabel)}
    marks = {label for labels in sequences for label in labels if isinstance(label, PartialLabel)}
    return found.union(*(mark.alternatives for mark in marks))


def _letters_in_use(labels: Iterable[str]) -> str:
    """BILOU and BMEWO are IOBES in other letters, and their users want them back."""
    prefixes = {label.partition("-")[0] for label in labels}
    return "bilou" if prefixes & {"L", "U"} else "bmewo" if prefixes & {"M", "W"} else "iobes"


def _spelt(letter: str, name: str) -> str:
    """A bare letter where entities have no class."""
    return f"{letter}-{name}" if name else letter
