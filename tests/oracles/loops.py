"""Coroutines in a thread of their own: while a browser is open, Playwright's event loop runs in that of the tests."""

import asyncio
from collections.abc import Coroutine, Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """What ``asyncio.run`` returns or raises."""
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(asyncio.run, coroutine).result()


def finished(steps: Generator[None, None, Any]) -> Any:
    """What work in steps returns in the end."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value
