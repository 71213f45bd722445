"""``postil train --gains``: what each kind of knowledge adds on dev."""

import re
import signal

import pytest

import postil
from oracles.corpora import as_conll, named_entities
from postil.commands import teaching
from postil.commands import train as gains
from postil.commands.main import main
from postil.models import config

SMALL = ["--set", "epochs=2", "--set", "hidden=12", "--set", "word_dim=8"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    X, y = named_entities(30)
    (tmp_path / "train.txt").write_text(as_conll(X, y))
    (tmp_path / "dev.txt").write_text(as_conll(*named_entities(20, seed=1)))
    (tmp_path / "raw.txt").write_text("\n".join(" ".join(tokens) for tokens in named_entities(40, seed=2)[0]) + "\n")
    words = sorted({form for tokens in X for form in tokens})
    (tmp_path / "words.txt").write_text("".join(f"{word}\t{len(word)}\n" for word in words))
    monkeypatch.setattr(teaching, "MEMBERS", 2)
    monkeypatch.setattr(teaching, "PRESET", "fast")
    monkeypatch.setattr(config, "FEWEST_STEPS", 40)  # of the teacher
    monkeypatch.chdir(tmp_path)
    return tmp_path


def train(*arguments):
    return main(["train", "train.txt", "--dev", "dev.txt", *SMALL, *arguments, "-o", "m.postil"])


def shown(out):
    """{label: score} of the table."""
    lines = re.findall(
        r"^  (\S.*?) +(\d+\.\d\d)(?:  [+-]\d+\.\d\d)?$", out.partition(gains.gains_table([("", 0)])[0])[2], re.M
    )
    return {label: float(score) for label, score in lines}


def score_of(path):
    X, y = named_entities(20, seed=1)
    return round(100 * postil.load(path).score(X, y), 2)


def test_self_training_says_what_helped(folder, capsys):
    assert train("--clusters", "words.txt", "--unlabelled", "raw.txt") == 0
    out = capsys.readouterr().out
    rows = shown(out)
    labels = ["the labelled data alone", "+ word clusters", f"+ {gains.ENCODER}", f"+ {gains.TEACHER}"]
    assert list(rows) == labels
    assert rows[labels[-1]] == score_of("m.postil")
    assert "(the teacher, 2 networks: " in out
    train("--clusters", "words.txt")
    assert rows["+ word clusters"] == score_of("m.postil"), "the row is the model that lacks only the raw text"
    train()
    assert rows["the labelled data alone"] == score_of("m.postil")


def test_on_request_without_raw_text(folder, capsys):
    assert train("--clusters", "words.txt", "--gains") == 0
    assert list(shown(capsys.readouterr().out)) == ["the labelled data alone", "+ word clusters"]
    assert train("--gains") == 0
    told = capsys.readouterr()
    assert "nothing to compare" in told.err and "what helped" not in told.out


def test_not_where_it_is_not_wanted(folder, capsys):
    assert train("--unlabelled", "raw.txt", "--no-gains") == 0
    assert train("--clusters", "words.txt") == 0
    assert "what helped" not in capsys.readouterr().out


def test_an_interrupted_comparison_leaves_the_model(folder, capsys, monkeypatch):
    class Stopped:
        by = signal.SIGINT

    class Stopping:
        def __enter__(self):
            return Stopped()

        def __exit__(self, *exception):
            return None

    monkeypatch.setattr(gains, "stop_on_request", Stopping)
    assert train("--unlabelled", "raw.txt") == 0
    told = capsys.readouterr()
    assert "the comparison is skipped" in told.err and "what helped" not in told.out
    assert postil.load("m.postil").predict([["Anna"]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--gains"], "--gains needs held-out data"),
        (["--gains", "--dev", "dev.txt", "--warm-start", "m.postil"], "--gains cannot be used with --warm-start"),
    ],
)
def test_a_mistake_is_one_line(folder, capsys, arguments, message):
    assert main(["train", "train.txt", *arguments, "-o", "n.postil"]) == 1
    assert message in capsys.readouterr().err


def test_the_table_shows_differences():
    lines = gains.gains_table([("alone", 50.0), ("+ more", 48.5)])
    assert lines[1:] == ["  alone    50.00", "  + more   48.50  -1.50"]
