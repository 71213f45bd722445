"""``postil.read_spans``: tables in memory to what ``fit`` takes."""

import json

import numpy as np
import pandas
import polars
import pytest

import postil
from postil.errors import DataError, RepairWarning
from postil.text import ReadOptions, SpanError

TEXTS = ["Anna left Oslo.", "Nobody came.", "Lima and Oslo"]
SPANS = [[(0, 4, "PER"), (10, 14, "LOC")], [], [(0, 4, "LOC"), (9, 13, "LOC")]]
X = [["Anna", "left", "Oslo", "."], ["Nobody", "came", "."], ["Lima", "and", "Oslo"]]
Y = [["B-PER", "O", "B-LOC", "O"], ["O", "O", "O"], ["B-LOC", "O", "B-LOC"]]


def as_rows(columns):
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def as_mappings(spans):
    return [{"start": start, "end": end, "label": label} for start, end, label in spans]


@pytest.mark.parametrize(
    "spans",
    [
        SPANS,
        [as_mappings(of_text) for of_text in SPANS],
        [json.dumps(of_text) for of_text in SPANS],
        [str(of_text) for of_text in SPANS],
        [SPANS[0], None, SPANS[2]],
        [np.array(of_text, dtype=object) for of_text in SPANS],
    ],
    ids=["tuples", "mappings", "JSON", "Python", "missing", "arrays"],
)
@pytest.mark.parametrize("table", [dict, pandas.DataFrame, as_rows])
def test_one_row_per_text(table, spans):
    assert postil.read_spans(table({"text": TEXTS, "spans": spans})) == (X, Y)


@pytest.mark.parametrize("table", [pandas.DataFrame, polars.DataFrame, dict])
def test_one_row_per_span_with_columns_of_other_names(table):
    rows = [(text, *span) for text, spans in zip(TEXTS, SPANS, strict=True) for span in spans or [(None, None, None)]]
    names = ("review", "start", "end", "label")
    frame = table({name: [row[i] for row in rows] for i, name in enumerate(names)})
    assert postil.read_spans(frame, text="review") == (X, Y)


def test_what_is_read_can_be_fitted_and_an_empty_table_is_empty():
    tagger = postil.Tagger(preset="fast", hidden=8, epochs=2).fit(*postil.read_spans({"text": TEXTS, "spans": SPANS}))
    assert sorted(tagger.model.codec.classes) == ["LOC", "PER"]
    assert postil.read_spans([]) == ([], [])


def test_small_mistakes_are_repaired_with_one_warning():
    spans = [[(0.0, 4.0, "PER"), (0, 4, "PER"), (9, 14, "LOC")]]
    with pytest.warns(RepairWarning) as caught:
        assert postil.read_spans({"text": TEXTS[:1], "spans": spans}) == (X[:1], Y[:1])
    assert len(caught) == 1 and "duplicate spans: 1" in str(caught[0].message)


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        ({"body": ["a"], "spans": [[]]}, "frame: no column of texts: expected 'text', got body, spans"),
        ({"text": ["a"]}, "no spans: expected a column 'spans', or columns start, end and label"),
        ({"text": ["a"], "spans": [3]}, "frame, row 0: spans is not a list of spans"),
        ({"text": ["a", "b"], "spans": [[]]}, "columns of different lengths"),
        (3, "not a table"),
        ("text", "not a table"),
        ({"text": ["a"], "start": ["x"], "end": [1], "label": ["A"]}, "frame, row 0: not an offset"),
    ],
)
def test_mistakes_are_one_clear_line(frame, message):
    with pytest.raises(DataError, match=r"^[^\n]*$") as caught:
        postil.read_spans(frame)
    assert message in str(caught.value)


def test_overlaps_and_spans_inside_words_are_errors_unless_options_say_otherwise():
    overlapping = {"text": ["Anna left Oslo."], "spans": [[(0, 4, "PER"), (0, 9, "X")]]}
    with pytest.raises(SpanError):
        postil.read_spans(overlapping)
    longest = postil.read_spans(overlapping, options=ReadOptions(overlaps="longest"))
    assert longest[1] == [["B-X", "I-X", "O", "O"]]
    with pytest.raises(SpanError):
        postil.read_spans({"text": ["Anna left."], "spans": [[(0, 3, "PER")]]})
