"""BLAS is held to one thread: results then repeat to the last bit, and our own threads do not fight with it."""

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looking for the libraries takes milliseconds: once


def one_blas_thread() -> AbstractContextManager[Any]:
    """Inside the ``with`` block every matrix product runs on one core; afterwards as before."""
    limits: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limits
