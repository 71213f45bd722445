"""Independent trainings, in order, on any number of cores."""

import os
import subprocess
import sys
import time
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


CALLER = """
import os, sys, time
from postil.curation import jobs

def long(path):
    with open(path, "w") as file:
        file.write(str(os.getpid()))
    time.sleep(600)

jobs.run(long, [(sys.argv[1],), (sys.argv[2],)], 2)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_workers_end_when_their_caller_is_killed(tmp_path):
    paths = [tmp_path / "one", tmp_path / "two"]
    script = tmp_path / "caller.py"
    script.write_text(CALLER, encoding="utf8")
    caller = subprocess.Popen([sys.executable, str(script), *map(str, paths)])
    try:
        assert until(lambda: all(path.exists() and path.read_text() for path in paths))
    finally:
        caller.kill()
        caller.wait()
    assert until(lambda: not any(is_alive(int(path.read_text())) for path in paths))


def until(condition, seconds=120):
    """Whether the condition comes true: generous, because machines may be busy."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.1)
    return False


def is_alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
