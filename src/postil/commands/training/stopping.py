"""Stopping a training between two batches, where its state can be saved."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from postil.commands.terminal.notices import warn


class Stop:
    """The signal that asked for it, if one did."""

    by: signal.Signals | None = None


@contextmanager
def stop_on_request() -> Iterator[Stop]:
    """Ctrl-C and SIGTERM stop between two batches, where the state is consistent; a second one stops at once."""
    stop = Stop()

    def ask(number: int, frame: Any) -> None:
        if stop.by is not None:
            raise KeyboardInterrupt
        stop.by = signal.Signals(number)
        with suppress(RuntimeError):  # it came while another line was being printed
            warn("stopping after this batch (press Ctrl-C again to stop at once)")

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def train_or_exit(fitting: Any, log: Path | None) -> None:
    """Train to the end and show it; a training before another. Where it is interrupted, its state is saved."""
    from postil.commands.terminal.training import Display

    with stop_on_request() as stop, Display(fitting, log) as display:
        for event in fitting:
            display.show(event)
            if stop.by is not None:
                raise SystemExit(interrupted(fitting, stop.by))


def interrupted(fitting: Any, by: signal.Signals) -> int:
    fitting.save_checkpoint()
    what = "terminated" if by is signal.SIGTERM else "interrupted"
    warn(f"{what}; the training so far is saved in {fitting.checkpoint}: add --resume to continue")
    return 128 + by
