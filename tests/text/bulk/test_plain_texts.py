"""Raw texts as bytes: what the readers of sentences read."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.errors import DataError
from postil.text import Report
from postil.text.bulk.passages import Passage
from postil.text.bulk.plain_texts import is_plain_record, read_texts
from postil.text.formats import FORMATS
from postil.text.options import ReadOptions

OPTIONS = ReadOptions(features=(), every_record=True)


def passage(text, format, **fields):
    return Passage(name="x", format=format, first=1, text=text, **fields)


def sentences_of(texts):
    cells, edges = texts.segments.cells.tolist(), pairwise(texts.segments.offsets.tolist())
    words = [texts.text[first:end].decode() for first, end in cells]
    return [words[first:end] for first, end in edges]


lines = st.lists(st.sampled_from(["Anna left. She ran", "é!", "a", "", " \t", "\u00a0", "No. 5 p.m. The"]), max_size=12)


@given(lines, st.booleans())
def test_lines_are_read_as_by_the_reader_of_sentences(rows, split):
    source, options = passage("\n".join(rows), "text"), ReadOptions(features=(), split=split)
    expected = [sentence.tokens for sentence in FORMATS["text"].read(source, options, Report())]
    texts = read_texts(source, options)
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
    texts = read_texts(source, options)
    assert (sentences_of(texts) if texts is not None else []) == [s.tokens for s in expected if s.tokens]


def test_other_fields_are_kept_as_they_are_written():
    texts = read_texts(passage('{"id": 7, "text": "a", "é": "\\u2028"}\n{"text": "b"}', "jsonl"), OPTIONS)
    assert texts.fields == [', "id": 7, "é": "\\u2028"'.encode(), b""]


@pytest.mark.parametrize(
    "line", ["{", "[]", '{"text": 1}', '{"a": 1}', '{"text": "a", "text": "b"}', '{"text": "\\ud800"}']
)
def test_mistakes_are_left_to_the_reader_of_sentences(line):
    assert read_texts(passage(line, "jsonl"), OPTIONS) is None


def test_what_is_not_plain():
    assert read_texts(passage("a", "conll"), OPTIONS) is None
    assert read_texts(passage("a", "text", mistake=DataError("a")), OPTIONS) is None
    assert read_texts(passage("\ud800", "text"), OPTIONS) is None
    assert not is_plain_record({"text": "a", "spans": None}) and is_plain_record({"text": "a", "meta": 1})
    refused = passage('{"text": "a", "answer": "ignore"}', "jsonl")
    assert read_texts(refused, OPTIONS) is not None and read_texts(refused, ReadOptions(features=())) is None


def test_tokens_that_cannot_stand_in_a_column():
    for text in ("-DOCSTART-", "\0"):
        assert not read_texts(passage(json.dumps({"text": text}), "jsonl"), OPTIONS).is_writable
    assert read_texts(passage("a\tb", "text"), OPTIONS).is_writable
