"""``--task NAME=FILE:COLUMN``: the files and columns, or layers, of several tasks on a command line."""

import argparse
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from postil.commands.options.labelled import load
from postil.commands.options.mapping import map_labels
from postil.commands.options.reading import column_argument
from postil.errors import ConfigurationError
from postil.models.answers.task_labels import checked_tasks
from postil.models.estimator import Estimator
from postil.text.formats import FORMATS
from postil.text.labelled import LabelledFile


class Source(NamedTuple):
    """A labelled file, and the column of the label in it."""

    path: str
    column: int | str | None = "auto"

    def like(self, columns: Sequence[int | str | None], option: str) -> "Source":
        """The file with the column that the training files of its task have, unless it names its own."""
        if self.column != "auto" or not columns:
            return self
        if len({*columns}) > 1:
            expected = "must name the column: the training files of the task have several (NAME=FILE:COLUMN)"
            raise ConfigurationError(f"--{option}", expected=expected, got=self.path)
        return self._replace(column=columns[0])

    def load(self, options: Mapping[str, Any], names: Mapping[str, str], task: str | None = None) -> LabelledFile:
        """The whole file, its labels renamed by ``names``.

        Of JSON Lines with layers the one that the column names is read, else that of the ``task``.
        """
        own: dict[str, Any] = {} if self.column == "auto" else {"label": self.column}
        if self.path.endswith(FORMATS["jsonl"].endings):
            own = {"layer": task if self.column in ("auto", None) else str(self.column)}
        file = load(self.path, **{**options, **own})
        map_labels(file, names)
        return file


def add_task_argument(parser: argparse.ArgumentParser, help: str) -> None:
    """``--task NAME``, for commands that ask one task of a model."""
    parser.add_argument("--task", metavar="NAME", help=help)


def task_sources(words: Iterable[str], option: str) -> dict[str, list[Source]]:
    """The files of each task, from ``NAME=FILE`` and ``NAME=FILE:COLUMN``."""
    sources: dict[str, list[Source]] = {}
    for word in words:
        task, equals, place = word.partition("=")
        if not (equals and task and place):
            raise ConfigurationError(option, expected="must be NAME=FILE or NAME=FILE:COLUMN", got=repr(word))
        sources.setdefault(task, []).append(source_of(place))
    checked_tasks(sources or ["none"])
    return sources


def source_of(text: str) -> Source:
    """``FILE`` or ``FILE:COLUMN``: what stands before the first colon that makes it a file is its name."""
    if not Path(text).exists():
        for place, character in enumerate(text):
            if character == ":" and text[place + 1 :] and (text[:place] == "-" or Path(text[:place]).exists()):
                return Source(text[:place], column_argument(text[place + 1 :]))
    return Source(text)


def joined(files: Sequence[LabelledFile]) -> LabelledFile:
    """Several files of one task as one."""
    if len(files) == 1:
        return files[0]
    sentences = [sentence for file in files for sentence in file.sentences]
    return LabelledFile(", ".join(file.path for file in files), files[0].format, sentences)


def one_task(model: Estimator[Any, Any], task: str | None) -> Any:
    """The tagger of a model that --task names; the model itself where it has one task only."""
    if not getattr(model, "tasks", None):
        if task is not None:
            raise ConfigurationError("--task cannot be used here: the model has one task")
        return model
    several: Any = model
    if task is None:
        names = " or ".join(several.tasks)
        raise ConfigurationError(f"the model has several tasks: choose one with --task {names}")
    return several[task]
