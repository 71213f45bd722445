"""Output of a training run: progress on standard error, results on standard output."""

import json
import signal
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any, Self, final

from postil.commands.console import say
from postil.commands.notices import note
from postil.errors import CheckpointWarning
from postil.files import append_line
from postil.models.fitting.fitting import Fitting, TrainingDisplay
from postil.optimisation.loop import Epoch, Step


@final
class Display:
    """The display of ``fit(verbose=True)``, how gradients are computed, a log in JSON Lines, and a summary."""

    def __init__(self, fitting: Fitting, log: Path | None = None) -> None:
        self._fitting, self._display = fitting, TrainingDisplay(fitting)
        self._log = log
        if log is not None:
            log.open("ab").close()  # what cannot be written at all is found before the training

    def __enter__(self) -> Self:
        self._display.__enter__()
        choice = self._fitting.training.gradient_step.choice
        note(f"training step: {choice.name}" + ("" if choice.reason is None else f", not fused: {choice.reason}"))
        return self

    def __exit__(self, *error: Any) -> None:
        self._display.__exit__(*error)

    def show(self, event: Step | Epoch) -> None:
        self._display.show(event)
        if isinstance(event, Epoch) and self._log is not None:
            try:
                append_line(self._log, json.dumps(self._fitting.training.progress.history[-1]))
            except OSError as error:
                what = f"{self._log}: cannot write the log ({error.strerror})"
                warnings.warn(what, CheckpointWarning, stacklevel=2)

    def summary(self, path: Path, headlines: dict[str, str], dev_score: float | None = None) -> None:
        """How good it is, and where the model is. ``dev_score`` is compared with that of the epoch that is kept."""
        progress = self._fitting.training.progress
        for name, headline in headlines.items():
            say(f"{name:<5} {headline}")
        best = progress.best_score
        if best is not None and dev_score is not None and abs(dev_score - best) >= 0.00005:  # visible in the log
            of_epoch = f"epoch {progress.best_epoch} scored {100 * best:.2f} on dev"
            say(f"({of_epoch}: epochs are scored before calibration and tuning, the model after)")
        heads = list(self._fitting.model.heads.values())
        if len(heads) == 1 and (bias := heads[0].decoding.bias):
            say(f"bias {bias:+.2f}: finds more entities, for the best F1 on dev (postil tune changes it)")
        say(f"{path}: {path.stat().st_size / 1e6:.1f} MB, trained in {progress.seconds:.0f} s")


def follow(fitting: Any, display: Any) -> int:
    """Train to the end with progress; returns the exit code.

    Ctrl-C and SIGTERM stop between two batches, where the state is consistent, and save it if there is a checkpoint;
    a second one stops at once.
    """
    asked: list[signal.Signals] = []

    def ask(number: int, frame: Any) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(signal.Signals(number))
        with suppress(RuntimeError):  # it came while another line was being printed
            note("stopping after this batch (press Ctrl-C again to stop at once)")

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with display:
            for event in fitting:
                display.show(event)
                if asked and fitting.checkpoint is None:
                    raise KeyboardInterrupt
                if asked:
                    fitting.save_checkpoint()
                    what = "terminated" if asked[0] is signal.SIGTERM else "interrupted"
                    note(f"{what}; the training so far is saved in {fitting.checkpoint}: add --resume to continue")
                    return 128 + asked[0]
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return 0
