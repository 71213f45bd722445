"""Lines on standard error that are not part of the result."""

import sys


def warn(message: str) -> None:
    """Print one line on standard error."""
    print(f"postil: {message}", file=sys.stderr, flush=True)
