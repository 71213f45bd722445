"""One training in the background: progress, stopping, errors as one line, never two at once."""

import threading

import msgspec
import pytest

import postil
from oracles import corpora
from postil.errors import ConfigurationError
from postil.server.api import TrainingStatus
from postil.server.jobs import BackgroundTraining


@pytest.fixture
def run():
    training = BackgroundTraining()
    yield training
    training.stop()
    assert training.join(60)


def new_training(epochs=4, **settings):
    X, y = corpora.named_entities(40)
    tagger = postil.Tagger(hidden=8, epochs=epochs, **settings)
    return tagger, tagger.fitting(X[:30], y[:30], (X[30:], y[30:]))


def held(training, release):
    """A training whose first event waits until it is released: ``training`` is its function."""

    def make():
        assert release.wait(60)
        return training()

    return make


def test_before_the_first_training(run):
    status = run.status()
    assert (status.state, status.run, status.history) == ("idle", 0, ())
    assert run.result() is None and run.join()
    run.stop()
    assert run.status().state == "idle"


def test_the_result_is_that_of_fit(run):
    assert run.start(new_training) == 1
    assert run.join(120)
    status = run.status()
    assert (status.state, status.epoch, status.epochs, status.progress) == ("finished", 4, 4, 1.0)
    assert [epoch["epoch"] for epoch in status.history] == [1, 2, 3, 4]
    assert status.best_score == max(epoch["score"] for epoch in status.history)
    assert status.loss == status.history[-1]["loss"] and status.error is None
    assert msgspec.json.decode(msgspec.json.encode(status), type=TrainingStatus) == status
    X, y = corpora.named_entities(40)
    alone = postil.Tagger(hidden=8, epochs=4).fit(X[:30], y[:30], dev=(X[30:], y[30:]))
    assert run.result().predict(X) == alone.predict(X)
    assert run.result().history_ == alone.history_


def test_then_makes_the_result_in_the_thread(run):
    threads = []

    def then(tagger):
        threads.append(threading.current_thread())
        return tagger.classes_

    run.start(new_training, then)
    run.join(120)
    assert "B-PER" in run.result()
    assert threads != [threading.current_thread()]


def test_never_two_at_once(run):
    release = threading.Event()
    run.start(held(new_training, release))
    with pytest.raises(ConfigurationError, match="a training run is already in progress: expected stop it first"):
        run.start(new_training)
    release.set()
    run.join(120)
    release.clear()
    assert run.start(held(new_training, release)) == 2
    assert (run.status().run, run.status().history, run.result()) == (2, (), None), "nothing of the one before"
    release.set()


class StoppedAfter:
    """A fitting that asks for its end in the second epoch."""

    def __init__(self, fitting, run):
        self._fitting, self._run = fitting, run

    def __getattr__(self, name):
        return getattr(self._fitting, name)

    def __iter__(self):
        for event in self._fitting:
            if getattr(event, "score", None) is not None and event.epoch == 2:
                self._run.stop()
            yield event


def test_stopping_keeps_the_best_complete_epoch(run):
    def make():
        tagger, fitting = new_training(epochs=50)
        return tagger, StoppedAfter(fitting, run)

    run.start(make)
    assert run.join(120)
    status = run.status()
    assert status.state == "stopped" and status.epoch == 2
    assert run.result().predict([["Anna", "lives"]])
    assert len(run.result().history_) == 2


def test_stopping_before_the_first_epoch_keeps_nothing(run):
    release = threading.Event()
    run.start(held(lambda: new_training(epochs=50), release))
    run.stop()
    assert run.status().state == "stopping"
    release.set()
    assert run.join(120)
    assert (run.status().state, run.status().epoch, run.result()) == ("stopped", 0, None)


@pytest.mark.parametrize(
    "error, line",
    [
        (ConfigurationError("epochs", expected="at least 1", got=0), "epochs must be at least 1 (got 0)"),
        (MemoryError(), "the training ran out of memory"),
        (KeyError("secret"), "the training failed; the log has the details"),
    ],
)
def test_an_error_is_one_line(run, error, line):
    def make():
        raise error

    run.start(make)
    run.join(60)
    assert (run.status().state, run.status().error, run.result()) == ("failed", line, None)
    run.start(new_training)
    run.join(120)
    assert (run.status().state, run.status().error) == ("finished", None)


def test_an_error_in_the_middle_keeps_what_was_told(run):
    def then(tagger):
        raise ValueError

    run.start(new_training, then)
    run.join(120)
    status = run.status()
    assert status.state == "failed" and status.epoch == 4 and run.result() is None


def test_the_version_grows_with_every_change(run):
    versions = [run.status().version]
    release = threading.Event()
    run.start(held(new_training, release))
    versions.append(run.status().version)
    release.set()
    assert run.join(120)
    versions.append(run.status().version)
    assert versions == sorted(set(versions)) and versions[-1] - versions[1] >= 4, "at least one for every epoch"


def test_what_is_returned_does_not_change(run):
    run.start(new_training)
    run.join(120)
    status = run.status()
    with pytest.raises(AttributeError):
        status.epoch = 0
    run.start(new_training)
    run.join(120)
    assert (status.run, status.state, run.status().run) == (1, "finished", 2)
