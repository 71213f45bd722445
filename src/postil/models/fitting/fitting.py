"""What trainings of all kinds of models share: the loop around them, averaged parameters, checkpoints."""

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any, final, overload

import numpy as np

from postil import archive
from postil.arrays import Array
from postil.errors import ConfigurationError
from postil.features.vectors import WordVectors, load_vectors
from postil.models.estimator import Estimator
from postil.models.parts import Parts
from postil.threads import one_blas_thread
from postil.training import OPTIMISERS, Averaged, new_schedule
from postil.training.loop import Batch, Epoch, Plan, Step, Training


@final
class Batches(Sequence[Batch[Any]]):
    """The batches of an epoch, each put together when its turn comes: memory does not grow with the data."""

    def __init__(self, make: Callable[[Array], Batch[Any]], order: Sequence[Array]) -> None:
        self._make, self._order = make, order

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, index: int) -> Batch[Any]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Batch[Any]]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return Batches(self._make, self._order[index])
        return self._make(self._order[index])


class Fitting(ABC):
    """One training of one estimator. ``parts`` are ready for use between events and after the last one.

    With ``checkpoint`` the state is written to that file after every epoch and by ``save_checkpoint``; with ``resume``
    the training goes on from there with the same bits.
    """

    parts: Parts[Any, Any]

    def _prepare(
        self,
        estimator: Estimator[Any, Any],
        *,
        judged: bool,
        checkpoint: Path | None,
        digests: Sequence[str],
        resume: bool,
    ) -> None:
        """Put the loop around ``parts``. Where it is ``judged``, ``_score`` says after every epoch how good it is.

        ``digests`` of all data tell one training from another; they are needed with a checkpoint only.
        """
        config = self.parts.config
        self.checkpoint = checkpoint
        if checkpoint is not None:
            self._fingerprint = _fingerprint(self.parts, estimator.seed, digests)
        plan = Plan(
            epochs=settled(config.epochs),
            patience=config.patience,
            clip=config.clip,
            threads=estimator.threads,
            minutes=estimator.minutes,
            seed=estimator.seed,
        )
        self._averaged = Averaged(OPTIMISERS[config.optimiser](self.parts.network.parameters()))
        score = self._score_of_means if judged else None
        schedule = new_schedule(config.schedule, asdict(config))
        self.training: Training[Any] = Training(
            self.parts.network, self._averaged, schedule, self._batches_of_epoch, plan, score, self._means
        )
        if resume:
            self._resume()

    @abstractmethod
    def _batches(self, epoch: int, rng: np.random.Generator) -> Sequence[Batch[Any]]:
        """The batches of an epoch."""

    @abstractmethod
    def _score(self) -> float:
        """How good the parameters are on held-out data, higher is better."""

    def run(self) -> Iterator[Step | Epoch]:
        """Train; give an event after every batch and every epoch."""
        with one_blas_thread():
            for event in self.training.run():
                if isinstance(event, Epoch) and self.checkpoint is not None:
                    self.save_checkpoint()
                yield event
        self.finish()

    def finish(self) -> None:
        """Settle on the best parameters so far and note how they came about."""
        progress = self.training.progress
        if not self.training.best:
            self.training.best = self._means()
        self.training.keep_best()
        self.parts.about["training"] = {
            "epochs": progress.epoch,
            "best_epoch": progress.best_epoch or progress.epoch,
            "dev_score": progress.best_score,
            "seconds": round(progress.seconds, 2),
            "history": progress.history,
        }

    # -------------------------------------------------------------------------------------------- pieces of the loop

    def _batches_of_epoch(self, epoch: int, rng: np.random.Generator) -> Sequence[Batch[Any]]:
        if self.training.progress.batch == 0:  # not where a stopped epoch goes on
            self._averaged.restart()
        return self._batches(epoch, rng)

    def _score_of_means(self) -> float:
        with self._averaged.in_place():
            return self._score()

    def _means(self) -> dict[str, Array]:
        """Parameters averaged over the steps of the epoch: they generalise better than those of its last step."""
        return {name: self._averaged.mean(name) for name in self.parts.network.parameters()}

    # -------------------------------------------------------------------------------------------- checkpoints

    def save_checkpoint(self) -> None:
        """Write where the training stands."""
        if self.checkpoint is None:
            raise ConfigurationError("no checkpoint file was named", expected="checkpoint=PATH")
        arrays, progress = self.training.state()
        archive.save(self.checkpoint, arrays, {"fingerprint": self._fingerprint, "progress": progress})

    def _resume(self) -> None:
        if self.checkpoint is None or not self.checkpoint.exists():
            raise ConfigurationError("nothing to resume", expected="a checkpoint", where=self.checkpoint)
        arrays, metadata = archive.load(self.checkpoint)
        if not metadata.get("progress"):
            raise ConfigurationError("nothing to resume", expected="a checkpoint", got="a model", where=self.checkpoint)
        if metadata.get("fingerprint") != self._fingerprint:
            raise ConfigurationError(
                "the checkpoint belongs to another training",
                expected="the same data, settings, vectors and seed",
                got="different ones",
                where=self.checkpoint,
            )
        self.training.restore(arrays, metadata["progress"])


def settled(value: Any) -> Any:
    assert value is not None, "adapted() settles every open field"
    return value


def scaled_vectors(source: str | os.PathLike[str], scale: float) -> WordVectors:
    """Word vectors brought to a root mean square."""
    vectors = load_vectors(source)
    size = np.sqrt(np.square(vectors.matrix, dtype=np.float64).mean())
    return vectors._replace(matrix=vectors.matrix * np.float32(scale / max(size, 1e-12)))


def about(estimator: Estimator[Any, Any], sentences: Sequence[Sequence[Any]], digest: str) -> dict[str, Any]:
    """Where a model comes from, for its file."""
    return {
        "seed": estimator.seed,
        "data": {"sentences": len(sentences), "tokens": sum(map(len, sentences)), "sha256": digest},
        "versions": {"postil": version("postil"), "numpy": np.__version__},
    }


def _fingerprint(parts: Parts[Any, Any], seed: int, digests: Sequence[str]) -> str:
    """Of everything that a training depends on: settings, seed, data, and with what it begins."""
    digest = hashlib.sha256(repr((sorted(asdict(parts.config).items()), seed, parts.labelling.as_json())).encode())
    for of_data in digests:
        digest.update(of_data.encode())
    values = {name: parameter.value for name, parameter in parts.network.parameters().items()}
    if parts.network.vectors is not None:
        values["vectors"] = parts.network.vectors
    for name, array in sorted({**values, **parts.features.arrays()}.items()):
        digest.update(name.encode() + np.ascontiguousarray(array).data)
    return digest.hexdigest()
