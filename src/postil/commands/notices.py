"""Lines on standard error that are not part of the result."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from postil.errors import printable


def warn(message: str) -> None:
    """Print one line on standard error."""
    print(f"postil: {printable(message)}", file=sys.stderr, flush=True)


def note(message: str) -> None:
    """Say on standard error what a command does next."""
    warn(message)


MOST_PROBLEMS = 20


def show_problems(problems: Sequence[object]) -> None:
    """Print the first problems of a file, which quote it, line by line."""
    for problem in problems[:MOST_PROBLEMS]:
        print("\n".join(map(printable, str(problem).split("\n"))), file=sys.stderr)
    if len(problems) > MOST_PROBLEMS:
        print(f"… and {len(problems) - MOST_PROBLEMS:,} more", file=sys.stderr)


# ------------------------------------------------------------------------------------------------ progress


EVERY = 0.2
"""Seconds between two updates of the line."""


@contextmanager
def progress_line(unit: str = "tokens", *, to_file: bool = False) -> Iterator[Callable[[int], None] | None]:
    """A function to call with the number of tokens just labelled; None if standard error is not free for a line.

    ``to_file``: nothing is written to standard output.
    """
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
