"""The labels of several tasks, and the names that tasks may have."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, final

from postil.errors import ConfigurationError
from postil.models.answers.labelling import Labelling

MOST_TASKS = 100
_NAME = re.compile(r"[^\W\d][\w-]{0,63}")
_EXPECTED = "a letter, then letters, digits, - and _ (at most 64 characters)"


@final
@dataclass(frozen=True, eq=False)
class TaskLabels:
    """The labelling of each task, in the order of the tasks."""

    labellings: Mapping[str, Labelling]

    @property
    def labels(self) -> list[str]:
        """The labels of all tasks, one task after the other."""
        return [label for labelling in self.labellings.values() for label in labelling.labels]

    def as_json(self) -> dict[str, Any]:
        return {task: labelling.as_json() for task, labelling in self.labellings.items()}


def checked_tasks(names: Iterable[Any]) -> list[str]:
    """The names of the tasks of a model: they stand in its file and on command lines."""
    tasks = list(names)
    for name in tasks:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ConfigurationError("name of a task", expected=_EXPECTED, got=repr(name)[:80])
    if not 1 <= len(tasks) <= MOST_TASKS:
        raise ConfigurationError("tasks", expected=f"1 to {MOST_TASKS}", got=len(tasks))
    return tasks


def known_tasks(wanted: Iterable[str] | None, tasks: Iterable[str]) -> list[str]:
    """Those of the ``tasks`` that are wanted, in their own order; None: all."""
    tasks = list(tasks)
    if wanted is None:
        return tasks
    asked = [wanted] if isinstance(wanted, str) else list(wanted)
    for name in asked:
        if name not in tasks:
            raise ConfigurationError("task", expected="one of " + ", ".join(tasks), got=repr(name)[:80])
    return [task for task in tasks if task in asked]
