"""``postil rules check`` and ``postil train --rules``."""

import json

import numpy as np
import pytest

import postil
from postil.commands.main import main
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
    tagger = postil.load(str(files / "m.postil"))
    assert tagger.model.codec.classes == ("LOC", "PER")
    assert not (files / "m.postil.checkpoint").exists()


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
            "--resume cannot be used here",
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
