"""doccano: its three dialects, and files for its import."""

import io
import json

import pytest

from postil.errors import DataError
from postil.text.annotations.annotated import AnnotatedSpan, AnnotatedText
from postil.text.annotations.doccano import write_doccano
from postil.text.formats import read
from postil.text.options import WriteOptions
from postil.text.report import Report

DIALECTS = [
    {"id": 1, "text": "Anna left", "label": [[0, 4, "PER"]], "Comments": []},
    {"id": 1, "text": "Anna left", "entities": [{"id": 3, "label": "PER", "start_offset": 0, "end_offset": 4}]},
    {"id": 1, "text": "Anna left", "annotations": [{"label": 2, "start_offset": 0, "end_offset": 4, "user": 1}]},
]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_dialects(dialect: dict[str, object]) -> None:
    line = json.dumps(dialect).encode()
    [sentence] = read(io.BytesIO(line), label_names={2: "PER"})
    assert sentence.labels == ["B-PER", "O"]


def test_numbers_without_names_are_labels_and_counted() -> None:
    reading = read(io.BytesIO(json.dumps(DIALECTS[2]).encode()))
    assert [s.labels for s in reading] == [["B-2", "O"]]
    assert reading.report.changed["spans labelled by a number, as no names of labels were given"] == 1
    with pytest.raises(DataError, match="line 1: the number of a label has no name"):
        list(read(io.BytesIO(json.dumps(DIALECTS[2]).encode()), label_names={0: "X"}))


def test_what_is_written() -> None:
    span = AnnotatedSpan(0, 4, "PER", {"id": 3})
    report = Report()
    [line] = write_doccano([AnnotatedText("Anna left", [span], fields={"id": 1})], WriteOptions(), report)
    assert json.loads(line) == {"text": "Anna left", "label": [[0, 4, "PER"]], "id": 1}
    assert +report.dropped == {"field 'id' of spans": 1}
    [line] = write_doccano([AnnotatedText("Anna")], WriteOptions(), report)
    assert json.loads(line) == {"text": "Anna"}
