"""``postil tune``: the dial in the model file, in place or elsewhere, and back."""

import json
import shutil

import pytest

import postil
from oracles.corpora import as_conll, named_entities, parts_of_speech
from postil.commands.main import main

DEV = named_entities(80, seed=4)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.postil"
    postil.Tagger(hidden=8, word_dim=6, epochs=3, rate=0.02).fit(*named_entities(30)).save(path)
    return path


@pytest.fixture
def model(trained, tmp_path):
    return str(shutil.copy(trained, tmp_path / "m.postil"))


@pytest.fixture
def dev(tmp_path):
    (tmp_path / "dev.conll").write_text(as_conll(*DEV))
    return str(tmp_path / "dev.conll")


def recall(path):
    return 100 * postil.load(path).evaluate(*DEV).spans.overall.recall


def test_the_model_is_changed_in_place_and_back(model, dev, capsys):
    before = recall(model)
    assert main(["tune", model, dev, "--precision", "0.97", "--json", "--in-place"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["model"] == model
    assert recall(model) == pytest.approx(found["recall"])
    assert found["precision"] >= 97
    assert not found["already_met"]
    assert found["before"]["recall"] == pytest.approx(before)
    assert {"bias", "threshold", "precision", "recall", "f1"} <= set(found["curve"][0])
    assert len(found["curve"]) > 20
    assert main(["tune", model, "--reset", "--in-place"]) == 0
    assert "removed bias +0.000, thresholds LOC 0." in capsys.readouterr().err
    assert recall(model) == pytest.approx(before)


def test_another_file_and_none(model, dev, capsys, tmp_path):
    content = (tmp_path / "m.postil").read_bytes()
    assert main(["tune", model, dev, "--precision", "0.97", "-o", str(tmp_path / "other.postil")]) == 0
    out = capsys.readouterr().out
    assert "target precision 97, with a margin of 1 standard error" in out
    assert "Settings" in out
    assert "chosen" in out
    assert "●" in out
    assert f"written to {tmp_path / 'other.postil'}" in out.replace("\n", "")
    assert postil.load(tmp_path / "other.postil").decoding.thresholds["LOC"] > 0
    assert main(["tune", model, dev, "--recall", "0.5", "--dry-run"]) == 0
    assert "nothing was written" in capsys.readouterr().out
    assert main(["tune", model, "--reset", "--json", "--dry-run"]) == 0
    assert json.loads(capsys.readouterr().out)["model"] is None
    assert (tmp_path / "m.postil").read_bytes() == content


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--recall", "1"], "no setting reaches this recall with labels that do not overlap: expected 100, got"),
        (["--recall", "95"], "recall must be a number above 0, at most 1 (got 95.0)"),
        ([], "tuning needs recall, precision or f1 (got none of them)"),
        (["--recall", "0.5", "--precision", "0.5"], "tuning needs recall, precision or f1 (got recall and precision)"),
        (["--recall", "0.5", "--margin", "-1"], "margin must be a number of standard errors"),
        (["--reset"], "--reset cannot be combined with data"),
        (["--reset", "--f1"], "--reset cannot be combined with data and f1"),
    ],
)
def test_mistakes_are_told(model, dev, capsys, words, message, tmp_path):
    content = (tmp_path / "m.postil").read_bytes()
    assert main(["tune", model, dev, *words, "--in-place"]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert (tmp_path / "m.postil").read_bytes() == content


def test_other_models_and_data_are_refused(model, dev, capsys, tmp_path):
    assert main(["tune", model, "--recall", "0.5", "--in-place"]) == 1
    assert "nothing to tune on: expected a labelled file as DATA" in capsys.readouterr().err
    (tmp_path / "pos.conll").write_text(as_conll(*parts_of_speech(20)))
    assert main(["tune", model, str(tmp_path / "pos.conll"), "--recall", "0.5", "--in-place"]) == 1
    assert "these labels have no scheme" in capsys.readouterr().err
    postil.Detector(label="LOC", hidden=8, epochs=1).fit(*named_entities(20)).save(tmp_path / "d.postil")
    assert main(["tune", str(tmp_path / "d.postil"), dev, "--recall", "0.5", "--in-place"]) == 1
    assert "only a tagger can be tuned (this is a detector)" in capsys.readouterr().err
    postil.Tagger(hidden=8, epochs=1).fit(*parts_of_speech(20)).save(tmp_path / "s.postil")
    assert main(["tune", str(tmp_path / "s.postil"), str(tmp_path / "pos.conll"), "--recall", "0.5", "--in-place"]) == 1
    assert "nothing to tune: expected a model of spans, or with a label O" in capsys.readouterr().err


def test_the_curve_is_shown_where_no_setting_is_enough(model, dev, capsys):
    assert main(["tune", model, dev, "--recall", "1", "--in-place"]) == 1
    out, err = capsys.readouterr()
    assert out.startswith("target recall 100, with a margin of 1 standard error: not reached")
    assert "Settings" in out and "● best" in out and "●" in out.split("● best")[0]
    assert err.count("\n") == 1 and "no setting reaches this recall" in err
    assert main(["tune", model, dev, "--recall", "1", "--json", "--in-place"]) == 1
    assert capsys.readouterr().out == ""


def test_a_target_that_is_met_is_told_and_changes_nothing(model, dev, capsys, tmp_path):
    content = (tmp_path / "m.postil").read_bytes()
    for words in (["--recall", "0.5"], ["--precision", "0.5"]):
        assert main(["tune", model, dev, *words, "--in-place"]) == 0
        out = capsys.readouterr().out
        assert "the target is already met, nothing changes: bias +0.000: precision" in out
        assert f"{model} is unchanged" in out.replace("\n", "")
        assert (tmp_path / "m.postil").read_bytes() == content
    assert main(["tune", model, dev, "--recall", "0.5", "--json", "-o", str(tmp_path / "other.postil")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["already_met"] and found["bias"] == found["threshold"] == 0
    assert recall(tmp_path / "other.postil") == recall(model)
