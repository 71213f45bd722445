"""Scores of tokens, sentences and labels on raw text, by the rules of the CoNLL-2018 shared task.

Something is right if it begins and ends at the same characters as in the gold standard; a label if its word is right
as well. White space at the edges does not count, because no token has any. The words of a multiword token, such as
French ``du`` = ``de`` + ``le``, count as words that were missed: models do not take such tokens apart.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

from postil.metrics.counts import Counts
from postil.metrics.tables import Table

Place = tuple[int, int, int]
"""Of a token or sentence: the number of its text, its first character and the one after its last."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RawTextScores:
    """How well texts are cut, and labelled as they were cut."""

    tokens: Counts
    words: Counts
    sentences: Counts
    labels: Counts
    """Words with their labels, or entities with their classes."""
    kind: str = "labels"

    def to_dict(self) -> dict[str, Any]:
        return {name: counts.to_dict() for name, counts in self._rows()}

    def __str__(self) -> str:
        return "; ".join(f"{name} F1 {100 * counts.f1:.2f}" for name, counts in self._rows())

    def table(self) -> Table:
        rows = [
            (name, 100 * counts.precision, 100 * counts.recall, 100 * counts.f1, counts.gold)
            for name, counts in self._rows()
        ]
        return Table("Raw text", ("", "precision", "recall", "F1", "gold"), rows)

    def _rows(self) -> list[tuple[str, Counts]]:
        rows = [("tokens", self.tokens), ("words", self.words), ("sentences", self.sentences), (self.kind, self.labels)]
        return [row for row in rows if row != ("words", self.tokens)]  # the same, without multiword tokens


def agreement(gold: Iterable[object], predicted: Iterable[object]) -> Counts:
    """How many of two collections agree. An item may be in one several times, as words of one multiword token are."""
    wanted, answered = Counter(gold), Counter(predicted)
    return Counts((wanted & answered).total(), answered.total(), wanted.total())
