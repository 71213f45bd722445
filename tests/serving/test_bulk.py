"""Inputs of any size and kind to labelled bytes, through the functions that a server would call."""

import io
import json

import pytest

import postil
from oracles.corpora import as_conll, named_entities
from postil.errors import ConfigurationError, DataError
from postil.serving import TaggingOptions, bulk, label
from postil.text import read

X, Y = named_entities(30)
CONLL = as_conll(X, Y).encode()
RECORDS = b"".join(json.dumps({"text": " ".join(tokens)}).encode() + b"\n" for tokens in X)


@pytest.fixture(scope="module")
def tagger():
    return postil.Tagger(preset="fast", hidden=16, word_dim=12, epochs=3, rate=0.02).fit(X, Y)


def labelled(tagger, *inputs, options=None, **others):
    output = io.BytesIO()
    readings = (read(io.BytesIO(data), format, features=()) for data, format in inputs)
    summary = label(tagger, readings, options or TaggingOptions(), output, **others)
    return output.getvalue(), summary


def test_a_model_that_is_in_no_file(tagger, monkeypatch):
    """Workers are sent the model itself; the bytes and the counts are those of one process."""
    monkeypatch.setattr(bulk, "PASSAGE", 150)
    monkeypatch.setattr(bulk, "ALONE", 1)
    alone, summary = labelled(tagger, (CONLL, "conll"))
    assert alone == as_conll(X, tagger.predict(X)).encode()
    assert summary.tokens == sum(map(len, X)) and summary.long_sentences == []
    assert labelled(tagger, (CONLL, "conll"), threads=2) == (alone, summary)


def test_inputs_of_several_kinds_keep_their_order(tagger):
    counts = []
    options = TaggingOptions(output="jsonl")
    mixed, summary = labelled(
        tagger, (RECORDS, "jsonl"), (CONLL, "conll"), (RECORDS, "jsonl"), options=options, progress=counts.append
    )
    records, _ = labelled(tagger, (RECORDS, "jsonl"), options=options)
    columns, _ = labelled(tagger, (CONLL, "conll"), options=options)
    assert mixed == records + columns + records
    assert summary.tokens == sum(counts) == 3 * sum(map(len, X))


def test_a_mistake_is_raised_after_what_is_before_it(tagger):
    output = io.BytesIO()
    reading = read(io.BytesIO(RECORDS + b"{\n"), "jsonl", features=())
    with pytest.raises(DataError, match=f"line {len(X) + 1}: not valid JSON"):
        label(tagger, [reading], TaggingOptions(), output)
    assert output.getvalue() == labelled(tagger, (RECORDS, "jsonl"))[0] != b""


def test_the_number_of_threads(tagger):
    with pytest.raises(ConfigurationError, match=r"^threads must be at least 1 \(got 0\)$"):
        labelled(tagger, (CONLL, "conll"), threads=0)


def test_only_a_few_items_are_under_way():
    taken, most = 0, 0

    def items():
        nonlocal taken
        for number in range(50):
            taken += 1
            yield number

    for done, result in enumerate(bulk.in_order(lambda item: item * 2, items(), 2)):
        assert result == 2 * done
        most = max(most, taken - done)
    assert taken == 50 and most <= 5


def test_processes_start_only_where_there_is_enough_to_do(tagger, monkeypatch):
    started = []

    class Recorded(bulk.Workers):  # type: ignore[misc]
        def __init__(self, *arguments):
            started.append(arguments)
            super().__init__(*arguments)

    monkeypatch.setattr(bulk, "Workers", Recorded)
    monkeypatch.setattr(bulk, "PASSAGE", 150)
    passages = sum(1 for _ in read(io.BytesIO(CONLL), "conll").passages(150))
    expected = labelled(tagger, (CONLL, "conll"))
    monkeypatch.setattr(bulk, "PAYS", 1)
    monkeypatch.setattr(bulk, "ALONE", passages + 1)
    assert labelled(tagger, (CONLL, "conll"), threads=2) == expected and started == []
    monkeypatch.setattr(bulk, "ALONE", passages)
    assert labelled(tagger, (CONLL, "conll"), threads=2) == expected and len(started) == 1


def test_records_without_labels_are_labelled_by_processes(tagger, monkeypatch):
    monkeypatch.setattr(bulk, "PASSAGE", 150)
    monkeypatch.setattr(bulk, "ALONE", 1)
    options = TaggingOptions(output="jsonl", probabilities=True)
    one = labelled(tagger, (RECORDS, "jsonl"), options=options)
    assert labelled(tagger, (RECORDS, "jsonl"), options=options, threads=2) == one
    assert one[0].count(b"\n") == len(X)
