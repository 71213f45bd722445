"""The page about a training: its figures are those of the training, and hostile labels stay text."""

import pytest

import postil
from oracles.pages import read_page
from postil.metrics import Evaluation
from postil.models.decoding.tuning import reliability
from postil.reports.data import RunReport, duration, training_page
from postil.reports.sections import Heading

HOSTILE = '<img src=x onerror="alert(1)">'
X = [["Anna", "lives", "in", "Oslo"], ["Bob", "likes", "old", "Lima"]] * 8
HISTORY = [
    {"epoch": 1, "loss": 2.5, "score": 0.25, "seconds": 1.0},
    {"epoch": 2, "loss": 1.25, "score": 0.75, "seconds": 2.5},
]


def _page(model, y):
    scores = {"dev": model.evaluate(X, y)}
    calibration = {"dev": reliability(model.model, X, y)} if isinstance(model, postil.Tagger) else {}
    run = RunReport(history=HISTORY, seconds=2.5, scores=scores, reliability=calibration)
    return training_page(Heading.of(model, model_name="ner.postil", data_name="train.txt", date="today"), model, run)


def test_figures_of_the_training():
    y = [["B-PER", "O", "O", "B-LOC"]] * len(X)
    tagger = postil.Tagger(epochs=2, hidden=8, rate=0.02).fit(X, y)
    text = _page(tagger, y)
    content = read_page(text)
    for words in ("Training of ner.postil", "2.5000", "1.2500", "75.00", "2.5 s", "hidden"):
        assert words in content.text, words
    evaluation = tagger.evaluate(X, y)
    assert isinstance(evaluation, Evaluation)
    assert f"{100 * evaluation.main_score:.2f}" in content.text
    assert "Reliability: dev" in content.text
    assert "Features of each word" in content.text


def test_hostile_labels_are_text():
    y = [[f"B-{HOSTILE}", "O", "O", "B-LOC"]] * len(X)
    text = _page(postil.Tagger(epochs=2, hidden=8).fit(X, y), y)
    assert "<img" not in text and "&lt;img src=x" in text


@pytest.mark.parametrize("kind", ["speech", "detector", "trees", "without dev"])
def test_every_kind_of_model(kind):
    y = [["B-PER", "O", "O", "B-LOC"]] * len(X)
    if kind == "trees":
        trees = [postil.text.Tree.of(("pos", (None, "good"), (None, "film"))), postil.text.Tree.of(("neg", "bad"))]
        model = postil.TreeClassifier(hidden=3, word_dim=3, epochs=1).fit(trees)
        run = RunReport(history=HISTORY, seconds=1, scores={"dev": model.evaluate(trees)})
        heading = Heading.of(model, model_name="m", data_name="d")
        assert "root accuracy on dev" in read_page(training_page(heading, model, run)).text
    elif kind == "detector":
        model = postil.Detector(label="LOC", hidden=4, epochs=1).fit(X, y)
        assert "average precision on dev" in read_page(_page(model, y)).text
    elif kind == "speech":
        y = [["NN", "VB", "IN", "NN"]] * len(X)
        assert "token accuracy on dev" in read_page(_page(postil.Tagger(hidden=4, epochs=1).fit(X, y), y)).text
    else:
        model = postil.Tagger(hidden=4, epochs=1).fit(X, y)
        run = RunReport(history=[{**epoch, "score": None} for epoch in HISTORY], seconds=1)
        text = read_page(training_page(Heading.of(model, model_name="m", data_name="d"), model, run)).text
        assert "loss of the last epoch" in text and "There was no dev file" in text


def test_durations():
    assert [duration(seconds) for seconds in (0.04, 59.9, 60, 125, 3700)] == [
        "0.0 s",
        "59.9 s",
        "1 min 0 s",
        "2 min 5 s",
        "1 h 1 min",
    ]
