"""Semantic roles in the columns of CoNLL-2005 and CoNLL-2012: a token, its predicate, then a column for each predicate.

    Anna    -       B-ARG0  O            or     Anna    -       (A0*)   *
    gave    give    B-V     O                   gave    give    (V*)    *
    him     -       B-ARG2  O                   him     -       (A2*)   *
    time    -       B-ARG1  B-ARG0              time    -       (A1*    (A0*)
    to      -       I-ARG1  O                   to      -       *       *
    think   think   I-ARG1  B-V                 think   think   *)      (V*)

The n-th word whose second column is not ``-`` is the predicate of the n-th column after it. Sentences differ in their
number of columns; one without a predicate has none. Labels are written as BIO.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from postil.errors import ConfigurationError, DataError
from postil.text.columns.conll import blocks
from postil.text.document import Frame, Frames, Sentence, frames_of
from postil.text.labels.schemes import Span, labels_from_spans
from postil.text.lines import NumberedLines, shortened, split_spaces
from postil.text.options import ReadOptions, WriteOptions
from postil.text.report import Report

NO_PREDICATE = "-"
_LABEL = re.compile(r"O$|[BI]-\S+$")
_BRACKETS = re.compile(r"(?:\(([^\s()*]+))?\*(\)?)$")
_ENOUGH = 5
"""Sentences with predicates that are looked at to recognise the format."""


def recognises(head: Sequence[str]) -> bool:
    """Whether the first lines of a file are such columns: every predicate is the V of its column."""
    found, block = 0, list[list[str]]()
    for line in head:
        if line.strip():
            block.append(_split(line))
            continue
        width = len(block[0]) if block else 0
        if width > 2 and all(len(row) == width for row in block):
            places = [t for t, row in enumerate(block) if row[1] != NO_PREDICATE]
            are_verbs = len(places) == width - 2 and all(
                block[t][2 + n] in ("B-V", "(V*)", "(V*") for n, t in enumerate(places)
            )
            if not are_verbs or (found := found + 1) == _ENOUGH:
                return are_verbs
        block = []
    return found > 0


def _split(line: str) -> list[str]:
    return line.split("\t") if "\t" in line else split_spaces(line)


def read_roles(lines: NumberedLines, options: ReadOptions, report: Report) -> Iterator[Sentence]:
    """The sentences of a file. ``options.label`` is the column of the predicates (default: the second)."""
    column = 1 if options.label in ("auto", None) else options.label
    if not isinstance(column, int) or column < 1 or options.token != 0:
        raise ConfigurationError(
            "column of the predicates", expected="1 or more, and the token in column 0", got=column
        )
    for first, block in blocks(lines):
        rows = [_split(line) for line in block]
        width = len(rows[0])
        for number, row in enumerate(rows, first):
            where = lines.where(number)
            if width <= column:
                expected = f"a token, {NO_PREDICATE} or its predicate, and a column of roles for each predicate"
                raise DataError("no column of predicates", expected=expected, got=shortened(block[0]), where=where)
            if len(row) != width or not all(row):
                expected = f"{width} as in the first line of the sentence"
                got = f"{len([cell for cell in row if cell])}: {shortened(block[number - first])}"
                raise DataError("wrong number of columns", expected=expected, got=got, where=where)
        places = [t for t, row in enumerate(rows) if row[column] != NO_PREDICATE]
        if len(places) != width - column - 1:
            expected = f"a column for each of {len(places)} predicates"
            raise DataError("columns of roles", expected=expected, got=width - column - 1, where=lines.where(first))
        frames = []
        for n, t in enumerate(places, column + 1):
            labels = _labels([row[n] for row in rows], lines, first)
            frames.append(Frame(t, labels, rows[t][column]))
        report.notes["predicates"] += len(frames)
        yield Sentence([row[0] for row in rows], line=first, rest=Frames(tuple(frames)))


def _labels(cells: list[str], lines: NumberedLines, first: int) -> list[str]:
    """BIO labels of a column in BIO or in brackets."""
    if all(map(_LABEL.match, cells)):
        return cells
    spans: list[Span] = []
    label: str | None = None
    start = 0
    for t, cell in enumerate(cells):
        found = _BRACKETS.match(cell)
        is_odd = found is None or (found[1] and label is not None) or (found[2] and not found[1] and label is None)
        if found is None or is_odd:
            expected = "O, B-ROLE, I-ROLE or brackets such as (A0* and *)"
            raise DataError("label of a role", expected=expected, got=shortened(cell), where=lines.where(first + t))
        if found[1]:
            label, start = found[1], t
        if found[2] and label is not None:
            spans.append(Span(label, start, t + 1))
            label = None
    if label is not None:
        raise DataError(f"({label}* has no end", expected="*) in the same sentence", where=lines.where(first + start))
    return labels_from_spans(spans, len(cells), "bio")


def write_roles(sentences: Iterable[Sentence], options: WriteOptions, report: Report) -> Iterator[str]:
    """The lines of a file, one string per sentence; a predicate without a lemma is written as its word."""
    for sentence in sentences:
        if not sentence.tokens:
            report.dropped["sentences without tokens"] += 1
            continue
        lemmas = [NO_PREDICATE] * len(sentence)
        frames = sorted(frames_of(sentence) or (), key=lambda frame: frame.predicate)
        for frame in frames:
            word = frame.lemma or sentence.tokens[frame.predicate].lower()
            lemmas[frame.predicate] = "_" if word == NO_PREDICATE else word
        columns = [sentence.tokens, lemmas, *(frame.labels for frame in frames)]
        rows = list(zip(*columns, strict=True))
        for t, row in enumerate(rows):
            if any(not cell or any(map(str.isspace, cell)) for cell in row):
                where = f"sentence of line {sentence.line}, token {t + 1}" if sentence.line else f"token {t + 1}"
                raise DataError("a cell that cannot be written", expected="text without spaces", got=row, where=where)
        yield "\n".join(map(options.delimiter.join, rows)) + "\n\n"
