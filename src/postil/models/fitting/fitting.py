"""Training of all kinds of models: the one route from parts to a fitted estimator, and checkpoints."""

import hashlib
import logging
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self, final

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from postil import archive
from postil.arrays import Array
from postil.errors import (
    CheckpointWarning,
    ConfigurationError,
    ModelFileError,
    PostilError,
    SlowTrainingWarning,
    TrainingInterruptedWarning,
    printable,
    warn_caller,
)
from postil.features.vectors import CodedVectors, VectorSources, WordVectors, listed_sources, load_vectors, side_by_side
from postil.graph import Parameter
from postil.models.config import PRESETS, configured
from postil.models.estimator import Estimator
from postil.models.model import FittedModel, is_encoder
from postil.models.networks.fused import obstacles, training_step
from postil.models.networks.network import FORM_TABLE
from postil.optimisation import OPTIMISERS, new_schedule
from postil.optimisation.loop import Batch, Epoch, GradientStep, GraphStep, Step, Trainable, Training
from postil.text.report import counted
from postil.threads import one_blas_thread

_LOGGER = logging.getLogger("postil")


@final
class Batches(Sequence[Batch[Any]]):
    """The batches of an epoch, each put together when its turn comes: memory does not grow with the data."""

    def __init__(self, make: Callable[[Any], Batch[Any]], order: Sequence[Any]) -> None:
        self._make, self._order = make, order

    def __len__(self) -> int:
        return len(self._order)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return Batches(self._make, self._order[index])
        return self._make(self._order[index])


class Fitting(ABC, Iterator[Step | Epoch]):
    """One training of one estimator: iterating trains, and yields an event after every batch and every epoch.

        fitting = tagger.fitting(X, y, dev)
        for event in fitting:
            print(event)
        tagger.predict(X)

    ``parts`` are ready for use between two events. When the last event has come, the best parameters are in place and
    read-only, and the estimator has the parts. With ``checkpoint`` the state is written to that file after every epoch
    and by ``save_checkpoint``; with ``resume`` training continues from there with the same bits. A checkpoint that
    cannot be written after an epoch is a CheckpointWarning; the next epoch tries again.
    ``stop`` ends it early. Each epoch is logged (logger "postil", level INFO).
    """

    def __init__(
        self,
        estimator: Estimator,
        model: FittedModel,
        *,
        judged: bool,
        checkpoint: Path | None,
        digests: Sequence[str],
        resume: bool,
        trainable: Trainable[Any] | None = None,
    ) -> None:
        """Put the loop around ``parts``. If it is ``judged``, ``_score`` is asked after every epoch.

        ``digests`` of all data tell one training from another; they are needed with a checkpoint only. ``trainable``
        has the loss, where that is not the network's own.
        """
        config, network = model.config, model.network
        self.model, self.checkpoint, self._estimator = model, checkpoint, estimator
        self._fingerprint = _fingerprint(model, estimator.seed, digests) if checkpoint is not None else ""
        preset = getattr(estimator, "preset", "")
        step: GradientStep
        if trainable is not None:
            step = GraphStep(trainable, "a loss other than the network's own")
        else:
            step = training_step(network)
            causes = ", ".join(obstacles(config).values()) if preset in PRESETS else ""
            if causes and step.choice.reason == causes and not obstacles(configured(preset, {})):
                what = f"the fused training step of {preset!r} cannot be used with {causes}"
                warn_caller(f"{what}: training takes several times as long", SlowTrainingWarning)
        self.training: Training[Any] = Training(
            trainable or network,
            OPTIMISERS[config.optimiser](self._learnt_parameters()),
            new_schedule(config.schedule, asdict(config)),
            self._batches,
            epochs=config.epochs,
            score=self._score if judged else None,
            gradient_step=step,
            patience=self._patience(),
            clip=config.clip,
            threads=estimator.threads,
            minutes=estimator.minutes,
            seed=estimator.seed,
        )
        if resume:
            self._resume()
        self._events = self._run()

    @abstractmethod
    def _batches(self, rng: np.random.Generator) -> Sequence[Batch[Any]]:
        """The batches of an epoch."""

    @abstractmethod
    def _score(self) -> float:
        """How good the parameters are on held-out data, higher is better."""

    def _patience(self) -> int | None:
        """The number of epochs without a better score after which the training stops."""
        patience: int | None = self.model.config.patience
        return patience

    def _learnt_parameters(self) -> dict[str, Parameter]:
        """Those that the training changes."""
        parameters: dict[str, Parameter] = self.model.network.parameters()
        return parameters

    def _calibrate(self) -> None:
        """Choose what is not learned by gradients, once the parameters are final."""

    def __next__(self) -> Step | Epoch:
        return next(self._events)

    def _run(self) -> Iterator[Step | Epoch]:
        with one_blas_thread():
            for event in self.training.run():
                if isinstance(event, Epoch):
                    best = " (best)" if event.is_best else ""
                    score = "" if event.score is None else f", dev score {event.score:.4f}{best}"
                    _LOGGER.info("epoch %d: loss %.4f%s, %.1f s", event.epoch, event.loss, score, event.seconds)
                    try:
                        if self.checkpoint is not None:
                            self.save_checkpoint()
                    except ModelFileError as error:  # a full disk must not lose a training run
                        what = (
                            f"{self.checkpoint}: cannot write the checkpoint ({error.got}); the next epoch tries again"
                        )
                        warnings.warn(what, CheckpointWarning, stacklevel=2)
                yield event
        self._finish()

    def stop(self) -> None:
        """End the training early with the best of the epochs that are complete; without dev, the last of them."""
        if not self.training.progress.epoch:
            raise ConfigurationError("nothing to keep: no epoch of this training is complete")
        self._events = iter(())
        self._finish()

    def _finish(self) -> None:
        """Keep the best parameters, note how they came about, and hand the parts to the estimator."""
        progress = self.training.progress
        self.training.keep_best()
        if isinstance(self.model.network.vectors, CodedVectors):
            # The file of such a model is to be small: learned tables of word features are rounded to half precision.
            largest = float(np.finfo(np.float16).max)
            for name, table in self._learnt_parameters().items():
                if FORM_TABLE.search(name):
                    table.value = np.clip(table.value, -largest, largest).astype(np.float16).astype(table.value.dtype)
        self.model.freeze()
        self._calibrate()
        self.model.about["training"] = {
            "epochs": progress.epoch,
            "best_epoch": progress.best_epoch or progress.epoch,
            "dev_score": progress.best_score,
            "step": self.training.gradient_step.choice._asdict(),
            # Without the seconds: the same data and seed give the same file.
            "history": [{name: epoch[name] for name in ("epoch", "loss", "score")} for epoch in progress.history],
        }
        self._estimator._model = self.model

    # -------------------------------------------------------------------------------------------- checkpoints

    def save_checkpoint(self) -> None:
        """Write the state of the training run, from which ``resume`` continues."""
        if self.checkpoint is None:
            raise ConfigurationError("this training has no checkpoint file: name one with checkpoint=PATH")
        arrays, progress = self.training.state()
        archive.save(self.checkpoint, arrays, {"fingerprint": self._fingerprint, "progress": progress})

    def _resume(self) -> None:
        if self.checkpoint is None or not self.checkpoint.exists():
            raise ConfigurationError("nothing to resume", expected="a checkpoint", where=self.checkpoint)
        arrays, metadata = archive.load(self.checkpoint)
        if not metadata.get("progress"):
            raise ConfigurationError("nothing to resume", expected="a checkpoint", got="a model", where=self.checkpoint)
        if metadata.get("fingerprint") != self._fingerprint:
            what, expected = "the checkpoint belongs to another training", "the same data, settings, vectors and seed"
            raise ConfigurationError(what, expected=expected, got="different ones", where=self.checkpoint)
        try:
            self.training.restore(arrays, metadata["progress"])
        except PostilError as error:
            raise ModelFileError(f"the checkpoint does not fit this training: {error}", where=self.checkpoint) from None


def in_shards(network: Any, which: Array, count: int, example: Callable[[Array], Any]) -> list[tuple[Any, float]]:
    """A batch cut into at most ``count`` shards, each with its share of the mean; one that has no share is left out."""
    pieces = np.array_split(which, min(count, len(which)))
    shards = [example(piece) for piece in pieces]
    weights = [network.weight(shard) for shard in shards]
    whole = sum(weights) or 1
    return [(shard, weight / whole) for shard, weight in zip(shards, weights, strict=True) if weight]


def scaled_vectors(sources: VectorSources, scale: float) -> WordVectors:
    """Word vectors brought to a root mean square; those of several sources side by side."""
    scaled = []
    for source in listed_sources(sources):
        vectors = load_vectors(source)
        size = np.sqrt(np.square(vectors.matrix, dtype=np.float64).mean())
        scaled.append(vectors._replace(matrix=vectors.matrix * np.float32(scale / max(size, 1e-12))))
    return side_by_side(scaled)


def about(estimator: Estimator, sentences: Sequence[Sequence[Any]], digest: str) -> dict[str, Any]:
    """Where a model comes from, for its file."""
    return {
        "seed": estimator.seed,
        "data": {"sentences": len(sentences), "tokens": sum(map(len, sentences)), "sha256": digest},
        "versions": {"postil": version("postil"), "numpy": np.__version__},
    }


def _fingerprint(model: FittedModel, seed: int, digests: Sequence[str]) -> str:
    """Of everything that a training run depends on: settings, seed, data, and with what it begins."""
    labels = {task: head.codec.as_json() for task, head in model.heads.items()}
    digest = hashlib.sha256(repr((sorted(asdict(model.config).items()), seed, labels)).encode())
    for of_data in digests:
        digest.update(of_data.encode())
    values = {name: parameter.value for name, parameter in model.network.parameters().items()}
    if model.network.vectors is not None:
        values["vectors"] = model.network.vectors
    for name, array in sorted({**values, **model.features.arrays()}.items()):
        digest.update(name.encode() + np.ascontiguousarray(array).data)
    return digest.hexdigest()


# --------------------------------- The progress: in a terminal, in a notebook, or as lines of text if there is neither


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
