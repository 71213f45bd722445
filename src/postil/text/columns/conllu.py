"""CoNLL-U: ten columns between tabs, numbered words, multiword tokens (3-4) and empty nodes (8.1).

Tokens are the syntactic words. Everything else of a sentence is kept and written again.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, final

from postil.errors import ConfigurationError, DataError
from postil.text.columns.blocks import blocks
from postil.text.document import Rest, Sentence
from postil.text.lines import NumberedLines, shortened
from postil.text.options import Column, ReadOptions
from postil.text.report import Report

COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
FORM = 1
EMPTY = "_"
_ID = re.compile(r"([1-9][0-9]*)(?:-([1-9][0-9]*))?$|([0-9]+)\.([1-9][0-9]*)$")
NEW_DOCUMENT = re.compile(r"#\s*newdoc(?:\s+id\s*=\s*(.*))?$")
TEXT = re.compile(r"#\s*text\s*=\s?(.*)$")


class Place(NamedTuple):
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
    label: Place | None

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


@final
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
        if not rest.rows:
            where = self.lines.where(first)
            raise DataError("the sentence has no words", expected="lines numbered 1, 2, …", where=where)
        tokens = [row[FORM] for row in rest.rows]
        labels = None if self.label is None else [get(row, self.label) for row in rest.rows]
        columns = [tuple(get(row, place) for place in self.features) for row in rest.rows] if self.features else None
        sentence = Sentence(tokens, labels, columns, line=first, comments=self.comments, rest=rest)
        self.comments = []
        self._read_comments(sentence, rest)
        self.report.sentences += 1
        self.report.tokens += len(tokens)
        return sentence

    def _rows(self, block: list[str], first: int) -> Dependencies:
        rest = Dependencies([], [], self.label)
        numbering = Numbering()
        for number, line in enumerate(block, first):
            fields = line.split("\t")
            self._check_fields(fields, line, number)
            words = len(rest.rows)
            if fields[0] == str(words + 1):
                rest.rows.append(fields)
            elif numbering.accepts(fields[0], words):
                rest.others.append(Surface(words, line))
            else:
                raise self._misnumbered(words + 1, shortened(line), number)
        if numbering.covered > len(rest.rows):
            raise self._misnumbered(len(rest.rows) + 1, "the end of the sentence", first + len(block) - 1)
        return rest

    def _check_fields(self, fields: list[str], line: str, number: int) -> None:
        where = self.lines.where(number)
        if line[0] == "#":
            raise DataError(
                "a comment inside a sentence",
                expected="comments before its first word",
                got=shortened(line),
                where=where,
            )
        if len(fields) != len(COLUMNS):
            got = f"{len(fields)}: {shortened(line)}"
            raise DataError("wrong number of columns", expected="10 with tabs between them", got=got, where=where)
        if "" in fields:
            what = f"the column {COLUMNS[fields.index('')]} is empty"
            raise DataError(what, expected=f"a value or '{EMPTY}'", got=shortened(line), where=where)

    def _misnumbered(self, expected: int, got: str, number: int) -> DataError:
        return DataError(
            "the word is misnumbered",
            expected=f"word {expected} (or a multiword token or an empty node that fits there)",
            got=got,
            where=self.lines.where(number),
        )

    def _read_comments(self, sentence: Sentence, rest: Dependencies) -> None:
        for comment in sentence.comments:
            if match := NEW_DOCUMENT.match(comment):
                sentence.document = match[1] or ""
                self.report.documents += 1
            elif match := TEXT.match(comment):
                self._align(sentence, rest, match[1])

    def _align(self, sentence: Sentence, rest: Dependencies, text: str) -> None:
        offsets = _word_offsets(text, rest)
        if offsets is None:
            self.report.notes["sentences whose words do not match their text"] += 1
        else:
            sentence.text, (sentence.starts, sentence.ends) = text, offsets


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


def find_place(column: Column) -> Place:
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
    return Place(index, key or None)


def get(row: list[str], place: Place) -> str:
    """The value of a row at a place; '_' where it has none."""
    cell = row[place.column]
    if place.key is None:
        return cell
    prefix = f"{place.key}="
    return next((entry.removeprefix(prefix) for entry in cell.split("|") if entry.startswith(prefix)), EMPTY)


def put(row: list[str], place: Place, value: str) -> None:
    """Set the value of a row at a place; '_' takes a key away."""
    if place.key is None:
        row[place.column] = value
        return
    prefix = f"{place.key}="
    entries = [] if row[place.column] == EMPTY else row[place.column].split("|")
    at = next((index for index, entry in enumerate(entries) if entry.startswith(prefix)), len(entries))
    entries[at : at + 1] = [] if value == EMPTY else [prefix + value]
    row[place.column] = "|".join(entries) or EMPTY


def _word_offsets(text: str, rest: Dependencies) -> tuple[list[int], list[int]] | None:
    """The offsets of the words in the text; None if they do not match it.

    The words of a multiword token that do not match it (French "du" = "de le") all get its whole span.
    """
    forms = [row[FORM] for row in rest.rows]
    multiword = dict(_multiword_tokens(rest))
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


def _multiword_tokens(rest: Dependencies) -> Iterator[tuple[int, tuple[int, str]]]:
    """First word (from 0), word after the last one, and form of every multiword token."""
    for other in rest.others:
        identity, form = other.line.split("\t", 2)[:2]
        if "-" in identity:
            yield other.before, (int(identity.partition("-")[2]), form)
