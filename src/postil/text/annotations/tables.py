"""CSV tables: a row for each text, a row for each span, or a row for each word.

    text,spans                                              text,start,end,label
    Anna left Oslo.,"[[0, 4, ""PER""], [10, 14, ""LOC""]]"  Anna left Oslo.,0,4,PER
                                                            Anna left Oslo.,10,14,LOC

A cell of spans holds a list in JSON or as Python writes it (``DataFrame.to_csv``). Rows of spans with the same text
belong together wherever they are; a row without start and end is a text without spans. Other columns become fields.

Kaggle has the Groningen Meaning Bank as a table of words, with the sentence in a column:

    Sentence #,Word,POS,Tag
    Sentence: 1,Anna,NNP,B-per
    ,left,VBD,O

A cell in the column of the sentence begins a sentence if it is neither empty nor the one of the row before.
"""

import ast
import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, final

from postil.errors import DataError
from postil.text.annotations.annotated import AnnotatedText, sentences_of
from postil.text.annotations.records import SPAN_FIELDS, texts_of_records
from postil.text.document import Sentence
from postil.text.lines import Lines, NumberedLines, shortened
from postil.text.options import ReadOptions, WriteOptions
from postil.text.report import Report

_TEXTS = ("text", "sentence", "content", "body")
_SPANS = tuple(name for name in SPAN_FIELDS if not name.startswith("label"))
_STARTS = ("start", "start_offset", "start_char", "begin")
_ENDS = ("end", "end_offset", "end_char", "stop")
_LABELS = ("label", "entity_label", "entity_type", "type", "class", "tag", "entity")
_WORDS = ("word", "words", "token", "tokens", "text", "form")
_TAGS = ("tag", "tags", "label", "labels", "ner", "ner_tag", "ner_tags", "entity", "iob")
_LONGEST = 1_000_000  # characters of a cell
EXPECTED = (
    "columns text and spans (a row for each text), text, start, end and label (a row for each span), "
    "or Sentence #, Word and Tag (a row for each word)"
)


def columns_of(header: str) -> list[str]:
    """The names in the first line of a table."""
    try:
        return _names(next(csv.reader([header], delimiter=_delimiter(header)), []))
    except csv.Error:
        return []


def _delimiter(header: str) -> str:
    return next((sign for sign in ",\t;" if sign in header), ",")


def _names(cells: Sequence[str]) -> list[str]:
    return [name.strip().lstrip("\ufeff") for name in cells]


def _rows(lines: NumberedLines) -> Iterator[tuple[int, list[str]]]:
    """The number of the first line and the cells of each row; a quoted cell may have several lines."""

    def originals() -> Iterator[str]:
        """The source as it is: offsets count the ends of lines inside of cells, and lines of blanks."""
        if not isinstance(lines, Lines):
            yield from (f"{line}\n" for _, batch in lines for line in batch)
            return
        kept = lines.originals()
        for text in lines.texts():
            yield from kept.take(text.count("\n"))
        yield from kept.take()

    texts = originals()
    head = next(texts, "")
    before = csv.field_size_limit(_LONGEST)
    number = 1
    try:
        reader = csv.reader(chain([head], texts), delimiter=_delimiter(head), strict=True)
        for row in reader:
            yield number, _names(row) if number == 1 else row
            number = reader.line_num + 1
    except csv.Error as error:
        where = lines.where(number)
        raise DataError(f"not valid CSV: {error}", expected="cells between commas", where=where) from None
    finally:
        csv.field_size_limit(before)


class Layout(NamedTuple):
    """Which column holds what; the others are fields."""

    text: str
    spans: str | None = None
    start: str = ""
    end: str = ""
    label: str = ""
    others: tuple[str, ...] = ()  # columns that may hold spans (doccano), or the class of the whole text


def layout_of(names: Sequence[str]) -> Layout | None:
    """The layout of a table of texts with these columns; None if it is not one."""
    lower = {name.lower(): name for name in reversed(names)}

    def first(candidates: Sequence[str]) -> str:
        return next((lower[name] for name in candidates if name in lower), "")

    text, start, end, label = map(first, (_TEXTS, _STARTS, _ENDS, _LABELS))
    if not text:
        return None
    if start and end and label:
        return Layout(text, None, start, end, label)
    return Layout(text, first(_SPANS) or None, others=tuple(lower[name] for name in SPAN_FIELDS if name in lower))


def read_table(lines: NumberedLines, options: ReadOptions, report: Report) -> Iterator[AnnotatedText]:
    """The texts of a table with spans."""
    rows = (row for row in _rows(lines) if any(row[1]))
    names = next((cells for _, cells in rows), None)
    if names is None:
        return
    layout = layout_of(names)
    if layout is None or len({*names}) < len(names):
        got = f"columns {shortened(', '.join(names))}"
        raise DataError("not a table of texts with spans", expected=EXPECTED, got=got, where=lines.where(1))

    def records() -> Iterator[tuple[int, dict[str, Any]]]:
        for line, cells in rows:
            row = dict(zip(names, _checked(cells, len(names), lines.where(line)), strict=True))
            if layout.start:
                yield line, row
                continue
            fields: dict[str, Any] = {"text": row.pop(layout.text), **row}
            name = layout.spans or next((name for name in layout.others if fields[name].lstrip()[:1] == "["), None)
            if name is not None:
                fields["spans"] = _spans(fields.pop(name), name, lines.where(line), options)
            yield line, fields

    found = _joined(records(), layout, lines) if layout.start else records()
    yield from texts_of_records(found, lines, options, report)


def _checked(cells: list[str], width: int, where: str) -> list[str]:
    if len(cells) != width:
        raise DataError("wrong number of cells", expected=width, got=len(cells), where=where)
    return cells


def _joined(
    records: Iterable[tuple[int, dict[str, str]]], layout: Layout, lines: NumberedLines
) -> Iterator[tuple[int, dict[str, Any]]]:
    """The spans of each text together, in the order of the texts; the same span twice is one."""
    texts: dict[str, tuple[int, list[dict[str, Any]]]] = {}
    for line, row in records:
        spans = texts.setdefault(row.pop(layout.text), (line, []))[1]
        start, end, label = (row.pop(name).strip() for name in (layout.start, layout.end, layout.label))
        if not (start or end):
            continue
        where = lines.where(line)
        span = {"start": _number(start, where), "end": _number(end, where), "label": label}
        if not any(span.items() <= other.items() for other in spans):
            spans.append(span | {name: cell for name, cell in row.items() if cell})
    for text, (line, spans) in texts.items():
        yield line, {"text": text, "spans": spans}


def _number(cell: str, where: str) -> int:
    """An offset; whole numbers that a column of decimals spells 4.0 as well."""
    try:
        value = float(cell)
        if value != int(value):
            raise ValueError
    except (ValueError, OverflowError):
        raise DataError("not an offset", expected="a whole number", got=shortened(cell), where=where) from None
    return int(value)


def _spans(cell: Any, name: str, where: str, options: ReadOptions) -> list[Any]:
    """The spans of a cell, text or list; none in an empty one."""
    is_empty = not cell.strip() if isinstance(cell, str) else _is_missing(cell)
    if is_empty or options.every_record:  # who tags a text needs none of its labels
        return []
    value: Any = cell.tolist() if hasattr(cell, "tolist") else cell  # arrays, which pandas reads from Parquet
    for parse in (json.loads, ast.literal_eval) if isinstance(cell, str) else ():
        try:
            value = parse(cell)
            break
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            continue
    if isinstance(value, dict):
        value = next((value[field] for field in SPAN_FIELDS if field in value), value)  # spaCy's {"entities": …}
    if not isinstance(value, list | tuple):
        expected = '[{"start": 0, "end": 4, "label": "PER"}] or [[0, 4, "PER"]]'
        raise DataError(f"{name} is not a list of spans", expected=expected, got=shortened(str(cell)), where=where)
    return [list(span) if isinstance(span, tuple) or hasattr(span, "tolist") else span for span in value]


def read_spans(
    frame: Any, *, text: str = "text", spans: str = "spans", options: ReadOptions | None = None
) -> tuple[list[list[str]], list[Any]]:
    """Convert a table of texts with spans into tokens and labels for ``fit``.

    Parameters
    ----------
    frame : DataFrame, table or rows
        A DataFrame of pandas or Polars, a table of Arrow, a mapping of column names to lists, or a list of mappings.
        It has one row per text, with a column of spans, or one row per span, with columns start, end and label; rows
        with the same text then belong together.
    text : str
        The column of the texts.
    spans : str
        The column of the spans: lists of (start, end, label) or of mappings with these keys, also as JSON. Offsets
        count characters. A missing value or an empty list is a text without entities.
    options : ReadOptions, optional
        How texts are tokenised, and what happens to spans that overlap or do not end with a token.

    Returns
    -------
    X, y : list of list of str
        The tokens of every sentence and their labels, in the scheme of the options (BIO by default). With
        ``ReadOptions(overlaps="group")``, a sentence with overlapping spans has these instead, for ``MultiTaskTagger``.

    Examples
    --------
    >>> import postil
    >>> X, y = postil.read_spans({"text": ["Anna left Oslo."], "spans": [[(0, 4, "PER"), (10, 14, "LOC")]]})
    >>> X
    [['Anna', 'left', 'Oslo', '.']]
    >>> y
    [['B-PER', 'O', 'B-LOC', 'O']]
    """
    options, report, place = options or ReadOptions(), Report(format="frame"), _Frame()
    rows = _rows_of_frame(frame)
    names = list(rows[0]) if rows else []
    if rows and text not in names:
        raise DataError("no column of texts", expected=repr(text), got=", ".join(map(str, names)), where="frame")
    records: Iterator[tuple[int, dict[str, Any]]]
    if not rows or spans in names:
        records = (
            (number, {"text": row[text], "spans": _spans(row[spans], spans, place.where(number), options)})
            for number, row in enumerate(rows)
        )
    else:
        layout = layout_of(["text", *(name for name in names if name != text)])
        if layout is None or not layout.start:
            expected = f"a column {spans!r}, or columns start, end and label"
            raise DataError("no spans", expected=expected, got=", ".join(map(str, names)), where="frame")
        columns = {text: "text", **{name: name for name in (layout.start, layout.end, layout.label)}}
        cells = [{new: "" if _is_missing(row[old]) else str(row[old]) for old, new in columns.items()} for row in rows]
        records = _joined(enumerate(cells), layout, place)
    sentences = list(sentences_of(texts_of_records(records, place, options, report), place, options, report))
    report.warn_of_repairs("frame")
    y: list[Any] = [sentence.labels or [] if sentence.spans is None else sentence.spans for sentence in sentences]
    return [sentence.tokens for sentence in sentences], y


@final
class _Frame(NumberedLines):
    """A table in memory, whose places are rows, counted from 0."""

    name = "frame"

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        return iter(())

    def where(self, line: int) -> str:
        return f"frame, row {line}"


def _rows_of_frame(frame: Any) -> list[Mapping[str, Any]]:
    for method, arguments in (("to_dicts", ()), ("to_pylist", ()), ("to_dict", ("records",))):  # Polars, Arrow, pandas
        if hasattr(frame, method):
            return list(getattr(frame, method)(*arguments))
    if isinstance(frame, Mapping):
        columns = {name: list(values) for name, values in frame.items()}
        if len({len(values) for values in columns.values()}) > 1:
            got = ", ".join(f"{name} {len(values):,}" for name, values in columns.items())
            raise DataError("columns of different lengths", expected="one value per row", got=got, where="frame")
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    if isinstance(frame, Sequence) and not isinstance(frame, str) and all(isinstance(row, Mapping) for row in frame):
        return list(frame)
    expected = "a DataFrame, a table of Arrow, columns by name, or a list of mappings"
    raise DataError("not a table", expected=expected, got=type(frame).__name__)


def _is_missing(cell: Any) -> bool:
    """Whether a cell is empty: None, or NaN, which pandas puts there."""
    return cell is None or (isinstance(cell, float) and cell != cell)


# -------------------------------------------------------------------------------------------------------------- words


def is_word_table(header: str) -> bool:
    """Whether a line is the header of a table of words."""
    names = [name.strip(' "\ufeff').lower() for name in header.replace(";", ",").split(",")]
    return len(names) > 2 and names[0].startswith("sentence") and any(name in _WORDS for name in names)


def read_words(lines: NumberedLines, options: ReadOptions, report: Report) -> Iterator[Sentence]:
    """The sentences of a table of words, with a header."""
    rows = _rows(lines)
    number, header = next((row for row in rows if any(row[1])), (1, []))
    names = [name.lower() for name in header]
    at = next((n for n, name in enumerate(names) if name.startswith("sentence")), None)
    word = next((names.index(name) for name in _WORDS if name in names), None)
    tag = next((names.index(name) for name in _TAGS if name in names), None)
    if isinstance(options.label, str) and options.label != "auto":
        tag = names.index(options.label.lower()) if options.label.lower() in names else None
    if header and (at is None or word is None or (tag is None and options.label is not None)):
        expected = "columns for the sentence, the word and the tag: Sentence #,Word,Tag (or --label-column NAME)"
        got = ",".join(header)
        where = lines.where(number)
        raise DataError("not the header of a table of words", expected=expected, got=shortened(got), where=where)
    tag = None if options.label is None else tag
    others = [n for n in range(len(names)) if n not in (at, word, tag)]
    if options.features is not None:
        wanted = {str(name).lower() for name in options.features}
        others = [n for n in others if names[n] in wanted or str(n) in wanted]
    before: str | None = None
    words: list[list[str]] = []
    first = 0
    for number, row in chain(rows, [(0, [])]):  # an empty row ends a sentence
        is_empty = not any(map(str.strip, row))
        name = row[at] if at is not None and len(row) == len(names) else ""
        if (is_empty or name not in ("", before)) and words and word is not None:
            labels = None if tag is None else [cells[tag] for cells in words]
            columns = [tuple(cells[n] for n in others) for cells in words] if others else None
            yield Sentence([cells[word] for cells in words], labels, columns, line=first)
            words = []
        before = name or before
        if is_empty:
            continue
        _checked(row, len(names), lines.where(number))
        if tag is not None and not row[tag].strip():
            where = lines.where(number)
            raise DataError("the tag is missing", expected="a tag for every word", got="an empty cell", where=where)
        first = first if words else number
        words.append(row)


def write_words(sentences: Iterable[Sentence], options: WriteOptions, report: Report) -> Iterator[str]:
    """The lines of a table of words; extra columns stand between the word and its tag."""
    is_first = True
    for number, sentence in enumerate(sentences, 1):
        cells = sentence.columns or [()] * len(sentence)
        if is_first:
            width = (len(cells[0]) if cells else 0) + 1 - len(options.names)
            yield _line(["Sentence #", "Word", *(f"Column {n}" for n in range(1, width + 1)), *options.names])
        is_first = False
        report.dropped["sentences without labels"] += sentence.labels is None
        labels = sentence.labels or [""] * len(sentence)
        for at, (token, others, label) in enumerate(zip(sentence.tokens, cells, labels, strict=True)):
            yield _line([f"Sentence: {number}" if not at else "", token, *others, label])


def _line(cells: list[str]) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerow(cells)
    return stream.getvalue()
