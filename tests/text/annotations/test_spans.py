"""JSON Lines: the forms of all tools, spans against tokens, and every mistake with its words."""

import io
import json
from collections.abc import Mapping

import pytest

from postil.errors import DataError
from postil.text.document import Sentence
from postil.text.formats import Reading, read, write
from postil.text.report import Report, SpanError

TEXT = "Anna Berg left Oslo."
SPANS = [{"start": 0, "end": 9, "label": "PER"}, {"start": 15, "end": 19, "label": "LOC"}]
LABELS = ["B-PER", "I-PER", "O", "B-LOC", "O"]


def reading_of(*records: Mapping[str, object] | str, **options: object) -> Reading:
    lines = [record if isinstance(record, str) else json.dumps(record, ensure_ascii=False) for record in records]
    return read(io.BytesIO("\n".join(lines).encode()), "jsonl", **options)


def written(content: list[Sentence], **options: object) -> list[dict[str, object]]:
    stream = io.BytesIO()
    write(content, stream, "jsonl", **options)
    return [json.loads(line) for line in stream.getvalue().decode().split("\n") if line]


def failure(*records: Mapping[str, object] | str, **options: object) -> str:
    with pytest.raises(DataError) as caught:
        list(reading_of(*records, **options))
    return str(caught.value)


@pytest.mark.parametrize(
    "fields",
    [
        {"spans": SPANS},
        {"label": [[0, 9, "PER"], [15, 19, "LOC"]]},
        {"labels": [[15, 19, "LOC"], [0, 9, "PER"]]},
        {"entities": [{"id": 7, "start_offset": 0, "end_offset": 9, "label": "PER"}, [15, 19, "LOC"]]},
        {"spans": SPANS, "label": []},
        {
            "spans": SPANS,
            "tokens": [
                {"text": word} | dict(zip(("start", "end", "id"), place, strict=True))
                for word, *place in (
                    ("Anna", 0, 4, 0),
                    ("Berg", 5, 9, 1),
                    ("left", 10, 14, 2),
                    ("Oslo", 15, 19, 3),
                    (".", 19, 20, 4),
                )
            ],
            "answer": "accept",
        },
        {"spans": SPANS, "tokens": ["Anna", "Berg", "left", "Oslo", "."]},
        {"tokens": ["Anna", "Berg", "left", "Oslo", "."], "labels": LABELS},
        {"tokens": ["Anna", "Berg", "left", "Oslo", "."], "tags": LABELS},
    ],
)
def test_the_forms_of_all_tools(fields: dict[str, object]) -> None:
    (found,) = reading_of({"text": TEXT} | fields)
    assert (found.tokens, found.labels) == (["Anna", "Berg", "left", "Oslo", "."], LABELS)
    assert (found.text, found.starts, found.ends) == (TEXT, [0, 5, 10, 15, 19], [4, 9, 14, 19, 20])


def test_tokens_without_a_text() -> None:
    (found,) = reading_of({"tokens": ["a", "b"], "labels": ["X", "Y"]})
    assert (found.tokens, found.labels, found.text) == (["a", "b"], ["X", "Y"], "a b")


def test_text_without_labels() -> None:
    (found,) = reading_of({"text": TEXT})
    assert found.labels is None


@pytest.mark.parametrize(("scheme", "label"), [("iob1", "I-LOC"), ("iobes", "S-LOC"), ("bilou", "U-LOC")])
def test_spans_in_other_schemes(scheme: str, label: str) -> None:
    (found,) = reading_of({"text": TEXT, "spans": SPANS}, scheme=scheme)
    assert found.labels is not None
    assert found.labels[3] == label


def test_a_text_is_cut_into_sentences_and_put_together_again() -> None:
    record = {"text": "Anna left.\n\nBerg stayed. So?", "spans": [{"start": 12, "end": 16, "label": "PER"}], "id": 3}
    found = list(reading_of(record))
    assert [(s.tokens, s.labels) for s in found] == [
        (["Anna", "left", "."], ["O", "O", "O"]),
        (["Berg", "stayed", "."], ["B-PER", "O", "O"]),
        (["So", "?"], ["O", "O"]),
    ]
    assert {s.line for s in found} == {1}
    assert written(found) == [record]
    (whole,) = reading_of(record, split=False)
    assert len(whole) == 8


def test_a_sentence_does_not_end_inside_a_span() -> None:
    reading = reading_of({"text": "We saw Jaws. It scared us.", "spans": [{"start": 7, "end": 15, "label": "ART"}]})
    assert len(list(reading)) == 1
    assert reading.report.notes["sentence ends inside a span, not cut"] == 1


def test_in_iob1_a_sentence_does_not_know_the_span_before_it() -> None:
    text = "See Oslo. Bergen is far."
    spans = [{"start": 4, "end": 9, "label": "X"}, {"start": 10, "end": 16, "label": "X"}]
    first, second = reading_of({"text": text, "spans": spans}, scheme="iob1")
    assert (first.labels, second.labels) == (["O", "I-X", "I-X"], ["I-X", "O", "O", "O"])


def test_fields_of_the_user_come_back() -> None:
    record = {
        "text": TEXT,
        "spans": [SPANS[0] | {"source": "gazetteer"}],
        "id": "r1",
        "meta": {"page": 3, "deep": [None, 1.5]},
        "comments": ["# seen"],
        "newdoc": "d1",
    }
    found = list(reading_of(record))
    assert (found[0].document, found[0].comments) == ("d1", ["# seen"])
    assert written(found) == [record]


def test_other_formats_count_the_fields_they_lose() -> None:
    found = list(reading_of({"text": TEXT, "spans": [SPANS[0] | {"by": "me"}], "id": 1}))
    report = write(found, io.BytesIO(), "conll")
    assert +report.dropped == {
        "JSON field 'id'": 1,
        "other keys of spans": 1,
        "raw texts of sentences (their spacing)": 1,
    }


def test_rejected_records_are_counted() -> None:
    records = [{"text": "a", "spans": [], "answer": answer} for answer in ("accept", "reject", "ignore", "reject")]
    reading = reading_of(*records)
    assert len(list(reading)) == 1
    assert +reading.report.dropped == {"records whose answer is 'reject'": 2, "records whose answer is 'ignore'": 1}


def test_records_without_tokens_are_counted() -> None:
    reading = reading_of({"text": " ", "spans": []}, {"text": "a", "spans": []})
    assert len(list(reading)) == 1
    assert reading.report.dropped["records without tokens"] == 1


BROKEN = (
    {"text": "See Paris now", "spans": [{"start": 4, "end": 7, "label": "LOC"}]},
    {"text": "fine", "spans": []},
    {"text": "日本 Oslo and", "spans": [{"start": 2, "end": 7, "label": "LOC"}]},
)


def test_all_spans_that_do_not_fit_are_listed_before_the_error() -> None:
    reading = reading_of(*BROKEN)
    with pytest.raises(SpanError) as caught:
        list(reading)
    assert str(caught.value) == (
        "stream: 2 spans do not fit: expected spans on token boundaries that do not overlap (or --misaligned snap, "
        "--overlaps longest), got LOC 4:7 'Par' does not fit the tokens 'Paris' on line 1 and others"
    )
    assert caught.value.problems == reading.report.problems
    assert [str(problem) for problem in reading.report.problems] == [
        "stream, line 1: LOC 4:7 'Par' does not fit the tokens 'Paris': refused\n    See Paris now\n        ^^^",
        "stream, line 3: LOC 2:7 ' Oslo' does not fit the tokens 'Oslo': refused\n    日本 Oslo and\n        ^^^^^",
    ]
    assert reading.report.sentences == 1


def test_spans_are_snapped_to_the_tokens_they_touch() -> None:
    reading = reading_of(*BROKEN, misaligned="snap")
    assert [s.labels for s in reading] == [["O", "B-LOC", "O"], ["O"], ["O", "B-LOC", "O"]]
    assert +reading.report.changed == {"spans snapped to token boundaries": 2}
    assert [problem.action for problem in reading.report.problems] == ["snapped to 'Paris'", "snapped to 'Oslo'"]


def test_spans_are_dropped() -> None:
    reading = reading_of(*BROKEN, misaligned="drop")
    assert [s.labels for s in reading] == [["O", "O", "O"], ["O"], ["O", "O", "O"]]
    assert +reading.report.dropped == {"spans that do not fit token boundaries": 2}


def test_a_span_of_blanks_cannot_be_snapped() -> None:
    reading = reading_of({"text": "a  b", "spans": [{"start": 1, "end": 3, "label": "X"}]}, misaligned="snap")
    assert [s.labels for s in reading] == [["O", "O"]]
    assert reading.report.dropped["spans that do not fit token boundaries"] == 1
    assert "does not fit the tokens (there are none): dropped" in str(reading.report.problems[0])


OVERLAPS = {"text": "New York City Hall", "label": [[4, 8, "A"], [0, 13, "B"], [9, 18, "C"], [9, 18, "C"]]}


def test_overlapping_spans_are_listed() -> None:
    reading = reading_of(OVERLAPS)
    with pytest.raises(SpanError, match=r"^stream: 3 spans do not fit: .* on line 1 and others$"):
        list(reading)
    assert [problem.what for problem in reading.report.problems] == [
        "B 0:13 'New York City' overlaps A 4:8 'York'",
        "C 9:18 'City Hall' overlaps B 0:13 'New York City'",
        "C 9:18 'City Hall' overlaps C 9:18 'City Hall'",
    ]


@pytest.mark.parametrize(
    ("overlaps", "labels", "dropped"),
    [("longest", ["B-B", "I-B", "I-B", "O"], 3), ("first", ["O", "B-A", "B-C", "I-C"], 2)],
)
def test_overlapping_spans_are_chosen(overlaps: str, labels: list[str], dropped: int) -> None:
    reading = reading_of(OVERLAPS, overlaps=overlaps)
    assert [s.labels for s in reading] == [labels]
    assert +reading.report.dropped == {"overlapping spans": dropped}


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ("", "stream: the file is empty: expected sentences, got 0 characters"),
        (
            '{"text": "a"',
            "stream, line 1: not valid JSON: expecting ',' delimiter at "
            "character 13: expected one object a "
            'line, got \'{"text": "a"\'',
        ),
        ("[" * 100_000, "stream, line 1: JSON nested too deeply: expected one object a line"),
        (
            '{"text": "a", "n": ' + "9" * 5000 + "}",
            "stream, line 1: not valid JSON: exceeds the limit (4300 "
            "digits) for integer string conversion: value has 5000 digits: expected one object a line, "
            f'got \'{{"text": "a", "n": {"9" * 40}…\'',
        ),
        ("[1]", 'stream, line 1: not a JSON object: expected {"text": …} or ["text", {"entities": …}], got \'[1]\''),
        (
            '{"text": "a", "text": "b"}',
            "stream, line 1: the same key twice in an object: expected one value, got 'text'",
        ),
        ('{"text": "a\\ud83d"}', "stream, line 1: half of a surrogate pair: expected whole characters, got \\ud83d"),
        ("{}", 'stream, line 1: the text is missing: expected {"text": "…"}, got no field text'),
        ({"text": 5}, 'stream, line 1: the text is missing: expected {"text": "…"}, got text: \'5\''),
        ({"text": "a", "tokens": 5}, "stream, line 1: tokens must be a list (got '5')"),
        (
            {"text": "a b", "tokens": ["b", "a"]},
            "stream, line 1: a token does not occur in the text: "
            "expected tokens in the "
            "order of the text, with start and end in characters, got '\"b\"'",
        ),
        (
            {"text": "a b", "tokens": [{"start": 0, "end": 9}]},
            "stream, line 1: a token does not occur in the text: "
            "expected "
            'tokens in the order of the text, with start and end in characters, got \'{"start": 0, "end": 9}\'',
        ),
        (
            {"text": "a", "spans": "x"},
            'stream, line 1: spans is not a list of spans: expected [{"start": …, "end": …, "label": …}], got \'"x"\'',
        ),
        (
            {"text": "a", "spans": [[0, 1, "X"]], "label": [[0, 1, "Y"]]},
            "stream, line 1: two fields with spans: expected one of them, got spans and label",
        ),
        (
            {"text": "a", "spans": [{"start": True, "end": 1, "label": "X"}]},
            "stream, line 1: not a span: expected "
            '{"start": number, "end": number, "label": "…"} or [start, end, "label"], '
            'got \'{"start": true, "end": 1, "label": "X"}\'',
        ),
        (
            {"text": "a", "spans": [[0, 2, "X"]]},
            "stream, line 1: a span that is empty or outside its text: expected "
            "0 <= start < end "
            "<= 1 (the length of the text), got '[0, 2, \"X\"]'",
        ),
        (
            {"text": "a", "spans": [[1, 1, "X"]]},
            "stream, line 1: a span that is empty or outside its text: expected "
            "0 <= start < end "
            "<= 1 (the length of the text), got '[1, 1, \"X\"]'",
        ),
        (
            {"text": "a", "spans": [[0, 1, " "]]},
            "stream, line 1: a span without a label: expected a label, got '[0, 1, \" \"]'",
        ),
        (
            {"text": "a b", "tokens": ["a", "b"], "labels": ["X"]},
            "stream, line 1: wrong number of labels: expected 2, one a token, got 1",
        ),
        (
            {"tokens": ["a", "b"], "labels": ["X", ""]},
            'stream, line 1: a label is empty: expected a label for each token, got \'["X", ""]\'',
        ),
        (
            {"tokens": ["a"], "labels": ["X"], "columns": [["1"], ["2"]]},
            "stream, line 1: columns do not match the tokens: expected 1 lists of one length, one a token, got 2",
        ),
    ],
)
def test_mistakes(record: Mapping[str, object] | str, message: str) -> None:
    assert failure(record) == message


def test_labels_must_not_come_and_go() -> None:
    assert failure({"text": "a", "spans": []}, "", {"text": "b"}) == (
        "stream, line 3: the labels are missing: expected labels as "
        "on line 1 (an empty list if there is nothing to label), "
        "got no field spans, label, labels or entities"
    )
    assert failure({"text": "a"}, {"text": "b", "spans": []}).startswith(
        "stream, line 2: labels after records without them: expected no labels as on line 1"
    )


def test_sentences_of_other_formats() -> None:
    sentence = Sentence(["Anna", "Berg", "!"], ["B-PER", "I-PER", "O"], [("NNP",), ("NNP",), (".",)], comments=["# c"])
    assert written([sentence]) == [
        {
            "text": "Anna Berg !",
            "tokens": [
                {"text": "Anna", "start": 0, "end": 4, "id": 0},
                {"text": "Berg", "start": 5, "end": 9, "id": 1},
                {"text": "!", "start": 10, "end": 11, "id": 2},
            ],
            "spans": [{"start": 0, "end": 9, "label": "PER"}],
            "columns": [["NNP"], ["NNP"], ["."]],
            "comments": ["# c"],
        }
    ]


def test_labels_without_a_scheme_are_written_as_they_are() -> None:
    (record,) = written([Sentence(["Go", "!"], ["VERB", "PUNCT"])])
    assert record["labels"] == ["VERB", "PUNCT"]
    assert "spans" not in record


def test_tokens_that_do_not_spell_their_text_are_counted() -> None:
    report = Report()
    (record,) = written([Sentence(["de", "el"], ["X", "X"], None, "del", [0, 0], [3, 3])], report=report)
    assert record["text"] == "de el"
    assert +report.changed == {"texts rebuilt from tokens that do not match them": 1}


def test_a_labelled_token_without_characters() -> None:
    sentence = Sentence(["a", "", "b"], ["O", "B-X", "O"])
    (found,) = reading_of(*written([sentence]))
    assert (found.tokens, found.labels) == (sentence.tokens, sentence.labels)


def test_strange_line_ends_are_escaped() -> None:
    stream = io.BytesIO()
    write([Sentence(["a\u2028b\x85"], ["X"])], stream, "jsonl")
    assert len(stream.getvalue().decode().splitlines()) == 1
    assert [s.tokens for s in read(io.BytesIO(stream.getvalue()))] == [["a\u2028b\x85"]]
