import logging
from functools import partialmethod

import numpy as np
import pytest

from postil import Detector, Tagger, TreeClassifier
from postil.errors import ConfigurationError, NotFittedError, TrainingInterruptedWarning
from postil.models.fitting.sentences import SentenceFitting
from postil.models.fitting.trees import TreeFitting

X = [["Anna", "met", "Bob"], ["in", "Rome"], ["Paris", "is", "big", "."]] * 4
Y = [["B-PER", "O", "B-PER"], ["O", "B-LOC"], ["B-LOC", "O", "O", "O"]] * 4
TREES = [("1", ("2", "good"), ("2", "film")), ("0", ("2", "bad"), ("2", "film"))] * 6


def interrupt_in_epoch(monkeypatch, number):
    """Ctrl-C in the middle of an epoch: when its second batch is asked for."""

    class Interrupted(list):
        def __getitem__(self, index):
            if index == 1:
                raise KeyboardInterrupt
            return super().__getitem__(index)

    def interrupted(self, rng, batches_of_epoch):
        batches = batches_of_epoch(self, rng)
        return Interrupted(batches) if self.training.progress.epoch == number - 1 else batches

    for kind in (SentenceFitting, TreeFitting):
        monkeypatch.setattr(kind, "_batches", partialmethod(interrupted, batches_of_epoch=kind._batches))


def parameters(model):
    return {name: parameter.value for name, parameter in model.model.network.parameters().items()}


def of_epochs(count, **settings):
    """A tagger after some epochs of the plan of ten."""
    model = Tagger(epochs=10, batch_sentences=4, **settings)
    fitting = model.fitting(X, Y)
    while fitting.training.progress.epoch < count:
        next(fitting)
    fitting.stop()
    return model


def test_an_interrupt_keeps_the_last_complete_epoch_where_none_is_judged(monkeypatch):
    wanted = of_epochs(3)
    interrupt_in_epoch(monkeypatch, 4)
    model = Tagger(epochs=10, batch_sentences=4)
    with pytest.warns(TrainingInterruptedWarning, match="interrupted: epoch 3 of the 3 that were complete is kept"):
        assert model.fit(X, Y) is model
    assert model.model.about["training"]["epochs"] == 3
    for name, value in parameters(model).items():
        assert np.array_equal(value, parameters(wanted)[name]), name
    assert len(model.predict(X)) == len(X)


def test_an_interrupt_keeps_the_best_epoch_on_dev(monkeypatch):
    scores = iter([0.2, 0.9, 0.5])
    monkeypatch.setattr(SentenceFitting, "_score", lambda self: next(scores))
    interrupt_in_epoch(monkeypatch, 4)
    model = Tagger(epochs=10, batch_sentences=4)
    with pytest.warns(TrainingInterruptedWarning, match="epoch 2 of the 3"):
        model.fit(X, Y, dev=(X, Y))
    assert model.model.about["training"]["best_epoch"] == 2
    wanted = parameters(of_epochs(2))
    for name, value in parameters(model).items():
        assert np.array_equal(value, wanted[name]), name


def test_an_interrupt_in_the_first_epoch_goes_on_to_the_caller(monkeypatch):
    interrupt_in_epoch(monkeypatch, 1)
    model = Tagger(epochs=10, batch_sentences=4)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (Detector(label="PER", epochs=5, batch_sentences=2), (X, Y)),
        (TreeClassifier(epochs=5, batch_trees=2), (TREES,)),
    ],
    ids=["detector", "tree-classifier"],
)
def test_other_estimators_can_be_interrupted(model, data, monkeypatch):
    interrupt_in_epoch(monkeypatch, 3)
    with pytest.warns(TrainingInterruptedWarning, match="epoch 2 of the 2"):
        model.fit(*data)
    assert len(model.predict(data[0])) == len(data[0])


def test_nothing_to_stop_with():
    fitting = Tagger(epochs=2).fitting(X, Y)
    with pytest.raises(ConfigurationError, match="no epoch of this training is complete"):
        fitting.stop()


def test_verbose_shows_every_epoch_and_changes_nothing(capsys):
    quiet = Tagger(epochs=3).fit(X, Y, dev=(X, Y))
    assert capsys.readouterr() == ("", "")
    shown = Tagger(epochs=3).fit(X, Y, dev=(X, Y), verbose=True)
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("12 sentences, 36 tokens; ")
    assert [line.split()[:2] for line in err.splitlines() if line.startswith("epoch")] == [
        ["epoch", str(number)] for number in (1, 2, 3)
    ]
    for name, value in parameters(quiet).items():
        assert np.array_equal(value, parameters(shown)[name])
    TreeClassifier(epochs=1).fit(TREES, verbose=True)
    assert "epoch   1  loss" in capsys.readouterr().err


def test_every_epoch_is_logged(caplog):
    with caplog.at_level(logging.INFO, logger="postil"):
        Tagger(epochs=2).fit(X, Y, dev=(X, Y))
    assert [record.name for record in caplog.records] == ["postil"] * 2
    assert caplog.messages[0].startswith("epoch 1: loss ") and "dev score" in caplog.messages[1]
