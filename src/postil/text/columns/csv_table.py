"""Tables of words, as Kaggle has the Groningen Meaning Bank: a header, a row for each word, the sentence in a column.

    Sentence #,Word,POS,Tag
    Sentence: 1,Anna,NNP,B-per
    ,left,VBD,O

A cell in the column of the sentence begins a sentence if it is neither empty nor the one of the row before.
"""

import csv
import io
from collections.abc import Iterable, Iterator
from typing import NamedTuple, final

from postil.errors import DataError
from postil.text.document import Sentence
from postil.text.lines import NumberedLines, shortened
from postil.text.options import ReadOptions, WriteOptions
from postil.text.report import Report

_WORDS = ("word", "words", "token", "tokens", "text", "form")
_TAGS = ("tag", "tags", "label", "labels", "ner", "ner_tag", "ner_tags", "entity", "iob")
_LONGEST = 1_000_000
"""Characters of a cell."""


class _Layout(NamedTuple):
    """Which column holds what."""

    sentence: int
    word: int
    tag: int | None
    others: tuple[int, ...]
    width: int


def is_header(line: str) -> bool:
    """Whether a line is the header of such a table."""
    names = [name.strip(' "\ufeff').lower() for name in line.replace(";", ",").split(",")]
    return len(names) > 2 and names[0].startswith("sentence") and any(name in _WORDS for name in names)


def read_csv(lines: NumberedLines, options: ReadOptions, report: Report) -> Iterator[Sentence]:
    """The sentences of a table with a header."""
    rows = _Rows(lines)
    layout: _Layout | None = None
    before: str | None = None
    words: list[list[str]] = []
    first = 0
    for number, row in rows:
        if layout is None:
            if not any(row):
                continue
            layout = _layout(row, options, lines.where(number))
            continue
        name = row[layout.sentence] if len(row) == layout.width else ""
        if (not any(row) or name not in ("", before)) and words:
            yield _sentence(words, layout, first, report)
            words = []
        before = name or before
        if not any(row):
            continue
        _check_row(row, layout, lines.where(number))
        first = number if not words else first
        words.append(row)
    if words and layout is not None:
        yield _sentence(words, layout, first, report)


@final
class _Rows:
    """The rows of a table with the numbers of their first lines; a quoted cell may have several lines."""

    def __init__(self, lines: NumberedLines) -> None:
        self.lines, self.line = lines, 0

    def _texts(self) -> Iterator[str]:
        for first, batch in self.lines:
            for self.line, line in enumerate(batch, first):
                yield f"{line}\n"

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        texts = self._texts()
        head = next(texts, "")
        delimiter = ";" if ";" in head and "," not in head else ","
        before = csv.field_size_limit(_LONGEST)
        try:
            reader = csv.reader(_chained(head, texts), delimiter=delimiter, strict=True)
            number = 1
            for row in reader:
                yield number, row
                number = self.line + 1
        except csv.Error as error:
            where = self.lines.where(self.line)
            raise DataError(f"not valid CSV: {error}", expected="cells between commas", where=where) from None
        finally:
            csv.field_size_limit(before)


def _chained(head: str, texts: Iterator[str]) -> Iterator[str]:
    yield head
    yield from texts


def _layout(header: list[str], options: ReadOptions, where: str) -> _Layout:
    names = [name.strip().lstrip("\ufeff").lower() for name in header]
    sentence = next((n for n, name in enumerate(names) if name.startswith("sentence")), None)
    word = next((names.index(name) for name in _WORDS if name in names), None)
    tag = next((names.index(name) for name in _TAGS if name in names), None)
    if isinstance(options.label, str) and options.label != "auto":
        tag = names.index(options.label.lower()) if options.label.lower() in names else None
    if sentence is None or word is None or (tag is None and options.label is not None):
        expected = "columns for the sentence, the word and the tag: Sentence #,Word,Tag"
        raise DataError(
            "not the header of a table of words", expected=expected, got=shortened(",".join(header)), where=where
        )
    tag = None if options.label is None else tag
    others = tuple(n for n in range(len(names)) if n not in (sentence, word, tag))
    if options.features is not None:
        wanted = {str(name).lower() for name in options.features}
        others = tuple(n for n in others if names[n] in wanted or str(n) in wanted)
    return _Layout(sentence, word, tag, others, len(names))


def _check_row(row: list[str], layout: _Layout, where: str) -> None:
    if len(row) != layout.width:
        raise DataError("wrong number of cells", expected=layout.width, got=len(row), where=where)
    if layout.tag is not None and not row[layout.tag].strip():
        raise DataError("the tag is missing", expected="a tag for every word", got="an empty cell", where=where)


def _sentence(rows: list[list[str]], layout: _Layout, first: int, report: Report) -> Sentence:
    report.sentences += 1
    report.tokens += len(rows)
    labels = None if layout.tag is None else [row[layout.tag] for row in rows]
    columns = [tuple(row[n] for n in layout.others) for row in rows] if layout.others else None
    return Sentence([row[layout.word] for row in rows], labels, columns, line=first)


def write_csv(sentences: Iterable[Sentence], options: WriteOptions, report: Report) -> Iterator[str]:
    """The lines of such a table; extra columns stand between the word and its tag."""
    width: int | None = None
    for number, sentence in enumerate(sentences, 1):
        cells = sentence.columns or [()] * len(sentence)
        if width is None:
            width = len(cells[0]) if cells else 0
            yield _line(["Sentence #", "Word", *(f"Column {n}" for n in range(1, width + 1)), "Tag"])
        report.dropped["comments"] += len(sentence.comments)
        report.dropped["document marks"] += sentence.document is not None
        report.dropped["sentences without labels"] += sentence.labels is None
        labels = sentence.labels or [""] * len(sentence)
        for at, (token, others, label) in enumerate(zip(sentence.tokens, cells, labels, strict=True)):
            yield _line([f"Sentence: {number}" if not at else "", token, *others, label])


def _line(cells: list[str]) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerow(cells)
    return stream.getvalue()
