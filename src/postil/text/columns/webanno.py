r"""WebAnno TSV 3, the format of WebAnno and INCEpTION: a row for each token, a column for each feature of a layer.

    #FORMAT=WebAnno TSV 3.3
    #T_SP=de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity|identifier|value

    #Text=Anna Berg left.
    1-1	0-4	Anna	*[1]	PER[1]                 the tokens of one annotation share a number
    1-2	5-9	Berg	*[1]	PER[1]
    1-2.1	5-7	Be	*	X                          a part of a token
    1-3	10-14	left	*[2]|*[3]	A[2]|B[3]      annotations of one place, stacked

Offsets count UTF-16 units of the document; ``_`` is nothing and ``*`` an annotation without a value.
"""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, final

from postil.errors import ConfigurationError, DataError
from postil.text.annotations.annotated import AnnotatedSpan, AnnotatedText, placed_tokens
from postil.text.lines import NumberedLines, shortened
from postil.text.offsets import utf16_offsets
from postil.text.options import ReadOptions, WriteOptions
from postil.text.report import Report
from postil.text.splitting.segmenter import Tokens, split_sentences, tokenise

MARK = "#FORMAT=WebAnno TSV 3"
LAYER = "de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity"
_HEAD = f"{MARK}.3\n#T_SP={LAYER}|identifier|value\n\n"
_NUMBERS = re.compile(r"(\d{1,9})-(\d{1,9})((?:\.\d{1,9})?)\Z")
_OFFSETS = re.compile(r"(\d{1,15})-(\d{1,15})\Z")
_STACK = re.compile(r"((?:[^\\|]|\\.)*)(?:\||\Z)", re.DOTALL)
_VALUE = re.compile(r"((?:[^\\\[]|\\.)*)(?:\[(\d{1,15})\])?\Z", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_TEXT_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "b": "\b"}
_TO_TEXT = {ord(value): f"\\{name}" for name, value in _TEXT_ESCAPES.items()} | {ord("\\"): "\\\\"}
_TO_TEXT |= {code: f"\\{chr(code)}" for code in range(32) if not 8 <= code < 14}
_SPECIAL = re.compile(r"->|[\\\[\]|_;*]")


class _Column(NamedTuple):
    """A column of the file: the layer and the feature that it holds, and the kind of layer (SP, RL or CH)."""

    kind: str
    layer: str
    feature: str

    @property
    def short(self) -> str:
        return self.layer.rsplit(".", 1)[-1]


class _Unit(NamedTuple):
    """A token or a part of one: its characters in the text of the sentence, and its cells."""

    start: int
    end: int
    cells: list[str]


def read_webanno(lines: NumberedLines, options: ReadOptions, report: Report) -> Iterator[AnnotatedText]:
    """The sentences of a file, each a text with its tokens."""
    reader = _Reader(lines, options, report)
    for number, line in lines.numbered():
        if line.partition("=")[0] == "#Text" and reader.rows:
            yield reader.sentence()
        reader.take(line, number)
    if reader.rows:
        yield reader.sentence()


@final
class _Reader:
    """Collects the lines of a sentence until the next begins."""

    def __init__(self, lines: NumberedLines, options: ReadOptions, report: Report) -> None:
        self.lines, self.options, self.report = lines, options, report
        self.columns: list[_Column] = []
        self.label: int | None = None
        self.texts: list[str] = []
        self.rows: list[list[str]] = []
        self.first = 0
        self.started = False

    def take(self, line: str, number: int) -> None:
        name, _, value = line.partition("=")
        if name in ("#T_SP", "#T_RL", "#T_CH"):
            layer, *features = value.split("|")
            self.columns += [_Column(name[3:], layer, feature) for feature in features or [""]]
        elif name == "#Text":
            self.first = self.first if self.texts else number
            self.texts.append(_unescaped(value, text=True))
        if line.startswith("#"):
            return
        row, where = line.split("\t"), self.lines.where(number)
        if not _NUMBERS.match(row[0]) or len(row) < 3 or not _OFFSETS.match(row[1]):
            expected = "1-1<tab>0-4<tab>TOKEN and a column for every feature"
            raise DataError("not a row of WebAnno TSV", expected=expected, got=shortened(line), where=where)
        width = 3 + len(self.columns)
        if len(row) < width or any(row[width:]):
            raise DataError("wrong number of columns", expected=width, got=len(row) - (not row[-1]), where=where)
        self.rows.append(row)

    def sentence(self) -> AnnotatedText:
        """The sentence whose lines have been taken."""
        if not self.started:
            self.label = _label_column(self.columns, self.options)
        text, where = "\n".join(self.texts), self.lines.where(self.first)
        tokens, units = _units(text, self.rows, where)
        sentence = AnnotatedText(
            text,
            None if self.label is None else self._spans(units, where),
            tokens,
            [len(tokens)],
            document=None if self.started else "",
            continues=self.started,
            line=self.first,
            where=where,
            token_fields=[],
        )
        self.texts, self.rows, self.started = [], [], True
        return sentence

    def _spans(self, units: list[_Unit], where: str) -> list[AnnotatedSpan]:
        assert self.label is not None
        chosen = self.columns[self.label]
        siblings = [n for n, c in enumerate(self.columns) if c.layer == chosen.layer and n != self.label]
        for number, column in enumerate(self.columns):
            if number not in (self.label, *siblings):
                others = {"RL": "relations", "CH": "links of chains"}
                what = others.get(column.kind, f"cells of the layer {column.short}")
                self.report.dropped[what] += sum(unit.cells[number] not in ("_", "") for unit in units)
        places: dict[tuple[str, object], tuple[int, int, str, dict[str, str]]] = {}
        for number, unit in enumerate(units):
            for stack, (value, identity) in enumerate(_stack(unit.cells[self.label], where)):
                if value is None:
                    continue
                key = ("id", identity) if identity else ("one", (number, stack))
                start, end, label, fields = places.get(key, (unit.start, unit.end, value or chosen.short, {}))
                self.report.changed["annotations without a value, labelled by their layer"] += not value
                for sibling in siblings:
                    stacked = _stack(unit.cells[sibling], where)
                    said = stacked[stack][0] if stack < len(stacked) else None
                    if said:
                        fields[self.columns[sibling].feature] = said
                places[key] = (min(start, unit.start), max(end, unit.end), label, fields)
        return [AnnotatedSpan(*place) for place in places.values()]


def _label_column(columns: list[_Column], options: ReadOptions) -> int | None:
    """The column that holds the labels: the one that was asked for, names, or the first that could be."""
    spans = [number for number, column in enumerate(columns) if column.kind == "SP"]
    if options.label is None or not spans:
        return None
    if options.label != "auto":
        for number in spans:
            if options.label in (columns[number].feature, columns[number].short, number):
                return number
        names = ", ".join(f"{columns[n].short} or {columns[n].feature}" for n in spans)
        raise ConfigurationError("no such column of labels", expected=names, got=repr(options.label))
    named = [n for n in spans if columns[n].short == "NamedEntity"] or [
        n for n in spans if columns[n].short not in ("POS", "Lemma", "MorphologicalFeatures", "Stem")
    ]
    values = [n for n in named if columns[n].feature == "value"]
    return (values or named or spans)[0]


def _units(text: str, rows: list[list[str]], where: str) -> tuple[list[tuple[int, int]], list[_Unit]]:
    """The tokens of a sentence, and all that has cells: tokens and their parts."""
    units16 = utf16_offsets(text, range(len(text) + 1)).tolist()
    base = int(rows[0][1].partition("-")[0])
    tokens: list[tuple[int, int]] = []
    units: list[_Unit] = []
    for row in rows:
        start16, end16 = (int(part) for part in row[1].split("-"))
        is_part = "." in row[0]
        form = _unescaped(row[2], text=True)
        start, end = _characters(units16, start16 - base), _characters(units16, end16 - base)
        if text[start:end] != form and not is_part:  # a sentence that begins with white space
            start = text.find(form, tokens[-1][1] if tokens else 0)
            end = start + len(form)
            base = start16 - units16[max(start, 0)]
        is_placed = 0 <= start < end <= len(text) and text[start:end] == form
        if not is_placed or (tokens and tokens[-1][1] > start and not is_part):
            what, expected = f"the token {row[0]} is not in its text", "the characters of the text at its offsets"
            raise DataError(what, expected=f"{expected}, in UTF-16 units", got=shortened(form), where=where)
        if not is_part:
            tokens.append((start, end))
        units.append(_Unit(start, end, row[3:]))
    return tokens, units


def _characters(units: list[int], offset: int) -> int:
    place = bisect_left(units, offset)
    return place if place < len(units) and units[place] == offset else -1


def _stack(cell: str, where: str) -> list[tuple[str | None, str | None]]:
    """The values of a cell with their numbers; None for nothing, "" for an annotation without a value."""
    if cell in ("_", ""):
        return [(None, None)]
    parts = [match.group(1) for match in _STACK.finditer(cell) if match.group() or match.start() < len(cell)]
    values: list[tuple[str | None, str | None]] = []
    for part in parts:
        match = _VALUE.match(part)
        if match is None:
            raise DataError("not a cell of WebAnno TSV", expected="VALUE[1]|VALUE[2]", got=shortened(cell), where=where)
        value = match.group(1)
        values.append(("" if value == "*" else None if value == "_" else _unescaped(value), match.group(2)))
    return values


def _unescaped(value: str, text: bool = False) -> str:
    names = _TEXT_ESCAPES if text else {"t": "\t", "n": "\n"}
    return _ESCAPED.sub(lambda match: names.get(match.group(1), match.group(1)), value)


def _escaped(value: str) -> str:
    value = _SPECIAL.sub(lambda match: f"\\{match.group()}", value)
    return value.replace("\t", "\\t").replace("\n", "\\n")


def write_webanno(texts: Iterable[AnnotatedText], options: WriteOptions, report: Report) -> Iterator[str]:
    """One document in TSV 3.3, with the layer of names that both tools have."""
    yield _HEAD
    offset = number = identity = 0
    for text in texts:
        if text.tokens is None:
            tokens = tokenise(text.text)
        else:
            tokens = placed_tokens(text.text, [place for place in text.tokens if place[0] < place[1]])
        units16 = utf16_offsets(text.text, range(len(text.text) + 1)).tolist()
        spans = _parts(text, tokens, report)
        firsts = [parts[0][0] for _, parts in spans]
        for first, last in _ranges(text, tokens, report):
            number += 1
            mine = spans[bisect_left(firsts, first) : bisect_left(firsts, last)]
            yield f"\n#Text={text.text[tokens.starts[first] : tokens.ends[last - 1]].translate(_TO_TEXT)}\n"
            rows, identity = _rows(tokens, first, last, mine, number, identity)
            for name, start, end, cells in rows:
                form = text.text[start:end].translate(_TO_TEXT)
                yield f"{name}\t{units16[start] + offset}-{units16[end] + offset}\t{form}\t{cells}\t\n"
        offset += units16[-1] + 1


def _ranges(text: AnnotatedText, tokens: Tokens, report: Report) -> list[tuple[int, int]]:
    """Sentences as ranges of tokens, joined where a span runs across their border."""
    if not len(tokens):
        report.dropped["texts without tokens"] += 1
        return []
    if text.sentences is not None and sum(text.sentences) == len(tokens):
        ranges = [(a, b) for a, b in pairwise(accumulate(text.sentences, initial=0)) if a < b]
    else:
        ranges = [(0, len(tokens))] if text.tokens is not None else list(split_sentences(tokens))
    inside = {t for span in text.spans or () for t in range(*tokens.touched(span.start, span.end))[1:]}
    joined: list[tuple[int, int]] = []
    for first, last in ranges:
        if joined and first in inside:
            joined[-1] = (joined[-1][0], last)
        else:
            joined.append((first, last))
    return joined


_Parts = tuple[AnnotatedSpan, list[tuple[int, int, int]]]
"""A span, and of each token that it touches the number, and the characters that it covers."""


def _parts(text: AnnotatedText, tokens: Tokens, report: Report) -> list[_Parts]:
    """The spans of a text by their tokens, in the order of their first ones."""
    spans: list[_Parts] = []
    for span in text.spans or ():
        touched = range(*tokens.touched(span.start, span.end))
        parts = [(t, max(span.start, tokens.starts[t]), min(span.end, tokens.ends[t])) for t in touched]
        if not parts:
            report.dropped["spans without tokens"] += 1
            continue
        is_trimmed = (parts[0][1], parts[-1][2]) != (span.start, span.end)
        report.changed["spans trimmed to the characters of tokens"] += is_trimmed
        spans.append((span, parts))
    return sorted(spans, key=lambda pair: pair[1][0][0])


def _rows(
    tokens: Tokens, first: int, last: int, spans: list[_Parts], sentence: int, identity: int
) -> tuple[list[tuple[str, int, int, str]], int]:
    """Name, start, end and cells of each row of a sentence, and the last number of an annotation.

    The rows are tokens, and the parts of tokens that a span begins or ends in.
    """
    cells: dict[tuple[int, int, int], list[tuple[str, str]]] = defaultdict(list)
    together = Counter(part for _, parts in spans for part in parts)
    for span, parts in spans:
        mark = ""
        if len(parts) > 1 or together[parts[0]] > 1:
            identity += 1
            mark = f"[{identity}]"
        known: Any = span.fields.get("identifier")
        name = _escaped(known) if isinstance(known, str) and known else "*"
        for part in parts:
            cells[part].append((f"{name}{mark}", f"{_escaped(span.label)}{mark}"))
    parts_of: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for part in cells:
        parts_of[part[0]].append(part)
    rows = []
    for token in range(first, last):
        whole = (token, tokens.starts[token], tokens.ends[token])
        for n, part in enumerate([whole, *sorted(part for part in parts_of[token] if part != whole)]):
            name = f"{sentence}-{token - first + 1}" + (f".{n}" if n else "")
            values = cells.get(part) or [("_", "_")]
            columns = "\t".join("|".join(column) for column in zip(*values, strict=True))
            rows.append((name, part[1], part[2], columns))
    return rows, identity
