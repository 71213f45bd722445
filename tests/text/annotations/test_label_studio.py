"""Label Studio: exports with offsets of other units, several annotations, other results, JSON-MIN, mistakes."""

import io
import json
from typing import Any

import pytest

from postil.errors import DataError
from postil.text.annotations.annotated import AnnotatedSpan, AnnotatedText
from postil.text.annotations.label_studio import read_label_studio, write_label_studio, write_label_studio_min
from postil.text.formats import read
from postil.text.lines import Lines
from postil.text.options import ReadOptions, WriteOptions
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
    assert json.loads("".join(write_label_studio([text], WriteOptions(), Report()))) == [
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
    report = Report()
    assert json.loads("".join(write_label_studio_min([text], WriteOptions(), report))) == [
        {"id": 5, "meta": {}, "a": 1, "text": "😀 Anna", "label": [value]}
    ]
    assert +report.dropped == {"field 'score' of spans": 1}
    assert "".join(write_label_studio([], WriteOptions(), Report())) == "[]\n"


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
