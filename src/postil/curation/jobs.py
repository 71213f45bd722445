"""Trainings that do not depend on one another, on several cores or, through joblib's backends, on several machines."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from typing import Any, TypeVar

import joblib

from postil.models.estimator import Estimator

_T = TypeVar("_T")
Progress = Callable[[int, int], None]
"""Called with how many of how many trainings are done."""


def run(
    function: Callable[..., _T], tasks: Sequence[tuple[Any, ...]], jobs: int = 1, progress: Progress | None = None
) -> list[_T]:
    """``function(*task)`` of every task, in their order, ``jobs`` at a time.

    ``with joblib.parallel_config("ray"):`` sends them to a cluster, as it does scikit-learn's.
    """
    done = []
    for result in results(function, tasks, jobs):
        done.append(result)
        if progress is not None:
            progress(len(done), len(tasks))
    return done


def results(function: Callable[..., _T], tasks: Iterable[tuple[Any, ...]], jobs: int = 1) -> Iterator[_T]:
    """As ``run``, one result after the other. Tasks are asked for only when there is a core for them."""
    calls = (joblib.delayed(function)(*task) for task in tasks)
    found: Iterator[_T] = joblib.Parallel(n_jobs=jobs, return_as="generator", pre_dispatch="n_jobs")(calls)
    return found


def unfitted(estimator: Estimator[Any, Any], **changes: Any) -> Any:
    """An estimator with the same hyperparameters, and these changes, that has not learnt anything."""
    return type(estimator)(**{**copy(estimator.get_params()), **changes})
