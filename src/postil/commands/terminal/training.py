"""What a training shows while it runs, on standard error, and at its end, on standard output."""

import json
import warnings
from pathlib import Path
from types import TracebackType
from typing import Self, final

from rich.text import Text

from postil.commands.terminal.display import make_console
from postil.errors import CheckpointWarning
from postil.files import append_line
from postil.models.fitting.display import TrainingDisplay
from postil.models.fitting.fitting import Fitting
from postil.training.loop import Epoch, Step


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
        bias = getattr(getattr(self._fitting.parts, "decoding", None), "bias", 0.0)
        if bias:
            note = f"bias {bias:+.2f}: finds more entities, for the best F1 on dev (postil tune changes it)"
            console.print(Text(note))
        seconds = self._fitting.training.progress.seconds
        line = f"{path}: {path.stat().st_size / 1e6:.1f} MB, trained in {seconds:.0f} s"
        console.print(Text(line), soft_wrap=True)
