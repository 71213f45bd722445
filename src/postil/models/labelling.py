"""Between the labels of the user's data and the label numbers of a network.

Span labels are learnt as IOBES, whatever scheme the data use: the ends of entities get labels of their own, which
learn better. Valid sequences of IOB1, BIO and IOBES are in one-to-one correspondence, so probabilities of whole
labellings carry over; answers come in the scheme of the data.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self, final

import numpy as np

from postil.arrays import Array
from postil.errors import DataError
from postil.objectives.crf_spans import EntityLabels
from postil.text import Span, TransitionMask, labels_from_spans, recognise, spans_from_labels, transition_mask
from postil.text.schemes import convert, parse_label

INNER = "iobes"
UNKNOWN = "?"  # a token whose label nobody knows
EITHER = "|"  # between labels that are all possible


@final
@dataclass(frozen=True, eq=False)
class Labelling:
    """``scheme`` of the data and ``classes``: entity classes for span schemes, else the labels themselves."""

    scheme: str
    classes: tuple[str, ...]

    @classmethod
    def of(cls, sequences: Sequence[Sequence[str]]) -> Self:
        """The scheme and the classes that occur in training labels."""
        known = [[label for label in labels if label != UNKNOWN and EITHER not in label] for labels in sequences]
        scheme = recognise(known)
        found = {label for labels in known for label in labels}
        if scheme != "none":
            found = {parse_label(label).label for label in found if parse_label(label).role != "O"}
        return cls(scheme, tuple(sorted(found)))

    @property
    def has_spans(self) -> bool:
        return self.scheme != "none"

    @property
    def labels(self) -> list[str]:
        """The network's labels, in the order of their numbers."""
        if not self.has_spans:
            return list(self.classes)
        return ["O", *(f"{letter}-{name}" for name in self.classes for letter in "BIES")]

    @property
    def mask(self) -> TransitionMask:
        return transition_mask(self.labels, INNER if self.has_spans else "none")

    def numbers(self, sequences: Iterable[Sequence[str]]) -> list[Array]:
        """Label numbers (T,) of each sentence. An unknown class or label is an error."""
        number = {label: i for i, label in enumerate(self.labels)}
        return [np.array([self._number(number, label) for label in self._inner(labels)]) for labels in sequences]

    def texts(self, numbers: Array) -> list[str]:
        """One sentence's label numbers (T,) as labels of the data's scheme."""
        inner = [self.labels[i] for i in numbers]
        return inner if not self.has_spans else convert(inner, INNER, self.scheme)

    def spans(self, numbers: Array) -> list[Span]:
        """The entities of one sentence; none where labels have no scheme."""
        return spans_from_labels([self.labels[i] for i in numbers], INNER) if self.has_spans else []

    def entity_labels(self) -> list[EntityLabels]:
        """How each class of entity is written, for the probabilities of spans."""
        number = {label: i for i, label in enumerate(self.labels)}
        return [
            EntityLabels.iobes(
                len(number),
                begin=number[f"B-{name}"],
                inside=number[f"I-{name}"],
                end=number[f"E-{name}"],
                single=number[f"S-{name}"],
            )
            for name in self.classes
        ]

    def marginals(self, probabilities: Array) -> list[dict[str, float]]:
        """(T, L) as one {label: probability} per token, in BIO for IOB1 data (its B depends on the neighbour)."""
        if self.scheme in ("none", INNER):
            return [dict(zip(self.labels, map(float, row), strict=True)) for row in probabilities]
        return [self._in_bio(row) for row in probabilities]

    def data_labels(self) -> list[str]:
        """The labels that may occur in answers, in the scheme of the data."""
        if self.scheme in ("none", INNER):
            return self.labels
        return ["O", *(f"{letter}-{name}" for name in self.classes for letter in "BI")]

    def _in_bio(self, row: Array) -> dict[str, float]:
        inner = dict(zip(self.labels, map(float, row), strict=True))
        merged = {"O": inner["O"]}
        for name in self.classes:
            merged[f"B-{name}"] = inner[f"B-{name}"] + inner[f"S-{name}"]
            merged[f"I-{name}"] = inner[f"I-{name}"] + inner[f"E-{name}"]
        return merged

    def _inner(self, labels: Sequence[str]) -> Sequence[str]:
        if not self.has_spans:
            return labels
        return labels_from_spans(spans_from_labels(labels, self.scheme), len(labels), INNER)

    def _number(self, number: dict[str, int], label: str) -> int:
        if label not in number:
            known = ", ".join(self.classes[:12])
            raise DataError("unknown label", expected=f"one of {known}", got=repr(label))
        return number[label]

    def as_json(self) -> dict[str, Any]:
        return {"scheme": self.scheme, "classes": list(self.classes)}
