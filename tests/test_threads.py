"""The BLAS of NumPy: where it is found, what is reported without it, and blocks that hold it to one thread."""

import ctypes
import ctypes.util

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from postil import kernels, threads
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


def test_the_product_of_numpys_library_multiplies():
    """Called as C calls it: row-major, float32, sizes of the width that was found."""
    product = threads.blas().product
    if product is None:
        pytest.skip(f"no product: {threads.blas().source}")
    address, is_wide = product
    size = ctypes.c_int64 if is_wide else ctypes.c_int32
    pointer, scale = ctypes.POINTER(ctypes.c_float), ctypes.c_float
    kinds = [*[ctypes.c_int] * 3, *[size] * 3, scale, pointer, size, pointer, size, scale, pointer, size]
    multiply = ctypes.CFUNCTYPE(None, *kinds)(address)
    X, W = np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(12, dtype=np.float32).reshape(3, 4)
    Y = np.empty((2, 4), np.float32)
    at = [array.ctypes.data_as(pointer) for array in (X, W, Y)]
    multiply(101, 111, 111, 2, 4, 3, 1, at[0], 3, at[1], 4, 0, at[2], 4)
    assert np.array_equal(Y, X @ W)


class Library:
    """threadpoolctl's list of one library, or of none."""

    def __init__(self, *libraries):
        self.libraries = libraries

    def info(self):
        return self.libraries


@pytest.fixture
def without_wheel(monkeypatch):
    """NumPy as of a Linux distribution or conda: no library in its folder."""
    monkeypatch.setattr(threads, "_BESIDE_NUMPY", ())
    threads.blas.cache_clear()
    yield
    threads.blas.cache_clear()


def test_threadpoolctl_finds_the_library_elsewhere(without_wheel):
    libraries = [library for library in threadpool_info() if library["internal_api"] == "openblas"]
    if not libraries:
        pytest.skip("NumPy uses another BLAS here")
    found = threads.blas()
    assert found.source == "found by threadpoolctl" and found.name.startswith("OpenBLAS 0.") and found.product


def test_a_library_without_a_product_is_reported(without_wheel, monkeypatch):
    other = {"user_api": "blas", "internal_api": "other", "version": "7", "filepath": ctypes.util.find_library("c")}
    monkeypatch.setattr(threads, "_controller", lambda: Library(other))
    found = threads.blas()
    assert (found.name, found.source, found.product) == ("other 7", "found by threadpoolctl, without cblas_sgemm", None)
    in_use = kernels.in_use()
    assert not in_use.fused and str(in_use).endswith(
        "other 7 (found by threadpoolctl, without cblas_sgemm), no fused training step"
    )


def test_no_library_is_reported(without_wheel, monkeypatch):
    monkeypatch.setattr(threads, "_controller", lambda: Library())
    assert threads.blas_product() is None
    assert kernels.in_use().blas_source == "no library was found next to NumPy or by threadpoolctl"
