"""``postil evaluate``: the contract of its JSON, and labels that cannot be compared."""

import json

import pytest

import postil
from oracles.corpora import as_conll, named_entities, parts_of_speech
from postil.commands.main import main


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    postil.Tagger(hidden=16, epochs=4, rate=0.02).fit(*named_entities(60)).save(folder / "ner")
    postil.Tagger(hidden=16, epochs=4, rate=0.02).fit(*parts_of_speech(60)).save(folder / "pos")
    return folder


def evaluated(capsys, model, data):
    assert main(["evaluate", str(model), str(data), "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return json.loads(out)


@pytest.mark.parametrize("scheme", ["bio", "iob1", "iobes"])
def test_spans(models, tmp_path, capsys, scheme):
    X, y = named_entities(40, seed=1, scheme=scheme)
    (tmp_path / "d").write_text(as_conll(X, y))
    found = evaluated(capsys, models / "ner", tmp_path / "d")
    assert found["tokens"] == sum(map(len, X))
    assert found["f1"] == pytest.approx(100 * postil.load(models / "ner").score(*named_entities(40, seed=1)))
    assert {"accuracy", "precision", "recall"} <= found.keys()
    assert set(found["labels"]) == {"PER", "LOC"}
    assert {"precision", "recall", "f1", "support"} <= found["labels"]["PER"].keys()


def test_labels_without_a_scheme(models, tmp_path, capsys):
    (tmp_path / "d").write_text(as_conll(*parts_of_speech(40, seed=1)))
    found = evaluated(capsys, models / "pos", tmp_path / "d")
    assert found["accuracy"] > 90
    assert "f1" not in found
    (tmp_path / "outside").write_text("a\tO\n")  # looks like spans, is scored as what the model knows
    assert evaluated(capsys, models / "pos", tmp_path / "outside")["accuracy"] == 0


def test_labels_of_another_kind_are_refused(models, tmp_path, capsys):
    (tmp_path / "d").write_text(as_conll(*parts_of_speech(4)))
    assert main(["evaluate", str(models / "ner"), str(tmp_path / "d")]) == 1
    assert "line 1: labels without a scheme; expected spans such as B-LOC" in capsys.readouterr().err
