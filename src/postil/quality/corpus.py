"""Labelled data to examine: named splits, and places in them as file and line."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np

from postil.features.inputs import Sentences, forms_of
from postil.models.inputs import checked_labelled
from postil.text import Span, with_marks
from postil.text.labels.partial import Labels
from postil.text.labels.schemes import PartialLabel, recognise, spans_from_labels

Place = Callable[[int, int], str]
"""Where a token of a sentence stands, both counted from 0."""


@final
@dataclass(frozen=True, eq=False)
class Split:
    """Sentences that are used together: for training, for development, for testing."""

    name: str
    X: Sentences
    labels: Labels
    scheme: str
    place: Place
    documents: Sequence[int] = field(default=())  # of each sentence; empty if none are marked

    @classmethod
    def of(cls, name: str, X: Any, y: Any) -> "Split":
        """From what a program passes."""
        X, y = checked_labelled(X, y)
        y = with_marks(y, X)
        return cls(name, X, y, recognise(y), lambda sentence, token: f"sentence {sentence + 1}, token {token + 1}")

    @cached_property
    def tokens(self) -> list[list[str]]:
        """The forms."""
        return list(map(forms_of, self.X))

    @cached_property
    def spans(self) -> list[list[Span]]:
        """The entities of every sentence; without a scheme, none."""
        if self.scheme == "none":
            return [[] for _ in self.X]
        return [spans_from_labels(known_labels(labels), self.scheme) for labels in self.labels]

    @cached_property
    def classes(self) -> Counter[str]:
        """How many entities of each class there are; without a scheme, how many tokens have each label."""
        if self.scheme == "none":
            return Counter(label for labels in self.labels for label in labels if not isinstance(label, PartialLabel))
        return Counter(span.label for spans in self.spans for span in spans)

    def form(self, sentence: int, span: Span) -> tuple[str, ...]:
        return tuple(self.tokens[sentence][span.start : span.end])

    def excerpt(self, sentence: int, start: int, end: int, words: int = 6) -> str:
        """The tokens around a span, which is in brackets."""
        tokens = self.tokens[sentence]
        left, right = tokens[max(0, start - words) : start], tokens[end : end + words]
        shown = [*["…"] * (start > words), *left, f"[{' '.join(tokens[start:end])}]", *right]
        return " ".join([*shown, *["…"] * (end + words < len(tokens))])


def known_labels(labels: Sequence[str]) -> list[str]:
    """The labels, with O where one is unknown."""
    return ["O" if isinstance(label, PartialLabel) else label for label in labels]


class Occurrence(NamedTuple):
    """A place where a form occurs: labelled as an entity of this class, or "" if not exactly as one."""

    split: int
    sentence: int
    start: int
    label: str


def occurrences(splits: Sequence[Split], forms: set[tuple[str, ...]]) -> dict[tuple[str, ...], list[Occurrence]]:
    """Every place where one of the forms occurs, entity or not.

    Inside of a longer entity a form is part of another name (New York in New York Times) and does not count, nor where
    one of its labels is unknown.
    """
    by_first: dict[str, set[int]] = {}
    for form in forms:
        by_first.setdefault(form[0], set()).add(len(form))
    found: dict[tuple[str, ...], list[Occurrence]] = {form: [] for form in forms}
    for number, split in enumerate(splits):
        for i, tokens in enumerate(split.tokens):
            exact = {(span.start, span.end): span.label for span in split.spans[i]}
            for start, end in ((at, at + n) for at, token in enumerate(tokens) for n in by_first.get(token, ())):
                form = tuple(tokens[start:end])
                if form not in forms:
                    continue
                label = exact.get((start, end))
                inside = any(a < end and start < b for a, b in exact)
                unknown = any(isinstance(label, PartialLabel) for label in split.labels[i][start:end])
                if label is not None or not (inside or unknown):
                    found[form].append(Occurrence(number, i, start, label or ""))
    return found


@final
class Mentions:
    """How often the words of every entity, and of anything else, are labelled as what."""

    def __init__(self, split: Split) -> None:
        forms = {split.form(i, span) for i, spans in enumerate(split.spans) for span in spans}
        found = occurrences([split], forms)
        self._split = split
        self._counts = {form: Counter(place.label for place in places) for form, places in found.items()}

    def odds(self, sentence: int, spans: Sequence[Span], labelled: bool, instead_of: Span | None = None) -> float:
        """How much more often the words of these spans are labelled otherwise elsewhere: log-odds, from 0.

        They are ``labelled`` so here, or are not labelled at all. What really stands here, if that is another entity,
        is not elsewhere.
        """
        worst = 0.0
        for span in spans:
            form = self._split.form(sentence, span)
            counts = self._counts.get(form)
            if counts is None:
                continue
            here = label = span.label if labelled else ""
            if instead_of is not None and self._split.form(sentence, instead_of) == form:
                here = instead_of.label
            elsewhere = sum(counts.values()) - (counts[here] > 0)
            same = counts[label] - (here == label and counts[label] > 0)
            if elsewhere:
                worst = max(worst, float(np.log((elsewhere - same + 0.3) / (same + 0.3))))
        return worst
