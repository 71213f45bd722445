"""Independent training runs on several cores or, through joblib's backends, on several machines."""

import os
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from functools import cache
from itertools import islice
from typing import Any, TypeVar

import joblib

from postil.errors import SchemeWarning, TrainingInterruptedWarning
from postil.models.estimator import Estimator

_T = TypeVar("_T")
Progress = Callable[[int, int], None]
"""Called with how many of how many trainings are done."""


def run(
    function: Callable[..., _T],
    tasks: Sequence[tuple[Any, ...]],
    jobs: int = 1,
    progress: Progress | None = None,
) -> list[_T]:
    """``function(*task)`` of every task, in their order, ``jobs`` at a time.

    ``with joblib.parallel_config("ray"):`` sends them to a cluster, as it does scikit-learn's.
    """
    done = []
    for result in _results(function, tasks, jobs):
        done.append(result)
        if progress is not None:
            progress(len(done), len(tasks))
    return done


def _results(function: Callable[..., _T], tasks: Iterable[tuple[Any, ...]], jobs: int) -> Iterator[_T]:
    """As ``run``, one result after the other."""
    calls = (joblib.delayed(_whole)(os.getpid(), function, *task) for task in tasks)
    try:
        workers = joblib.Parallel(n_jobs=jobs, return_as="generator", pre_dispatch="n_jobs")
    except ValueError:  # Ray's backend returns lists only
        return _in_rounds(calls, jobs)
    found: Iterator[_T] = workers(calls)
    return found


def _whole(caller: int, function: Callable[..., _T], *task: Any) -> _T:
    """The result of a training that ran to its end: one that Ctrl-C cut short ends everything."""
    _end_with(caller)
    with warnings.catch_warnings():
        warnings.simplefilter("error", TrainingInterruptedWarning)
        warnings.simplefilter("ignore", SchemeWarning)  # whoever starts the jobs has warned, once for all of them
        try:
            return function(*task)
        except TrainingInterruptedWarning:
            raise KeyboardInterrupt from None


@cache
def _end_with(caller: int) -> None:
    """In a worker process: let it end when the process that has started it is killed, not when its training is done."""
    if os.getppid() == caller:
        threading.Thread(target=_watch, args=(caller,), daemon=True).start()


def _watch(caller: int) -> None:
    while os.getppid() == caller:
        time.sleep(1)
    os._exit(1)


def _in_rounds(calls: Iterator[Any], jobs: int) -> Iterator[Any]:
    """As many calls at a time as there are workers, their results in order."""
    workers = joblib.Parallel(n_jobs=jobs)
    while some := list(islice(calls, joblib.effective_n_jobs(jobs))):
        yield from workers(some)


def unfitted(estimator: Estimator[Any, Any], **changes: Any) -> Any:
    """An estimator with the same hyperparameters, and these changes, that has not learnt anything."""
    return type(estimator)(**{**copy(estimator.get_params()), **changes})
