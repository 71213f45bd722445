"""``postil explain``: entities found, asked for and mistaken; text with and without colour; JSON."""

import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest

import postil
from oracles.corpora import made_up_sentences, named_entities, parts_of_speech
from oracles.pages import read_page
from postil.commands.main import main

TEXT = "Anna lives in New York."
SETTINGS = {"hidden": 16, "epochs": 5, "rate": 0.02}


def saved(folder, estimator, X, y):
    path = folder / "m.postil"
    estimator.fit(X, y).save(path)
    return str(path)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("model"), postil.Tagger(**SETTINGS), *named_entities(60))


@pytest.fixture(scope="module")
def pos(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("pos"), postil.Tagger(**SETTINGS), *parts_of_speech(60))


def explained(capsys, *arguments):
    assert main(["explain", *arguments]) == 0
    return capsys.readouterr().out


def as_json(capsys, *arguments):
    return json.loads(explained(capsys, *arguments, "--json"))["explanations"]


def complaint(capsys, *arguments, code=1):
    assert main(["explain", *arguments]) == code
    found = capsys.readouterr()
    assert found.out == ""
    assert found.err.count("\n") == 1
    return found.err


def test_every_entity_is_explained(model, capsys):
    found = as_json(capsys, model, TEXT)
    assert [(one["text"], one["label"]) for one in found] == [("Anna", "PER"), ("New York", "LOC")]
    expected = postil.load(model).explain("Anna lives in New York .".split(), 3, 5).to_dict()
    assert found[1]["words"] == expected["words"]
    assert [one["text"] for one in as_json(capsys, model, TEXT, "--label", "LOC")] == ["New York"]


def test_the_sum_of_parts_and_the_bars_are_shown(model, capsys):
    shown = explained(capsys, model, TEXT)
    assert "[Anna]PER lives in New York ." in shown
    assert "Anna lives in [New York]LOC ." in shown
    assert "New York as LOC: probability " in shown
    for name in ("left out", "gradient", "▸ New", "  lives", "suffixes", "transitions", "█", "+ supports LOC"):
        assert name in shown
    assert "\x1b" not in shown  # no colour into a pipe


@pytest.mark.parametrize(("variable", "coloured"), [("FORCE_COLOR", True), ("NO_COLOR", False)])
def test_colour(model, capsys, monkeypatch, variable, coloured):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv(variable, "1")
    shown = explained(capsys, model, TEXT)
    assert ("\x1b[32m" in shown or "\x1b[1;32m" in shown) == coloured  # green
    assert "+" in shown


def test_words_that_were_asked_for(model, capsys):
    (one,) = as_json(capsys, model, TEXT, "--entity", "New York", "--label", "PER")
    assert (one["start"], one["end"], one["label"]) == (3, 5, "PER") and one["value"] < 0
    assert len(as_json(capsys, model, "Anna met Anna.", "--entity", "Anna")) == 2
    (one,) = as_json(capsys, model, TEXT, "--span", "1:2", "--label", "O")
    assert (one["text"], one["label"]) == ("lives", "O") and one["value"] > 0
    (one,) = as_json(capsys, model, "They met Anna. She left Oslo.", "--span", "6:7")
    assert (one["text"], one["start"], one["tokens"]) == ("Oslo", 2, ["She", "left", "Oslo", "."])


def test_tokens_and_standard_input(model, capsys, monkeypatch):
    (one,) = as_json(capsys, model, "Anna lives in New York", "--from", "tokens", "--entity", "New York")
    assert one["tokens"] == "Anna lives in New York".split()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Anna\nleft\nOslo\n")))
    found = as_json(capsys, model, "--from", "conll", "--label-column", "none")
    assert [one["text"] for one in found] == ["Anna", "Oslo"]


def test_extra_columns(capsys, tmp_path, monkeypatch):
    X, y = named_entities(60)
    X = [[(word, "N" if word[0].isupper() else "X") for word in tokens] for tokens in X]
    model = saved(tmp_path, postil.Tagger(**SETTINGS), X, y)
    assert "--feature-columns with 1 of them" in complaint(capsys, model, TEXT)
    options = ("--from", "conll", "--feature-columns", "1", "--label-column", "none")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Anna\tN\nleft\tX\nOslo\tN\n")))
    assert "column 1" in as_json(capsys, model, *options)[0]["features"]


def test_long_sentences_list_the_words_that_matter(model, capsys):
    shown = explained(capsys, model, "the museums of Oslo " + "are old " * 60, "--entity", "Oslo")
    assert "other words contribute less than 0." in shown
    assert shown.count("  are  ") < 10
    words = as_json(capsys, model, "the museums of Oslo " + "are old " * 60, "--entity", "Oslo")[0]["words"]
    assert words[-1]["left_out"] is None


def test_labels_without_spans(pos, capsys):
    (one,) = as_json(capsys, pos, "Anna left Oslo", "--entity", "left")
    assert one["label"] == "VERB"
    assert "labels without spans need a word to explain: expected --entity WORD or --span START:END" in complaint(
        capsys, pos, "Anna left Oslo"
    )


def test_a_detector(capsys, tmp_path):
    sentences = made_up_sentences(100, np.random.default_rng(0))
    X, y = [list(s.tokens) for s in sentences], [list(s.labels) for s in sentences]
    model = saved(tmp_path, postil.Detector(label="LOC", hidden=20, epochs=4, word_dim=16), X, y)
    shown = explained(capsys, model, "the parks of Lima are quiet", "--entity", "Lima")
    assert "Lima scores above the threshold of LOC: +" in shown
    assert "transitions" not in shown
    (one,) = as_json(capsys, model, "the parks of Lima are quiet", "--span", "1:2")
    assert one["measure"] == "margin" and one["probability"] is None and one["value"] < 0


def test_nothing_found(model, capsys):
    shown = explained(capsys, model, "the museums are old")
    assert shown.startswith("No entity found in: the museums are old\n")
    assert explained(capsys, model, "Anna left", "--label", "LOC").startswith("No LOC found in: Anna left\n")
    assert "--span START:END" in shown
    assert as_json(capsys, model, "the museums are old") == []


@pytest.mark.slow
def test_mistakes(model, capsys, tmp_path):
    assert "--span must satisfy 0 <= START < END <= 6 (got 5:9)" in complaint(capsys, model, TEXT, "--span", "5:9")
    assert "inside one sentence" in complaint(capsys, model, "They left. She left.", "--span", "1:5")
    assert "unknown label: expected one of LOC, PER, O, got 'X'" in complaint(
        capsys, model, TEXT, "--span", "0:1", "--label", "X"
    )
    assert "--entity must be whole words of 'Anna lives" in complaint(capsys, model, TEXT, "--entity", "York City")
    assert "the text is empty: expected words" in complaint(capsys, model, "  ")
    assert explained(capsys, model, "Anna lives in York . " * 20)  # too long for a file's name
    assert "--label must be one of LOC, PER (got 'X')" in complaint(capsys, model, TEXT, "--label", "X")
    (tmp_path / "my models").mkdir()  # a path may contain spaces, as a sentence does
    assert "no such model" in complaint(capsys, str(tmp_path / "my models" / "none"), TEXT)
    for wrong in (("--span", "two"), ("--span", "1:2", "--entity", "Anna"), ("--from", "pdf")):
        with pytest.raises(SystemExit, match="2"):
            main(["explain", model, TEXT, *wrong])
    assert "must be START:END in tokens from 0, such as 2:3 (got 'two')" in capsys.readouterr().err


def test_the_report_is_a_page_with_every_explanation(model, capsys, tmp_path):
    path = tmp_path / "why.html"
    shown = explained(capsys, model, "<b> Anna lives in New York.", "--report", str(path))
    assert f"The report is in {path}" in shown
    page = read_page(path.read_text(encoding="utf8"))
    assert [h2.text for h2 in page.all("h2")][-2:] == ["Anna as PER", "New York as LOC"]
    assert page.one("title").text == page.one("h1").text == f"Explanations by {Path(model).stem}", "not a path"
    assert "<" in page.one("section", id="explanation-1").one("p", class_="effects").text
    assert as_json(capsys, model, TEXT, "--report", str(path))  # replaces a report, prints JSON alone
    assert "New York as LOC" in path.read_text(encoding="utf8")


def test_the_report_replaces_nothing_else(model, capsys, tmp_path):
    assert "must not be one of the inputs" in complaint(capsys, model, TEXT, "--report", model)
    other = tmp_path / "data.txt"
    other.write_text("x O\n", encoding="utf8")
    assert "--overwrite" in complaint(capsys, model, TEXT, "--report", str(other))
    assert other.read_text(encoding="utf8") == "x O\n"
