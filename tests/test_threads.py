"""Blocks with one BLAS thread may overlap in several threads."""

import numpy  # noqa: F401  # brings the library that is asked
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from postil import threads
from postil.threads import one_blas_thread


def cores():
    """Of the BLAS that NumPy uses; SciPy may have brought one of its own."""
    libraries = [library for library in threadpool_info() if library["user_api"] == "blas"]
    return {library["num_threads"] for library in libraries if len(libraries) == 1 or "numpy" in library["filepath"]}


@pytest.fixture(params=["found", "another library"], autouse=True)
def library(request, monkeypatch):
    """OpenBLAS is asked directly; threadpoolctl knows the others. What other tests have left open does not count."""
    monkeypatch.setattr(threads, "_inside", 0)
    if request.param == "another library":
        monkeypatch.setattr(threads, "_setter", lambda: None)


def test_the_first_block_sets_the_limit_and_the_last_gives_the_cores_back():
    with threadpool_limits(2, user_api="blas"):
        before = cores()
        one, other = one_blas_thread(), one_blas_thread()
        one.__enter__()
        other.__enter__()
        assert cores() == {1}
        one.__exit__(None, None, None)  # not in the order of a stack, as with threads
        assert cores() == {1}
        other.__exit__(None, None, None)
        assert cores() == before


def test_commands_train_on_all_cores_but_no_more_than_a_batch_has_work_for(monkeypatch):
    monkeypatch.setattr(threads.os, "sched_getaffinity", lambda _: {0, 5, 7}, raising=False)
    assert threads.training_threads() == 3
    monkeypatch.setattr(threads.os, "sched_getaffinity", lambda _: set(range(64)), raising=False)
    assert threads.training_threads() == threads.MOST_TRAINING_THREADS
    monkeypatch.delattr(threads.os, "sched_getaffinity")  # as on macOS and Windows
    monkeypatch.setattr(threads.os, "cpu_count", lambda: None)
    assert threads.training_threads() == 1
