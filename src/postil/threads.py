"""BLAS is held to one thread: results then repeat to the last bit, and our own threads do not fight with it."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = Lock()
_inside = 0  # how many blocks are open, in all threads
_limits: Any = None


@cache
def _controller() -> ThreadpoolController:
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
