"""How far ``postil tag`` is: a line on standard error, while the labelled text goes into a file or a pipe."""

import sys
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

Item = TypeVar("Item")

EVERY = 0.2
"""Seconds between two looks at the line."""


def shown(items: Iterator[Item], size: Callable[[Item], int]) -> Iterator[Item]:
    """The items themselves; tokens (``size`` of an item) and tokens/s are shown on a terminal that is free for it."""
    if not sys.stderr.isatty() or sys.stdout.isatty():
        return items
    return _counted(items, size)


def _counted(items: Iterator[Item], size: Callable[[Item], int]) -> Iterator[Item]:
    from rich.console import Console  # slow to import, and seldom needed
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", style="dim"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("")
        tokens, began = 0, time.perf_counter()
        shown_at = began
        for item in items:
            tokens += size(item)
            yield item
            now = time.perf_counter()
            if now >= shown_at + EVERY:
                progress.update(task, description=line(tokens, now - began))
                shown_at = now


def line(tokens: int, seconds: float) -> str:
    """What is shown."""
    return f"{tokens:,} tokens, {tokens / max(seconds, 1e-9):,.0f} tokens/s"
