"""``postil evaluate``: the contract of its JSON, and labels that cannot be compared."""

import json
import shutil

import pytest

import postil
from oracles.corpora import as_conll, named_entities, parts_of_speech
from oracles.pages import read_page
from postil.commands.main import main
from postil.models.decoding.tuning import reliability


@pytest.fixture(scope="module")
def models(tmp_path_factory, names_model, speech_model):
    folder = tmp_path_factory.mktemp("models")
    shutil.copy(names_model, folder / "ner")
    shutil.copy(speech_model, folder / "pos")
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
    assert main(["evaluate", str(models / "pos"), str(tmp_path / "outside"), "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["accuracy"] == 0
    assert "the model has none of these labels: O (it has " in err


def test_labels_of_another_kind_are_refused(models, tmp_path, capsys):
    (tmp_path / "d").write_text(as_conll(*parts_of_speech(4)))
    assert main(["evaluate", str(models / "ner"), str(tmp_path / "d")]) == 1
    assert "line 1: these labels have no scheme: expected spans such as B-LOC" in capsys.readouterr().err


def test_other_classes_are_listed(models, tmp_path, capsys):
    text = as_conll(*named_entities(20, seed=1))
    (tmp_path / "other").write_text(text.replace("-PER", "-person").replace("-LOC", "-place"))
    (tmp_path / "some").write_text(text.replace("-PER", "-person"))
    assert main(["evaluate", str(models / "ner"), str(tmp_path / "other"), "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["f1"] == 0
    assert err.endswith(
        "can find none of the classes in this file: the file has person, place; the model has LOC, PER\n"
    )
    assert main(["evaluate", str(models / "ner"), str(tmp_path / "some")]) == 0
    expected = "can find nothing of person in this file: the file has LOC, person; the model has LOC, PER"
    assert expected in capsys.readouterr().err


# ------------------------------------------------------------------------------------------------ reports


@pytest.mark.parametrize(("model", "corpus"), [("ner", named_entities), ("pos", parts_of_speech)])
def test_a_report_agrees_with_the_json(models, tmp_path, capsys, model, corpus):
    (tmp_path / "d.txt").write_text(as_conll(*corpus(40, seed=1)))
    words = ["evaluate", str(models / model), str(tmp_path / "d.txt"), "--report", str(tmp_path / "r.html")]
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    page = read_page((tmp_path / "r.html").read_text(encoding="utf8"))
    strong = next(page.all("strong")).text
    assert strong == f"{found.get('f1', found['accuracy']):.2f}"
    interval = found["interval"]
    assert f"95 % interval {interval['low']:.2f} to {interval['high']:.2f}" in page.one("header").text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.txt", "r.html"]
    assert main(words) == 0
    assert "r.html: open it in a browser" in capsys.readouterr().out


@pytest.mark.slow
def test_a_report_shows_reliability_before_and_after_calibration(tmp_path, capsys):
    (X, y), dev = named_entities(60), named_entities(40, seed=1)
    tagger = postil.Tagger(hidden=16, epochs=4, rate=0.02).fit(X, y, dev=dev)
    tagger.save(tmp_path / "m")
    (tmp_path / "d.txt").write_text(as_conll(*dev))
    assert main(["evaluate", str(tmp_path / "m"), str(tmp_path / "d.txt"), "--report", str(tmp_path / "r.html")]) == 0
    calibration = reliability(tagger.model, *dev)
    page = (tmp_path / "r.html").read_text(encoding="utf8")
    for name, found in (("before", calibration.before), ("after", calibration.after)):
        assert f"{name} calibration: {100 * found.expected_error:.2f} %" in page


def test_examples_of_a_report_name_their_line(models, tmp_path, capsys):
    (tmp_path / "d.txt").write_text("slept\tO\n\nthe\tO\nbanks\tB-PER\n")
    words = ["evaluate", str(models / "ner"), str(tmp_path / "d.txt"), "--report", str(tmp_path / "r.html"), "--json"]
    assert main(words) == 0
    page = read_page((tmp_path / "r.html").read_text(encoding="utf8"))
    (item,) = (li for li in page.one("ol", id="examples").children if li.attributes.get("data-gold") == "PER")
    assert item.one("p", class_="facts").text.endswith("line 4")


@pytest.mark.parametrize("name", ["missing/r.html", "", "file/r.html"])
def test_a_report_that_cannot_be_written_is_told_in_one_line(models, tmp_path, capsys, name):
    (tmp_path / "d.txt").write_text(as_conll(*named_entities(4)))
    (tmp_path / "file").write_text("")
    report = str(tmp_path / name)
    assert main(["evaluate", str(models / "ner"), str(tmp_path / "d.txt"), "--report", report]) == 1
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and str(tmp_path) in err and "report" in err


def test_the_report_of_a_detector(tmp_path, capsys):
    X, y = named_entities(60)
    postil.Detector(label="LOC", hidden=8, epochs=1, word_dim=8).fit(X, y).save(tmp_path / "loc")
    (tmp_path / "d.txt").write_text(as_conll(X, y))
    words = ["evaluate", str(tmp_path / "loc"), str(tmp_path / "d.txt"), "--report", str(tmp_path / "r.html"), "--json"]
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)
    page = read_page((tmp_path / "r.html").read_text(encoding="utf8"))
    assert next(page.all("strong")).text == f"{found['average_precision']:.2f}"


def test_seen_and_new_entities_apart(models, tmp_path, capsys):
    (tmp_path / "train.txt").write_text(as_conll(*named_entities(60)))
    (tmp_path / "d.txt").write_text(as_conll([["Paris", "met", "Quito"]], [["B-LOC", "O", "B-LOC"]]))
    words = ["evaluate", str(models / "ner"), str(tmp_path / "d.txt"), "--train", str(tmp_path / "train.txt")]
    assert main([*words, "--json", "--report", str(tmp_path / "r.html")]) == 0
    novelty = json.loads(capsys.readouterr().out)["novelty"]
    assert novelty["seen entity"]["support"] == novelty["unseen word"]["support"] == 1
    assert "unseen word" in read_page((tmp_path / "r.html").read_text()).one("section", id="lengths").text
    assert main(words) == 0
    assert "Seen and new entities" in capsys.readouterr().out


def test_seen_and_unseen_words_of_labels_without_a_scheme(models, tmp_path, capsys):
    (tmp_path / "d.txt").write_text(as_conll(*parts_of_speech(10)))
    words = ["evaluate", str(models / "pos"), *[str(tmp_path / "d.txt")], "--train", str(tmp_path / "d.txt"), "--json"]
    assert main([*words, "--report", str(tmp_path / "r.html")]) == 0
    assert json.loads(capsys.readouterr().out)["word_novelty"]["unseen word"]["tokens"] == 0
    assert "unseen word" in read_page((tmp_path / "r.html").read_text()).one("section", id="novelty").text


def test_a_detector_knows_no_novelty(tmp_path, capsys):
    X, y = named_entities(20)
    postil.Detector(label="LOC", hidden=8, epochs=1, word_dim=8).fit(X, y).save(tmp_path / "loc")
    (tmp_path / "d.txt").write_text(as_conll(X, y))
    assert (
        main(["evaluate", *[str(tmp_path / name) for name in ("loc", "d.txt")], "--train", str(tmp_path / "d.txt")])
        == 1
    )
    assert "--train cannot be used here: a detector" in capsys.readouterr().err


def test_mistakes_are_listed_on_demand(models, tmp_path, capsys):
    X, y = named_entities(40, seed=1)
    y = [list(labels) for labels in y]
    y[0] = ["O"] * len(y[0])
    (tmp_path / "d").write_text(as_conll(X, y))
    words = ["evaluate", str(models / "ner"), str(tmp_path / "d")]
    assert "mistakes" not in evaluated(capsys, models / "ner", tmp_path / "d")
    assert main([*words, "--json", "--mistakes"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["mistakes"]) == sum(found["errors"].values()) - found["errors"].get("correct", 0)
    assert {"kind": "spurious", "sentence": 0}.items() <= found["mistakes"][0].items()
    assert main([*words, "--mistakes"]) == 1
    assert "--mistakes needs --json" in capsys.readouterr().err
