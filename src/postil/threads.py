"""BLAS is held to one thread: results then repeat to the last bit, and our own threads do not fight with it."""

import ctypes
import importlib
import os
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from threading import Lock
from typing import TYPE_CHECKING, Any, Self, final

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_lock = Lock()
_inside = 0  # how many blocks are open, in all threads
_restore: Callable[[], object] | None = None
MOST_TRAINING_THREADS = 4
_WIDE, _NARROW = ("scipy_{}64_", "{}64_"), ("scipy_{}", "{}")
"""How builds of OpenBLAS name a function: those whose sizes have 64 bits, and the others."""


@cache
def _library() -> ctypes.CDLL | None:
    """NumPy's module of matrix products: symbols are also found in the libraries that it is linked with."""
    module = importlib.import_module("numpy._core._multiarray_umath")
    try:
        return ctypes.CDLL(str(module.__file__))
    except OSError:
        return None


def _function(name: str) -> tuple[Any, bool]:
    """A function of OpenBLAS, and whether its sizes have 64 bits; None where NumPy uses another library."""
    library = _library()
    for pattern in (*_WIDE, *_NARROW):
        function = getattr(library, pattern.format(name), None)
        if function is not None:
            return function, pattern in _WIDE
    return None, False


@cache
def _setter() -> tuple[Callable[[], int], Callable[[int], object]] | None:
    """Functions that return and set the number of threads; None where OpenBLAS has none."""
    (get, _), (set_, _) = _function("openblas_get_num_threads"), _function("openblas_set_num_threads")
    return None if get is None or set_ is None else (get, set_)


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()  # looking for the libraries takes milliseconds: once


def _limit() -> Callable[[], object]:
    """Hold BLAS to one thread. Returns what undoes it."""
    functions = _setter()
    if functions is None:
        limits: Callable[[], object] = _controller().limit(limits=1, user_api="blas").restore_original_limits
        return limits
    get, set_ = functions
    before = get()
    if before != 1:
        set_(1)
    return partial(set_, before) if before != 1 else _nothing


def _nothing() -> None:
    """BLAS had one thread before."""


@final
class one_blas_thread:
    """Inside the ``with`` block every matrix product runs on one core; afterwards as before.

    The limit is one of the whole process, so blocks of several threads share it: the first one sets it, and only the
    last one gives the cores back.
    """

    def __enter__(self) -> None:
        global _inside, _restore
        with _lock:
            if not _inside:
                _restore = _limit()
            _inside += 1

    def __exit__(self, *_: object) -> None:
        global _inside
        with _lock:
            _inside -= 1
            if not _inside and _restore is not None:
                _restore()


@cache
def blas_product() -> tuple[int, bool] | None:
    """Where the float32 product of the BLAS that NumPy uses stands in memory, for kernels that multiply in C.

    With it, whether its sizes are integers of 64 bits. None where it is not known: another library, another name.
    """
    if _setter() is None:
        return None
    function, is_wide = _function("cblas_sgemm")
    return None if function is None else (ctypes.cast(function, ctypes.c_void_p).value or 0, is_wide)


def training_threads() -> int:
    """The number of threads that commands train with: all cores, but no more than a batch has work for."""
    available = getattr(os, "sched_getaffinity", None)
    cores = len(available(0)) if available is not None else os.cpu_count() or 1
    return min(cores, MOST_TRAINING_THREADS)


def _pool(threads: int) -> "ThreadPoolExecutor":
    from concurrent.futures import ThreadPoolExecutor  # slow to import; one thread needs none

    return ThreadPoolExecutor(threads)


@final
class Team:
    """A pool of threads for Python functions; with one thread, the caller's own does everything."""

    def __init__(self, threads: int) -> None:
        self._pool = _pool(threads) if threads > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def map(self, function: Callable[[int], Any], items: Iterable[int]) -> Iterator[Any]:
        """Results in the order of the items."""
        return map(function, items) if self._pool is None else self._pool.map(function, items)
