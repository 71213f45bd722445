from xml.etree import ElementTree

import numpy as np

from postil.commands.corpora import LABELS, made_up_sentences
from postil.commands.demo import WindowClassifier, learning, sparkline, vocabulary_of
from postil.commands.main import main
from postil.gradcheck import check


def trained(seed=0):
    rng = np.random.default_rng(seed)
    train = made_up_sentences(300, rng)
    model = WindowClassifier(vocabulary_of(train), rng)
    losses = list(learning(model, train, rng, total=400))
    return model, losses, made_up_sentences(100, rng)


def test_the_loss_falls_and_context_decides_about_paris():
    model, losses, test = trained()
    assert np.mean(losses[-10:]) < 0.2 * np.mean(losses[:10])
    assert model.accuracy(test) > 0.95
    place, person = (model.probabilities(t) for t in (("museums", "in", "Paris"), ("Paris", "Hilton", "flew")))
    assert LABELS[place[2].argmax()] == "LOC" and LABELS[person[0].argmax()] == "PER"


def test_the_same_seed_learns_the_same_bits():
    assert trained()[1] == trained()[1]


def test_the_gradient_of_the_whole_model():
    rng = np.random.default_rng(0)
    train = made_up_sentences(20, rng)
    model = WindowClassifier(vocabulary_of(train), rng)
    check(model, model.batch(train[:3]))


def test_the_command_shows_everything_and_writes_the_drawings(tmp_path, capsys):
    assert main(["demo", "--output", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    for expected in ("loss by pass", "right on", "Paris", "worst error", "flow-graph.svg"):
        assert expected in printed
    assert "WRONG" not in printed
    ElementTree.parse(tmp_path / "out" / "flow-graph.svg")
    assert (tmp_path / "out" / "flow-graph.mmd").read_text().startswith("flowchart TD")


def test_sparklines_are_relative_to_the_highest():
    assert sparkline([1.0, 0.5, 0.0]) == "█▅▁"
    assert sparkline([0.0]) == "▁"


def test_every_label_occurs_and_sentences_are_labelled_word_by_word():
    sentences = made_up_sentences(50, np.random.default_rng(0))
    assert {label for s in sentences for label in s.labels} == set(LABELS)
    assert all(len(s.tokens) == len(s.labels) for s in sentences)
