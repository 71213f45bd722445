"""BLAS is held to one thread: results then repeat to the last bit, and our own threads do not fight with it."""

import ctypes
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from threading import Lock
from typing import TYPE_CHECKING, Any, Self, TypeVar, final

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from threadpoolctl import ThreadpoolController

_T = TypeVar("_T")
_lock = Lock()
_inside = 0  # how many blocks are open, in all threads
_limits: Any = None
# Names of cblas_sgemm in builds of OpenBLAS -> whether its sizes have 64 bits
_PRODUCTS = {"scipy_cblas_sgemm64_": True, "cblas_sgemm64_": True, "scipy_cblas_sgemm": False, "cblas_sgemm": False}


@cache
def _controller() -> "ThreadpoolController":
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()  # looking for the libraries takes milliseconds: once


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Inside the ``with`` block every matrix product runs on one core; afterwards as before.

    The limit is one of the whole process, so blocks of several threads share it: the first one sets it, and only the
    last one gives the cores back.
    """
    global _inside, _limits
    with _lock:
        if not _inside:
            _limits = _controller().limit(limits=1, user_api="blas")
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                _limits.restore_original_limits()


@cache
def blas_product() -> tuple[int, bool] | None:
    """Where the float32 product of the BLAS that NumPy uses stands in memory, for kernels that multiply in C.

    With it, whether its sizes are integers of 64 bits. None where it is not known: another library, another name.
    """
    for library in _controller().lib_controllers:
        if library.internal_api == "openblas":
            for name, is_wide in _PRODUCTS.items():
                function = getattr(library.dynlib, name, None)
                if function is not None:
                    return ctypes.cast(function, ctypes.c_void_p).value or 0, is_wide
    return None


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

    def ahead(self, function: Callable[[int], _T], item: int) -> Callable[[], _T]:
        """Start a function whose result is needed later: call what is returned for it."""
        return partial(function, item) if self._pool is None else self._pool.submit(function, item).result
