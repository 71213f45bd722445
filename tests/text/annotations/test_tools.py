"""Label Studio: exports with offsets of other units, several annotations, other results, JSON-MIN, mistakes."""

import io
import json
from typing import Any

import pytest

from oracles.annotated import written
from postil.errors import DataError
from postil.text.annotations.annotated import AnnotatedSpan, AnnotatedText
from postil.text.annotations.tools import read_label_studio
from postil.text.formats import read
from postil.text.lines import Lines
from postil.text.options import ReadOptions
from postil.text.report import Report


def texts(value: Any) -> tuple[list[AnnotatedText], Report]:
    report = Report()
    content = value if isinstance(value, str) else json.dumps(value, indent=1)
    return list(read_label_studio(Lines(io.BytesIO(content.encode())), ReadOptions(), report)), report


def result(start: int, end: int, text: str, *labels: str, **others: Any) -> dict[str, Any]:
    value = {"start": start, "end": end, "text": text, "labels": list(labels)}
    return {"id": "x", "from_name": "label", "to_name": "text", "type": "labels", "value": value, **others}


def task(text: str, *results: dict[str, Any], **others: Any) -> dict[str, Any]:
    return {"id": 7, "data": {"text": text, "source": "web"}, "annotations": [{"result": list(results)}], **others}


def test_a_task_and_what_is_lost_of_it() -> None:
    one = task("Anna saw Oslo", result(0, 4, "Anna", "PER", "NAME", score=0.5), result(9, 13, "Oslo", "LOC"))
    one["annotations"][0]["result"] += [{"type": "relation", "from_id": "a"}, {"type": "choices", "value": {}}]
    one["annotations"] += [{"result": []}, {"result": [], "was_cancelled": True}]
    one["predictions"] = [{}]
    [text], report = texts([one, {"id": 8, "data": {"text": "unseen"}}])
    assert text.spans == [
        AnnotatedSpan(0, 4, "PER", {"score": 0.5}),
        AnnotatedSpan(0, 4, "NAME", {"score": 0.5}),
        AnnotatedSpan(9, 13, "LOC"),
    ]
    assert text.fields == {"source": "web", "id": 7}
    assert +report.dropped == {
        "relations": 1,
        "results of type choices": 1,
        "further annotations of a task": 1,
        "annotations that were cancelled": 1,
        "predictions": 1,
        "tasks without an annotation": 1,
    }


@pytest.mark.parametrize(
    ("text", "place", "wanted"),
    [
        ("😀😀 Oslo Oslo", (5, 9), (3, 7)),  # UTF-16 units
        ("a\nb\nOslo", (6, 10), (4, 8)),  # line ends as two
        ("a\r\nb\r\nOslo", (4, 8), (6, 10)),  # line ends as one
        ("éé Oslo", (5, 9), (3, 7)),  # bytes
        ("see Oslo", (5, 9), (4, 8)),  # shifted
        ("see Oslo", (4, 8), (4, 8)),
    ],
)
def test_spans_are_where_their_text_is(text: str, place: tuple[int, int], wanted: tuple[int, int]) -> None:
    [found], report = texts([task(text, result(*place, "Oslo", "LOC"))])
    assert found.spans == [AnnotatedSpan(*wanted, "LOC")]
    assert report.changed["spans moved to where their text is"] == (place != wanted)


def test_all_spans_of_a_task_count_in_one_unit() -> None:
    """Oslo is at the place of the second claim in characters, too; but then the first would be wrong."""
    text = "😀 Bern Oslo😀Oslo"
    [found], _ = texts([task(text, result(3, 7, "Bern", "LOC"), result(14, 18, "Oslo", "LOC"))])
    assert [(span.start, span.end) for span in found.spans or ()] == [(2, 6), (12, 16)]


def test_minimal_exports_with_any_name_of_the_labels() -> None:
    one = {"id": 1, "text": "Anna left", "ner": [{"start": 0, "end": 4, "text": "Anna", "labels": ["PER"]}], "rate": 2}
    [text, other], report = texts([one, {"id": 2, "text": "x", "label": []}])
    assert (text.spans, text.fields) == ([AnnotatedSpan(0, 4, "PER")], {"id": 1, "rate": 2})
    assert other.spans == []
    assert not +report.dropped


def test_unannotated_tasks_are_texts_without_labels() -> None:
    sentences = list(read(io.BytesIO(b'[{"id": 1, "data": {"text": "Anna left."}}]'), "label-studio"))
    assert [(s.tokens, s.labels) for s in sentences] == [(["Anna", "left", "."], None)]


def test_what_is_written() -> None:
    text = AnnotatedText("😀 Anna", [AnnotatedSpan(2, 6, "PER", {"score": 1})], fields={"id": 5, "meta": {}, "a": 1})
    value = {"start": 2, "end": 6, "text": "Anna", "labels": ["PER"]}
    assert json.loads(written("label-studio", [text])[0]) == [
        {
            "id": 5,
            "data": {"text": "😀 Anna", "a": 1},
            "meta": {},
            "annotations": [
                {
                    "result": [
                        {
                            "score": 1,
                            "id": "s0",
                            "from_name": "label",
                            "to_name": "text",
                            "type": "labels",
                            "value": value,
                        }
                    ]
                }
            ],
        }
    ]
    content, report = written("label-studio-min", [text])
    assert json.loads(content) == [{"id": 5, "meta": {}, "a": 1, "text": "😀 Anna", "label": [value]}]
    assert +report.dropped == {"field 'score' of spans": 1}
    assert written("label-studio", [])[0] == "[]\n"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ('[\n{"data": {"text": "a"}},\n{"data": 3}]', "line 3: data of a task: expected"),
        ([task("Oslo", result(0, 4, "Paris", "LOC"))], "line 2: a span whose text is not there"),
        ([task("Oslo", result(0, 4, "Oslo"))], "line 2: a span without labels"),
        ([task("Oslo", {"type": "labels", "value": {"start": 0.5}})], "line 2: not a span"),
        ([task("Oslo", result(10**400 % 7, 10**300, "Oslo x", "LOC"))], "line 2: a span whose text is not there"),
        ([{"data": {"a": "x", "b": "y"}}], "line 2: the text is missing"),
        ('[{"data": {"text": "a"}}', "not valid JSON: no comma between objects"),
        ('[{"data": {"text": "a"}},', "not valid JSON: the array has no end"),
        ('[{"data": {"text": "a"}}] x', "not valid JSON: text after the array"),
        ('[{"data": {"text": "a"}, "data": 1}]', "the same key twice"),
        ("[3]", "not a JSON object"),
    ],
)
def test_mistakes_have_a_line(value: Any, message: str) -> None:
    with pytest.raises(DataError) as caught:
        texts(value)
    assert message in str(caught.value)
    assert str(caught.value).startswith("stream, line ")


# --------------------------------------------------------------- doccano: its three dialects, and files for its import


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


def test_what_is_written_doccano() -> None:
    span = AnnotatedSpan(0, 4, "PER", {"id": 3})
    line, report = written("doccano", [AnnotatedText("Anna left", [span], fields={"id": 1})])
    assert json.loads(line) == {"text": "Anna left", "label": [[0, 4, "PER"]], "id": 1}
    assert +report.dropped == {"field 'id' of spans": 1}
    assert json.loads(written("doccano", [AnnotatedText("Anna")])[0]) == {"text": "Anna"}


# -------------------------------------------------------------- Prodigy: tokens, spans that know their tokens, answers


def test_what_is_written_prodigy() -> None:
    spans = [AnnotatedSpan(0, 9, "PER", {"source": "me", "token_start": 9}), AnnotatedSpan(1, 2, "X")]
    line, report = written("prodigy", [AnnotatedText("Anna Berg left.", spans, fields={"meta": 1})])
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
    assert {"spans", "answer"}.isdisjoint(json.loads(written("prodigy", [AnnotatedText("Anna")])[0]))


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
