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
from postil.text.schemes import LETTERS, convert, parse_label

MANY_CLASSES = 100
OUTSIDE = "O"


@final
@dataclass(frozen=True, eq=False)
class Labelling:
    """``scheme`` of the data and ``classes``: entity classes for span schemes, else the labels themselves."""

    scheme: str
    classes: tuple[str, ...]

    @classmethod
    def of(cls, sequences: Sequence[Sequence[str]]) -> Self:
        """The scheme and the classes that occur in training labels."""
        scheme = recognise(sequences)
        found = {label for labels in sequences for label in labels}
        if scheme == "iobes":
            scheme = _letters_in_use(found)
        if scheme != "none":
            found = {parse_label(label).label for label in found if parse_label(label).role != "O"}
        return cls(scheme, tuple(sorted(found)))

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

    @property
    def outside(self) -> int | None:
        """The number of the label that says "no entity"; None where there is none."""
        return self.labels.index(OUTSIDE) if OUTSIDE in self.labels else None

    @cached_property
    def opens_entity(self) -> Array:
        """(L,) boolean: labels with which an entity begins; without a scheme all labels but O."""
        if self.has_spans:
            return np.array([label[0] in "BS" for label in self.labels])
        return np.array([label != OUTSIDE for label in self.labels])

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
        """Label numbers (T,) of each sentence. An unknown class or label is an error."""
        number = {label: i for i, label in enumerate(self.labels)}
        return [np.array([self._number(number, label) for label in self._inner(labels)]) for labels in sequences]

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

    def data_labels(self) -> list[str]:
        """The labels that may occur in answers, in the scheme of the data."""
        return list(dict.fromkeys(self._spellings))

    def names(self) -> list[tuple[str, str]]:
        """For each label of the network its label in the data's scheme, and its class ("O" for O)."""
        classes = [parse_label(label).label if label != OUTSIDE else OUTSIDE for label in self.labels]
        return list(zip(self._spellings, classes if self.has_spans else self.labels, strict=True))

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


def _letters_in_use(labels: Iterable[str]) -> str:
    """BILOU and BMEWO are IOBES in other letters, and their users want them back."""
    prefixes = {label.partition("-")[0] for label in labels}
    return "bilou" if prefixes & {"L", "U"} else "bmewo" if prefixes & {"M", "W"} else "iobes"


def _spelt(letter: str, name: str) -> str:
    """A bare letter where entities have no class."""
    return f"{letter}-{name}" if name else letter
