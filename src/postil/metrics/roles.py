"""Predicted semantic roles against gold ones, by the rules of CoNLL-2005's srl-eval.pl.

An argument is correct if its role and all its words are. A continuation (C-A1) belongs to the last A1 before it of the
same predicate, and both are one argument; without one it is an A1 itself. The predicate (V) is not an argument.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from postil.errors import DataError
from postil.metrics import tables
from postil.metrics.counts import Counts, counts_by_label, scores_as_dict
from postil.text.document import VERB, Frame

CONTINUATION = "C-"
NOT_SCORED = (VERB, CONTINUATION + VERB)


Argument: TypeAlias = tuple[str, tuple[tuple[int, int], ...]]
"""A role and the pieces, ``start:end``, that have it."""


def arguments_of(frame: Frame) -> list[Argument]:
    """The arguments of a predicate, each with its continuations."""
    found: list[Argument] = []
    for role, start, end in frame.roles:
        head = role.removeprefix(CONTINUATION)
        before = [i for i, (other, _) in enumerate(found) if other == head] if head != role else []
        if before:
            found[before[-1]] = head, (*found[before[-1]][1], (start, end))
        else:
            found.append((head, ((start, end),)))
    return [one for one in found if one[0] not in NOT_SCORED]


@dataclass(frozen=True, slots=True)
class RoleScores:
    """Counts of arguments by role, of predicates, and of predicates all of whose arguments are correct."""

    by_role: dict[str, Counts]
    predicates: Counts
    perfect: int
    sentences: int
    tokens: int

    @property
    def overall(self) -> Counts:
        """Counts over all roles."""
        return sum(self.by_role.values(), Counts())

    @property
    def main_score(self) -> float:
        """F1 of the arguments, 0 to 1."""
        return self.overall.f1

    def summary(self) -> str:
        """The scores in one line, in percent."""
        return str(self.overall)

    def table(self) -> tables.Table:
        """A line for each role."""
        return tables.label_table(self.by_role, self.overall, column="role", title="Roles")

    def __str__(self) -> str:
        counts = self.predicates
        found = f"predicates F1 {100 * counts.f1:.2f}, {counts.gold:,} in {self.sentences:,} sentences"
        return f"{self.summary()}\n{found}\n\n{tables.text(self.table())}"

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON: ``precision``, ``recall``, ``f1``, ``labels``, and those of the predicates."""
        share = self.perfect / self.predicates.gold if self.predicates.gold else 0.0
        about = {"sentences": self.sentences, "tokens": self.tokens} | scores_as_dict(self.overall, self.by_role)
        return about | {"predicates": {**self.predicates.to_dict(), "perfect": 100 * share}}


def score_roles(gold: Sequence[Sequence[Frame]], predicted: Sequence[Sequence[Frame]], tokens: int = 0) -> RoleScores:
    """Score the predicates of each sentence. Those that only one side has count with all their arguments."""
    if len(gold) != len(predicted):
        what = "gold and predictions differ in their number of sentences"
        raise DataError(what, expected=len(gold), got=len(predicted))
    outcomes: list[tuple[str | None, str | None, bool, int]] = []
    predicates, perfect = Counts(), 0
    for one, other in zip(gold, predicted, strict=True):
        of_gold, of_predicted = ({frame.predicate: set(arguments_of(frame)) for frame in side} for side in (one, other))
        shared = of_gold.keys() & of_predicted.keys()
        predicates += Counts(len(shared), len(of_predicted), len(of_gold))
        perfect += sum(of_gold[place] == of_predicted[place] for place in shared)
        for place in of_gold.keys() | of_predicted.keys():
            ours, theirs = of_gold.get(place, set()), of_predicted.get(place, set())
            outcomes += [(role, role, True, 1) for role, _ in ours & theirs]
            outcomes += [(role, None, False, 1) for role, _ in ours - theirs]
            outcomes += [(None, role, False, 1) for role, _ in theirs - ours]
    return RoleScores(counts_by_label(outcomes), predicates, perfect, len(gold), tokens)
