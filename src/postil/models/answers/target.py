"""The label that a detector looks for, in the labels of the user's data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from postil.arrays import Array
from postil.errors import DataError
from postil.models.answers.names import checked_name, checked_scheme
from postil.text import PartialLabel, Span
from postil.text.labels.partial import Annotates, per_sentence, widened
from postil.text.labels.schemes import parse_label, recognise

UNDECIDED = -1  # a token that may have the label or not: neither learnt from nor counted
SHOWN = 12  # labels named in an error


@final
@dataclass(frozen=True, eq=False)
class Target:
    """``label`` is a class of entities, or a label itself where the data had no ``scheme``.

    What scores above ``threshold`` is detected.
    """

    label: str
    scheme: str
    threshold: float = 0.0

    @classmethod
    def of(cls, label: str, sequences: Sequence[Sequence[str]]) -> "Target":
        """The label as it stands in training labels. There must be tokens that have it and tokens that have not."""
        target = cls(checked_name(label, "label to detect"), recognise(sequences))
        plain = {target.plain(text) for labels in sequences for text in labels if not isinstance(text, PartialLabel)}
        if label not in plain:
            known = ", ".join(sorted(plain - {"O"})[:SHOWN])
            raise DataError("no token has the label to detect", expected=f"one of {known or 'some'}", got=repr(label))
        if plain == {label}:
            raise DataError(
                "every token has the label to detect", expected="also tokens without it", got=f"{label!r} only"
            )
        return target

    @property
    def labels(self) -> list[str]:
        """What the network scores."""
        return [self.label]

    @property
    def answers(self) -> list[str]:
        """What predictions consist of."""
        return [self.label, "O"]

    def extended(self, sequences: Sequence[Sequence[str]]) -> "Target":
        """The same label in other training labels."""
        return Target.of(self.label, sequences)

    @property
    def span_scheme(self) -> str:
        """The scheme in which detected tokens are written as spans."""
        return self.scheme if self.scheme != "none" else "bio"

    def plain(self, text: str) -> str:
        """A label of the data without its place in a span: ``B-LOC`` is ``LOC``."""
        if self.scheme == "none" or text == self.label:
            return text
        tag = parse_label(text)
        return tag.label if tag.role != "O" else "O"

    def numbers(self, sequences: Sequence[Sequence[str]]) -> list[Array]:
        """1 where a token has the label, 0 where it has not, UNDECIDED where it may have it, (T,) of each sentence."""
        return [np.array([self._number(text) for text in labels], np.int64) for labels in sequences]

    def _number(self, text: str) -> int:
        if not isinstance(text, PartialLabel):
            return int(self.plain(text) == self.label)
        parts = {self.plain(part) if part != self.label else part for part in text.alternatives}
        return int(self.label in parts) if parts and (parts == {self.label} or self.label not in parts) else UNDECIDED

    def widened(self, sequences: Sequence[Sequence[str]], annotates: Annotates) -> Sequence[Sequence[str]]:
        """Sentences that do not annotate the label have it or have it not where they have O."""
        entries = per_sentence(annotates, len(sequences))
        return widened(sequences, entries, [self.label], self.scheme)

    def detected(self, scores: Array) -> list[str]:
        """The label or O for each score."""
        return [self.label if is_one else "O" for is_one in scores > self.threshold]

    def spans(self, scores: Array) -> list[Span]:
        """Neighbouring tokens that are detected make one span."""
        edges = np.flatnonzero(np.diff(np.concatenate([[False], scores > self.threshold, [False]]).astype(np.int8)))
        return [Span(self.label, int(start), int(end)) for start, end in edges.reshape(-1, 2)]

    def as_json(self) -> dict[str, Any]:
        return {"label": self.label, "scheme": self.scheme, "threshold": self.threshold}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Target":
        """What ``as_json`` has written into a model file, checked."""
        threshold = content["threshold"]
        if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not abs(threshold) < 1e300:
            raise DataError("threshold of a detector", expected="a finite number", got=repr(threshold)[:80])
        return cls(
            checked_name(content["label"], "label to detect"), checked_scheme(content["scheme"]), float(threshold)
        )
