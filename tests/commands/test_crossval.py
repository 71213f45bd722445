"""``postil crossval`` as a user meets it."""

import json

import pytest

from oracles import corpora
from postil.commands.main import main

QUICKLY = ["--set", "hidden=8", "--set", "epochs=2"]


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "all.txt").write_text(corpora.as_conll(*corpora.named_entities(40)), encoding="utf8")
    return tmp_path


def test_scores_and_predictions(data, capsys):
    assert main(["crossval", "all.txt", "--folds", "3", "-o", "out.conll", *QUICKLY]) == 0
    printed = capsys.readouterr().out
    assert "over 3 folds" in printed and "no documents are marked" in printed
    tokens = [
        [line.split("\t")[0] for line in (data / name).read_text().split("\n")] for name in ("all.txt", "out.conll")
    ]
    assert tokens[0][: len(tokens[1])] == tokens[1][: len(tokens[0])]


@pytest.mark.slow
def test_json_repeats_for_any_number_of_threads(data, capsys):
    reports = []
    for threads in ("1", "2"):
        assert main(["crossval", "all.txt", "--folds", "2", "--json", "--threads", threads, *QUICKLY]) == 0
        reports.append(json.loads(capsys.readouterr().out))
    assert reports[0] == reports[1]
    assert len(reports[0]["folds"]) == 2


def test_mistakes_are_one_line(data, capsys):
    for words, told in ((["--folds", "41"], "folds must be from 2 to 40"), (["-o", "all.txt"], "one of the inputs")):
        assert main(["crossval", "all.txt", *words]) == 1
        captured = capsys.readouterr()
        assert told in captured.err and len(captured.err.splitlines()) == 1


def test_a_single_document_is_held_out_sentence_by_sentence(data, capsys):
    (data / "one.txt").write_text(f"-DOCSTART-\tO\n\n{(data / 'all.txt').read_text(encoding='utf8')}", encoding="utf8")
    assert main(["crossval", "one.txt", "--folds", "2", *QUICKLY]) == 0
    assert "sentences were drawn one by one" in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
def test_a_learning_curve_as_table_page_and_json(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "all.txt").write_text(corpora.as_conll(*corpora.named_entities(60)), encoding="utf8")
    words = [
        "crossval",
        "all.txt",
        "--curve",
        "--sizes",
        "3",
        "--repeats",
        "1",
        "--set",
        "hidden=8",
        "--set",
        "epochs=2",
    ]
    assert main([*words, "--report", "curve.html"]) == 0
    printed = capsys.readouterr().out
    assert "sentences" in printed and "expected" in printed
    page = (tmp_path / "curve.html").read_text(encoding="utf8")
    assert "Learning curve" in page and "<svg" in page
    assert main([*words, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["points"]) == 3
    assert main([*words[:3], "--sizes", "2"]) == 1
    assert "sizes must be at least 3" in capsys.readouterr().err
    assert main(["crossval", "all.txt", "--sizes", "4"]) == 1
    assert "--sizes needs --curve" in capsys.readouterr().err
