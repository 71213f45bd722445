"""The writer of CoNLL-U: the columns that were read, or new ones for sentences from other formats."""

from collections.abc import Iterable, Iterator, Sequence

from postil.errors import DataError
from postil.text.columns.conllu import (
    COLUMNS,
    EMPTY,
    FORM,
    NEW_DOCUMENT,
    TEXT,
    Dependencies,
    Place,
    find_place,
    get,
    put,
)
from postil.text.document import Sentence
from postil.text.lines import Originals, shortened
from postil.text.options import Column, WriteOptions
from postil.text.report import Report

_GLUED = "SpaceAfter=No"


def write_conllu(sentences: Iterable[Sentence], options: WriteOptions, report: Report) -> Iterator[str]:
    """The lines of a CoNLL-U file, one string a sentence."""
    features = [find_place(column) for column in options.features]
    chosen = None if options.label == "auto" else find_place(options.label)
    for sentence in sentences:
        if not sentence.tokens:
            report.dropped["sentences without tokens"] += 1
            continue
        kept = _kept(sentence)
        rows = [list(row) for row in kept.rows] if kept is not None else _new_rows(sentence)
        _put_labels(rows, sentence, chosen or (kept and kept.label) or find_place("upos"))
        if kept is None:
            _put_features(rows, sentence, features, report)
        _check_writable(rows, sentence)
        lines = ["\t".join(row) for row in rows]
        for other in reversed(kept.others if kept is not None else []):
            lines.insert(other.before, other.line)
        yield "".join(f"{line}\n" for line in [*_comments(sentence, report), *lines, ""])


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
        answers = zip(*_answers(sentence, len(places)), strict=True)
        lines = originals.take(sentence.line - originals.next_line)
        for line in originals.take(len(rest.rows) + len(rest.others)):
            is_word = line[: line.index("\t")].isdecimal()  # not 3-4, not 8.1
            lines.append(_refilled(line, places, next(answers), sentence) if is_word else line)
        yield _encoded([*lines, *originals.take_blank()], originals.encoding)
    yield _encoded(originals.take_all(), originals.encoding)


def _answers(sentence: Sentence, count: int) -> list[Sequence[str]]:
    """The last columns of a sentence and its labels, ``count`` in all."""
    columns = list(zip(*sentence.columns, strict=True)) if sentence.columns else []
    return [*columns[len(columns) - count + 1 :], sentence.labels or ()]


def _refilled(line: str, places: Sequence[Place], values: Sequence[str], sentence: Sentence) -> str:
    content = line.rstrip("\r\n")
    row = content.split("\t")
    if all(get(row, place) == value for place, value in zip(places, values, strict=True)):
        return line
    for place, value in zip(places, values, strict=True):
        if get(row, place) != value:
            put(row, place, value)
    _check_writable([row], sentence)
    return "\t".join(row) + line[len(content) :]


def _encoded(lines: list[str], encoding: str) -> bytes:
    try:
        return "".join(lines).encode(encoding)
    except UnicodeEncodeError as error:
        got = repr(error.object[error.start : error.end])
        raise DataError("a label cannot be written", expected=f"characters of {encoding}", got=got) from None


def _kept(sentence: Sentence) -> Dependencies | None:
    """The columns that were read, if they still belong to the tokens."""
    rest = sentence.rest
    return rest if isinstance(rest, Dependencies) and len(rest.rows) == len(sentence.tokens) else None


def _put_labels(rows: list[list[str]], sentence: Sentence, place: Place) -> None:
    for row, token in zip(rows, sentence.tokens, strict=True):
        row[FORM] = token
    for row, label in zip(rows, sentence.labels or (), strict=False):
        if get(row, place) != label:
            put(row, place, label)


def _new_rows(sentence: Sentence) -> list[list[str]]:
    """Ten columns for a sentence from another format; spacing is known where its text is."""
    rows = [[str(number), token, *[EMPTY] * 8] for number, token in enumerate(sentence.tokens, 1)]
    if sentence.starts is not None and sentence.ends is not None:
        for row, end, start in zip(rows, sentence.ends, sentence.starts[1:], strict=False):
            if end == start:
                row[-1] = _GLUED
    return rows


def columns_after_form(label: str, column: Column) -> tuple[bytes, bytes]:
    """The columns after the form of a new row with this label: of a token before a space, and of one without it."""
    ends = []
    for misc in (EMPTY, _GLUED):
        row = ["1", "form", *[EMPTY] * 7, misc]
        place = find_place("upos" if column == "auto" else column)
        if get(row, place) != label:
            put(row, place, label)
        ends.append("\t".join(row[FORM + 1 :]).encode())
    return ends[0], ends[1]


def _put_features(rows: list[list[str]], sentence: Sentence, places: list[Place], report: Report) -> None:
    columns = sentence.columns or [()] * len(rows)
    for row, values in zip(rows, columns, strict=True):
        for place, value in zip(places, values, strict=False):
            put(row, place, value)
    report.dropped["feature columns that were given no CoNLL-U column"] += max(0, len(columns[0]) - len(places))


def _comments(sentence: Sentence, report: Report) -> list[str]:
    """The comments, with document mark and text where they are known but not among them."""
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


def comment_lines(sentence: Sentence) -> bytes:
    """What stands before the rows of a sentence."""
    return "".join(f"{line}\n" for line in _comments(sentence, Report())).encode()


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
