"""CoNLL columns: one token a line, columns between tabs or spaces, a blank line after each sentence.

The fast path takes a whole sentence at once; only a sentence that does not pass is looked at line by line,
to accept comments and document marks, or to say exactly what is wrong with it.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import final

from postil.errors import ConfigurationError, DataError
from postil.kernels import Columns
from postil.text.columns.blocks import blocks
from postil.text.columns.line_kinds import (
    DOCUMENT_MARK,
    could_be_comment,
    is_header,
    is_mark,
    looks_like_label,
    looks_like_tree,
)
from postil.text.document import Rest, Sentence
from postil.text.lines import NumberedLines, shortened, split_spaces
from postil.text.options import ReadOptions
from postil.text.report import Report


@dataclass(frozen=True, slots=True)
class Mark(Rest):
    """A document mark's line, kept so that it is written as it was."""

    fields: tuple[str, ...]

    def lost(self) -> Mapping[str, int]:
        return {}  # every format keeps the mark itself


def read_conll(lines: NumberedLines, options: ReadOptions, report: Report) -> Iterator[Sentence]:
    """The sentences of a CoNLL file."""
    reader = _ConllReader(lines, options, report)
    for first, block in blocks(lines):
        sentence = reader.sentence(block, first)
        if sentence is not None:
            yield sentence
    reader.finish()


def columns_of(lines: NumberedLines, options: ReadOptions) -> Columns | None:
    """How the rows are laid out, by the first one of the source; None where there is none."""
    reader = _ConllReader(lines, options, Report())
    for first, block in () if reader.width else blocks(lines):
        reader.learn_layout(block, first)
        if reader.width:
            break
    if not reader.width:
        return None
    label = -1 if reader.label is None else reader.label
    return Columns(tabs=reader.delimiter == "\t", width=reader.width, token=reader.token, label=label)


class _Labels(dict[str, str]):
    """Label as in the file -> label. Each distinct one is cleaned once, and all its tokens share one string."""

    def __missing__(self, cell: str) -> str:
        label = cell.strip(" ")
        if not label:
            raise ValueError("empty label")
        self[cell] = self[label] = label
        return label


@final
class _ConllReader:
    """Blocks of lines to sentences; the first row of the file fixes delimiter and number of columns."""

    def __init__(self, lines: NumberedLines, options: ReadOptions, report: Report) -> None:
        self.lines, self.options, self.report = lines, options, report
        self.labels = _Labels()
        self.delimiter = "\t"
        self.width = 0
        self.width_line = 0
        self.comments: list[str] = []
        self.mark: Mark | None = None
        for first, block in blocks(lines.opening) if lines.opening is not None else ():
            if not self.width:
                self.learn_layout(block, first)

    def sentence(self, block: list[str], first: int) -> Sentence | None:
        """The sentence of a block, or None for a block of comments or marks alone."""
        plain = self.width and block[0][0] not in "#-" and self.options.comment in ("auto", None)
        sentence = self._whole(block, first) if plain else None
        if sentence is None:
            rows = self._rows(block, first)
            if not rows:
                return None
            sentence = self._whole([line for _, line in rows], rows[0][0])
            if sentence is None:
                raise self._mistake(rows)
        if self.comments or self.mark is not None:
            self._attach(sentence)
        self.report.sentences += 1
        self.report.tokens += len(sentence.tokens)
        return sentence

    def finish(self) -> None:
        """Count what stood after the last sentence."""
        self.report.dropped["comments after the last sentence"] += len(self.comments)
        self.report.dropped["documents without a sentence"] += self.mark is not None

    def _whole(self, rows: list[str], first: int) -> Sentence | None:
        """All rows at once; None if one of them is not a plain row."""
        columns = self._columns(rows)
        if columns is None:
            return None
        try:
            labels = None if self.label is None else list(map(self.labels.__getitem__, columns[self.label]))
        except ValueError:
            return None
        tokens = columns[self.token]
        if DOCUMENT_MARK in tokens:
            return None
        if "" in tokens:
            self._count_empty(tokens, first)
        features = list(zip(*[columns[index] for index in self.features], strict=True)) if self.features else None
        return Sentence(tokens, labels, features, line=first)

    def _columns(self, rows: list[str]) -> list[list[str]] | None:
        """The cells by column, or None if a row has the wrong number.

        One split for all rows is much faster than one each. No cell contains a line end, so rows joined by a cell that
        is one show whether each of them has its number of cells.
        """
        joined = f"{self.delimiter}\n{self.delimiter}".join(rows)
        cells = joined.split(self.delimiter)
        stride = self.width + 1
        regular = len(cells) == len(rows) * stride - 1 and cells[self.width :: stride].count("\n") == len(rows) - 1
        if self.delimiter == " " and (not regular or "\t" in joined or "" in cells):
            return self._columns_between_blanks(rows)
        return [cells[index::stride] for index in range(self.width)] if regular else None

    def _columns_between_blanks(self, rows: list[str]) -> list[list[str]] | None:
        """The same for rows with runs of spaces, or tabs among the spaces."""
        cells = list(map(split_spaces, rows))
        return list(map(list, zip(*cells, strict=True))) if {len(row) for row in cells} == {self.width} else None

    def _count_empty(self, tokens: list[str], first: int) -> None:
        line = first + tokens.index("")
        if self.options.strict:
            raise DataError("the token is empty", expected="a token", got="''", where=self.lines.where(line))
        self.report.notes["empty tokens"] += tokens.count("")

    def _attach(self, sentence: Sentence) -> None:
        sentence.comments, self.comments = self.comments, []
        if self.mark is not None:
            sentence.document, sentence.rest, self.mark = "", self.mark, None
            self.report.documents += 1

    # Line by line

    def _rows(self, block: list[str], first: int) -> list[tuple[int, str]]:
        """The numbered rows of a block; its comments and marks are kept for the sentence that comes next."""
        if not self.width:
            self.learn_layout(block, first)
        rows: list[tuple[int, str]] = []
        for number, line in enumerate(block, first):
            if self._is_comment(line, number, head=not rows):
                self.comments.append(line)
                self.report.notes["comments"] += 1
            elif is_mark(line):
                self._take_mark(line, number, head=not rows)
            else:
                rows.append((number, line))
        return rows

    def _is_comment(self, line: str, number: int, head: bool) -> bool:
        prefix = self.options.comment
        if prefix is None or prefix != "auto":
            return prefix is not None and line.startswith(prefix)
        if not head or not could_be_comment(line):
            return False
        return is_header(line) or not (self.width and self.delimiter == " " and self._is_row(line, number))

    def _is_row(self, line: str, number: int) -> bool:
        """Whether a line of spaces that begins with "# " is a row. An ambiguous line is refused."""
        fields = split_spaces(line)
        if len(fields) != self.width:
            return False
        if self.label is not None and looks_like_label(fields[self.label]):
            return True
        raise DataError(
            f"{shortened(line)} could be a comment or a token '#'",
            expected="the option comment: '#' if it is a comment, none if it is a token",
            where=self.lines.where(number),
        )

    def _take_mark(self, line: str, number: int, head: bool) -> None:
        if not head:
            raise DataError(
                f"{DOCUMENT_MARK} inside a sentence",
                expected="a blank line before it",
                got=shortened(line),
                where=self.lines.where(number),
            )
        self.report.dropped["documents without a sentence"] += self.mark is not None
        self.mark = Mark(tuple(line.split("\t") if "\t" in line else split_spaces(line)))

    def learn_layout(self, block: list[str], first: int) -> None:
        """Delimiter, number of columns and the places of token, label and features, from the first row of all."""
        prefix = self.options.comment
        for number, line in enumerate(block, first):
            comment = could_be_comment(line) if prefix == "auto" else bool(prefix) and line.startswith(str(prefix))
            if comment or is_mark(line):
                continue
            self._refuse_other_formats(line, number)
            self.delimiter = "\t" if "\t" in line or " " not in line.strip(" ") else " "
            self.width, self.width_line = len(self._split(line)), number
            self._place_columns(line, number)
            return

    def _refuse_other_formats(self, line: str, number: int) -> None:
        is_json = line.startswith('{"') and line.endswith("}")
        other = "a bracketed tree" if looks_like_tree(line) else "JSON" if is_json else None
        if other is not None and "\t" not in line:
            raise DataError(
                f"this line is {other}", expected=_EXPECTED, got=shortened(line), where=self.lines.where(number)
            )

    def _place_columns(self, line: str, number: int) -> None:
        wanted = -1 if self.options.label == "auto" else self.options.label
        is_bare = self.width == 1 and not self.options.features and not _OTHER_DELIMITER.search(line)
        if is_bare and self.options.label == "auto":
            wanted = None  # one token a line, without labels
        if self.width == 1 and wanted is not None:
            raise DataError(
                "only one column",
                expected=f"{_EXPECTED} (tokens without labels: label=None, --label-column none)",
                got=shortened(line),
                where=self.lines.where(number),
            )
        self.token = self._place(self.options.token, "token")
        self.label = None if wanted is None else self._place(wanted, "label")
        if self.token == self.label:
            raise ConfigurationError("token and label are the same column", expected="two columns", got=self.token)
        if self.options.features is None:
            self.features = [index for index in range(self.width) if index not in (self.token, self.label)]
        else:
            self.features = [self._place(column, "feature") for column in self.options.features]

    def _place(self, column: int | str, what: str) -> int:
        if isinstance(column, str) or not -self.width <= column < self.width:
            raise ConfigurationError(
                f"no column {column!r} for the {what}",
                expected=f"a number from 0 to {self.width - 1} (or negative, from the right)",
                got=repr(column),
                where=self.lines.where(self.width_line),
            )
        return column % self.width

    def _mistake(self, rows: list[tuple[int, str]]) -> DataError:
        """The first row of a refused sentence that is not as the first row of the file."""
        for number, line in rows:
            fields = self._split(line)
            where = self.lines.where(number)
            if len(fields) == self.width and self.label is not None and not fields[self.label].strip(" "):
                return DataError("the label is empty", expected="a label", got=shortened(line), where=where)
            if len(fields) == self.width:
                continue
            as_before = f"{self.width} columns as on line {self.width_line}"
            short = len(fields) == self.width - 1 and self.label == self.width - 1
            what = "the label is missing" if short else "wrong number of columns"
            return DataError(what, expected=as_before, got=f"{len(fields)}: {shortened(line)}", where=where)
        number = next(number for number, line in rows if DOCUMENT_MARK in self._split(line))
        expected = "it only at the beginning of a line"
        return DataError(f"{DOCUMENT_MARK} among the tokens", expected=expected, where=self.lines.where(number))

    def _split(self, line: str) -> list[str]:
        return line.split("\t") if self.delimiter == "\t" else split_spaces(line)


_OTHER_DELIMITER = re.compile(r"\S[,;|](?:O|[BIESLUMW]-\S+|[A-Z]{1,5})$")
"""Columns, but with commas or the like between them."""
_EXPECTED = "a token and a label with a tab or spaces between them"
