"""Detectors through the commands: train, evaluate, tag."""

import json

import numpy as np
import pytest

import postil
from oracles.corpora import made_up_sentences
from postil.commands.main import main

SETTINGS = ["--set", "hidden=20", "--set", "epochs=6", "--set", "word_dim=16", "--set", "batch_sentences=10"]


def write(path, count, seed):
    """A made-up corpus in BIO."""
    lines = []
    for sentence in made_up_sentences(count, np.random.default_rng(seed)):
        before = "O"
        for token, label in zip(sentence.tokens, sentence.labels, strict=True):
            lines.append(f"{token}\t{label if label == 'O' else ('I-' if label == before else 'B-') + label}\n")
            before = label
        lines.append("\n")
    path.write_text("".join(lines), encoding="utf8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("detecting")
    for name, count in (("train", 150), ("dev", 60), ("test", 60)):
        write(folder / f"{name}.txt", count, len(name) + count)
    return folder


def train(folder, *options):
    files = [str(folder / "train.txt"), "--dev", str(folder / "dev.txt"), "--test", str(folder / "test.txt")]
    return main(["train", *files, *SETTINGS, "-o", str(folder / "loc.postil"), *options])


@pytest.fixture(scope="module")
def model(folder):
    assert train(folder, "--preset", "margin", "--label", "LOC", "--log", str(folder / "log.jsonl")) == 0
    return folder / "loc.postil"


@pytest.mark.slow
def test_training_writes_a_detector_and_says_how_good_it_is(folder, model, capsys):
    assert type(postil.load(model)) is postil.Detector
    epochs = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    assert len(epochs) == 6 and max(epoch["score"] for epoch in epochs) > 0.9
    assert train(folder, "--preset", "margin", "--label", "LOC") == 0
    printed = capsys.readouterr().out
    assert "dev   average precision" in printed and "test  average precision" in printed and "recall" in printed


def test_a_warm_start_needs_no_label_and_its_gradient_is_checked(folder, model, capsys):
    warm = folder / "warm.postil"
    options = ["--warm-start", str(model), "--set", "epochs=1", "-o", str(warm)]
    assert main(["train", str(folder / "dev.txt"), *options]) == 0
    assert postil.load(warm).label == "LOC"
    assert main(["gradcheck", str(warm)]) == 0


def test_evaluation_as_json_and_as_text(folder, model, capsys):
    data = str(folder / "test.txt")
    assert main(["evaluate", str(model), data, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {"tokens", "accuracy", "average_precision", "precision", "recall", "f1", "threshold"} <= found.keys()
    assert found["average_precision"] > 90 and found["f1"] > 85 and found["label"] == "LOC"
    assert found["threshold"] == postil.load(model).threshold
    assert main(["evaluate", str(model), data]) == 0
    printed = capsys.readouterr().out
    assert f"average precision {found['average_precision']:.2f}" in printed
    assert f"60 sentences, {found['tokens']} tokens, {found['support']} of them LOC" in printed


def test_tagging_writes_spans_of_the_label(model, capsys):
    text = ["--text", "museums in Oslo are quiet"]
    assert main(["tag", str(model), *text]) == 0
    assert capsys.readouterr().out == "museums\tO\nin\tO\nOslo\tB-LOC\nare\tO\nquiet\tO\n\n"
    assert main(["tag", str(model), *text, "--to", "jsonl"]) == 0
    assert json.loads(capsys.readouterr().out)["spans"] == [{"start": 11, "end": 15, "label": "LOC"}]


def test_tagging_with_scores(model, folder, capsys):
    tokens = folder / "tokens.txt"
    tokens.write_text("museums in Oslo are quiet\n")
    (scores,) = postil.load(model).decision(["museums in Oslo are quiet".split()])
    assert main(["tag", str(model), str(tokens), "--from", "tokens", "--scores"]) == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines() if line]
    assert [row[1] for row in rows] == [f"{score:.4f}" for score in scores]
    assert main(["tag", str(model), str(tokens), "--from", "tokens", "--scores", "--to", "jsonl"]) == 0
    (span,) = json.loads(capsys.readouterr().out)["spans"]
    assert span == {"start": 11, "end": 15, "label": "LOC", "text": "Oslo", "score": pytest.approx(scores[2], abs=1e-6)}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--tree", "right"], "--tree cannot be used here: only tree classifiers build trees"),
        (["--probabilities"], "--probabilities cannot be used here: a margin model has scores instead"),
        (
            ["--nbest", "2", "--to", "jsonl"],
            "--nbest cannot be used here: a margin model decides about each token alone",
        ),
    ],
)
def test_what_a_detector_cannot_say_is_refused_in_one_line(model, capsys, options, message):
    assert main(["tag", str(model), "--text", "Oslo", *options]) == 1
    assert capsys.readouterr().err == f"postil: {message}\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--preset", "margin"], "--preset margin needs the label to detect, such as --label LOC"),
        (["--label", "LOC"], "--label cannot be used here: a tagger learns all labels; --preset margin detects one"),
        (["--preset", "margin", "--label", "ORG"], "no token has the label to detect: expected one of LOC, PER"),
    ],
)
def test_mistakes_in_training_are_told_in_one_line(folder, capsys, options, message):
    assert train(folder, *options) == 1
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


def test_a_tagger_has_probabilities_and_no_scores(folder, capsys):
    model = folder / "ner.postil"
    assert main(["train", str(folder / "train.txt"), "--set", "hidden=10", "--set", "epochs=1", "-o", str(model)]) == 0
    capsys.readouterr()
    assert main(["tag", str(model), "--text", "Oslo", "--scores"]) == 1
    assert capsys.readouterr().err == "postil: --scores cannot be used here: a tagger has probabilities instead\n"
    assert main(["tag", str(model), "--text", "museums in Oslo", "--tree", "right"]) == 1
    assert capsys.readouterr().err == "postil: --tree cannot be used here: only tree classifiers build trees\n"
    assert main(["tag", str(model), "--text", "museums in Oslo", "--probabilities"]) == 0
    assert main(["evaluate", str(model), str(folder / "test.txt"), "--json"]) == 0
