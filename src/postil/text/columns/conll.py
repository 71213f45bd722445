"""CoNLL columns: one token a line, columns between tabs or spaces, a blank line after each sentence.

The fast path takes a whole sentence at once; only a sentence that does not pass is looked at line by line,
to accept comments and document marks, or to say exactly what is wrong with it.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import final

from postil.errors import ConfigurationError, DataError
from postil.kernels import Columns
from postil.lazy import Remembered
from postil.text.document import Frame, Frames, Rest, Sentence, frames_of
from postil.text.labels.schemes import Span, labels_from_spans
from postil.text.lines import NumberedLines, shortened, split_spaces
from postil.text.options import ReadOptions, WriteOptions
from postil.text.report import Report


@dataclass(frozen=True, slots=True)
class DocumentMark(Rest):
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
    report.dropped["comments after the last sentence"] += len(reader.comments)
    report.dropped["documents without a sentence"] += reader.mark is not None


def columns_of(lines: NumberedLines, options: ReadOptions) -> Columns | None:
    """How the rows are laid out, by the first one of the source; None if there is none."""
    reader = _ConllReader(lines, options, Report())
    for first, block in () if reader.width else blocks(lines):
        reader.learn_layout(block, first)
        if reader.width:
            break
    if not reader.width:
        return None
    label = -1 if reader.label is None else reader.label
    return Columns(tabs=reader.delimiter == "\t", width=reader.width, token=reader.token, label=label)


@final
class _ConllReader:
    """Blocks of lines to sentences; the first row of the file fixes delimiter and number of columns."""

    def __init__(self, lines: NumberedLines, options: ReadOptions, report: Report) -> None:
        self.lines, self.options, self.report = lines, options, report
        # All tokens with a label share one string.
        self.labels: Remembered[str, str] = Remembered(lambda cell: cell.strip(" "))
        self.delimiter = "\t"
        self.width = 0
        self.width_line = 0
        self.comments: list[str] = []
        self.mark: DocumentMark | None = None
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
        if self.comments:
            sentence.comments, self.comments = self.comments, []
        if self.mark is not None:
            sentence.document, sentence.rest, self.mark = "", self.mark, None
            self.report.documents += 1
        return sentence

    def _whole(self, rows: list[str], first: int) -> Sentence | None:
        """All rows at once; None if one of them is not a plain row."""
        columns = self._columns(rows)
        if columns is None:
            return None
        labels = None if self.label is None else list(map(self.labels.__getitem__, columns[self.label]))
        tokens = columns[self.token]
        if DOCUMENT_MARK in tokens or (labels is not None and "" in labels):
            return None
        if "" in tokens:
            if self.options.strict:
                where = self.lines.where(first + tokens.index(""))
                raise DataError("the token is empty", expected="a token", got="''", where=where)
            self.report.notes["empty tokens"] += tokens.count("")
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
        if self.delimiter == " " and (not regular or "\t" in joined or "" in cells):  # runs of spaces, or tabs
            split = list(map(split_spaces, rows))
            return list(map(list, zip(*split, strict=True))) if {len(row) for row in split} == {self.width} else None
        return [cells[index::stride] for index in range(self.width)] if regular else None

    def _rows(self, block: list[str], first: int) -> list[tuple[int, str]]:
        """The numbered rows of a block; its comments and marks are kept for the sentence that comes next."""
        if not self.width:
            self.learn_layout(block, first)
        rows: list[tuple[int, str]] = []
        for number, line in enumerate(block, first):
            prefix = self.options.comment
            is_comment = prefix is not None and prefix != "auto" and line.startswith(prefix)
            if prefix == "auto" and not rows and could_be_comment(line):
                fields = split_spaces(line)
                is_comment = bool(is_header(line)) or self.delimiter != " " or len(fields) != self.width
                if not is_comment and (self.label is None or not looks_like_label(fields[self.label])):
                    raise DataError(
                        f"{shortened(line)} could be a comment or a token '#'",
                        expected="the option comment: '#' if it is a comment, none if it is a token",
                        where=self.lines.where(number),
                    )
            if is_comment:
                self.comments.append(line)
                self.report.notes["comments"] += 1
            elif not is_mark(line):
                rows.append((number, line))
            elif rows:
                what, where = f"{DOCUMENT_MARK} inside a sentence", self.lines.where(number)
                raise DataError(what, expected="a blank line before it", got=shortened(line), where=where)
            else:
                self.report.dropped["documents without a sentence"] += self.mark is not None
                self.mark = DocumentMark(tuple(_cells(line)))
        return rows

    def learn_layout(self, block: list[str], first: int) -> None:
        """Delimiter, number of columns and the places of token, label and features, from the first row of all."""
        options, prefix = self.options, self.options.comment
        for self.width_line, line in enumerate(block, first):
            comment = could_be_comment(line) if prefix == "auto" else bool(prefix) and line.startswith(str(prefix))
            if not comment and not is_mark(line):
                break
        else:
            return
        where = self.lines.where(self.width_line)
        is_json = line.startswith('{"') and line.endswith("}")
        other = "a bracketed tree" if looks_like_tree(line) else "JSON" if is_json else None
        if other is not None and "\t" not in line:
            raise DataError(f"this line is {other}", expected=_EXPECTED, got=shortened(line), where=where)
        self.delimiter = "\t" if "\t" in line or " " not in line.strip(" ") else " "
        self.width = len(self._split(line))
        wanted: int | str | None = -1 if options.label == "auto" else options.label
        numbered = False
        if options.label == "auto" and options.token == 0 and is_numbered(self._split(line)):
            rows = [fields for one in block if len(fields := self._split(one)) == self.width]
            numbered = [fields[0] for fields in rows] == [str(number) for number in range(1, len(rows) + 1)]
            wanted = 2 if numbered else wanted
        is_bare = self.width == 1 and not options.features and not _OTHER_DELIMITER.search(line)
        if is_bare and options.label == "auto":
            wanted = None  # one token a line, without labels
        if self.width == 1 and wanted is not None:
            expected = f"{_EXPECTED} (tokens without labels: label=None, --label-column none)"
            raise DataError("only one column", expected=expected, got=shortened(line), where=where)
        self.token = self._place(1 if numbered else options.token, "token")
        self.label = None if wanted is None else self._place(wanted, "label")
        if self.token == self.label:
            raise ConfigurationError("token and label are the same column", expected="two columns", got=self.token)
        if options.features is None:
            self.features = [index for index in range(self.width) if index not in (self.token, self.label)]
        else:
            self.features = [self._place(column, "feature") for column in options.features]

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


DOCUMENT_MARK = "-DOCSTART-"

# Tests of a line, or of a cell. In a file of spaces, what could be a comment could still be a row whose token is '#';
# a line that says which classes a corpus annotates is always a comment, however many columns there are.
could_be_comment = re.compile(r"(?!.*\t)(?:# |#(?:begin|end) document\b)", re.DOTALL).match
is_header = re.compile(r"(?!.*\t)#\s*annotates\s*[=:]", re.DOTALL).match
is_mark = re.compile(rf"{DOCUMENT_MARK}(?![^ \t])").match
looks_like_tree = re.compile(r"\((?:[^\s()]+ ?)?\(.*\)\s*$|\([^\s()]+ [^\s()]+\)\s*$").match
looks_like_label = re.compile(r"O$|[BIESLUMW]-.|[A-Z][A-Z0-9$|+:-]*$|[^\w\s]+$").match  # but not an ordinary word
_OF_SCHEME = re.compile(r"(?:O|[BI]-\S+)$")


def is_numbered(fields: list[str]) -> bool:
    """Whether a row has its number, its token, a label of a scheme and two more, as in the files of Universal NER."""
    return len(fields) == 5 and fields[0].isdecimal() and _OF_SCHEME.match(fields[2]) is not None


_BLANK_LINE = re.compile(r"\n[ \t]*\n")

SENTENCE_LIMIT = 10_000_000  # maximum number of lines without a blank line. Beyond it, memory use would not stay flat.


def blocks(lines: NumberedLines) -> Iterator[tuple[int, list[str]]]:
    """The runs of lines without an empty line, each with the number of its first line."""
    block: list[str] = []
    first = 1
    for number, batch in lines:
        first = first if block else number
        begin = 0
        for _ in range(batch.count("")):
            end = batch.index("", begin)
            block += batch[begin:end]
            if block:
                yield first, block
            block = []
            begin = end + 1
            first = number + begin
        block += batch[begin:]
        if len(block) > SENTENCE_LIMIT:
            raise DataError(
                "no end of the sentence",
                expected=f"a blank line within {SENTENCE_LIMIT:,} lines",
                got="more lines without one",
                where=lines.where(first),
            )
    if block:
        yield first, block


def conll_border(text: str, start: int, comments: str | None = None) -> int:
    """The first position at or after ``start`` where a file can be split into parts that are read separately; or 0.

    That is after a blank line, but not between comments (all lines that begin with ``comments``, if it is given) or
    marks and the sentence that follows them. A text with too many lines and no blank line is cut at its end, for the
    reader to refuse.
    """
    blank = None
    for blank in _BLANK_LINE.finditer(text, start):
        line = text[text.rfind("\n", 0, blank.start()) + 1 : blank.start()]
        before = could_be_comment(line) or is_header(line) or is_mark(line)
        goes_before = before is not None if comments is None else line.startswith(comments)
        if line.strip(" \t") and not goes_before:
            return blank.end()
    return len(text) if blank is None and text.count("\n", start) > SENTENCE_LIMIT else 0


# -------------------------------------------------------------------------------------------------------------- writing
# The reader reads back everything that is written here.


def write_conll(sentences: Iterable[Sentence], options: WriteOptions, report: Report) -> Iterator[str]:
    """The lines of a CoNLL file, one string per sentence: token, extra columns, label."""
    delimiter = options.delimiter
    width = 0
    written: dict[str, set[str]] = {"token": set(), "feature": set(), "label": set()}
    for sentence in sentences:
        features = list(zip(*sentence.columns, strict=True)) if sentence.columns else []
        cells: list[Sequence[str]] = [sentence.tokens, *features]
        names = ["token", *["feature"] * len(features)]
        if sentence.labels is not None:
            cells, names = [*cells, sentence.labels], [*names, "label"]
        width = width or len(cells)
        if len(cells) != width:
            expected, where = f"{width} as in the first sentence", _place_of(sentence)
            raise DataError("wrong number of columns", expected=expected, got=len(cells), where=where)
        for name, column in zip(names, cells, strict=True):
            if not written[name].issuperset(column):  # each distinct cell is checked once
                _check_writable(name, column, delimiter, width, sentence)
                if len(written[name]) > _MOST_REMEMBERED:
                    written[name].clear()
                written[name].update(column)
        # One join of all cells takes half the time of a join per row.
        step = 2 * width
        pieces: list[str] = [delimiter] * (len(sentence) * step)
        for place, column in enumerate(cells):
            pieces[2 * place :: step] = column
        pieces[step - 1 :: step] = ["\n"] * len(sentence)
        lines = []
        if sentence.document is not None:
            padding = ("-X-",) * (width - 2) + ("O",) * (width > 1)
            fields = sentence.rest.fields if isinstance(sentence.rest, DocumentMark) else (DOCUMENT_MARK, *padding)
            lines += [delimiter.join(fields), ""]
        for comment in sentence.comments:
            plain = could_be_comment(comment)
            report.changed["comments that began with something else than '# '"] += not plain
            lines.append(comment if plain else "# " + " ".join(comment.removeprefix("#").split()))
        yield "".join([*(f"{line}\n" for line in lines), *pieces, "\n"])


_MOST_REMEMBERED = 1 << 17
_WRITABLE = "text without the delimiter, line ends or NUL that is not empty, a document mark or a comment"


def _check_writable(name: str, column: Iterable[str], delimiter: str, width: int, sentence: Sentence) -> None:
    """Raise DataError about the first cell that the reader would not return as it is."""
    odd = [
        rf"[\n\r\0\t{delimiter}]",
        rf"\A{DOCUMENT_MARK}\Z" if name == "token" else r"\A | \Z" if name == "label" else "",
    ]
    odd += [r"\A\Z"] * (name == "label" or delimiter == " " or width == 1) + [r" |\A#"] * (width == 1)
    search = re.compile("|".join(filter(None, odd))).search
    for cell in column:
        if search(cell):
            what = f"this {name} cannot be written in a CoNLL column"
            raise DataError(what, expected=_WRITABLE, got=shortened(cell), where=_place_of(sentence))


def _place_of(sentence: Sentence) -> str:
    return f"sentence of line {sentence.line}" if sentence.line else f"sentence {shortened(' '.join(sentence.tokens))}"


# --------------------------------------------------------------------------------------------------------------- roles
# Semantic roles in the columns of CoNLL-2005 and CoNLL-2012: a token, its predicate, then a column for each predicate.
#
#     Anna    -       B-ARG0  O            or     Anna    -       (A0*)   *
#     gave    give    B-V     O                   gave    give    (V*)    *
#     him     -       B-ARG2  O                   him     -       (A2*)   *
#     time    -       B-ARG1  B-ARG0              time    -       (A1*    (A0*)
#     to      -       I-ARG1  O                   to      -       *       *
#     think   think   I-ARG1  B-V                 think   think   *)      (V*)
#
# The n-th word whose second column is not ``-`` is the predicate of the n-th column after it. Sentences differ in their
# number of columns; one without a predicate has none. Labels are written as BIO.


NO_PREDICATE = "-"
_ROLE = re.compile(r"O$|[BI]-\S+$")
_BRACKETS = re.compile(r"(?:\(([^\s()*]+))?\*(\)?)$")
_ENOUGH = 5  # sentences with predicates that are looked at to recognise the format


def recognises_roles(head: Sequence[str]) -> bool:
    """Whether the first lines of a file are such columns: every predicate is the V of its column."""
    found, block = 0, list[list[str]]()
    for line in head:
        if line.strip():
            block.append(_cells(line))
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


def _cells(line: str) -> list[str]:
    return line.split("\t") if "\t" in line else split_spaces(line)


def read_roles(lines: NumberedLines, options: ReadOptions, report: Report) -> Iterator[Sentence]:
    """The sentences of a file. ``options.label`` is the column of the predicates (default: the second)."""
    column = 1 if options.label in ("auto", None) else options.label
    if not isinstance(column, int) or column < 1 or options.token != 0:
        raise ConfigurationError(
            "column of the predicates", expected="1 or more, and the token in column 0", got=column
        )
    for first, block in blocks(lines):
        rows = list(map(_cells, block))
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
            named = ", ".join(f"{rows[t][column]} in line {first + t}" for t in places[:3]) + ", …" * (len(places) > 3)
            expected = f"a column for each of {len(places)} predicates" + (f" ({named})" if named else "")
            raise DataError("columns of roles", expected=expected, got=width - column - 1, where=lines.where(first))
        frames = []
        for n, t in enumerate(places, column + 1):
            labels = _role_labels([row[n] for row in rows], lines, first)
            frames.append(Frame(t, labels, rows[t][column]))
        report.notes["predicates"] += len(frames)
        yield Sentence([row[0] for row in rows], line=first, rest=Frames(tuple(frames)))


def _role_labels(cells: list[str], lines: NumberedLines, first: int) -> list[str]:
    if all(map(_ROLE.match, cells)):
        return cells
    if any(_ROLE.match(cell) and cell != "O" for cell in cells):
        t = next(t for t, cell in enumerate(cells) if not _ROLE.match(cell))
        got, where = shortened(cells[t]), lines.where(first + t)
        raise DataError("label of a role", expected="O, B-ROLE or I-ROLE, as other words have", got=got, where=where)
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
