"""Models of several tasks in bulk: columns by the fast path, the same as by the general one, and empty records."""

import io
import json

import pytest

import postil
from postil.tagging import Labeller, TaggingOptions, label
from postil.text import ReadOptions, read

NAMES = [["B-PER", "O", "B-LOC", "O"], ["O", "B-PER", "I-PER"]]
WORDS = [["NOUN", "VERB", "NOUN", "PUNCT"], ["VERB", "NOUN", "NOUN"]]
X = [["Anna", "saw", "Oslo", "."], ["See", "Bo", "Berg"]]
TEXT = "Anna saw Oslo. See Bo Berg.\n\nShe left Oslo, and (Bo) saw it.\n"
COLUMNS = "# a comment\nAnna\nsaw\nOslo\n\n-DOCSTART-\n\nSee\nBo\n\n"


@pytest.fixture(scope="module")
def tagger():
    model = postil.MultiTaskTagger(epochs=2, seed=0)
    return model.fit(X * 4, {"names": NAMES * 4, "words": WORDS * 4, "upos": WORDS * 4})


def tagged(model, content, **options):
    output = io.BytesIO()
    every = options.get("output") == "jsonl"
    reading = ReadOptions(features=(), every_record=every)
    with read(io.BytesIO(content.encode())) as source:
        label(model, [source], TaggingOptions(reading=reading, **options), output)
    return output.getvalue().decode()


@pytest.mark.parametrize("content", [TEXT, COLUMNS, '{"text": "Anna saw Oslo."}\n'])
@pytest.mark.parametrize(("output", "probabilities"), [("conll", False), ("conll", True), ("conllu", False)])
@pytest.mark.parametrize("tasks", [(), ("upos", "names")])
def test_columns_of_several_tasks_are_the_same_on_both_paths(
    tagger, monkeypatch, content, output, probabilities, tasks
):
    options = {"output": output, "tasks": tasks, "probabilities": probabilities}
    assert Labeller(tagger, TaggingOptions(**options)).fast is not None
    fast = tagged(tagger, content, **options)
    monkeypatch.setattr("postil.tagging.fast_path.FastPath.of", lambda model, options: None)
    assert fast == tagged(tagger, content, **options)
    rows = [line.split("\t") for line in fast.splitlines() if "\t" in line and not line.startswith("-DOC")]
    columns = 10 if output == "conllu" else 1 + (len(tasks) or 3) * (2 if probabilities else 1)
    assert rows and {len(row) for row in rows} == {columns}


RECORDS = """{"text": "Zoë 😀 saw \\"Oslo\\".\\nAnna?", "id": {"a": [1, "ü\\u2028"]}}
{"text": ""}
{"text": "Bo Berg saw Oslo. See Anna."}
"""


@pytest.mark.parametrize("content", [TEXT, COLUMNS, RECORDS, '{"text": "Anna", "layers": {"names": {"x": 1}}}\n'])
@pytest.mark.parametrize("probabilities", [False, True])
@pytest.mark.parametrize("tasks", [(), ("upos", "words"), ("words", "names")])
@pytest.mark.parametrize("offsets", ["characters", "utf16"])
def test_layers_are_the_same_on_both_paths(tagger, monkeypatch, content, probabilities, tasks, offsets):
    options = {"output": "jsonl", "tasks": tasks, "probabilities": probabilities, "offsets": offsets}
    assert Labeller(tagger, TaggingOptions(**options)).fast is not None
    fast = tagged(tagger, content, **options)
    monkeypatch.setattr("postil.tagging.fast_path.FastPath.of", lambda model, options: None)
    assert fast == tagged(tagger, content, **options)
    assert all(json.loads(line)["layers"].keys() >= {*tasks} for line in fast.splitlines())


@pytest.mark.parametrize("output", ["conll", "conllu"])
@pytest.mark.parametrize("probabilities", [False, True])
def test_an_empty_record_has_no_rows(tagger, output, probabilities):
    if output == "conllu" and probabilities:
        return  # which CoNLL-U has no place for
    full, empty = '{"text": "Anna saw Oslo.", "id": 1}\n', '{"text": ""}\n'
    alone = tagged(tagger, full, output=output, probabilities=probabilities)
    assert tagged(tagger, empty + full + empty, output=output, probabilities=probabilities) == alone
    options = TaggingOptions(output=output, probabilities=probabilities, reading=ReadOptions(every_record=True))
    output = io.BytesIO()
    with read(io.BytesIO((full + empty).encode()), every_record=True) as source:
        label(tagger, [source], options, output)
    assert output.getvalue().decode() == alone


def test_an_empty_record_has_empty_layers(tagger):
    lines = tagged(tagger, '{"text": "Anna saw Oslo."}\n{"text": " "}\n', output="jsonl").splitlines()
    assert json.loads(lines[1])["layers"] == {"names": {"spans": []}, "words": {"tokens": []}, "upos": {"tokens": []}}
