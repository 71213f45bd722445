"""Lines on standard error that are not part of the result."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from postil.errors import printable


def note(message: str) -> None:
    """Say in one line on standard error what a command does, or warn of something."""
    print(f"postil: {printable(message)}", file=sys.stderr, flush=True)


def show_problems(problems: Sequence[object], most: int = 20) -> None:
    """Print the first problems of a file, which quote it, line by line."""
    for problem in problems[:most]:
        print("\n".join(map(printable, str(problem).split("\n"))), file=sys.stderr)
    if len(problems) > most:
        print(f"… and {len(problems) - most:,} more", file=sys.stderr)


# ------------------------------------------------------------------------------------------------ progress


EVERY = 0.2
"""Seconds between two updates of the line."""


@contextmanager
def progress_line(unit: str = "tokens", *, to_file: bool = False) -> Iterator[Callable[[int], None] | None]:
    """A function that is told how many were labelled; None if there is no terminal to show it on."""
    if not sys.stderr.isatty() or (sys.stdout.isatty() and not to_file):
        yield None
        return
    from rich.console import Console  # slow to import, and seldom needed
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", style="dim"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("")
        tokens, began = 0, time.perf_counter()
        updated = began

        def count(number: int) -> None:
            nonlocal tokens, updated
            tokens += number
            now = time.perf_counter()
            if now >= updated + EVERY:
                progress.update(task, description=line(tokens, now - began, unit))
                updated = now

        yield count


def line(number: int, seconds: float, unit: str = "tokens") -> str:
    """The text of the line."""
    return f"{number:,} {unit}, {number / max(seconds, 1e-9):,.0f} {unit}/s"
