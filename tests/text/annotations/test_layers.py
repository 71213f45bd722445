"""Records with several layers of labels."""

import io
import json

import pytest

from postil.errors import DataError
from postil.text import read

TEXT = "Anna left. Bo saw Oslo."
PLACES = [(0, 4), (5, 9), (9, 10), (11, 13), (14, 17), (18, 22), (22, 23)]
TOKENS = [{"text": TEXT[a:b], "start": a, "end": b, "id": i, "label": f"L{i}"} for i, (a, b) in enumerate(PLACES)]
NAMES = [{"start": 0, "end": 4, "label": "PER", "text": "Anna", "probability": 0.5}]
LAYERS = {"names": {"spans": NAMES}, "words": {"tokens": TOKENS}}


def sentences(*records, **options):
    data = "".join(json.dumps(record) + "\n" for record in records).encode()
    return [(s.tokens, s.labels) for s in read(io.BytesIO(data), "jsonl", **options)]


def test_spans_and_labels_of_a_layer():
    record = {"text": TEXT, "spans": [{"start": 18, "end": 22, "label": "LOC"}], "layers": LAYERS}
    first, second = ["Anna", "left", "."], ["Bo", "saw", "Oslo", "."]
    assert sentences(record, layer="names") == [(first, ["B-PER", "O", "O"]), (second, ["O"] * 4)]
    assert sentences(record, layer="words") == [(first, ["L0", "L1", "L2"]), (second, ["L3", "L4", "L5", "L6"])]
    assert sentences(record) == [(first, ["O"] * 3), (second, ["O", "O", "B-LOC", "O"])]


def test_other_tokens_than_ours_are_one_sentence():
    tokens = [{"start": 0, "end": 10, "label": "A"}, {"start": 11, "end": 23, "label": "B"}]
    record = {"text": TEXT, "layers": {"words": {"tokens": tokens}}}
    assert sentences(record, layer="words") == [(["Anna left.", "Bo saw Oslo."], ["A", "B"])]


def test_tokens_of_the_record_count_for_every_layer():
    tokens = [{key: token[key] for key in ("text", "start", "end", "id")} for token in TOKENS]
    record = {"text": TEXT, "tokens": tokens, "layers": LAYERS}
    assert [len(found) for found, _ in sentences(record, layer="names")] == [7]
    assert sentences(record, layer="words") == [([TEXT[a:b] for a, b in PLACES], [f"L{i}" for i in range(7)])]


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
def test_mistakes(layers, message):
    with pytest.raises(DataError, match=f"line 1: {message}"):
        sentences({"text": "Anna", "layers": layers}, layer="words")


def test_labels_of_a_text_without_tokens_are_cut_with_its_sentences():
    record = {"text": TEXT, "labels": [f"L{i}" for i in range(7)]}
    assert [labels for _, labels in sentences(record)] == [["L0", "L1", "L2"], ["L3", "L4", "L5", "L6"]]
