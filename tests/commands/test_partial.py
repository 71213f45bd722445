"""Partial labels on the command line: training, evaluation, scoring, conversion."""

import json

import pytest

import postil
from oracles.corpora import as_conll, named_entities
from postil.commands.main import main

SMALL = ["--set", "epochs=4", "--set", "hidden=12", "--set", "word_dim=8", "--set", "batch_sentences=4"]
X, y = named_entities(60)


def only(y, name):
    return [[label if label[2:] == name else "O" for label in labels] for labels in y]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "persons.txt").write_text("# annotates = PER\n" + as_conll(X, only(y, "PER")))
    (tmp_path / "places.txt").write_text(as_conll(X, only(y, "LOC")))
    (tmp_path / "dev.txt").write_text(as_conll(*named_entities(20, seed=1)))
    (tmp_path / "unknown.txt").write_text(as_conll([["Anna", "left"]], [["?", "?"]]))
    gaps = [["?" if i % 3 == 0 else label for i, label in enumerate(labels)] for labels in y]
    (tmp_path / "gaps.txt").write_text(as_conll(X, gaps))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_two_files_with_different_classes(folder, capsys):
    words = ["train", "persons.txt", "places.txt", "--annotates", "places.txt=LOC", "--dev", "dev.txt", *SMALL]
    assert main([*words, "-o", "m"]) == 0
    err = capsys.readouterr().err
    assert "postil: persons.txt: annotates PER" in err and "postil: places.txt: annotates LOC" in err
    found = {label[2:] for labels in postil.load("m").predict(X) for label in labels}
    assert {"PER", "LOC"} <= found
    assert main(["evaluate", "m", "persons.txt", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert set(report["labels"]) == {"PER"} and report["left_out"]["predicted_entities"] > 0


def test_unknown_tokens_are_told_learnt_around_and_left_out(folder, capsys):
    assert main(["train", "gaps.txt", "--dev", "gaps.txt", *SMALL, "-o", "m"]) == 0
    unknown = sum(len(labels[::3]) for labels in y)
    err = capsys.readouterr().err
    assert (
        f"gaps.txt: {unknown} tokens have an unknown label, 0 have several possible labels" in err
        and "violate" not in err
    )
    assert "?" not in postil.load("m").classes_
    assert main(["evaluate", "m", "gaps.txt"]) == 0
    assert f"not scored: {unknown} tokens whose gold label is unknown" in capsys.readouterr().out
    assert main(["evaluate", "dev.txt", "gaps.txt"]) == 1
    assert main(["evaluate", "gaps.txt", "gaps.txt", "--json"]) == 0
    capsys.readouterr()


def test_labels_that_look_like_marks_can_be_kept(folder, capsys):
    assert main(["train", "gaps.txt", "--partial", "no", *SMALL, "-o", "m"]) == 0
    assert "unknown" not in capsys.readouterr().err


MISTAKES = [
    (["unknown.txt"], "unknown.txt: every label is unknown: expected some labels, got nothing but '?'"),
    (["places.txt", "unknown.txt"], "unknown.txt: every label is unknown"),
    (["places.txt", "--annotates", "PER"], "places.txt, line 1: a label of a class that is not annotated there"),
    (["places.txt", "--annotates", "x.txt=PER"], "--annotates must name one of the training files (got 'x.txt')"),
]


@pytest.mark.parametrize(("words", "message"), MISTAKES)
def test_mistakes_are_one_clear_line(folder, capsys, words, message):
    (folder / "places.txt").write_text(as_conll([["Oslo"]], [["B-LOC"]]))
    assert main(["train", *words, *SMALL, "-o", "m"]) == 1
    assert f"postil: {message}" in capsys.readouterr().err.splitlines()[-1]


def test_conversion_keeps_what_is_not_known(folder, capsys):
    (folder / "in.txt").write_text("# annotates = PER\nAnna\tB-PER\nBerg\t?\nleft\tO\nOslo\tPER|LOC\n\n")
    assert main(["convert", "in.txt", "out.jsonl"]) == 0
    record = json.loads((folder / "out.jsonl").read_text())
    assert record["labels"] == ["B-PER", "?", "O", "PER|LOC"] and record["comments"] == ["# annotates = PER"]
    assert main(["convert", "out.jsonl", "back.txt"]) == 0
    assert (folder / "back.txt").read_text() == (folder / "in.txt").read_text()
    assert "break" not in capsys.readouterr().err
    assert main(["convert", "in.txt", "iobes.txt", "--scheme", "iobes"]) == 1
    assert "in.txt, line 2: marks of unknown labels in another scheme" in capsys.readouterr().err


def test_a_long_line_is_tagged_whole(folder, capsys):
    assert main(["train", "persons.txt", *SMALL, "-o", "m"]) == 0
    (folder / "long.txt").write_text("Anna lives in Oslo and " * 4000 + "\n")
    capsys.readouterr()
    assert main(["tag", "m", "long.txt", "--from", "tokens"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 20_001
