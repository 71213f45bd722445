"""Independent trainings, in order, on any number of cores."""

import warnings

import pytest

import postil
from postil.curation import jobs
from postil.errors import TrainingInterruptedWarning


def double(number):
    return 2 * number


def test_results_keep_their_order():
    tasks = [(number,) for number in range(6)]
    assert jobs.run(double, tasks) == jobs.run(double, tasks, 2) == [0, 2, 4, 6, 8, 10]


def test_an_estimator_lends_its_hyperparameters():
    tagger = postil.Tagger(hidden=7, seed=3, vectors=["a.txt"])
    other = jobs.unfitted(tagger, seed=4)
    assert other is not tagger
    assert other.get_params() == tagger.get_params() | {"seed": 4}


def cut_short(number):
    warnings.warn("the training was interrupted", TrainingInterruptedWarning, stacklevel=1)
    return number


def test_a_training_that_was_cut_short_ends_everything():
    """Its score would be that of a model that has not learnt: no table may contain it."""
    with pytest.raises(KeyboardInterrupt):
        jobs.run(cut_short, [(1,), (2,)])
