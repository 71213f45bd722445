"""The gate of an extension: what a model knew is scored before and after, class by class."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

from postil.errors import ConfigurationError, DataError
from postil.metrics.evaluation import Evaluation
from postil.metrics.tables import Cell, Table, show_class
from postil.models.answers.labelling import OUTSIDE

TOLERANCE = 1.0


class ClassChange(NamedTuple):
    """The F1 of a class before and after, in percent; None before where the class is new."""

    name: str
    support: int
    before: float | None
    after: float

    @property
    def difference(self) -> float | None:
        return None if self.before is None else self.after - self.before


@final
@dataclass(frozen=True, slots=True)
class Gate:
    """How each class changed, and by how many points a known one may fall."""

    changes: list[ClassChange]
    tolerance: float

    @property
    def fallen(self) -> list[ClassChange]:
        """The known classes that fell by more than the tolerance; one without entities in the data cannot fall."""
        return [one for one in self.changes if one.support and -(one.difference or 0.0) > self.tolerance + 1e-9]

    @property
    def passed(self) -> bool:
        return not self.fallen

    def table(self) -> Table:
        rows: list[tuple[Cell, ...]] = [
            (show_class(one.name), one.before, one.after, one.difference, one.support, self._remark(one))
            for one in self.changes
        ]
        columns = ("class", "before", "after", "difference", "gold", "")
        return Table("F1 before and after", columns, rows, f"a known class may fall by {self.tolerance:g} points")

    def _remark(self, one: ClassChange) -> str:
        if not one.support:
            return "not in the data"
        return "new" if one.before is None else "fell" if one in self.fallen else ""

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON, scores in percent."""
        return {
            "passed": self.passed,
            "tolerance": self.tolerance,
            "classes": {
                one.name: {"before": one.before, "after": one.after, "support": one.support} for one in self.changes
            },
        }


def check_tolerance(tolerance: float) -> None:
    if not tolerance >= 0:
        raise ConfigurationError("tolerance", expected="must be at least 0", got=tolerance)


def check_judgeable(before: Evaluation, known: Sequence[str]) -> None:
    """Refuse held-out data on which no known class could fall."""
    counts = _by_class(before)
    if not any(counts[name].gold for name in known if name in counts):
        raise DataError("dev", expected=f"must have some of the classes of the model: {', '.join(known)}", got="none")


def gate_of(
    before: Evaluation, after: Evaluation, known: Sequence[str], classes: Sequence[str], tolerance: float
) -> Gate:
    """Compare the scores of all ``classes``, of which the model knew some before."""
    first, second = _by_class(before), _by_class(after)
    changes = []
    for name in classes:
        if name != OUTSIDE:
            counts = second.get(name) or first.get(name)
            old = (100 * first[name].f1 if name in first else 0.0) if name in known else None
            new = 100 * second[name].f1 if name in second else 0.0
            changes.append(ClassChange(name, counts.gold if counts is not None else 0, old, new))
    return Gate(changes, tolerance)


def _by_class(scores: Evaluation) -> Any:
    return scores.tokens.by_label() if scores.spans is None else scores.spans.by_label()
