"""How far ``postil tag`` is: a line on standard error, while the labelled text goes into a file or a pipe."""

import sys
import time
from collections.abc import Iterable, Iterator

from postil.text import Sentence

EVERY = 0.2
"""Seconds between two looks at the line."""


def shown(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    """The sentences themselves; tokens and tokens per second are shown on a terminal that is free for it."""
    if not sys.stderr.isatty() or sys.stdout.isatty():
        return iter(sentences)
    return _counted(sentences)


def _counted(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    from rich.console import Console  # slow to import, and seldom needed
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", style="dim"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("")
        tokens, began = 0, time.perf_counter()
        shown_at = began
        for sentence in sentences:
            tokens += len(sentence)
            yield sentence
            now = time.perf_counter()
            if now >= shown_at + EVERY:
                progress.update(task, description=line(tokens, now - began))
                shown_at = now


def line(tokens: int, seconds: float) -> str:
    """What is shown."""
    return f"{tokens:,} tokens, {tokens / max(seconds, 1e-9):,.0f} tokens/s"
