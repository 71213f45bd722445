"""What must be true of every file, however broken: a clear error, or everything that stands in it is read.

The references here look at the bytes in the most obvious way, whole file at a time, and share no code with the readers.
"""

import gzip
import io
import json
import re
from pathlib import Path
from typing import Any

from postil.errors import PostilError
from postil.text.document import Sentence
from postil.text.formats import Reading, read, write


def outcome(path: Path, format: str | None, check: Any) -> str:
    """ "right", "refused" or "recognised as …"; an AssertionError says what went wrong with the file."""
    try:
        with read(path, format, misaligned="snap", overlaps="longest") as reading:
            sentences = list(reading)
    except PostilError as error:
        message = str(error)
        assert message and "\n" not in message and error.where is not None, message
        assert str(path) in str(error.where), message
        return "refused"
    if format is None and reading.format != _FORMATS[check]:
        return f"recognised as {reading.format}"
    check(_text(path), sentences, reading)
    return "right"


def _text(path: Path) -> str:
    data = path.read_bytes()
    data = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    return re.sub("\r\n?", "\n", data.decode(encoding))


def _blocks(text: str) -> list[list[str]]:
    """Lines between blank ones."""
    blocks: list[list[str]] = [[]]
    for line in text.split("\n"):
        if line.strip(" \t"):
            blocks[-1].append(line)
        elif blocks[-1]:
            blocks.append([])
    return [block for block in blocks if block]


def _written(sentences: list[Sentence], format: str, **options: Any) -> str:
    stream = io.BytesIO()
    write(sentences, stream, format, **options)
    return stream.getvalue().decode()


def check_conll(text: str, sentences: list[Sentence], reading: Reading) -> None:
    """Every sentence is the block of lines it says it is; every other line is a comment or a mark."""
    lines = [*text.split("\n"), ""]
    first_row = lines[sentences[0].line - 1]
    for sentence in sentences:
        last = sentence.line - 1 + len(sentence)
        rows = [_cells(line, "\t" in first_row) for line in lines[sentence.line - 1 : last]]
        assert sentence.tokens == [row[0] for row in rows]
        assert sentence.labels == [row[-1].strip(" ") for row in rows]
        assert (sentence.columns or [()] * len(rows)) == [tuple(row[1:-1]) for row in rows]
        assert not lines[last].strip(" \t"), "the sentence goes on"
    report = reading.report
    others = report.notes["comments"] + report.documents + report.dropped["documents without a sentence"]
    assert sum(map(len, _blocks(text))) == report.tokens + others
    again = list(read(io.BytesIO(_written(sentences, "conll").encode()), "conll"))
    assert [_content(sentence) for sentence in again] == [_content(sentence) for sentence in sentences]


def _cells(line: str, tabs: bool) -> list[str]:
    return line.split("\t") if tabs else [cell for cell in re.split("[ \t]", line) if cell]


def _content(sentence: Sentence) -> tuple[object, ...]:
    return (sentence.tokens, sentence.labels, sentence.columns, sentence.document, sentence.comments)


def check_conllu(text: str, sentences: list[Sentence], reading: Reading) -> None:
    """All lines come back; the words are the numbered lines, the labels their fourth column."""
    lines = [line for block in _blocks(text) for line in block]
    again = [line for block in _blocks(_written(sentences, "conllu")) for line in block]
    kept = len(lines) - reading.report.dropped["comments after the last sentence"]
    assert again == lines[:kept]
    words = [line.split("\t") for line in lines if re.match(r"[0-9]+\t", line)]
    assert [token for sentence in sentences for token in sentence.tokens] == [word[1] for word in words]
    assert [label for sentence in sentences for label in sentence.labels or ()] == [word[3] for word in words]


def check_jsonl(text: str, sentences: list[Sentence], reading: Reading) -> None:
    """Every record comes back with its text and its spans, or what happened to them is counted."""
    records = [json.loads(line) for line in text.split("\n") if line.strip(" \t")]
    rejected = [record for record in records if record.get("answer") in ("reject", "ignore")]
    again = [json.loads(line) for line in _written(sentences, "jsonl").split("\n") if line]
    report = reading.report
    empty = report.dropped["records without tokens"]
    assert len(again) + len(rejected) + empty == len(records)
    if rejected or empty:
        return
    lost = report.dropped["spans that do not fit token boundaries"] + report.dropped["overlapping spans"]
    assert [record.get("text") for record in again] == [record.get("text") for record in records]
    spans = [len(record.get("spans") or ()) for record in records]
    if all("labels" not in record for record in [*records, *again]):
        assert sum(len(record.get("spans", ())) for record in again) == sum(spans) - lost
    if not lost and not report.changed and all("labels" not in record for record in [*records, *again]):
        key = lambda span: (span["start"], span["end"], span["label"])  # noqa: E731
        assert [sorted(map(key, record.get("spans") or ())) for record in again] == [
            sorted(map(key, record.get("spans") or ())) for record in records
        ]


_FORMATS = {check_conll: "conll", check_conllu: "conllu", check_jsonl: "jsonl"}
CHECKS = {"conll": check_conll, "conllu": check_conllu, "jsonl": check_jsonl}
