"""The labelled files of ``postil train``: read, checked, and brought to one scheme for each task."""

import argparse
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
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
            warn_of_training_data(file, self.train)
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
        if alike := similar_classes(all_labels, has_spans=labelling.has_spans):
            names = ", ".join(file.path for file in self.train)
            pairs = ", ".join(
                f"{one} ({count:,} tokens) and {other} ({rarer:,})" for one, count, other, rarer in alike[:5]
            )
            warn(f"{names}: classes with nearly the same name, perhaps a spelling mistake: {pairs}")
        for file in self.train:
            warn_of_broken_labels(file, labelling.scheme)
            # A file may have labels without spans for another task.
            widen(file, labelling, self.annotated[file.path] if labelling.has_spans else None)
        return labelling


def examples(*files: LabelledFile) -> tuple[list[Any], list[list[str]]]:
    """Sentences and labels of files, as an estimator takes them."""
    return [X for file in files for X in inputs_of(file)], [labels for file in files for labels in file.labels]


def warn_of_training_data(held_out: LabelledFile, train: Sequence[LabelledFile]) -> None:
    """Warn if a held-out file has the content of a training file, or of all of them."""
    for file in train if len(train) == 1 else (*train, joined(train)):
        if file.tokens == held_out.tokens and file.labels == held_out.labels:
            warn(f"{held_out.path}: the same sentences as in {file.path}: scores on training data are too good")
            return


def similar_classes(y: Iterable[Sequence[str]], *, has_spans: bool) -> list[tuple[str, int, str, int]]:
    """Pairs of classes whose names are nearly the same, the more frequent one first, each with its tokens.

    Names that differ only in upper and lower case; of spans also rare names that are one slip of the finger away.
    """
    counts = Counter(str(label)[2:] if has_spans else str(label) for labels in y for label in labels if label != "O")
    ranked = [(name, count) for name, count in counts.most_common() if name]
    return [
        (one, count, other, rarer)
        for place, (one, count) in enumerate(ranked)
        for other, rarer in ranked[place + 1 :]
        if one.casefold() == other.casefold()
        or (has_spans and _RARE * rarer <= count and _is_one_slip(one.casefold(), other.casefold()))
    ]


_RARE = 20
"""Times as frequent as its misspelling a class is at least."""


def _is_one_slip(one: str, other: str) -> bool:
    """Whether names of three letters or more differ by one letter, or by two neighbours that changed places."""
    if min(len(one), len(other)) < 3 or abs(len(one) - len(other)) > 1:
        return False
    first = next((i for i, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), len(one))
    a, b = one[first:], other[first:]
    return a[1:] == b[1:] or a[1:] == b or a == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])


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
