"""Output of a training run: progress on standard error, results on standard output."""

import json
import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self, final

from rich.text import Text

from postil.commands.console import make_console
from postil.commands.notices import warn
from postil.errors import CheckpointWarning
from postil.files import append_line
from postil.models.fitting.display import TrainingDisplay
from postil.models.fitting.fitting import Fitting
from postil.optimisation.loop import Epoch, Step


@final
class Display:
    """The display of ``fit(verbose=True)``, a log in JSON Lines, and a summary."""

    def __init__(self, fitting: Fitting, log: Path | None) -> None:
        self._fitting, self._display = fitting, TrainingDisplay(fitting)
        self._log = log
        if log is not None:
            log.open("ab").close()  # what cannot be written at all is found before the training

    def __enter__(self) -> Self:
        self._display.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._display.__exit__(kind, error, trace)

    def show(self, event: Step | Epoch) -> None:
        self._display.show(event)
        if isinstance(event, Epoch) and self._log is not None:
            self._append(self._log, json.dumps(self._fitting.training.progress.history[-1]))

    def _append(self, log: Path, line: str) -> None:
        try:
            append_line(log, line)
        except OSError as error:
            warnings.warn(f"{log}: cannot write the log ({error.strerror})", CheckpointWarning, stacklevel=2)

    def summary(self, path: Path, headlines: dict[str, str], dev_score: float | None = None) -> None:
        """How good it is, and where the model is. ``dev_score`` is compared with that of the epoch that is kept."""
        console = make_console()
        for name, headline in headlines.items():
            console.print(Text(f"{name:<5} {headline}"))
        best = self._fitting.training.progress.best_score
        if best is not None and dev_score is not None and abs(dev_score - best) >= 0.00005:  # visible in the log
            note = f"(epoch {self._fitting.training.progress.best_epoch} scored {100 * best:.2f} on dev: "
            console.print(Text(note + "epochs are scored before calibration and tuning, the model after)"))
        bias = getattr(getattr(self._fitting.model, "decoding", None), "bias", 0.0)
        if bias:
            note = f"bias {bias:+.2f}: finds more entities, for the best F1 on dev (postil tune changes it)"
            console.print(Text(note))
        seconds = self._fitting.training.progress.seconds
        line = f"{path}: {path.stat().st_size / 1e6:.1f} MB, trained in {seconds:.0f} s"
        console.print(Text(line), soft_wrap=True)


# ------------------------------------------------------------------------------------------------ stopping


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
    """Train to the end with progress, as a first stage of another run. If it is interrupted, its state is saved."""

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
