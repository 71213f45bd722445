"""``postil rules check`` and ``postil train --rules``."""

import json
import signal

import numpy as np
import pytest

import postil
from postil.commands.main import main
from postil.models.fitting.sentences import SentenceFitting
from postil.optimisation.loop import Epoch
from postil.samples.corpora import made_up_sentences

RULES = """
[[rule]]
label = "LOC"
pattern = "in|to|from ( <capital>{1,2} )"

[[rule]]
name = "movers"
label = "PER"
pattern = "( <capital>{1,2} ) moved|flew|lives|drove|sailed"

[[rule]]
name = "nobody"
not = "PER"
list = ["Nowhere"]
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rules")
    sentences = made_up_sentences(300, np.random.default_rng(3))
    (folder / "raw.txt").write_text("\n".join(" ".join(sentence.tokens) for sentence in sentences), "utf-8")
    rows = ["\n".join(map("\t".join, zip(s.tokens, s.labels, strict=True))) for s in sentences[:40]]
    (folder / "dev.txt").write_text("\n\n".join(rows) + "\n", "utf-8")
    (folder / "rules.toml").write_text(RULES, "utf-8")
    return folder


def run(files, *words):
    return main(
        [str(files / word) if "." in word and not word.startswith("-") and "=" not in word else word for word in words]
    )


def test_a_model_is_trained_without_labels(files, capsys):
    words = ["--unlabelled", "raw.txt", "--dev", "dev.txt", "--set", "epochs=3", "-o", "m.postil"]
    assert run(files, "train", "--rules", "rules.toml", *words) == 0
    shown = capsys.readouterr()
    assert "3 rules, " in shown.err and "round 2 of 2" in shown.err and shown.out.startswith("dev   F1")
    assert "dev   calibration error " in shown.out
    tagger = postil.load(str(files / "m.postil"))
    assert tagger.model.codec.classes == ("LOC", "PER")
    assert not (files / "m.postil.checkpoint").exists()


@pytest.mark.parametrize("at", [1, 2])
def test_an_interrupted_round_is_resumed(files, capsys, monkeypatch, at):
    """In the first round, and in the second; the model is that of a run without a break."""

    def train(name, *words):
        settings = ["--set", "epochs=2", "--set", "hidden=8", "-o", name]
        return run(files, "train", "--rules", "rules.toml", "--unlabelled", "raw.txt", *settings, *words)

    assert train("whole.postil") == 0
    events, seen = SentenceFitting.__next__, []

    def stopped(self):
        event = events(self)
        seen.append(isinstance(event, Epoch))
        if seen[-1] and sum(seen) == 2 * at - 1:  # after the first epoch of round ``at``
            signal.raise_signal(signal.SIGINT)
        return event

    with monkeypatch.context() as patch:
        patch.setattr(SentenceFitting, "__next__", stopped, raising=False)
        assert train("x.postil") == 130
    assert "add --resume to continue" in capsys.readouterr().err
    left = {path.name for path in files.glob("x.postil*")}
    assert left == {"x.postil.checkpoint"} | ({"x.postil.round1"} if at == 2 else set())
    assert train("x.postil", "--resume") == 0
    assert {path.name for path in files.glob("x.postil*")} == {"x.postil"}
    assert (files / "x.postil").read_bytes() == (files / "whole.postil").read_bytes()
    (files / "x.postil").unlink()
    (files / "whole.postil").unlink()


def test_answers_without_places_need_no_raw_text(files, capsys):
    lines = (files / "raw.txt").read_text("utf-8").splitlines()[:100]
    answers = [{"text": line, "mentions": [{"text": line.split()[-2], "label": "X"}]} for line in lines]
    (files / "answers.jsonl").write_text("\n".join(map(json.dumps, answers)), "utf-8")
    (files / "llm.toml").write_text('[[rule]]\nmentions = "answers.jsonl"', "utf-8")
    assert run(files, "train", "--rules", "llm.toml", "--set", "epochs=1", "-o", "llm.postil") == 0
    assert postil.load(str(files / "llm.postil")).model.codec.classes == ("X",)
    assert run(files, "rules", "check", "llm.toml", "--set", "epochs=1") == 0
    assert "mentions 1" in capsys.readouterr().out


def test_labelled_files_count_as_well(files, capsys):
    words = ["--unlabelled", "raw.txt", "--set", "epochs=1", "-o", "both.postil"]
    assert run(files, "train", "dev.txt", "--rules", "rules.toml", *words) == 0
    assert set(postil.load(str(files / "both.postil")).model.codec.classes) == {"LOC", "ORG", "PER"}


def test_the_report(files, capsys):
    assert run(files, "rules", "check", "rules.toml", "raw.txt", "--set", "epochs=2") == 0
    shown = capsys.readouterr().out
    assert shown.startswith("3 rules, ") and "never vote: nobody" in shown
    assert run(files, "rules", "check", "rules.toml", "raw.txt", "--set", "epochs=2", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert [row["rule"] for row in report["rows"]] == ["LOC 1", "movers", "nobody"] and report["dead"] == ["nobody"]


@pytest.mark.parametrize(
    "words, message",
    [
        (["train", "--rules", "rules.toml", "-o", "x.postil"], "--rules needs raw text to vote on"),
        (["train", "--rules", "none.toml", "--unlabelled", "raw.txt", "-o", "x.postil"], "cannot read the rules"),
        (
            [
                "train",
                "--rules",
                "rules.toml",
                "--unlabelled",
                "raw.txt",
                "--preset",
                "window-softmax",
                "-o",
                "x.postil",
            ],
            "--rules needs a preset with the objective crf",
        ),
        (
            ["train", "--rules", "rules.toml", "--unlabelled", "raw.txt", "--resume", "-o", "x.postil"],
            "x.postil.checkpoint: nothing to resume",
        ),
        (["train", "--rules", "rules.toml", "--unlabelled", "raw.txt", "-o", "rules.toml"], "rules.toml"),
        (["rules", "check", "rules.toml", "none.txt"], "none.txt"),
    ],
)
def test_a_mistake_is_one_line(files, capsys, words, message):
    assert run(files, *words) == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("postil: ") and message in error
    assert (files / "rules.toml").read_text("utf-8") == RULES
