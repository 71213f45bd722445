"""Labelled files of a command: read as a whole, with warnings about what was changed or is unknown in them."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from postil.commands.options.reading import warn_of_unspaced
from postil.commands.terminal.notices import show_problems, warn
from postil.errors import DataError
from postil.text.formats import FORMATS, Reading, read
from postil.text.labelled import LabelledFile
from postil.text.labels.partial import annotated_classes, count_marks, is_unknown, with_marks
from postil.text.labels.scheme_checks import complaint

if TYPE_CHECKING:  # scoring files needs no models
    from postil.models.parts import WordLabels


def load(path: str, **options: Any) -> LabelledFile:
    """Read a whole file with labels. What was changed or dropped on the way is printed on standard error."""
    with read(path, **{"features": (), **options}) as reading:
        if reading.format in _WITHOUT_LABELS:  # told before a large text is read
            raise _no_labels(reading.format, f"{reading.name}, line 1")
        if not options.get("characters"):
            warn_of_unspaced(reading)
        try:
            file = LabelledFile(reading.name, reading.format, list(reading))
        finally:
            _warn_of_changes(reading)
    for number, sentence in enumerate(file.sentences):
        if sentence.labels is None:
            raise _no_labels(file.format, file.where(number, 0))
    return file


_WITHOUT_LABELS = ("text", "tokens")


def _no_labels(format: str, where: str) -> DataError:
    return DataError("no labels", expected="a label for every token", got=FORMATS[format].title, where=where)


def resolve_partial_labels(
    files: Sequence[LabelledFile], partial: bool | None = None, known: Iterable[str] = ()
) -> None:
    """Recognise ``?`` and ``A|B`` in the labels of files that belong to one corpus, and print how many there are.

    ``known`` are labels, of a model for example, that stand for themselves.
    """
    sentences = [sentence for file in files for sentence in file.sentences]
    given, tokens = [sentence.labels or [] for sentence in sentences], [sentence.tokens for sentence in sentences]
    resolved = with_marks(given, tokens, partial=partial, known=known)
    for sentence, labels in zip(sentences, resolved, strict=True):
        sentence.labels = list(labels)
    for file in files:
        counts = count_marks(file.labels)
        if any(counts.values()):
            several = f"{counts['several']:,} have several possible labels"
            warn(f"{file.path}: {counts['unknown']:,} tokens have an unknown label, {several}")
        if file.sentences and all(map(is_unknown, file.labels)):
            raise DataError("every label is unknown", expected="some labels", got="nothing but '?'", where=file.path)


def widen(file: LabelledFile, labelling: "WordLabels", classes: Sequence[str] | None = None) -> None:
    """In a file that does not annotate every class of a model, let O stand for the other classes as well.

    ``classes``: those that the file annotates, unless its sentences say so themselves.
    """
    annotates = [stated if stated is not None else classes for stated in annotated_classes(file.sentences)]
    if all(entry is None for entry in annotates):
        return
    try:
        widened = labelling.widened(file.labels, annotates)
    except DataError as error:
        number = int(str(error.where).removeprefix("sentence ")) if error.where else 0
        where = file.where(number, 0)
        raise DataError(error.what, expected=error.expected, got=error.got, where=where) from None
    listed = sorted({", ".join(entry) for entry in annotates if entry is not None})
    warn(f"{file.path}: annotates {'; '.join(listed)}")
    for sentence, labels in zip(file.sentences, widened, strict=True):
        sentence.labels = list(labels)


def warn_of_broken_labels(file: LabelledFile, scheme: str) -> None:
    """Warn once of labels that violate their scheme, with the first place and how they are read."""
    if what := complaint(file.labels, scheme, lambda sentence, token: f"on {file.place(sentence, token)}"):
        warn(f"{file.path}: {what}")


def _warn_of_changes(reading: Reading) -> None:
    report = reading.report
    show_problems(report.problems)
    for what, counts in (("changed", report.changed), ("dropped", report.dropped)):
        for thing, number in counts.items():
            if number:
                warn(f"{reading.name}: {what}: {thing}: {number:,}")
