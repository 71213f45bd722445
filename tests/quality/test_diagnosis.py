"""The whole examination."""

import json

import pytest

import postil
from oracles import corpora
from postil.errors import PostilError
from postil.quality import doctor


@pytest.mark.slow
def test_findings_suspicions_and_a_forecast():
    X, y = corpora.named_entities(60)
    y[3] = ["O"] * len(y[3])
    X.append(["Oslo", ","])
    y.append(["B-LOC", "I-LOC"])
    diagnosis = doctor(
        X, y, dev=corpora.named_entities(20, seed=8), estimator=postil.Tagger(hidden=8, epochs=3), folds=2
    )
    assert diagnosis.counts["boundary"] == 1
    assert diagnosis.suspicions and diagnosis.curve is not None
    assert all(one.suggestion_probability > one.gold_probability for one in diagnosis.suspicions)
    text = str(diagnosis)
    assert "<table>" in diagnosis._repr_html_() and diagnosis.table().columns[0] == "split"
    assert "labels that are probably wrong" in text and "sentence 61, token 1" in text
    assert json.loads(json.dumps(diagnosis.to_dict()))["counts"] == diagnosis.counts
    assert [size["name"] for size in diagnosis.sizes] == ["X", "dev"]


def test_quick_trains_nothing(monkeypatch):
    monkeypatch.setattr(postil.Tagger, "fit", None)
    diagnosis = doctor(*corpora.named_entities(30), quick=True)
    assert diagnosis.suspicions == [] and diagnosis.curve is None
    clean = [["Anna", "left", "Oslo"]] * 9, [["B-PER", "O", "B-LOC"]] * 9
    assert "nothing odd" in str(doctor(*clean, quick=True))


@pytest.mark.parametrize(
    ("X", "y", "told"),
    [
        ([["Oslo"]], [["B-LOC"]], "too few"),
        ([["no", "names"]] * 30, [["O", "O"]] * 30, "nothing to learn"),
    ],
)
def test_too_little_data_say_why_nothing_was_trained(X, y, told):
    diagnosis = doctor(X, y)
    assert told in diagnosis.left_out and told in str(diagnosis)


def test_no_sentences_are_an_error():
    with pytest.raises(PostilError):
        doctor([[]], [[]])
