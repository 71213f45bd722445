"""BLAS is held to one thread: results then repeat to the last bit, and our own threads do not fight with it."""

import contextlib
import ctypes
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np

if TYPE_CHECKING:
    from concurrent.futures import Executor

_lock = Lock()
_inside = 0  # how many blocks are open, in all threads
_restore: Callable[[], object] | None = None
MOST_TRAINING_THREADS = 4

# ------------------------------------------------------------------------------------------------ the BLAS of NumPy

_WIDE, _NARROW = ("scipy_{}64_", "{}64_", "{}_64"), ("scipy_{}", "{}")
"""How libraries name a function whose sizes are integers of 64 bits, and one of either width."""
_BESIDE_NUMPY = ("../numpy.libs/*blas*", ".dylibs/*blas*")  # where wheels keep their BLAS
_WITHOUT_LOADING: int = getattr(os, "RTLD_NOLOAD", 0) | getattr(os, "RTLD_LAZY", 0)


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Blas:
    """The library with which NumPy multiplies matrices, as far as it was found."""

    name: str
    """Such as "OpenBLAS 0.3.31"; if no library was found, the one that NumPy says it was built with."""
    source: str
    """How it was found; or why it was not, or has no product that C can call."""
    library: ctypes.CDLL | None = None
    product: tuple[int, bool] | None = None
    """The address of ``cblas_sgemm``, and whether its sizes are integers of 64 bits."""

    def function(self, name: str) -> tuple[Any, bool]:
        """A function under any of its names, and whether the name says 64 bits; None if the library lacks it."""
        for pattern in (*_WIDE, *_NARROW):
            function = getattr(self.library, pattern.format(name), None)
            if function is not None:
                return function, pattern in _WIDE
        return None, False


@cache
def blas() -> Blas:
    """Find the BLAS that NumPy has loaded: next to NumPy, as in its wheels, else by the list of threadpoolctl.

    Its product of float32 matrices serves kernels that multiply in C: the fused training step and the engine.
    """
    for path in [path for pattern in _BESIDE_NUMPY for path in sorted(Path(np.__file__).parent.glob(pattern))]:
        with contextlib.suppress(OSError):  # not loaded: NumPy uses another one
            return _described(ctypes.CDLL(os.fspath(path), _WITHOUT_LOADING), "OpenBLAS", "", "next to NumPy")
    libraries = [library for library in _controller().info() if library["user_api"] == "blas"]
    # SciPy may have brought its own library, which comes last.
    for library in sorted(libraries, key=lambda library: "scipy" in library["filepath"]):
        with contextlib.suppress(OSError):
            loaded = ctypes.CDLL(library["filepath"])
            return _described(loaded, library["internal_api"], library["version"] or "", "by threadpoolctl")
    configuration: Any = np.show_config("dicts")  # type: ignore[no-untyped-call,unused-ignore]
    name = configuration.get("Build Dependencies", {}).get("blas", {}).get("name", "unknown")
    return Blas(name=name, source="no library was found next to NumPy or by threadpoolctl")


def _described(library: ctypes.CDLL, name: str, version: str, source: str) -> Blas:
    found = Blas(name=f"{name} {version}".strip(), source=f"found {source}", library=library)
    config, _ = found.function("openblas_get_config")
    words: list[str] = []
    if config is not None:  # "OpenBLAS 0.3.31 USE64BITINT DYNAMIC_ARCH …"
        config.restype = ctypes.c_char_p
        words = config().decode("ascii", "replace").split()
        found = replace(found, name=" ".join(words[:2]))
    function, is_wide = found.function("cblas_sgemm")
    if function is None:
        return replace(found, source=f"found {source}, without cblas_sgemm")
    size_in_blis = getattr(library, "bli_info_get_blas_int_size", None)
    is_wide = is_wide or "USE64BITINT" in words or (size_in_blis is not None and size_in_blis() == 64)
    return replace(found, product=(ctypes.cast(function, ctypes.c_void_p).value or 0, is_wide))


def blas_product() -> tuple[int, bool] | None:
    """See ``Blas.product``; None if the library lacks it."""
    return blas().product


# ------------------------------------------------------------------------------------------------ one thread


@cache
def _setter() -> tuple[Callable[[], int], Callable[[int], object]] | None:
    """Functions that return and set the number of threads; None if the library is not OpenBLAS."""
    (get, _), (set_, _) = blas().function("openblas_get_num_threads"), blas().function("openblas_set_num_threads")
    return None if get is None or set_ is None else (get, set_)


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()  # importing it and looking for the libraries takes 10 ms: only if it is needed


def _limit() -> Callable[[], object]:
    """Hold BLAS to one thread. Returns a function that gives the threads back."""
    functions = _setter()
    if functions is None:
        limits: Callable[[], object] = _controller().limit(limits=1, user_api="blas").restore_original_limits
        return limits
    get, set_ = functions
    before = get()
    if before == 1:
        return lambda: None
    set_(1)
    return partial(set_, before)


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


# ------------------------------------------------------------------------------------------------ threads of Python


def cores() -> int:
    """The cores that this process may use."""
    available = getattr(os, "sched_getaffinity", None)
    return len(available(0)) if available is not None else os.cpu_count() or 1


def training_threads() -> int:
    """The number of threads that commands train with: all cores, but no more than a batch has work for."""
    return min(cores(), MOST_TRAINING_THREADS)


@final
class Team:
    """A pool of threads for Python functions; with one thread, the caller's own does everything."""

    def __init__(self, threads: int) -> None:
        self._pool: Executor | None = None
        if threads > 1:
            from concurrent.futures import ThreadPoolExecutor  # slow to import; one thread needs none

            self._pool = ThreadPoolExecutor(threads)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def map(self, function: Callable[[int], Any], items: Iterable[int]) -> Iterator[Any]:
        """Results in the order of the items."""
        return map(function, items) if self._pool is None else self._pool.map(function, items)
