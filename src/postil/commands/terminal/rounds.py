"""Progress of several trainings, on standard error."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from postil.curation.jobs import Progress as Report


@contextmanager
def training_progress() -> Iterator[Callable[[str], Report]]:
    """A function that begins a bar, given what is done, and returns the function that moves it."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(30), MofNCompleteColumn(), TextColumn("trainings"))
    quiet = not console.is_terminal
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True, disable=quiet) as progress:

        def begin(what: str) -> Report:
            task = progress.add_task(what, total=None)
            return lambda done, total: progress.update(task, completed=done, total=total)

        yield begin
