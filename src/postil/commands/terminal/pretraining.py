"""What a pretraining shows while it runs, on standard error, and at its end, on standard output."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self, final

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from postil.commands.terminal.display import make_console
from postil.pretraining.clusters import WordClusters
from postil.pretraining.config import CorpusConfig
from postil.pretraining.corpus import Corpus, read_corpus
from postil.pretraining.training import Pretraining, Step


@contextmanager
def read_with_progress(texts: Sequence[Path], config: CorpusConfig, folder: Path) -> Iterator[Corpus]:
    """Read a corpus, with its temporary file in ``folder``; then say how large it is."""
    console, began, tokens = Console(stderr=True), time.perf_counter(), 0
    columns = (SpinnerColumn(), TextColumn("{task.description}", style="dim"))
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("reading")

        def report(number: int) -> None:
            nonlocal tokens
            tokens += number
            speed = tokens / max(time.perf_counter() - began, 1e-9)
            progress.update(task, description=f"reading: {tokens:,} tokens, {speed:,.0f} tokens/s")

        corpus = read_corpus(texts, config, folder=folder, report=report)
    with corpus:
        known = int(corpus.counts.sum())
        share = f"{100 * known / max(corpus.tokens, 1):.1f} % of them known"
        line = f"{corpus.tokens:,} tokens, {len(corpus.words):,} words; {share}"
        console.print(Text(line, style="dim"))
        yield corpus


@final
class Display:
    """A progress bar with loss, speed and time left, and a line per epoch."""

    def __init__(self, training: Pretraining) -> None:
        self._training, self._console = training, Console(stderr=True)
        self._progress = Progress(
            *(TextColumn("{task.description}"), BarColumn(30), TextColumn("{task.fields[figures]}", style="dim")),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._progress.add_task("", total=1.0, figures="")
        self._words, self._seconds = 0, 0.0
        self._epoch = training.epoch
        self._losses: list[float] = []  # of this epoch

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()
        if kind is None and self._training.epoch > self._epoch:
            self._print_epoch()

    def show(self, step: Step) -> None:
        if step.epoch != self._epoch:
            self._print_epoch()
            self._epoch, self._losses = step.epoch, []
        self._losses.append(step.loss)
        self._words, self._seconds = self._words + step.words, step.seconds
        self._progress.update(
            self._task,
            completed=step.progress,
            description=f"epoch {step.epoch + 1}",
            figures=f"loss {step.loss:.3f}  {self._words / max(step.seconds, 1e-9):,.0f} words/s",
        )

    def _print_epoch(self) -> None:
        mean = sum(self._losses) / max(len(self._losses), 1)
        self._console.print(Text(f"epoch {self._epoch + 1:3}  loss {mean:.4f}"))

    def summary(self, path: Path) -> None:
        """Where the vectors are, and how long it took."""
        words, dimensions = len(self._training.corpus.words), self._training.config.dimensions
        line = f"{path}: {words:,} words, {dimensions} dimensions, trained in {self._seconds:.0f} s"
        make_console().print(Text(line), soft_wrap=True)


@contextmanager
def merging_progress(merges: int) -> Iterator[Callable[[int], None]]:
    """A function to call with the number of merges that are done."""
    columns = (TextColumn("merging"), BarColumn(30), TextColumn("{task.completed:,.0f} of {task.total:,.0f} words"))
    console = Console(stderr=True)
    quiet = not console.is_terminal
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True, disable=quiet) as progress:
        task = progress.add_task("", total=merges)
        yield lambda done: progress.update(task, completed=done)


def show_clusters(clusters: WordClusters, number: int, path: Path) -> None:
    """Where the clusters are."""
    make_console().print(Text(f"{path}: {len(clusters.words):,} words in {number:,} clusters"), soft_wrap=True)
