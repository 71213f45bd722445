"""Prodigy: tokens, spans that know their tokens, answers."""

import io
import json

import pytest

from postil.errors import DataError
from postil.text.annotations.annotated import AnnotatedSpan, AnnotatedText
from postil.text.annotations.prodigy import write_prodigy
from postil.text.formats import read
from postil.text.options import WriteOptions
from postil.text.report import Report


def test_what_is_written() -> None:
    spans = [AnnotatedSpan(0, 9, "PER", {"source": "me", "token_start": 9}), AnnotatedSpan(1, 2, "X")]
    report = Report()
    [line] = write_prodigy([AnnotatedText("Anna Berg left.", spans, fields={"meta": 1})], WriteOptions(), report)
    record = json.loads(line)
    assert record["tokens"][1:3] == [
        {"text": "Berg", "start": 5, "end": 9, "id": 1, "ws": True},
        {"text": "left", "start": 10, "end": 14, "id": 2, "ws": False},
    ]
    assert record["spans"] == [
        {"start": 0, "end": 9, "token_start": 0, "token_end": 1, "label": "PER", "source": "me"},
        {"start": 1, "end": 2, "label": "X"},
    ]
    assert (record["answer"], record["meta"]) == ("accept", 1)
    [what] = +report.changed
    assert what == "spans that do not fit the tokens, written without token_start and token_end"


def test_texts_that_nobody_has_annotated_have_no_answer() -> None:
    [line] = write_prodigy([AnnotatedText("Anna")], WriteOptions(), Report())
    assert {"spans", "answer"}.isdisjoint(json.loads(line))


def test_spans_by_their_tokens_alone() -> None:
    tokens = [{"text": "Anna", "start": 0, "end": 4, "id": 0}, {"text": "Berg", "start": 5, "end": 9, "id": 1}]
    record = {"text": "Anna Berg", "tokens": tokens, "spans": [{"token_start": 0, "token_end": 1, "label": "PER"}]}
    [sentence] = read(io.BytesIO(json.dumps(record).encode()), "prodigy")
    assert sentence.labels == ["B-PER", "I-PER"]
    record["spans"] = [{"token_start": 0, "token_end": 2, "label": "PER"}]
    with pytest.raises(DataError, match="line 1: not a span"):
        list(read(io.BytesIO(json.dumps(record).encode()), "prodigy"))


def test_only_accepted_records_are_read() -> None:
    lines = [{"text": "Anna", "spans": [], "answer": answer} for answer in ("accept", "reject", "ignore")]
    reading = read(io.BytesIO("\n".join(map(json.dumps, lines)).encode()), "prodigy")
    assert len(list(reading)) == 1
    assert reading.report.dropped["records whose answer is 'reject'"] == 1
    assert reading.report.dropped["records whose answer is 'ignore'"] == 1
