"""Groups of classes as tasks of one model: spans that overlap in, entities of all groups in one list out."""

import json

import numpy as np
import pytest

import postil
from postil.errors import ConfigurationError, DataError, ModelFileError
from postil.text import Span
from postil.text.options import ReadOptions

SETTINGS = {"hidden": 20, "epochs": 8, "seed": 0}
GROUPS = {"address": ["ADDRESS"], "parts": ["STREET", "CITY"]}
CITIES, STREETS = ("Ashford", "Milltown", "Oakdale"), ("Mill", "Hill", "Lake", "Park")


def addresses(number: int = 36) -> tuple[list[list[str]], list[list[Span]]]:
    """``Send it to 5 Mill Lane , Ashford .`` with the address and its parts, and sentences with a city alone."""
    X: list[list[str]] = []
    y: list[list[Span]] = []
    for n in range(number):
        city, street = CITIES[n % 3], STREETS[n % 4]
        if n % 4 == 3:
            X.append(["It", "is", "in", city, "."])
            y.append([Span("CITY", 3, 4)])
        else:
            X.append(["Send", "it", "to", str(n), street, "Lane", ",", city, "."])
            y.append([Span("STREET", 3, 6), Span("CITY", 7, 8), Span("ADDRESS", 3, 8)])
    return X, y


@pytest.fixture(scope="module")
def tagger() -> postil.MultiTaskTagger:
    X, y = addresses()
    return postil.MultiTaskTagger(groups=GROUPS, **SETTINGS).fit(X, y, dev=addresses(12))


TEXT = "Send it to 7 Hill Lane, Oakdale. It is in Ashford."


def test_entities_of_all_groups_are_one_list(tagger):
    assert tagger.groups_ == {"address": ["ADDRESS"], "parts": ["CITY", "STREET"]}
    document = tagger.tag(TEXT)
    assert [(one.text, one.label, one.group) for one in document.entities] == [
        ("7 Hill Lane, Oakdale", "ADDRESS", "address"),
        ("7 Hill Lane", "STREET", "parts"),
        ("Oakdale", "CITY", "parts"),
        ("Ashford", "CITY", "parts"),
    ]
    assert document.to_dict()["entities"][0]["group"] == "address"
    for name, layer in document.layers.items():
        alone = tagger[name].tag(TEXT).entities
        assert [(one.start, one.probability) for one in alone] == [
            (one.start, one.probability) for one in document.entities if one.group == name
        ], "the probabilities are those of the group's own posterior"
        assert all(entity.group is None for entity in layer.entities)
    assert [one.group for one in tagger.tag(TEXT, tasks=["parts"]).entities] == ["parts"] * 3


def test_groups_that_nobody_names_are_found(tagger):
    X, y = addresses()
    found = postil.MultiTaskTagger(**SETTINGS).fit(X, [[(s, e, name) for name, s, e in spans] for spans in y])
    assert found.groups_ == {"address": ["ADDRESS"], "city": ["CITY", "STREET"]}
    assert set(found.score(X, y)) == {"address", "city"}
    assert tagger.evaluate(X, y)["parts"].main_score > 0.9


def test_labels_by_group_give_the_same_model(tagger):
    X, y = addresses()
    whole = ["O", "O", "O", "B-ADDRESS", *["I-ADDRESS"] * 4, "O"]
    parts = ["O", "O", "O", "B-STREET", "I-STREET", "I-STREET", "O", "B-CITY", "O"]
    labels = {
        "address": [whole if len(tokens) == 9 else ["O"] * 5 for tokens in X],
        "parts": [parts if len(tokens) == 9 else ["O", "O", "O", "B-CITY", "O"] for tokens in X],
    }
    one, other = (postil.MultiTaskTagger(groups=GROUPS, **SETTINGS).fit(X, data) for data in (y, labels))
    assert one.tag(TEXT) == other.tag(TEXT)
    with pytest.raises(DataError, match=r"y must be the groups address, parts \(got address"):
        postil.MultiTaskTagger(groups=GROUPS, **SETTINGS).fit(X, {"address": labels["address"]})


def test_groups_survive_the_file_and_a_pickle(tagger, tmp_path):
    tagger.save(tmp_path / "a.postil")
    loaded = postil.load(tmp_path / "a.postil")
    assert loaded.groups_ == tagger.groups_
    assert loaded.tag(TEXT) == tagger.tag(TEXT)


def test_a_file_whose_groups_are_not_its_tasks(tagger, tmp_path):
    about = tagger.model.about
    try:
        tagger.model.about = {**about, "groups": {"streets": ["STREET"]}}
        tagger.save(tmp_path / "a.postil")
    finally:
        tagger.model.about = about
    with pytest.raises(ModelFileError, match="groups of classes"):
        postil.load(tmp_path / "a.postil")


def test_a_table_of_overlapping_spans():
    frame = {
        "text": ["7 Hill Lane, Oakdale", "in Oakdale"],
        "spans": [[(0, 20, "ADDRESS"), (0, 11, "STREET")], [(3, 10, "CITY")]],
    }
    X, y = postil.read_spans(frame, options=ReadOptions(overlaps="group"))
    assert X == [["7", "Hill", "Lane", ",", "Oakdale"], ["in", "Oakdale"]]
    assert y == [[Span("ADDRESS", 0, 5), Span("STREET", 0, 3)], ["O", "B-CITY"]]


@pytest.mark.parametrize(
    "groups, y, error, message",
    [
        ({"a": ["ADDRESS"]}, None, ConfigurationError, "groups must be at least two"),
        ({"a": ["ADDRESS"], "5": ["CITY"]}, None, ConfigurationError, "name of a task"),
        ({"a": ["ADDRESS"], "b": ["CITY"]}, None, DataError, "in no group: .*got STREET"),
        ({"a": ["ADDRESS", "STREET"], "b": ["CITY"]}, None, DataError, "got STREET '0 Mill Lane' overlaps ADDRESS"),
        (None, [[Span("A", 0, 1)], [Span("B", 0, 2)]], DataError, "y must be a dict"),
        (None, [[Span("A", 0, 2), Span("A", 1, 2), Span("B", 1, 2)]], DataError, "A 'it' overlaps A 'Send it'"),
        (GROUPS, [[("CITY", 1)]], DataError, r"y must be labels, or spans \(start, end, label\)"),
        (GROUPS, [[Span("CITY", 2, 99)]], DataError, "out of range"),
    ],
)  # fmt: skip
def test_mistakes(groups, y, error, message):
    X, spans = addresses(4)
    with pytest.raises(error, match=message):
        postil.MultiTaskTagger(groups=groups, **SETTINGS).fit(
            X if y is None else X[: len(y)], spans if y is None else y
        )


def test_the_probability_of_all_labellings_is_the_product(tagger):
    from postil.tagging import Labeller, TaggingOptions
    from postil.text.lines import Passage

    options = TaggingOptions(output="jsonl", probabilities=True)
    passage = Passage(name="a", format="text", first=1, text=TEXT, whole=True)
    record = json.loads(Labeller(tagger, options).label(passage).content)
    heads = [tagger[name].answers(tagger.tag(TEXT).sentences) for name in tagger.tasks]
    expected = np.prod([[one.probability for one in of_head] for of_head in heads], axis=0)
    assert record["labelling_probabilities"] == pytest.approx(expected, abs=1e-6)
