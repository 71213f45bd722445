"""JSON objects taken apart; whole files are in test_spans.py and test_round_trips.py."""

import json

import pytest

from postil.errors import DataError
from postil.text.annotations.records import parse, take_apart


def content(**fields):
    return take_apart(parse(json.dumps(fields), "here"), "here")


def test_spans_of_several_tools():
    expected = [("PER", 0, 4)]
    for fields in (
        {"spans": [{"start": 0, "end": 4, "label": "PER"}]},
        {"entities": [{"start_offset": 0, "end_offset": 4, "label": "PER"}]},
        {"label": [[0, 4, "PER"]]},
    ):
        found = content(text="Anna left", **fields)
        assert [(span.label, span.start, span.end) for span in found.spans] == expected and found.labels is None


def test_tokens_and_labels():
    found = content(text="Anna left", tokens=["Anna", "left"], labels=["B-PER", "O"])
    assert found.tokens.tokens == ["Anna", "left"] and found.labels == ["B-PER", "O"] and found.spans is None
    assert found.record.tokens == ["Anna", "left"]


def test_other_fields_are_kept_and_counted_as_lost_elsewhere():
    found = content(text="Anna left", id=7, meta={"a": 1}, spans=[{"start": 0, "end": 4, "label": "X", "by": "me"}])
    assert found.record.fields == {"id": 7, "meta": {"a": 1}}
    lost = found.record.lost()
    assert lost["JSON field 'id'"] == 1 and lost["other keys of spans"] == 1


@pytest.mark.parametrize("line", ["", "[1]", "{", '{"a": 1, "a": 2}', '{"text": "\\ud83d"}', "[" * 100_000])
def test_lines_that_are_no_objects(line):
    with pytest.raises(DataError, match="here"):
        parse(line, "here")


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"text": 5},
        {"text": "a", "spans": [{"start": 0, "end": 9, "label": "X"}]},
        {"text": "a", "spans": [{"start": 1, "end": 0, "label": "X"}]},
        {"tokens": ["a"], "labels": ["O", "O"]},
    ],
)
def test_fields_that_do_not_fit(fields):
    with pytest.raises(DataError, match="here"):
        content(**fields)
