"""``postil rules check`` and ``postil train --rules``."""

import csv
import json
import signal

import numpy as np
import pytest

import postil
from oracles.flat import read
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


@pytest.mark.slow
def test_words_of_a_labelled_file_are_raw_text_and_its_labels_are_not(files, capsys):
    (files / "labelled.toml").write_text('[[rule]]\nlabel = "LABEL"\nlist = ["O", "PER"]\n' + RULES, "utf-8")
    assert run(files, "rules", "check", "labelled.toml", "dev.txt") == 0
    shown = capsys.readouterr()
    assert "40 sentences of raw text" in shown.err
    assert "never vote: LABEL" in shown.out


@pytest.mark.slow
def test_a_model_is_trained_without_labels(files, capsys):
    words = ["--unlabelled", "raw.txt", "--dev", "dev.txt", "--set", "epochs=3", "-o", "m.postil"]
    assert run(files, "train", "--rules", "rules.toml", *words) == 0
    shown = capsys.readouterr()
    assert "296 sentences of raw text, " in shown.err, "all sentences, without repetitions"
    assert "3 rules, " in shown.err and "round 2 of 2" in shown.err and shown.out.startswith("dev   F1")
    assert "the model has 3 of the rules" in shown.err
    assert "dev   calibration error " in shown.out
    tagger = postil.load(str(files / "m.postil"))
    assert tagger.model.codec.classes == ("LOC", "PER")
    assert not (files / "m.postil.checkpoint").exists()


@pytest.fixture(scope="module")
def model(files):
    words = ["--unlabelled", "raw.txt", "--set", "epochs=3", "-o", "ruled.postil"]
    (files / "mixed.toml").write_text(RULES + "[[rule]]\nname = 'colleague'\nvotes = 'dev.txt'\n", "utf-8")
    assert run(files, "train", "--rules", "mixed.toml", *words) == 0
    return "ruled.postil"


@pytest.mark.slow
def test_the_rules_are_in_the_model_and_vote_when_it_tags(files, model, capsys):
    tagger = postil.load(files / model)
    assert tagger.model.voters.rules.names == ["LOC 1", "movers", "nobody"], "no votes of others"
    asked = ["tag", model, "--text", "Zork moved to Quux", "--to", "conll", "--probabilities"]
    assert run(files, *asked) == run(files, *asked, "--no-rules") == 0
    rows = capsys.readouterr().out.split("\n\n")
    assert rows[0] != rows[1]
    for output, one in zip(rows, (tagger, tagger.with_rules(None)), strict=False):
        labels, figures = one.predict_with_probabilities([["Zork", "moved", "to", "Quux"]])
        expected = [f"{p:.4f}\t{name}" for p, name in zip(figures[0], labels[0], strict=True)]
        assert [line.split("\t", 1)[1] for line in output.splitlines()] == expected
    assert run(files, "info", model) == 0
    assert "movers (PER), nobody (not PER)" in " ".join(capsys.readouterr().out.split())


def test_rules_that_are_named_when_tagging_replace_those_of_the_model(files, model, capsys):
    (files / "new.toml").write_text("[[rule]]\nname = 'new'\nlabel = 'PER'\nlist = ['zork']\n", "utf-8")
    asked = ["tag", model, "--text", "they saw zork here", "--to", "conll"]
    assert run(files, *asked, "--no-rules") == run(files, *asked, "--rules", "new.toml", "--threads", "2") == 0
    before, after = capsys.readouterr().out.split("\n\n")[:2]
    assert "zork\tO" in before and "zork\tB-PER" in after


@pytest.mark.extra("pyarrow")
def test_rules_vote_on_tables_and_another_list_is_another_job(files, model, capsys):
    (files / "table.csv").write_text("text\nthey saw zork here\n", "utf-8")
    asked = ["tag", model, "table.csv", "--parts", "labels", "--to", "parquet", "-o", str(files / "tagged")]

    def rule(word):
        (files / "table.toml").write_text(f"[[rule]]\nname = 'new'\nlabel = 'PER'\nlist = ['{word}']\n", "utf-8")

    for word, expected in (("zork", "B-PER"), ("nobody", "O")):
        rule(word)
        table = files / f"{word}.csv"
        assert (
            run(files, "tag", model, "table.csv", "--parts", "labels", "--rules", "table.toml", "-o", str(table)) == 0
        )
        rows = csv.DictReader(table.read_text("utf-8").splitlines())
        assert [json.loads(row["labels"])[2] for row in rows] == [expected]
    assert run(files, *asked, "--rules", "table.toml") == run(files, *asked, "--rules", "table.toml") == 0
    assert "1 already complete" in capsys.readouterr().err
    rule("zork")
    assert run(files, *asked, "--rules", "table.toml") == run(files, *asked, "--no-rules") == 1
    assert capsys.readouterr().err.count("model") == 2


@pytest.mark.parametrize(
    "words, message",
    [
        (["--text", "a b", "--rules", "dev.txt"], "cannot be read as TOML"),
        (["--rules", "mixed.toml", "--column", "text", "raw.txt", "--from", "csv", "-o", "x"], "other rules cannot be"),
    ],
)
def test_mistakes_of_tag_are_one_clear_line(files, model, words, message, capsys):
    assert run(files, "tag", model, *words) == 1
    shown = capsys.readouterr().err
    assert message in shown and shown.count("\n") == 1


@pytest.mark.slow
def test_rules_are_exported_or_refused(files, model, capsys):
    assert run(files, "export", model, "--to", "c", "-o", "out.c") == 0
    content = read((files / "out.c" / "model.bin").read_bytes())
    assert len(content["head0/rules"]) == 3
    pattern = postil.rules.PatternRule(name="mine", label="PER", pattern="/A+/")
    postil.load(files / model).with_rules([pattern]).save(files / "mine.postil")
    assert run(files, "export", "mine.postil", "--to", "c", "-o", "other.c") == 1
    assert "the rule 'mine'" in capsys.readouterr().err and not (files / "other.c").exists()


@pytest.mark.slow
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


@pytest.mark.slow
def test_labelled_files_count_as_well(files, capsys):
    words = ["--unlabelled", "raw.txt", "--set", "epochs=1", "-o", "both.postil"]
    assert run(files, "train", "dev.txt", "--rules", "rules.toml", *words) == 0
    assert set(postil.load(str(files / "both.postil")).model.codec.classes) == {"LOC", "ORG", "PER"}


@pytest.mark.slow
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
