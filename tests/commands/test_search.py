"""``postil search`` as a user meets it."""

import json

import pytest

from oracles import corpora
from postil.commands.main import main

SMALL = ["--set", "hidden=8", "--set", "epochs=3", "--set", "rate=0.02", "--trials", "3", "--seeds", "1"]
SEARCH = ["search", "train.txt", "--dev", "dev.txt", "-o", "mine.json", *SMALL, "--try", "window=1,3,5"]


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, seed in (("train.txt", 0), ("dev.txt", 9)):
        (tmp_path / name).write_text(corpora.as_conll(*corpora.named_entities(30, seed=seed)), encoding="utf8")
    return tmp_path


def test_from_a_search_to_a_model(files, capsys):
    assert main([*SEARCH, "--report", "search.html"]) == 0
    printed = capsys.readouterr().out
    assert "The best of 3 settings" in printed and "--preset mine.json" in printed
    page = (files / "search.html").read_text(encoding="utf8")
    assert "Settings for" in page and "<svg" in page
    preset = json.loads((files / "mine.json").read_text())
    assert preset["preset"] == "fast" and preset["settings"]["hidden"] == 8
    assert main(["train", "train.txt", "--preset", "mine.json", "--set", "epochs=1", "-o", "m.postil"]) == 0
    assert main(["presets", "mine.json", "--json"]) == 0
    capsys.readouterr()
    assert main(["crossval", "train.txt", "--folds", "2", "--preset", "mine.json", "--json"]) == 0


def test_the_log_is_kept_continued_and_replayed(capsys):
    assert main(SEARCH) == 0
    assert main(SEARCH) == 1
    assert "--resume to continue the search" in capsys.readouterr().err
    assert main([*SEARCH, "--resume", "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    again = ["again.json" if word == "mine.json" else word for word in SEARCH]
    assert main([*again, "--replay", "mine.json.trials.jsonl", "--json"]) == 0
    second = json.loads(capsys.readouterr().out)
    assert {**first, "seconds": 0} == {**second, "seconds": 0}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--try", "hiden=3"], "did you mean hidden"),
        (["--try", "hidden=a"], "a whole number"),
        (["--try", "hidden"], "NAME=VALUE"),
        (["--minutes", "0"], "minutes must be positive"),
        (["-o", "train.txt"], "must not be one of the inputs"),
        (["--replay", "dev.txt"], "must be one that `postil search` wrote"),
        (["--report", "mine.json"], "must not be one of the inputs"),
    ],
)
def test_mistakes(capsys, change, message):
    assert main([*SEARCH, *change]) == 1
    errors = capsys.readouterr().err
    assert message in errors and len(errors.splitlines()) == 1


def test_a_file_that_is_no_preset(capsys):
    assert main(["train", "train.txt", "--preset", "dev.txt", "-o", "m.postil"]) == 1
    assert "the name of a preset or a file of `postil search`" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["search", "train.txt", "-o", "p.json", "--preset", "nothing"])
    assert "invalid choice: 'nothing'" in capsys.readouterr().err
