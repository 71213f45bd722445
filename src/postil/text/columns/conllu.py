"""CoNLL-U: ten columns between tabs, numbered words, multiword tokens (3-4) and empty nodes (8.1).

Tokens are the syntactic words. Everything else of a sentence is kept and written again.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import NamedTuple, final

from postil.errors import ConfigurationError, DataError
from postil.text.columns.conll import blocks
from postil.text.document import Rest, Sentence
from postil.text.lines import NumberedLines, Originals, shortened
from postil.text.options import Column, ReadOptions, WriteOptions
from postil.text.report import Report

COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
FORM = 1
EMPTY = "_"
_ID = re.compile(r"([1-9][0-9]*)(?:-([1-9][0-9]*))?$|([0-9]+)\.([1-9][0-9]*)$")
NEW_DOCUMENT = re.compile(r"#\s*newdoc(?:\s+id\s*=\s*(.*))?$")
TEXT = re.compile(r"#\s*text\s*=\s?(.*)$")


class CellPlace(NamedTuple):
    """A column, or the value of one key in a column of ``key=value|…`` pairs."""

    column: int
    key: str | None


class Surface(NamedTuple):
    """A line that is not a word, before the word number ``before`` (from 0; T at the end)."""

    before: int
    line: str


@dataclass(frozen=True, slots=True)
class Dependencies(Rest):
    """The ten columns of every word and the lines between them, as they were read."""

    rows: list[list[str]]
    others: list[Surface]
    label: CellPlace | None

    def lost(self) -> Mapping[str, int]:
        multiword = sum("-" in other.line.split("\t", 1)[0] for other in self.others)
        return {
            "sentences with CoNLL-U columns": 1,
            "multiword tokens": multiword,
            "empty nodes": len(self.others) - multiword,
        }


def recognises(fields: list[str]) -> bool:
    """Whether a row of a file is one of CoNLL-U."""
    return len(fields) == len(COLUMNS) and _ID.match(fields[0]) is not None


def read_conllu(lines: NumberedLines, options: ReadOptions, report: Report) -> Iterator[Sentence]:
    """The sentences of a CoNLL-U file."""
    reader = _ConlluReader(lines, options, report)
    for first, block in blocks(lines):
        sentence = reader.sentence(block, first)
        if sentence is not None:
            yield sentence
    report.dropped["comments after the last sentence"] += len(reader.comments)


class _ConlluReader:
    def __init__(self, lines: NumberedLines, options: ReadOptions, report: Report) -> None:
        self.lines, self.options, self.report = lines, options, report
        wanted = "upos" if options.label == "auto" else options.label
        self.label = None if wanted is None else find_place(wanted)
        self.features = [find_place(column) for column in options.features or ()]
        self.comments: list[str] = []

    def sentence(self, block: list[str], first: int) -> Sentence | None:
        """The sentence of a block; None for comments alone, which go to the sentence after them."""
        count = next((index for index, line in enumerate(block) if line[0] != "#"), len(block))
        self.comments += block[:count]
        self.report.notes["comments"] += count
        if count == len(block):
            return None
        first += count
        rest = self._rows(block[count:], first)
        tokens = [row[FORM] for row in rest.rows]
        labels = None if self.label is None else [get(row, self.label) for row in rest.rows]
        columns = [tuple(get(row, place) for place in self.features) for row in rest.rows] if self.features else None
        sentence = Sentence(tokens, labels, columns, line=first, comments=self.comments, rest=rest)
        if ranges := _multiword(rest):
            sentence.joined = [any(low < n < high for low, high, _ in ranges) for n in range(len(tokens))]
        self.comments = []
        for comment in sentence.comments:
            if match := NEW_DOCUMENT.match(comment):
                sentence.document = match[1] or ""
                self.report.documents += 1
            elif match := TEXT.match(comment):
                offsets = _word_offsets(match[1], rest)
                if offsets is None:
                    self.report.notes["sentences whose words do not match their text"] += 1
                else:
                    sentence.text, (sentence.starts, sentence.ends) = match[1], offsets
        return sentence

    def _rows(self, block: list[str], first: int) -> Dependencies:
        rest = Dependencies([], [], self.label)
        numbering = Numbering()
        got, number = "", first
        for number, line in enumerate(block, first):
            fields, where = line.split("\t"), self.lines.where(number)
            if line[0] == "#":
                what, expected = "a comment inside a sentence", "comments before its first word"
                raise DataError(what, expected=expected, got=shortened(line), where=where)
            if len(fields) != len(COLUMNS):
                got = f"{len(fields)}: {shortened(line)}"
                raise DataError("wrong number of columns", expected="10 with tabs between them", got=got, where=where)
            if "" in fields:
                what = f"the column {COLUMNS[fields.index('')]} is empty"
                raise DataError(what, expected=f"a value or '{EMPTY}'", got=shortened(line), where=where)
            words = len(rest.rows)
            if fields[0] == str(words + 1):
                rest.rows.append(fields)
            elif numbering.accepts(fields[0], words):
                rest.others.append(Surface(words, line))
            else:
                got = shortened(line)
                break
        if not got and numbering.covered > len(rest.rows):
            got = "the end of the sentence"
        if got:
            expected = f"word {len(rest.rows) + 1} (or a multiword token or an empty node that fits there)"
            raise DataError("the word is misnumbered", expected=expected, got=got, where=self.lines.where(number))
        if not rest.rows:
            where = self.lines.where(first)
            raise DataError("the sentence has no words", expected="lines numbered 1, 2, …", where=where)
        return rest


@final
class Numbering:
    """Which multiword tokens and empty nodes may follow a number of words."""

    def __init__(self) -> None:
        self.covered = 0  # last word of the multiword tokens so far
        self.node = (0, 0)  # last empty node: word before it, its own number

    def accepts(self, identity: str, words: int) -> bool:
        match = _ID.match(identity)
        if match is None:
            return False
        if match[2] is not None:
            fits = int(match[1]) == words + 1 > self.covered and int(match[2]) > words
            self.covered = int(match[2]) if fits else self.covered
            return fits
        if match[3] is None:
            return False  # a plain number, but not the next one
        number = self.node[1] + 1 if self.node[0] == words else 1
        fits = int(match[3]) == words and int(match[4]) == number
        self.node = (words, number)
        return fits


def find_place(column: Column) -> CellPlace:
    """A column by name ("upos"), number (3), or one key of a column ("feats:Number", "misc:NER")."""
    name, _, key = str(column).partition(":")
    index = (
        int(name) % len(COLUMNS) if re.fullmatch("-?[0-9]", name) else COLUMNS.index(name) if name in COLUMNS else -1
    )
    if index < 0 or (key and COLUMNS[index] not in ("feats", "misc")):
        raise ConfigurationError(
            f"no CoNLL-U column {column!r}",
            expected=f"one of {', '.join(COLUMNS)}, or one key as in feats:Number, misc:NER",
            got=repr(column),
        )
    return CellPlace(index, key or None)


def get(row: list[str], place: CellPlace) -> str:
    """The value of a row at a place; '_' where it has none."""
    cell = row[place.column]
    if place.key is None:
        return cell
    prefix = f"{place.key}="
    return next((entry.removeprefix(prefix) for entry in cell.split("|") if entry.startswith(prefix)), EMPTY)


def put(row: list[str], place: CellPlace, value: str) -> None:
    """Set the value of a row at a place; '_' takes a key away."""
    if place.key is None:
        row[place.column] = value
        return
    prefix = f"{place.key}="
    entries = [] if row[place.column] == EMPTY else row[place.column].split("|")
    at = next((index for index, entry in enumerate(entries) if entry.startswith(prefix)), len(entries))
    entries[at : at + 1] = [] if value == EMPTY else [prefix + value]
    row[place.column] = "|".join(entries) or EMPTY


def _multiword(rest: Dependencies) -> list[tuple[int, int, str]]:
    """The words of each multiword token, from 0, and its form."""
    found = []
    for other in rest.others:
        identity, form = other.line.split("\t", 2)[:2]
        if "-" in identity:
            found.append((other.before, int(identity.partition("-")[2]), form))
    return found


def _word_offsets(text: str, rest: Dependencies) -> tuple[list[int], list[int]] | None:
    """The offsets of the words; None if they do not match the text. "de" and "le" of French "du" share its span."""
    forms = [row[FORM] for row in rest.rows]
    multiword = {first: (end, form) for first, end, form in _multiword(rest)}
    starts: list[int] = []
    ends: list[int] = []
    position = 0
    while len(starts) < len(forms):
        last, surface = multiword.get(len(starts), (len(starts) + 1, forms[len(starts)]))
        while not text.startswith(surface, position):
            if not text[position : position + 1].isspace():
                return None
            position += 1
        parts = forms[len(starts) : last]
        exact = "".join(parts) == surface
        for part in parts:
            starts.append(position)
            ends.append(position + len(part if exact else surface))
            position = ends[-1] if exact else position
        position = ends[-1]
    return None if text[position:].strip() else (starts, ends)


# -------------------------------------------------------------------------------------------------------------- writing
# The columns that were read, or new ones for sentences from other formats.


_GLUED = "SpaceAfter=No"


def write_conllu(sentences: Iterable[Sentence], options: WriteOptions, report: Report) -> Iterator[str]:
    """The lines of a CoNLL-U file, one string a sentence."""
    features = [find_place(column) for column in options.features]
    chosen = None if options.label == "auto" else find_place(options.label)
    for sentence in sentences:
        rest = sentence.rest  # the columns that were read, if they still belong to the tokens
        kept = rest if isinstance(rest, Dependencies) and len(rest.rows) == len(sentence.tokens) else None
        if kept is not None:
            rows, others = [list(row) for row in kept.rows], kept.others
        else:
            rows, others = _new_rows(sentence)
        place = chosen or (kept and kept.label) or find_place("upos")
        for row, token, label in zip_longest(rows, sentence.tokens, sentence.labels or ()):
            row[FORM] = token
            if label is not None and get(row, place) != label:
                put(row, place, label)
        if kept is None:
            columns = sentence.columns or [()] * len(rows)
            for row, values in zip(rows, columns, strict=True):
                for of_feature, value in zip(features, values, strict=False):
                    put(row, of_feature, value)
            unplaced = max(0, len(columns[0]) - len(features))
            report.dropped["feature columns that were given no CoNLL-U column"] += unplaced
        _check_writable(rows, sentence)
        lines = ["\t".join(row) for row in rows]
        for other in reversed(others):
            lines.insert(other.before, other.line)
        yield "".join(f"{line}\n" for line in [*comments_of(sentence, report), *lines, ""])


def _new_rows(sentence: Sentence) -> tuple[list[list[str]], list[Surface]]:
    """The rows of a sentence that has none, and its multiword tokens. Spacing is known if the text is."""
    T, starts, ends = len(sentence), sentence.starts or [], sentence.ends or []
    glued = {n for n, place in enumerate(starts[1:]) if ends and ends[n] == place}
    joined = [*(sentence.joined or [False] * T), False]
    others: list[Surface] = []
    for first, end in multiword_ranges(sentence.joined or ()):
        form = "".join(sentence.tokens[first:end])
        if sentence.text is not None and ends:
            form = sentence.text[starts[first] : ends[end - 1]]
        others.append(Surface(first, range_line(first, end, form, end - 1 in glued)))
    rows = []
    for n, token in enumerate(sentence.tokens):
        is_part = joined[n] or joined[n + 1]
        rows.append([str(n + 1), token, *[EMPTY] * 7, _GLUED if n in glued and not is_part else EMPTY])
    return rows, others


def multiword_ranges(joined: Sequence[bool]) -> list[tuple[int, int]]:
    """The multiword tokens as ranges of words: runs of words of which all but the first are ``joined``."""
    ends = [n for n, (is_part, goes_on) in enumerate(pairwise([*joined, False]), 1) if is_part and not goes_on]
    starts = [n for n, (is_part, goes_on) in enumerate(pairwise([*joined, False])) if goes_on and not is_part]
    return list(zip(starts, ends, strict=True))


def range_line(first: int, end: int, form: str, is_glued: bool) -> str:
    """The line before the words ``first:end`` (from 0) of a multiword token."""
    return "\t".join([f"{first + 1}-{end}", form, *[EMPTY] * 7, _GLUED if is_glued else EMPTY])


def refill(sentences: Iterable[Sentence], originals: Originals, columns: Sequence[Column]) -> Iterator[bytes]:
    """A CoNLL-U source byte for byte, with some columns of its words replaced by the labels of its sentences.

    Comments, multiword tokens, empty nodes, line ends, the byte order mark and the encoding stay what they were.
    The last of the ``columns`` is that of the labels; "auto": the one that they were read from. Those before it are for
    the last columns of the sentences.
    """
    chosen = [None if column == "auto" else find_place(column) for column in columns]
    yield originals.mark
    for sentence in sentences:
        rest = sentence.rest
        assert isinstance(rest, Dependencies)
        places = [place or rest.label or find_place("upos") for place in chosen]
        cells = list(zip(*sentence.columns, strict=True)) if sentence.columns else []
        answers = zip(*cells[len(cells) - len(places) + 1 :], sentence.labels or (), strict=True)
        lines = originals.take(sentence.line - originals.next_line)
        for line in originals.take(len(rest.rows) + len(rest.others)):
            if line[: line.index("\t")].isdecimal():  # not 3-4, not 8.1
                content = line.rstrip("\r\n")
                row = content.split("\t")
                for place, value in zip(places, next(answers), strict=True):
                    if get(row, place) != value:
                        put(row, place, value)
                if (changed := "\t".join(row)) != content:
                    _check_writable([row], sentence)
                    line = changed + line[len(content) :]
            lines.append(line)
        yield _encoded([*lines, *originals.take(1, if_blank=True)], originals.encoding)
    yield _encoded(originals.take(), originals.encoding)


def _encoded(lines: list[str], encoding: str) -> bytes:
    try:
        return "".join(lines).encode(encoding)
    except UnicodeEncodeError as error:
        got = repr(error.object[error.start : error.end])
        raise DataError("a label cannot be written", expected=f"characters of {encoding}", got=got) from None


def columns_after_form(labels: Sequence[str], columns: Sequence[Column]) -> tuple[bytes, bytes]:
    """The columns after the form of a new row with these labels: of a token before a space, and of one without it."""
    places = [find_place("upos" if column == "auto" else column) for column in columns]
    ends = []
    for misc in (EMPTY, _GLUED):
        row = ["1", "form", *[EMPTY] * 7, misc]
        if get(row, places[-1]) != labels[-1]:
            put(row, places[-1], labels[-1])
        for place, label in zip(places[:-1], labels[:-1], strict=True):
            put(row, place, label)
        ends.append("\t".join(row[FORM + 1 :]).encode())
    return ends[0], ends[1]


def comments_of(sentence: Sentence, report: Report) -> list[str]:
    """The comments, with document mark and text if they are known but not among them."""
    comments = []
    for comment in sentence.comments:
        plain = comment.startswith("#") and "\n" not in comment
        report.changed["comments that did not begin with '#'"] += not plain
        comments.append(comment if plain else "# " + " ".join(comment.split()))
    if sentence.document is not None and not any(map(NEW_DOCUMENT.match, comments)):
        comments.insert(0, f"# newdoc id = {sentence.document}" if sentence.document else "# newdoc")
    if sentence.text is not None and sentence.starts and sentence.ends and not any(map(TEXT.match, comments)):
        text = sentence.text[sentence.starts[0] : sentence.ends[-1]]
        comments.append(f"# text = {' '.join(text.split())}")
    return comments


def _check_writable(rows: list[list[str]], sentence: Sentence) -> None:
    for row in rows:
        for name, cell in zip(COLUMNS, row, strict=True):
            if not cell or any(character in cell for character in "\t\n\r\0"):
                raise DataError(
                    f"this {name} cannot be written in CoNLL-U",
                    expected="a text without tabs, line ends and NUL, not empty",
                    got=shortened(cell),
                    where=f"sentence of line {sentence.line}" if sentence.line else f"word {row[0]}",
                )
