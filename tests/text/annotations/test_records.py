"""JSON objects taken apart; whole files are in test_spans.py and test_round_trips.py."""

import io
import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.errors import DataError, RepairWarning
from postil.text.annotations.annotated import Record
from postil.text.annotations.records import json_items, parse, take_apart
from postil.text.document import Sentence
from postil.text.formats import Reading, read, write
from postil.text.lines import Lines
from postil.text.report import Report, SpanError


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
    assert found.tokens == [(0, 4), (5, 9)] and found.labels == ["B-PER", "O"] and found.spans is None
    assert found.token_fields == ["Anna", "left"]


def test_other_fields_are_kept_and_counted_as_lost_elsewhere():
    found = content(text="Anna left", id=7, meta={"a": 1}, spans=[{"start": 0, "end": 4, "label": "X", "by": "me"}])
    assert found.fields == {"id": 7, "meta": {"a": 1}} and found.spans[0].fields == {"by": "me"}
    lost = Record(found.fields, {found.spans[0].key: found.spans[0].fields}).lost()
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


# -------------------------- JSON Lines: the forms of all tools, spans against tokens, and every mistake with its words


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
    {"text": "日本 Oslo and", "spans": [{"start": 2, "end": 6, "label": "LOC"}]},
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
        "stream, line 1: LOC 4:7 'Par' does not fit the tokens 'Paris': rejected\n    See Paris now\n        ^^^",
        "stream, line 3: LOC 2:6 ' Osl' does not fit the tokens 'Oslo': rejected\n    日本 Oslo and\n        ^^^^",
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


OVERLAPS = {"text": "New York City Hall", "label": [[4, 8, "A"], [0, 13, "B"], [9, 18, "C"], [9, 18, "D"]]}


def test_overlapping_spans_are_listed() -> None:
    reading = reading_of(OVERLAPS)
    with pytest.raises(SpanError, match=r"^stream: 3 spans do not fit: .* on line 1 and others$"):
        list(reading)
    assert [problem.what for problem in reading.report.problems] == [
        "B 0:13 'New York City' overlaps A 4:8 'York'",
        "C 9:18 'City Hall' overlaps B 0:13 'New York City'",
        "D 9:18 'City Hall' overlaps C 9:18 'City Hall'",
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


# ---------------------------------------- The items of a JSON array with their lines; brackets in strings mean nothing


VALUES = st.recursive(
    st.none() | st.integers() | st.text(st.sampled_from('{}[]",\\a\n'), max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.lists(st.dictionaries(st.text(max_size=3), VALUES, max_size=3), max_size=4)


def items(text: str) -> list[tuple[int, Any]]:
    return list(json_items(Lines(io.BytesIO(text.encode()))))


@pytest.mark.slow
@given(OBJECTS, st.sampled_from([None, 1]))
def test_arrays_are_read_as_json_reads_them(values: list[Any], indent: int | None) -> None:
    assert [value for _, value in items(json.dumps(values, indent=indent))] == values


@given(OBJECTS)
def test_lines_are_read_as_well(values: list[Any]) -> None:
    lines = "\n".join(map(json.dumps, values))
    assert items(lines) == list(enumerate(values, 1))


def test_lines_are_those_of_the_file() -> None:
    assert [line for line, _ in items('\n[\n{"a":\n1},\n\n{}, {}\n]\n')] == [3, 6, 6]


@pytest.mark.parametrize(
    "text", ['[{"a": 1', "[{]", '[{"a"}]', "[{}{}]", "[{},]", "[{}]]", "[1]", '[{"a": "\\ud800"}]']
)
def test_mistakes_have_a_line(text: str) -> None:
    with pytest.raises(DataError, match=r"^stream, line 1: "):
        items(text)


# ------------------------------------------------------------------------------- Records with several layers of labels


TEXT_LAYERS = "Anna left. Bo saw Oslo."
PLACES = [(0, 4), (5, 9), (9, 10), (11, 13), (14, 17), (18, 22), (22, 23)]
TOKENS = [
    {"text": TEXT_LAYERS[a:b], "start": a, "end": b, "id": i, "label": f"L{i}"} for i, (a, b) in enumerate(PLACES)
]
NAMES = [{"start": 0, "end": 4, "label": "PER", "text": "Anna", "probability": 0.5}]
LAYERS = {"names": {"spans": NAMES}, "words": {"tokens": TOKENS}}


def sentences(*records, **options):
    data = "".join(json.dumps(record) + "\n" for record in records).encode()
    return [(s.tokens, s.labels) for s in read(io.BytesIO(data), "jsonl", **options)]


def test_spans_and_labels_of_a_layer():
    record = {"text": TEXT_LAYERS, "spans": [{"start": 18, "end": 22, "label": "LOC"}], "layers": LAYERS}
    first, second = ["Anna", "left", "."], ["Bo", "saw", "Oslo", "."]
    assert sentences(record, layer="names") == [(first, ["B-PER", "O", "O"]), (second, ["O"] * 4)]
    assert sentences(record, layer="words") == [(first, ["L0", "L1", "L2"]), (second, ["L3", "L4", "L5", "L6"])]
    assert sentences(record) == [(first, ["O"] * 3), (second, ["O", "O", "B-LOC", "O"])]


def test_other_tokens_than_ours_are_one_sentence():
    tokens = [{"start": 0, "end": 10, "label": "A"}, {"start": 11, "end": 23, "label": "B"}]
    record = {"text": TEXT_LAYERS, "layers": {"words": {"tokens": tokens}}}
    assert sentences(record, layer="words") == [(["Anna left.", "Bo saw Oslo."], ["A", "B"])]


def test_tokens_of_the_record_count_for_every_layer():
    tokens = [{key: token[key] for key in ("text", "start", "end", "id")} for token in TOKENS]
    record = {"text": TEXT_LAYERS, "tokens": tokens, "layers": LAYERS}
    assert [len(found) for found, _ in sentences(record, layer="names")] == [7]
    assert sentences(record, layer="words") == [([TEXT_LAYERS[a:b] for a, b in PLACES], [f"L{i}" for i in range(7)])]


def test_empty_texts_and_records_without_layers():
    empty = {"text": "", "layers": {"names": {"spans": []}, "words": {"tokens": []}}}
    plain = {"text": "Oslo", "spans": [{"start": 0, "end": 4, "label": "LOC"}]}
    for layer in LAYERS:
        assert sentences(empty, plain, layer=layer) == [(["Oslo"], ["B-LOC"])]


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ({}, "no layer 'words': expected one of the layers of the record, got none"),
        ({"words": []}, "no layer 'words'"),
        ({"words": {"tokens": "x"}}, "tokens of the layer 'words': expected a list"),
        ({"words": {"tokens": ["x"]}}, "a token of the layer 'words': expected"),
        ({"words": {"tokens": [{"start": 0, "end": 4}]}}, "a token of the layer 'words': expected"),
        ({"words": {"spans": "x"}}, "spans is not a list of spans"),
    ],
)
def test_mistakes_layers(layers, message):
    with pytest.raises(DataError, match=f"line 1: {message}"):
        sentences({"text": "Anna", "layers": layers}, layer="words")


def test_labels_of_a_text_without_tokens_are_cut_with_its_sentences():
    record = {"text": TEXT_LAYERS, "labels": [f"L{i}" for i in range(7)]}
    assert [labels for _, labels in sentences(record)] == [["L0", "L1", "L2"], ["L3", "L4", "L5", "L6"]]


# ------------------------------------------------------------------------------------------------------------- repairs


def test_small_mistakes_are_repaired_with_one_warning() -> None:
    reading = reading_of(
        {"text": "Anna left Oslo .", "spans": [{"start": 0.0, "end": 5.0, "label": "PER"}, [9, 14, "LOC"]]},
        {"text": "Oslo", "spans": [[0, 4, "LOC"], [0, 4, "LOC"], {"start": 0, "end": 4.0, "label": "LOC"}]},
    )
    with pytest.warns(RepairWarning) as caught:
        assert [s.labels for s in reading] == [["B-PER", "O", "B-LOC", "O"], ["B-LOC"]]
    [warning] = caught
    assert str(warning.message) == (
        "stream: repaired offsets written as decimals: 2, white space at the edges of spans: 2, duplicate spans: 2"
    )


@pytest.mark.parametrize("offset", [0.5, "0", True, None, float("inf"), -1.0])
def test_other_offsets_are_refused(offset: object) -> None:
    with pytest.raises(DataError, match=r"stream, line 1: (not a span|a span that is empty or outside its text)"):
        list(reading_of({"text": "Anna", "spans": [{"start": offset, "end": 4, "label": "PER"}]}))


def test_tokens_of_ones_own_may_end_in_white_space() -> None:
    tokens = [{"start": 0, "end": 5}, {"start": 5, "end": 9}]
    [sentence] = reading_of({"text": "Anna left", "tokens": tokens, "spans": [[0, 5, "PER"]]})
    assert sentence.labels == ["B-PER", "O"]
