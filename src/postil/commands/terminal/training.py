"""What a training shows while it runs, on standard error, and at its end, on standard output."""

import json
import time
from pathlib import Path
from types import TracebackType
from typing import Self, final

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

from postil.commands.terminal.display import counted, make_console
from postil.models.fitting.fitting import Fitting
from postil.training.loop import Epoch, Step


class _Speed(ProgressColumn):
    """Tokens per second since the display began."""

    def render(self, task: Task) -> Text:
        speed = task.fields["tokens"] / max(time.perf_counter() - task.fields["began"], 1e-9)
        return Text(f"{speed:,.0f} tokens/s", style="dim")


@final
class Display:
    """A progress bar with loss, best score, speed and time left; a line per epoch; a log in JSON Lines."""

    def __init__(self, fitting: Fitting, log: Path | None) -> None:
        self._fitting = fitting
        self._console = Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(30), TextColumn("{task.fields[figures]}"))
        self._progress = Progress(*columns, _Speed(), TimeRemainingColumn(), console=self._console, transient=True)
        self._log = log.open("a", encoding="utf8") if log is not None else None
        self._task = self._progress.add_task("", total=1.0, figures="", tokens=0, began=time.perf_counter())
        self._loss: float | None = None

    def __enter__(self) -> Self:
        parts = self._fitting.parts
        size = sum(parameter.value.size for parameter in parts.network.parameters().values())
        labels, data = parts.labelling.labels, parts.about["data"]
        learnt = counted(len(labels), "label") if len(labels) > 1 else f"label {labels[0]}"
        scheme = getattr(parts.labelling, "scheme", "")
        if scheme:
            learnt += " (of words, no spans)" if scheme == "none" else f" ({scheme})"
        read = f"{counted(data['sentences'], 'sentence')}, {counted(data['tokens'], 'token')}"
        self._console.print(
            f"{read}; {learnt}; {size:,} parameters",
            style="dim",
            highlight=False,
        )
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()
        if self._log is not None:
            self._log.close()

    def show(self, event: Step | Epoch) -> None:
        if isinstance(event, Step):
            self._loss = event.loss if self._loss is None else 0.95 * self._loss + 0.05 * event.loss
            task = self._progress.tasks[0]
            self._progress.update(
                self._task,
                completed=event.progress,
                description=f"epoch {event.epoch + 1}",
                figures=f"loss {self._loss:.3f}{self._best()}",
                tokens=task.fields["tokens"] + event.tokens,
            )
        else:
            self._end_of_epoch(event)

    def _best(self) -> str:
        best = self._fitting.training.progress.best_score
        return "" if best is None else f"  best dev {100 * best:.2f}"

    def _end_of_epoch(self, event: Epoch) -> None:
        score = "" if event.score is None else f"  dev {100 * event.score:.2f}{' *' if event.is_best else ''}"
        self._console.print(f"epoch {event.epoch:3}  loss {event.loss:.4f}{score}", highlight=False)
        if self._log is not None:
            self._log.write(json.dumps(self._fitting.training.progress.history[-1]) + "\n")
            self._log.flush()

    def summary(self, path: Path, headlines: dict[str, str]) -> None:
        """How good it is, and where the model is."""
        console = make_console()
        for name, headline in headlines.items():
            console.print(Text(f"{name:<5} {headline}"))
        seconds = self._fitting.training.progress.seconds
        line = f"{path}: {path.stat().st_size / 1e6:.1f} MB, trained in {seconds:.0f} s"
        console.print(Text(line), soft_wrap=True)
