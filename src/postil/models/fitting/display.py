"""Progress of a training run: in a terminal, in a notebook, or as lines of text if there is neither."""

import time
import warnings
from contextlib import nullcontext
from importlib.util import find_spec
from typing import Self, final

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from postil.errors import TrainingInterruptedWarning, printable
from postil.models.fitting.fitting import Fitting
from postil.models.model import is_encoder
from postil.optimisation.loop import Epoch, Step
from postil.text.report import counted


@final
class TrainingDisplay:
    """A progress bar with loss, best score, speed and time left, and a line per epoch; by default on standard error."""

    def __init__(self, fitting: Fitting, console: Console | None = None) -> None:
        self._fitting = fitting
        self._console = console or Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(30), TextColumn("{task.fields[figures]}"))
        self._progress = Progress(
            *columns,
            TextColumn("{task.fields[speed]}", style="dim"),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
            # A notebook that cannot redraw: rich would warn at every step. Lines are printed all the same.
            disable=self._console.is_jupyter and find_spec("ipywidgets") is None,
        )
        self._task = self._progress.add_task("", total=1.0, figures="", speed="")
        self._loss: float | None = None
        self._tokens, self._began = 0, time.perf_counter()

    def __enter__(self) -> Self:
        self._console.print(Text(summary_of(self._fitting), style="dim"))
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()

    def show(self, event: Step | Epoch) -> None:
        """Move the bar, or print the line of an epoch."""
        if isinstance(event, Epoch):
            self._console.print(Text(line_of(event)))
            return
        self._loss = event.loss if self._loss is None else 0.95 * self._loss + 0.05 * event.loss
        self._tokens += event.tokens
        best = self._fitting.training.progress.best_score
        self._progress.update(
            self._task,
            completed=event.progress,
            description=f"epoch {event.epoch + 1}",
            figures=f"loss {self._loss:.3f}" + ("" if best is None else f"  best dev {100 * best:.2f}"),
            speed=f"{self._tokens / max(time.perf_counter() - self._began, 1e-9):,.0f} tokens/s",
        )


def summary_of(fitting: Fitting) -> str:
    """How much data there is, what is learned, and how large the model is."""
    model = fitting.model
    size = sum(parameter.value.size for parameter in model.network.parameters().values())
    codecs, data = [head.codec for head in model.heads.values()], model.about["data"]
    labels = [label for codec in codecs for label in getattr(codec, "answers", codec.labels)]
    learnt = counted(len(labels), "label") if len(labels) > 1 else f"label {printable(labels[0])}"
    scheme = getattr(codecs[0], "scheme", "") if len(codecs) == 1 else ""
    if is_encoder(model):
        learnt = "what hidden words are like"
    elif scheme:
        learnt += " (of words, no spans)" if scheme == "none" else f" ({scheme})"
    read = f"{counted(data['sentences'], 'sentence')}, {counted(data['tokens'], 'token')}"
    if raw := data.get("unlabelled"):
        is_all_open = sum(data.get("partial", {}).values()) == data["tokens"]  # the labels come from rules
        read = "" if is_all_open else f"{read}, and "
        sentences, tokens = ((data[name] if is_all_open else 0) + raw[name] for name in ("sentences", "tokens"))
        read += f"{counted(sentences, 'sentence')} of raw text, {counted(tokens, 'token')}"
    return f"{read}; {learnt}; {size:,} parameters"


def line_of(epoch: Epoch) -> str:
    """Loss and held-out score of an epoch; a star marks the best so far."""
    score = "" if epoch.score is None else f"  dev {100 * epoch.score:.2f}{' *' if epoch.is_best else ''}"
    return f"epoch {epoch.epoch:3}  loss {epoch.loss:.4f}{score}"


# --------------------------------------------------- A training run from its first event to its last: what ``fit`` does


def run(fitting: Fitting, *, verbose: bool) -> None:
    """Train until the plan ends, showing the progress if wanted.

    Ctrl-C ends a training run early: the best epoch so far is kept, and a warning says so. Before the end of
    the first epoch there is nothing to keep, and the interrupt goes on to the caller.
    """
    try:
        with TrainingDisplay(fitting) if verbose else nullcontext() as display:
            for event in fitting:
                if display is not None:
                    display.show(event)
    except KeyboardInterrupt:
        progress = fitting.training.progress
        if not progress.epoch:
            raise
        fitting.stop()
        kept = f"epoch {progress.best_epoch or progress.epoch} of the {progress.epoch} that were complete"
        warnings.warn(f"the training was interrupted: {kept} is kept", TrainingInterruptedWarning, stacklevel=3)
