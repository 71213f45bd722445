"""Independent trainings, in order, on any number of cores."""

import postil
from postil.curation import jobs


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
