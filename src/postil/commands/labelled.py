"""Labelled files of one command: read whole, and held against each other token by token."""

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from postil.errors import DataError, printable
from postil.text.document import Sentence
from postil.text.formats import FORMATS, Reading, read
from postil.text.lines import shortened
from postil.text.partial import annotated_classes, count_marks, is_unknown, with_marks
from postil.text.schemes import inspect, summarise

if TYPE_CHECKING:  # scoring files needs no models
    from postil.models.parts import WordLabels


class LabelledFile(NamedTuple):
    """Tokens and labels of every sentence, and what is needed to name a place in the file."""

    path: str
    format: str
    sentences: list[Sentence]

    @property
    def tokens(self) -> list[list[str]]:
        return [sentence.tokens for sentence in self.sentences]

    @property
    def labels(self) -> list[list[str]]:
        return [sentence.labels or [] for sentence in self.sentences]

    def place(self, sentence: int, token: int) -> str:
        """``line N`` of a token, both counted from 0; where tokens have no line of their own, its number as well."""
        line = self.sentences[sentence].line
        return f"line {line + token}" if self.format == "conll" else f"line {line}, token {token + 1}"

    def where(self, sentence: int, token: int) -> str:
        """The place with the file's name before it."""
        return f"{self.path}, {self.place(sentence, token)}"


def load(path: str, **options: Any) -> LabelledFile:
    """Read a whole file with labels; what was changed or left out on the way is told on standard error."""
    with read(path, **{"features": (), **options}) as reading:
        try:
            file = LabelledFile(reading.name, reading.format, list(reading))
        finally:
            _tell(reading)
    for number, sentence in enumerate(file.sentences):
        if sentence.labels is None:
            title = FORMATS[file.format].title
            raise DataError("no labels", expected="a label for every token", got=title, where=file.where(number, 0))
    return file


def settle_partial_labels(
    files: Sequence[LabelledFile], partial: bool | None = None, known: Iterable[str] = ()
) -> None:
    """Recognise ``?`` and ``A|B`` in the labels of files that belong together, and say how many there are.

    ``known`` are labels, say of a model, that stand for themselves.
    """
    sentences = [sentence for file in files for sentence in file.sentences]
    given, tokens = [sentence.labels or [] for sentence in sentences], [sentence.tokens for sentence in sentences]
    labels = with_marks(given, tokens, partial=partial, known=known)
    for sentence, found in zip(sentences, labels, strict=True):
        sentence.labels = list(found)
    for file in files:
        counts = count_marks(file.labels)
        if any(counts.values()):
            tell(f"{file.path}: {counts['unknown']:,} tokens are unknown, {counts['several']:,} have several labels")
        if file.sentences and all(map(is_unknown, file.labels)):
            raise DataError("every token is unknown", expected="some labels", got="nothing but '?'", where=file.path)


def widen(
    file: LabelledFile,
    labelling: "WordLabels",
    classes: Sequence[str] | None = None,
) -> None:
    """Where a file does not annotate all classes of a model, its O may be one of the others.

    ``classes``: those that it annotates, as far as its own sentences do not say it.
    """
    annotates = [own if own is not None else classes for own in annotated_classes(file.sentences)]
    if all(entry is None for entry in annotates):
        return
    try:
        labels = labelling.widened(file.labels, annotates)
    except DataError as error:
        number = int(str(error.where).removeprefix("sentence ")) if error.where else 0
        where = file.where(number, 0)
        raise DataError(error.what, expected=error.expected, got=error.got, where=where) from None
    tell(f"{file.path}: annotates {'; '.join(sorted({', '.join(entry) for entry in annotates if entry is not None}))}")
    for sentence, found in zip(file.sentences, labels, strict=True):
        sentence.labels = list(found)


def tell(message: str) -> None:
    """One line that is no part of the result."""
    print(f"postil: {printable(message)}", file=sys.stderr, flush=True)


def tell_broken_labels(file: LabelledFile, scheme: str) -> None:
    """Labels that break their scheme are read by conlleval's rules; say so, once, with the first place."""
    report = inspect(file.labels, scheme)
    if report.first is not None:
        tell(f"{file.path}: {summarise(report, f'on {file.place(*report.first)}')}; read by conlleval's rules")


def _tell(reading: Reading) -> None:
    report = reading.report
    for problem in report.problems:
        print(problem, file=sys.stderr)
    for what, counts in (("changed", report.changed), ("dropped", report.dropped)):
        for thing, number in counts.items():
            if number:
                tell(f"{reading.name}: {what}: {thing}: {number:,}")


def check_same_tokens(gold: LabelledFile, other: LabelledFile) -> None:
    """Refuse two files that do not hold the same sentences, naming the first place where they part."""
    for number, (one, two) in enumerate(zip(gold.sentences, other.sentences, strict=False)):
        if one.tokens != two.tokens:
            raise _difference(gold, other, number)
    if len(gold.sentences) != len(other.sentences):
        shorter, longer = sorted((gold, other), key=lambda file: len(file.sentences))
        raise DataError(
            f"{shorter.path} ends before sentence {len(shorter.sentences) + 1:,}",
            expected=f"{len(gold.sentences):,} sentences as in {gold.path}",
            got=f"{len(other.sentences):,}",
            where=longer.where(len(shorter.sentences), 0),
        )


def _difference(gold: LabelledFile, other: LabelledFile, number: int) -> DataError:
    one, two = gold.sentences[number].tokens, other.sentences[number].tokens
    common = min(len(one), len(two))
    token = next((t for t in range(common) if one[t] != two[t]), common)
    if token < common:
        what = f"token differs from {gold.where(number, token)}"
        return DataError(
            what, expected=shortened(one[token]), got=shortened(two[token]), where=other.where(number, token)
        )
    begin = gold.where(number, 0)
    return DataError(
        f"sentence {'ends too early' if len(two) < len(one) else 'goes on too long'} beside {begin}",
        expected=f"{len(one)} tokens",
        got=len(two),
        where=other.where(number, min(token, len(two) - 1)),
    )


def column_argument(text: str) -> int | str | None:
    """A column on the command line: a number, a name of CoNLL-U, or none."""
    if text.lower() == "none":
        return None
    return int(text) if text.removeprefix("-").isdecimal() else text
