"""``postil compare`` as a user meets it."""

import json

import pytest

import postil
from oracles import corpora
from postil.commands.main import main


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = corpora.named_entities(60)
    postil.Tagger(hidden=4, epochs=1).fit(X[:8], y[:8]).save("weak.postil")
    postil.Tagger(hidden=16, epochs=4, rate=0.02).fit(X, y).save("good.postil")
    (tmp_path / "test.txt").write_text(corpora.as_conll(*corpora.named_entities(30, seed=5)), encoding="utf8")
    return tmp_path


def test_table_page_and_json(data, capsys):
    assert main(["compare", "weak.postil", "good.postil", "test.txt", "--report", "page.html"]) == 0
    printed = capsys.readouterr().out
    assert "95 % interval" in printed and "labelled differently" in printed and "test.txt, line" in printed
    page = (data / "page.html").read_text(encoding="utf8")
    assert "better by good.postil" in page
    assert main(["compare", "weak.postil", "good.postil", "test.txt", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["comparison"]["second"] > report["comparison"]["first"]
    assert report["differences"]


def test_other_models_are_refused(data, capsys):
    postil.Detector(label="LOC", epochs=1).fit(*corpora.named_entities(20)).save("loc.postil")
    assert main(["compare", "weak.postil", "loc.postil", "test.txt"]) == 1
    assert "must be a tagger (got a detector)" in capsys.readouterr().err


def test_data_of_another_kind_are_refused(data, capsys):
    (data / "pos.txt").write_text("Anna\tNNP\nleft\tVBD\n", encoding="utf8")
    assert main(["compare", "weak.postil", "good.postil", "pos.txt"]) == 1
    assert "pos.txt, line 1: these labels have no scheme" in capsys.readouterr().err


def test_a_task_is_compared_with_a_model_of_one_task(data, capsys):
    X, y = corpora.named_entities(40)
    upper = [[("upper" if token[:1].isupper() else "lower") for token in tokens] for tokens in X]
    several = postil.MultiTaskTagger(hidden=8, epochs=2, rate=0.02).fit(X, {"names": y, "case": upper})
    several.save("several.postil")
    several["names"].save("alone.postil")
    figures = {}
    for name, words in {"several.postil": ["--task", "names"], "alone.postil": []}.items():
        assert main(["compare", name, "good.postil", "test.txt", "--json", *words]) == 0
        figures[name] = json.loads(capsys.readouterr().out)
    assert figures["several.postil"] == figures["alone.postil"]
    for words, message in (
        (["several.postil", "good.postil", "test.txt"], "several tasks: choose one with --task names or case"),
        (["weak.postil", "good.postil", "test.txt", "--task", "names"], "tasks cannot be chosen here"),
    ):
        assert main(["compare", *words]) == 1
        assert message in capsys.readouterr().err
