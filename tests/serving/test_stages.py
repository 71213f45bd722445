"""``postil bench MODEL FILE``: the steps of labelling a file. No test depends on how fast the machine is."""

import json

import pytest

import postil
from oracles import corpora
from postil import kernels
from postil.commands.main import main
from postil.serving import stages as measured

STEPS = ["read", "split", "words", "network", "labels", "probabilities", "write"]
WHOLE = ["whole: labels", "whole: labels and probabilities"]
pytestmark = pytest.mark.skipif(kernels.IN_USE.startswith("plain"), reason="the fast path needs the compiled kernels")


@pytest.fixture(autouse=True)
def once(monkeypatch):
    monkeypatch.setattr(measured, "TURNS", 1)


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("Anna met Boris in Oslo. They went home.\n" * 30)
    return path


def test_every_step_of_the_fast_path_has_a_rate_and_a_limit(names_model, text, capsys):
    assert main(["bench", str(names_model), str(text), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["takes_fast_path"] and told["bytes"] == text.stat().st_size
    assert told["tokens"] == sum(len(s.tokens) for s in postil.load(names_model).tag(text.read_text()).sentences)
    assert [step["name"] for step in told["steps"]] == STEPS + WHOLE
    for step in told["steps"]:
        assert (step["limit"] is None) == step["name"].startswith("whole")
        assert step["tokens_per_second"] > 0


def test_the_table_names_the_file(names_model, text, capsys):
    assert main(["bench", str(names_model), str(text)]) == 0
    printed = capsys.readouterr().out
    assert "a.txt" in printed.replace("\n", "") and "share of limit" in printed and "forward" not in printed


@pytest.mark.parametrize("name", ["conll", "jsonl"])
def test_other_formats_are_measured_too(names_model, tmp_path, capsys, name):
    X, y = corpora.named_entities(20)
    lines = {"conll": corpora.as_conll(X, y), "jsonl": "".join(json.dumps({"text": " ".join(t)}) + "\n" for t in X)}
    path = tmp_path / f"a.{name}"
    path.write_text(lines[name])
    assert main(["bench", str(names_model), str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tokens"] > 50


def test_a_model_without_the_fast_path_is_measured_as_a_whole(tmp_path, text, capsys):
    X, y = corpora.named_entities(20)
    model = tmp_path / "m.postil"
    postil.Tagger(preset="sentence-sll", hidden=4, epochs=1).fit(X, y).save(model)
    assert main(["bench", str(model), str(text), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert not told["takes_fast_path"] and [step["name"] for step in told["steps"]] == WHOLE
    assert main(["bench", str(model), str(text)]) == 0
    assert "general path" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [([], "needs a FILE"), (["none.txt"], "cannot read the file"), (["empty.txt"], "nothing to measure")],
)
def test_a_mistake_is_one_line(names_model, tmp_path, monkeypatch, capsys, arguments, message):
    (tmp_path / "empty.txt").write_text("\n")
    monkeypatch.chdir(tmp_path)
    assert main(["bench", str(names_model), *arguments]) == 1
    told = capsys.readouterr().err
    assert message in told and "Traceback" not in told
