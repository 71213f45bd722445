"""Reviews, and what becomes of their answers."""

import json

import pytest

from postil.errors import PostilError
from postil.quality import Diagnosis, Split, Suspicion, apply, review
from postil.text import Sentence, Span
from postil.text.formats import read

X = [["Anna", "left"], ["in", "New", "York"], ["so", "what"]]
Y = [["O", "O"], ["O", "B-PER", "O"], ["B-PER", "O"]]
DOUBTS = [
    Suspicion(1, 1, 3, (Span("PER", 1, 2),), (Span("LOC", 1, 3),), 0.01, 0.98, 9.0),
    Suspicion(0, 0, 1, (), (Span("PER", 0, 1),), 0.02, 0.97, 8.0),
    Suspicion(2, 0, 1, (Span("PER", 0, 1),), (), 0.03, 0.96, 7.0),
]


@pytest.fixture
def records():
    diagnosis = Diagnosis([Split.of("X", X, Y)], [], DOUBTS)
    return [json.loads(line) for line in review(diagnosis)]


def applied(records, tmp_path, scheme="bio", Y=Y):
    path = tmp_path / "review.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf8")
    sentences = [Sentence(list(tokens), labels=list(labels)) for tokens, labels in zip(X, Y, strict=True)]
    with read(str(path), split=False) as reading:
        counts = apply(reading, sentences, scheme, "review.jsonl")
    return counts, [sentence.labels for sentence in sentences]


def test_a_record_has_the_suggested_spans_and_waits_for_an_answer(records):
    assert [record["sentence"] for record in records] == [1, 0, 2]
    assert records[0]["spans"] == [{"start": 3, "end": 11, "label": "LOC"}]
    assert records[2]["spans"] == []
    assert {record["answer"] for record in records} == {None}
    assert records[0]["where"] == "sentence 2, token 2"


def test_nothing_is_applied_without_an_answer(records, tmp_path):
    counts, labels = applied(records, tmp_path)
    assert counts == (0, 0, 3) and labels == Y


@pytest.mark.parametrize("scheme", ["bio", "iobes"])
def test_accepted_records_change_the_data(records, tmp_path, scheme):
    records[0]["answer"] = records[2]["answer"] = "accept"
    records[1]["answer"] = "reject"
    counts, labels = applied(records, tmp_path, scheme)
    assert counts == (2, 0, 0)  # the reader itself drops what was rejected
    assert labels == [["O", "O"], ["O", "B-LOC", "E-LOC" if scheme == "iobes" else "I-LOC"], ["O", "O"]]


def test_a_tool_may_lose_the_fields(records, tmp_path):
    kept = [{key: record[key] for key in ("text", "tokens", "spans")} for record in records]
    counts, labels = applied(kept, tmp_path)
    assert counts.changed == 3 and labels[0] == ["B-PER", "O"]


def test_a_sentence_of_other_data_is_refused(records, tmp_path):
    records[0] |= {"answer": "accept", "text": "of New York"}
    records[0]["tokens"][0]["text"] = "of"
    with pytest.raises(PostilError, match=r"review.jsonl, line 1.*must be in the data"):
        applied(records, tmp_path)


def test_confirmed_labels_are_counted(records, tmp_path):
    same = records[1] | {"answer": "accept", "spans": []}
    counts, labels = applied([same], tmp_path)
    assert counts == (0, 1, 0) and labels == Y


def test_parts_of_speech_pass_through(tmp_path):
    y = [["NOUN", "VERB"], ["ADP", "X", "X"], ["ADV", "PRON"]]
    doubt = Suspicion(1, 1, 2, (Span("X", 1, 2),), (Span("PROPN", 1, 2),), 0.1, 0.9, 3.0)
    diagnosis = Diagnosis([Split.of("X", X, y)], [], [doubt])
    record = json.loads(next(review(diagnosis))) | {"answer": "accept"}
    counts, labels = applied([record], tmp_path, "none", y)
    assert counts.changed == 1 and labels[1] == ["ADP", "PROPN", "X"]
