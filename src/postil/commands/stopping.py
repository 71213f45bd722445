"""Ctrl-C in a long training: stop where the state is consistent."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from postil.commands.terminal.notices import warn


class Stop:
    """Whether the user has asked to stop."""

    requested = False


@contextmanager
def stop_on_request() -> Iterator[Stop]:
    """Ctrl-C stops between two batches, where the state is consistent; a second Ctrl-C stops at once."""
    stop = Stop()

    def ask(number: int, frame: Any) -> None:
        if stop.requested:
            raise KeyboardInterrupt
        stop.requested = True
        warn("stopping after this batch (press Ctrl-C again to stop at once)")

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)
