"""Lines on standard error that are not part of the result."""

import sys
from collections.abc import Iterable

from postil.errors import printable


def warn(message: str) -> None:
    """Print one line on standard error."""
    print(f"postil: {printable(message)}", file=sys.stderr, flush=True)


def note(message: str) -> None:
    """Say on standard error what a command does next."""
    warn(message)


def show_problems(problems: Iterable[object]) -> None:
    """Print the problems of a file, which quote it, line by line."""
    for problem in problems:
        print("\n".join(map(printable, str(problem).split("\n"))), file=sys.stderr)
