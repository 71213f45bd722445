"""The labelled files of ``postil train``: read, checked, and brought to one scheme for each task."""

import argparse
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from postil.commands.options.labelled import resolve_partial_labels, warn_of_broken_labels, widen
from postil.commands.options.mapping import label_maps
from postil.commands.options.models import checked_scheme, inputs_of
from postil.commands.options.tasks import Source, joined
from postil.commands.terminal.notices import warn
from postil.errors import ConfigurationError, DataError
from postil.models.answers.labelling import Labelling
from postil.models.parts import MAIN
from postil.text.labelled import LabelledFile
from postil.text.labels.partial import is_partial, parse_classes
from postil.text.labels.scheme_checks import inspect
from postil.text.labels.schemes import convert, recognise


class TrainingFiles(NamedTuple):
    """The names of the files of each task."""

    train: dict[str, list[Source]]
    dev: dict[str, list[Source]]
    test: dict[str, list[Source]]

    def paths(self, *, only_training: bool = False) -> list[str]:
        groups = (self.train,) if only_training else self
        return [source.path for group in groups for sources in group.values() for source in sources]


class LoadedTask(NamedTuple):
    """The files of one task; ``held_out`` has those of dev and test, where there are any."""

    train: list[LabelledFile]
    held_out: dict[str, LabelledFile]
    annotated: Mapping[str, tuple[str, ...] | None]
    """The classes of --annotates by training file."""

    @classmethod
    def load(
        cls, sources: TrainingFiles, task: str, options: Mapping[str, Any], arguments: argparse.Namespace
    ) -> "LoadedTask":
        maps = label_maps(arguments.map, sources.paths())
        annotated = annotated_by_option(arguments.annotates, sources.paths(only_training=True))
        layer = None if task == MAIN else task
        train = [source.load(options, maps[source.path], layer) for source in sources.train.get(task, [])]
        columns = [source.column for source in sources.train.get(task, [])]
        held_out = {
            name: joined([source.like(columns, name).load(options, maps[source.path], layer) for source in of_task])
            for name, of_task in (("dev", sources.dev.get(task, [])), ("test", sources.test.get(task, [])))
            if of_task
        }
        return cls(train, held_out, annotated)

    def check(self, arguments: argparse.Namespace, known: Labelling | None = None) -> None:
        """Refuse what cannot work, warn of what is probably a mistake.

        ``known``: the labels of a model that is only scored here, because there is nothing to train it on.
        """
        for file in (*self.train, *self.held_out.values()):
            if not any(file.tokens):
                raise DataError("no sentences", expected="at least one token with its label", where=file.path)
        resolve_partial_labels(self.train, arguments.partial)
        labelling = known if known is not None and not self.train else self._checked_labelling()
        names = ", ".join(file.path for file in self.train) or "the training data"
        for file in self.held_out.values():
            resolve_partial_labels([file], arguments.partial, known=labelling.answers)
            warn_of_broken_labels(file, checked_scheme(file, labelling))
            unseen = sorted({*Labelling.of(file.labels).classes} - {*labelling.classes})
            if unseen:
                warn(f"{file.path}: {len(unseen)} of its labels do not occur in {names}: {', '.join(unseen[:5])}")
            widen(file, labelling)

    def _checked_labelling(self) -> Labelling:
        """The labels of the training files, which are brought to one scheme."""
        _unify_schemes(self.train, self.held_out.values())
        all_labels = examples(*self.train)[1]
        labels = {label for labels in all_labels for label in labels}
        if len(labels) == 1:
            names = ", ".join(file.path for file in self.train)
            warn(f"{names}: every token has the label {labels.pop()!r}; the model can give no other answer")
        labelling = Labelling.of(all_labels)
        for file in self.train:
            warn_of_broken_labels(file, labelling.scheme)
            # A file may have labels without spans for another task.
            widen(file, labelling, self.annotated[file.path] if labelling.has_spans else None)
        return labelling


def examples(*files: LabelledFile) -> tuple[list[Any], list[list[str]]]:
    """Sentences and labels of files, as an estimator takes them."""
    return [X for file in files for X in inputs_of(file)], [labels for file in files for labels in file.labels]


def _unify_schemes(train: list[LabelledFile], held_out: Iterable[LabelledFile]) -> None:
    """Each file may have a scheme of its own. Those that violate the one of most labels are converted to it."""
    common = Labelling.of(examples(*train)[1]).scheme
    for file in (*train, *held_out):
        own = recognise(file.labels)
        if "none" in (own, common) or own == common or any(map(is_partial, file.labels)):
            continue
        if inspect(file.labels, common).first is not None and inspect(file.labels, own).first is None:
            warn(f"{file.path}: its labels are {own.upper()}; they are converted to {common.upper()}")
            for sentence in file.sentences:
                sentence.labels = convert(sentence.labels or [], own, common)


def annotated_by_option(words: Iterable[str], paths: Iterable[str]) -> dict[str, tuple[str, ...] | None]:
    """The classes of --annotates for each training file."""
    annotated: dict[str, tuple[str, ...] | None] = dict.fromkeys(paths)
    for text in words:
        path, equals, classes = text.rpartition("=")
        if equals and path not in annotated:
            raise ConfigurationError("--annotates", expected="must name one of the training files", got=repr(path))
        for name in [path] if equals else annotated:
            annotated[name] = parse_classes(classes)
    return annotated
