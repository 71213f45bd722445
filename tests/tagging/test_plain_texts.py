"""Raw texts as bytes: what the readers of sentences read."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.errors import DataError
from postil.tagging.fast_path import read_plain
from postil.text import Report
from postil.text.annotations.records import is_plain_record
from postil.text.formats import FORMATS
from postil.text.lines import Passage
from postil.text.options import ReadOptions

OPTIONS = ReadOptions(features=(), every_record=True)


def passage(text, format, **fields):
    return Passage(name="x", format=format, first=1, text=text, **fields)


def sentences_of(texts):
    cells, edges = texts.cells.tolist(), pairwise(texts.offsets.tolist())
    words = [texts.text[first:end].decode() for first, end in cells]
    return [words[first:end] for first, end in edges]


lines = st.lists(st.sampled_from(["Anna left. She ran", "é!", "a", "", " \t", "\u00a0", "No. 5 p.m. The"]), max_size=12)


@given(lines, st.booleans())
def test_lines_are_read_as_by_the_reader_of_sentences(rows, split):
    source, options = passage("\n".join(rows), "text"), ReadOptions(features=(), split=split)
    expected = [sentence.tokens for sentence in FORMATS["text"].read(source, options, Report())]
    texts = read_plain(source, options)
    assert (sentences_of(texts) if texts is not None else []) == expected
    if texts is not None:
        assert [texts.text[first:end].decode() for first, end in texts.documents.tolist()] == [
            row for row in rows if row.strip()
        ]


@given(lines, st.booleans())
def test_records_are_read_as_by_the_reader_of_sentences(rows, every):
    source = passage("\n".join(json.dumps({"text": row, "id": i}) for i, row in enumerate(rows)), "jsonl")
    options = ReadOptions(features=(), every_record=every)
    expected = list(FORMATS["jsonl"].read(source, options, Report()))
    texts = read_plain(source, options)
    assert (sentences_of(texts) if texts is not None else []) == [s.tokens for s in expected if s.tokens]


def test_other_fields_are_kept_as_they_are_written():
    texts = read_plain(passage('{"id": 7, "text": "a", "é": "\\u2028"}\n{"text": "b"}', "jsonl"), OPTIONS)
    assert texts.fields == [', "id": 7, "é": "\\u2028"'.encode(), b""]


@pytest.mark.parametrize(
    "line", ["{", "[]", '{"text": 1}', '{"a": 1}', '{"text": "a", "text": "b"}', '{"text": "\\ud800"}']
)
def test_mistakes_are_left_to_the_reader_of_sentences(line):
    assert read_plain(passage(line, "jsonl"), OPTIONS) is None


def test_what_is_not_plain():
    assert read_plain(passage("a", "text", mistake=DataError("a")), OPTIONS) is None
    assert read_plain(passage("\ud800", "text"), OPTIONS) is None
    assert not is_plain_record({"text": "a", "spans": None}) and is_plain_record({"text": "a", "meta": 1})
    refused = passage('{"text": "a", "answer": "ignore"}', "jsonl")
    assert read_plain(refused, OPTIONS) is not None and read_plain(refused, ReadOptions(features=())) is None
