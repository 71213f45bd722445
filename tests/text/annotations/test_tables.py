"""CSV tables of texts with spans: both layouts, every spelling of a list, mistakes told; never CSV syntax as text."""

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.examples import examples
from postil.commands.main import main
from postil.errors import DataError
from postil.text import read

ANNA = "Anna left Oslo."
SPANS = [[0, 4, "PER"], [10, 14, "LOC"]]
LABELS = ["B-PER", "O", "B-LOC", "O"]


def table(*rows, delimiter=","):
    stream = io.StringIO()
    csv.writer(stream, delimiter=delimiter).writerows(rows)
    return stream.getvalue().encode()


def sentences(content, **options):
    with read(io.BytesIO(content), **options) as reading:
        return [(sentence.tokens, sentence.labels) for sentence in reading], reading.format


@pytest.mark.parametrize(
    "cell",
    [
        json.dumps(SPANS),
        str([tuple(span) for span in SPANS]),
        json.dumps([{"start": start, "end": end, "label": label} for start, end, label in SPANS]),
        str([{"start": start, "end": end, "label": label} for start, end, label in SPANS]),
        json.dumps({"entities": SPANS}),
    ],
)
@pytest.mark.parametrize("name", ["spans", "entities", "annotations"])
@pytest.mark.parametrize("delimiter", [",", ";"])
def test_a_row_for_each_text(cell, name, delimiter):
    content = table(["id", "Text", name], ["1", ANNA, cell], ["2", "Boris slept.", ""], delimiter=delimiter)
    found, format = sentences(content)
    assert format == "csv-spans"
    assert found == [(["Anna", "left", "Oslo", "."], LABELS), (["Boris", "slept", "."], ["O"] * 3)]


def test_a_column_of_labels_may_hold_spans(tmp_path):
    """As doccano's does; then every cell is a list."""
    path = tmp_path / "a.csv"
    path.write_bytes(table(["text", "label"], [ANNA, json.dumps(SPANS)], ["Boris slept.", "[]"]))
    with read(path) as reading:
        assert [sentence.labels for sentence in reading] == [LABELS, ["O"] * 3]


def test_a_row_for_each_span():
    rows = [[ANNA, "10.0", "14.0", "LOC"], ["Boris slept.", "", "", ""], [ANNA, "0", "4", "PER"]]
    found, format = sentences(table(["text", "start", "end", "label"], *rows, rows[0]))
    assert format == "csv-spans"
    assert found == [(["Anna", "left", "Oslo", "."], LABELS), (["Boris", "slept", "."], ["O"] * 3)]


LINES = st.text(st.sampled_from("ab é😀\",;'\n\r\t"), max_size=12)


@examples(0.5)
@given(LINES, LINES)
def test_offsets_count_the_cell_as_it_is(before, after):
    """Line ends, blanks, quotes and separators of a cell are characters like others."""
    text = f"{before} Anna {after}"
    start = len(before) + 1
    rows = [["text", "spans"], [text, json.dumps([[start, start + 4, "PER"]])]]
    with read(io.BytesIO(table(*rows)), "csv-spans", split=False) as reading:
        (sentence,) = reading
    assert sentence.text == text
    labelled = [t for t, label in zip(sentence.tokens, sentence.labels, strict=True) if label != "O"]
    assert labelled == ["Anna"]


MISTAKES = [
    ('text,spans\nAnna,"[[0, 4]]"\n', "stream, line 2: not a span: expected"),
    ("text,spans\nAnna,PER\n", "stream, line 2: spans is not a list of spans: expected [{"),
    ('text,spans\nAnna,"[[0, 9, ""PER""]]"\n', "stream, line 2: a span that is empty or outside its text"),
    ("text,spans\nAnna\n", "stream, line 2: wrong number of cells: expected 2, got 1"),
    ("text,start,end,label\nAnna,x,4,PER\n", "stream, line 2: not an offset: expected a whole number, got 'x'"),
    ("text,start,end,label\nAnna,0.5,4,PER\n", "stream, line 2: not an offset: expected a whole number, got '0.5'"),
    ("text,start,end,label\nAnna,0,,PER\n", "stream, line 2: not an offset: expected a whole number, got ''"),
    ('text,spans\n"Anna,[]\n', "stream, line 2: not valid CSV"),
]


@pytest.mark.parametrize(("content", "message"), MISTAKES)
def test_mistakes_are_told(content, message):
    with pytest.raises(DataError) as raised:
        sentences(content.encode())
    assert str(raised.value).startswith(message)


@pytest.mark.parametrize("command", ["convert", "train"])
def test_a_csv_file_is_never_plain_text(command, tmp_path, capsys):
    (tmp_path / "people.csv").write_text("name,age\nAnna,30\nBoris,31\n")
    words = [str(tmp_path / "people.csv"), *(["-o"] if command == "train" else []), str(tmp_path / "out.conll")]
    assert main([command, *words]) == 1
    error = capsys.readouterr().err
    assert "a CSV table without the columns that are needed: expected columns text and spans" in error
    assert "got columns 'name, age'" in error and error.count("\n") == 1
    assert not (tmp_path / "out.conll").exists()


def test_other_columns_are_kept(tmp_path):
    (tmp_path / "a.csv").write_bytes(table(["id", "text", "label"], ["7", ANNA, "good"]))
    assert main(["convert", str(tmp_path / "a.csv"), str(tmp_path / "a.jsonl")]) == 0
    assert json.loads((tmp_path / "a.jsonl").read_text()) == {"text": ANNA, "id": "7", "label": "good"}


@pytest.mark.parametrize(
    "content",
    [
        json.dumps([[ANNA, {"entities": SPANS}], ["Boris slept.", {"entities": []}]]),
        json.dumps([[ANNA, {"entities": SPANS}], ["Boris slept.", {"entities": []}]], indent=1),
        json.dumps([{"text": ANNA, "spans": SPANS}, {"text": "Boris slept.", "spans": []}], indent=2),
        json.dumps(
            [
                {"tokens": ["Anna", "left", "Oslo", "."], "labels": LABELS},
                {"tokens": ["Boris", "slept", "."], "labels": ["O"] * 3},
            ]
        ),
        f"{json.dumps([ANNA, {'entities': SPANS}])}\n{json.dumps(['Boris slept.', {'entities': []}])}\n",
    ],
    ids=["spaCy", "spaCy, indented", "objects", "labels", "spaCy, one a line"],
)
def test_json_arrays_and_tuples_of_spacy(content):
    found, _ = sentences(content.encode())
    assert found == [(["Anna", "left", "Oslo", "."], LABELS), (["Boris", "slept", "."], ["O"] * 3)]


def test_what_is_no_record_in_an_array_is_told():
    with pytest.raises(DataError, match=r'stream, line 1: not a JSON object: expected {"text": …} or \["text"'):
        sentences(b'[["Anna", "left"]]')
