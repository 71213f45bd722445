"""``postil simulate`` as a user meets it."""

import json

import pytest

from oracles import corpora
from postil.commands import simulate as command
from postil.commands.main import main

QUICKLY = ["--set", "hidden=8", "--set", "epochs=1", "--seeds", "1", "--start", "0.1", "--growth", "3"]
WORDS = ["simulate", "train.txt", "--dev", "dev.txt", *QUICKLY]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, number in (("train", 40), ("dev", 20)):
        text = corpora.as_conll(*corpora.named_entities(number, seed=number))
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf8")
    return tmp_path


def test_table_sentence_and_page(folder, capsys):
    assert main([*WORDS, "--by", "spans", "--report", "page.html"]) == 0
    printed = capsys.readouterr().out
    assert "spans" in printed and "random" in printed and "of the full data" in printed
    page = (folder / "page.html").read_text(encoding="utf8")
    assert "<svg" in page and "spans" in page and "of the full data" in page


def test_json_repeats_for_any_number_of_threads(folder, capsys):
    reports = []
    for threads in ("1", "2"):
        assert main([*WORDS, "--json", "--threads", threads]) == 0
        reports.append(json.loads(capsys.readouterr().out))
    assert reports[0] == reports[1]
    assert {*reports[0]["needed"]} == {"entropy", "random"}


def test_an_interrupted_simulation_goes_on_with_the_runs_that_are_saved(folder, capsys, monkeypatch):
    assert main([*WORDS, "--json"]) == 0
    expected = json.loads(capsys.readouterr().out)
    add, saved = command._SavedRuns.add, []

    def interrupted(self, run):
        add(self, run)
        saved.append(run)
        if len(saved) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(command._SavedRuns, "add", interrupted)
    assert main([*WORDS, "--json", "--runs", "runs.jsonl"]) == 130
    capsys.readouterr()
    assert len((folder / "runs.jsonl").read_text().splitlines()) == 3
    monkeypatch.setattr(command._SavedRuns, "add", lambda self, run: saved.append(run))
    assert main([*WORDS, "--json", "--runs", "runs.jsonl"]) == 0
    assert json.loads(capsys.readouterr().out) == expected
    assert len(saved) == 3  # all, entropy; and now only random


def test_runs_of_other_data_or_settings_are_not_mixed(folder, capsys):
    assert main([*WORDS, "--runs", "runs.jsonl"]) == 0
    before = (folder / "runs.jsonl").read_bytes()
    assert main([*WORDS, "--until", "0.3", "--runs", "runs.jsonl"]) == 1
    assert "of the same data and settings" in capsys.readouterr().err
    assert (folder / "runs.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--seeds", "0"], "seeds must be at least 1"),
        (["--start", "0.9"], "start must be above 0"),
        (["--runs", "train.txt"], "one of the inputs"),
        (["--runs", "other.txt"], "must not replace"),
        (["--report", "dev.txt"], "one of the inputs"),
    ],
)
def test_mistakes_are_one_line(folder, capsys, words, told):
    (folder / "other.txt").write_text("precious\n")
    assert main([*WORDS, *words]) == 1
    captured = capsys.readouterr()
    assert told in captured.err and len(captured.err.splitlines()) == 1
    assert (folder / "other.txt").read_text() == "precious\n"


def test_a_file_to_score_on_is_needed(folder, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["simulate", "train.txt"])
    assert ended.value.code == 2
