"""Reading and writing by name: files, packed files, marks of the end, what is left out and counted."""

import gzip
import io
import os
import tracemalloc
from pathlib import Path

import pytest

from postil.errors import ConfigurationError, DataError
from postil.text import lines, output
from postil.text.document import Sentence
from postil.text.formats import FORMATS, format_of_path, read, write
from postil.text.labels import partial as relabelling

TOOLS = "doccano, prodigy, label-studio, label-studio-min, brat, datasets, parquet, csv"
SENTENCES = [Sentence(["Oslo", "is"], ["B-LOC", "O"]), Sentence(["far"], ["O"])]


@pytest.mark.parametrize("name", ["a.conll", "a.txt.gz", "a.conllu", "a.jsonl", "a.jsonl.gz"])
def test_files_are_written_by_their_name_and_recognised_by_content(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    write(SENTENCES, path)
    assert path.read_bytes().startswith(b"\x1f\x8b") == name.endswith(".gz")
    with read(path) as reading:
        assert [(s.tokens, s.labels) for s in reading] == [(s.tokens, s.labels) for s in SENTENCES]
    assert reading.format == format_of_path(name)
    assert (reading.report.sentences, reading.report.tokens) == (2, 3)
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_a_file_can_be_replaced_by_what_is_read_from_it(tmp_path: Path) -> None:
    path = tmp_path / "a.conll"
    write(SENTENCES * 1000, path)
    before = path.read_bytes()
    write(read(path), path)
    assert path.read_bytes() == before


def test_reading_streams(tmp_path: Path) -> None:
    """The first sentence comes although the file breaks later."""
    path = tmp_path / "a.conll"
    path.write_text("a\tX\n\n" * 80_000 + "broken\n")
    reading = read(path)
    assert next(reading).tokens == ["a"]
    assert reading.report.sentences == 1
    with pytest.raises(DataError, match=r"line 160001: the label is missing"):
        list(reading)


class Endless(io.RawIOBase):
    """A stream of so many rows that are never all in memory."""

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        row = b"a\tO\n\n"
        count = min(self.rows, len(buffer) // len(row))  # type: ignore[arg-type]
        self.rows -= count
        buffer[: count * len(row)] = row * count  # type: ignore[index]
        return count * len(row)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["conll", "jsonl"])
def test_memory_does_not_grow_with_the_file(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "PIECE", 4096)
    monkeypatch.setattr(output, "PIECE", 4096)
    monkeypatch.setattr(relabelling, "SAMPLE", 100)
    peaks = []
    for rows in (2_000, 6_000):
        tracemalloc.start()
        with Path(os.devnull).open("wb") as nowhere:
            write(read(Endless(rows), "conll"), nowhere, target)  # type: ignore[arg-type]
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


@pytest.mark.parametrize("format", [None, *(name for name, row in FORMATS.items() if not row.opens)])
@pytest.mark.parametrize("packed", [False, True])
def test_empty_files(format: str | None, packed: bool) -> None:
    data = gzip.compress(b"") if packed else b""
    with pytest.raises(DataError, match=r"^stream: the file is empty: expected sentences, got 0 characters$"):
        list(read(io.BytesIO(data), format))


def test_losses_are_counted_once_for_a_record() -> None:
    text = b'{"text": "Go on. I wait.", "spans": [], "id": 7}\n'
    report = write(read(io.BytesIO(text)), io.BytesIO(), "conll")
    assert report.dropped["JSON field 'id'"] == 1
    assert report.dropped["raw texts of sentences (their spacing)"] == 2


def test_columns_of_conllu_are_counted() -> None:
    row = "{}\tx\t_\tX\t_\t_\t_\t_\t_\t_\n"
    text = "".join(map(row.format, ("1-2", "1", "2", "2.1")))
    report = write(read(io.BytesIO(text.encode())), io.BytesIO(), "conll")
    assert +report.dropped == {"sentences with CoNLL-U columns": 1, "multiword tokens": 1, "empty nodes": 1}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: read(io.BytesIO(b"a"), "xml"),
            "no reader for this format: expected conll, conllu, conll05, jsonl, trees, text, tokens, "
            f"{TOOLS}, csv-spans, json, spacy, got 'xml'",
        ),
        (
            lambda: write([], "-", "text"),
            f"no writer for this format: expected conll, conllu, conll05, jsonl, trees, {TOOLS}, spacy, got 'text'",
        ),
        (
            lambda: write([], "a.doc"),
            "unknown format to write: expected a format (conll, "
            f"conllu, conll05, jsonl, trees, {TOOLS}, spacy) or a file name in .conll, .tsv, .txt, .bio, .iob, .iob2, "
            ".conllu, .conll05, .jsonl, .ndjson, .json, .ptb, .mrg, .trees, .parquet, .csv, .spacy, got a.doc",
        ),
        (
            lambda: write([], "a.conll", delimiter=","),
            "impossible value for delimiter: expected one of '\\t', ' ', got ','",
        ),
        (
            lambda: write([], "a.conll", scheme="bios"),
            "impossible value for scheme: expected one of 'iob1', 'bio', "
            "'iobes', "
            "'bilou', 'bmewo', 'io', 'auto', 'none', got 'bios'",
        ),
    ],
)
def test_impossible_calls(call: object, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        call()  # type: ignore[operator]
    assert str(caught.value) == message


def test_chosen_columns_are_columns() -> None:
    """Two rows that could be text are columns if the user names one; a comment's own prefix is no row."""
    data = b"%% by hand\nOslo here\nBerg there\n"
    assert [s.labels for s in read(io.BytesIO(data), label=0, token=1, comment="%%")] == [["Oslo", "Berg"]]
    assert read(io.BytesIO(data), features=()).format == "text"


LONG = "x" * 4000
DAMAGED = {
    "conll": f"{LONG} O\n\n{LONG}\n",
    "conllu": f"1\t{LONG}\n",
    "jsonl": f'{{"text": "{LONG}", "spans": "{LONG}"}}\n',
    "json": f'[{{"text": "{LONG}", "spans": "{LONG}"}}]',
    "csv-spans": f"text,spans\n{LONG},{LONG}\n",
    "csv": f"Sentence #,Word,Tag\n1,{LONG}\n",
    "trees": f"(3 (2 {LONG}",
    "label-studio": f'[{{"data": "{LONG}"}}]',
}


@pytest.mark.parametrize("format", DAMAGED)
def test_errors_quote_little_of_a_file(format: str) -> None:
    with pytest.raises(DataError) as caught:
        list(read(io.BytesIO(DAMAGED[format].encode()), format, comment=None))
    message = str(caught.value)
    assert len(message) < 500 and "x" * 100 not in message


def test_webanno_tsv_is_named_not_misread() -> None:
    with pytest.raises(DataError, match=r"WebAnno TSV is not read: expected the export .* as CoNLL 2002 or CoNLL-U"):
        read(io.BytesIO(b"#FORMAT=WebAnno TSV 3.3\n#T_SP=x|y\n\n#Text=a\n1-1\t0-1\ta\t_\n"))


def test_inline_xml_is_not_taken_for_text(tmp_path) -> None:
    path = tmp_path / "marked.txt"
    path.write_text("<PERSON>Anna</PERSON> went to <LOCATION>Lima</LOCATION>.\n", "utf-8")
    with pytest.raises(DataError, match=r"text with XML elements around the names.*got inline XML"):
        list(read(path))
