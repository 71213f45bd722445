"""Trainings that do not depend on one another, on several cores or, through joblib's backends, on several machines."""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import Any, TypeVar

import joblib

from postil.models.estimator import Estimator

_T = TypeVar("_T")
Progress = Callable[[int, int], None]
"""Called with how many of how many trainings are done."""


def run(
    function: Callable[..., _T],
    tasks: Sequence[tuple[Any, ...]],
    jobs: int = 1,
    progress: Progress | None = None,
    save: Callable[[_T], None] | None = None,
) -> list[_T]:
    """``function(*task)`` of every task, in their order, ``jobs`` at a time. ``save`` is called with each result.

    ``with joblib.parallel_config("ray"):`` sends them to a cluster, as it does scikit-learn's.
    """
    results: Iterator[_T] = joblib.Parallel(n_jobs=jobs, return_as="generator")(
        joblib.delayed(function)(*task) for task in tasks
    )
    done = []
    for result in results:
        done.append(result)
        if save is not None:
            save(result)
        if progress is not None:
            progress(len(done), len(tasks))
    return done


def unfitted(estimator: Estimator[Any, Any], **changes: Any) -> Any:
    """An estimator with the same hyperparameters, and these changes, that has not learnt anything."""
    return type(estimator)(**{**copy(estimator.get_params()), **changes})
