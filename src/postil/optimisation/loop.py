"""The training loop, as a generator: it learns while somebody asks for the next event, and never prints.

For every batch it asks for the loss and its gradients, then the optimiser for a step. Two classes compute gradients:
``GraphStep`` by the flow graph, for any model, and ``models/networks/fused.py`` in one call of a kernel.

All randomness comes from the seed and from counters (epoch, batch, shard), so a run that was stopped continues with
the same bits, and each batch is cut into shards in the same way whatever the number of threads: shard gradients are
added in the order of the shards.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar, final

import numpy as np

from postil import kernels
from postil.arrays import Array, arrays_under
from postil.errors import ModelFileError, NumericalError
from postil.graph import Gradient, Node, Parameter, gradients, sum_of_two
from postil.kernels import Crew
from postil.optimisation.optimisers import MOST_STEPS, Averaged, Optimiser, State, checked_state
from postil.threads import Team

Shard_contra = TypeVar("Shard_contra", contravariant=True)
Shard = TypeVar("Shard")
LossAndGradients: TypeAlias = tuple[float, dict[Node, Gradient]]


class Trainable(Protocol[Shard_contra]):
    """The interface of a model that the loop can train."""

    def parameters(self) -> dict[str, Parameter]: ...
    def loss(self, shard: Shard_contra, *, rng: np.random.Generator) -> Node:
        """A node with the mean loss of the shard. ``rng`` is for dropout and the like."""


@final
@dataclass(frozen=True)
class Batch(Generic[Shard]):
    """Shards with their shares of the batch's mean loss, which add up to 1; ``tokens`` for the speed shown."""

    shards: Sequence[Shard]
    shares: Sequence[float]
    tokens: int


# ------------------------------------------------------------------------------------------------ loss and gradients


class Workers(NamedTuple):
    """The threads of a training run: for Python functions, and inside the kernels."""

    team: Team
    crew: Crew


class Prepared(NamedTuple):
    """A batch, the generator of each of its shards, and what was worked out that does not depend on parameters."""

    batch: Batch[Any]
    rng: Callable[[int], np.random.Generator]
    ready: Any = None


class StepChoice(NamedTuple):
    """How loss and gradients are computed: ``fused`` in a kernel, or by the ``graph``, and then why."""

    name: str
    reason: str | None


class GradientStep(Protocol):
    """Loss and gradients of batches."""

    choice: StepChoice

    def prepare(self, batch: Batch[Any], rng: Callable[[int], np.random.Generator]) -> Prepared:
        """Do what does not depend on the parameters: it is called while the batch before is computed."""

    def begin(self, prepared: Prepared, workers: Workers) -> None:
        """Have the threads begin."""

    def finish(self, prepared: Prepared, workers: Workers) -> LossAndGradients:
        """Take part until it is done. The gradients stay valid until the next batch begins."""


@final
class GraphStep:
    """Loss and gradients by the flow graph, for any model. Shards are computed in any order and added up in theirs."""

    def __init__(self, model: Trainable[Any], reason: str | None = None) -> None:
        self.model, self.choice = model, StepChoice("graph", reason)

    def prepare(self, batch: Batch[Any], rng: Callable[[int], np.random.Generator]) -> Prepared:
        return Prepared(batch, rng)

    def begin(self, prepared: Prepared, workers: Workers) -> None:
        """Nothing: shards are handed to the team when they are asked for."""

    def finish(self, prepared: Prepared, workers: Workers) -> LossAndGradients:
        batch, rng, _ = prepared

        @np.errstate(over="ignore", invalid="ignore")  # the loop complains of what is not finite
        def of_shard(i: int) -> LossAndGradients:
            loss = self.model.loss(batch.shards[i], rng=rng(i))
            return float(loss.value) * batch.shares[i], gradients(loss, seed=np.full_like(loss.value, batch.shares[i]))

        total: dict[Node, Gradient] = {}
        mean = 0.0
        for loss, shard_gradients in workers.team.map(of_shard, range(len(batch.shards))):
            mean += loss
            for node, gradient in shard_gradients.items():
                total[node] = sum_of_two(total[node], gradient) if node in total else gradient
        return mean, total


# ------------------------------------------------------------------------------------------------ progress


@final
@dataclass(frozen=True, kw_only=True)
class Step:
    """After every batch."""

    epoch: int
    batch: int
    batches: int
    loss: float
    tokens: int
    progress: float
    """Share of the whole training that is done."""


@final
@dataclass(frozen=True, kw_only=True)
class Epoch:
    """After every epoch."""

    epoch: int
    loss: float
    score: float | None
    is_best: bool
    seconds: float


@final
@dataclass(kw_only=True)
class Progress:
    """Progress of a training run: everything to save except parameters and optimiser."""

    epoch: int = 0
    batch: int = 0
    loss_sum: float = 0.0
    steps: int = 0
    seconds: float = 0.0
    best_score: float | None = None
    best_epoch: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def of_json(cls, values: object, epochs: int) -> "Progress":
        """The progress of a training run of at most ``epochs`` epochs, every value checked."""
        if not isinstance(values, dict) or set(values) != set(cls.__dataclass_fields__):
            expected = ", ".join(cls.__dataclass_fields__)
            raise ModelFileError("progress of the training", expected=expected, got=repr(values)[:80])
        now = cls(**values)

        def is_count(value: object, most: int = MOST_STEPS) -> bool:
            return type(value) is int and 0 <= value <= most

        def is_number(value: object) -> bool:
            return (type(value) is float or type(value) is int) and abs(value) < 1e100

        def is_entry(number: int, entry: object) -> bool:
            if not isinstance(entry, dict) or set(entry) != {"epoch", "loss", "score", "seconds"}:
                return False
            has_score = entry["score"] is None or is_number(entry["score"])
            return entry["epoch"] == number and has_score and is_number(entry["loss"]) and is_number(entry["seconds"])

        is_history = isinstance(now.history, list) and len(now.history) == now.epoch
        checks = {
            "epoch": is_count(now.epoch, epochs),
            "batch": is_count(now.batch),
            "steps": is_count(now.steps),
            "loss_sum": is_number(now.loss_sum),
            "seconds": is_number(now.seconds) and now.seconds >= 0,
            "best_score": now.best_score is None or is_number(now.best_score),
            "best_epoch": is_count(now.best_epoch, epochs) and (now.best_epoch == 0) == (now.best_score is None),
            "history": is_history and all(is_entry(number, entry) for number, entry in enumerate(now.history, 1)),
        }
        for name, holds in checks.items():
            if not holds:
                what = f"progress of the training: an impossible {name}"
                raise ModelFileError(what, got=repr(getattr(now, name))[:80])
        return now


# ------------------------------------------------------------------------------------------------ the loop


@final
class Training(Generic[Shard]):
    """One training run.

    ``batches(rng)`` gives the batches of an epoch; ``schedule(share)`` the rate for the share of the training
    that is done, 0 to 1; ``score()`` the present quality on held-out data, higher is better, or None to use the full
    schedule and keep the last epoch; ``gradient_step`` computes the loss and its gradients, by default by the flow
    graph. What is scored and kept are the means of the parameters over the steps of an epoch: they generalise better
    than those of its last step.

    After ``patience`` epochs without a better score the run stops; None: never. ``minutes`` is a time budget: the
    schedule is shortened so that it ends with it.
    """

    def __init__(
        self,
        model: Trainable[Shard],
        optimiser: Optimiser,
        schedule: Callable[[float], float],
        batches: Callable[[np.random.Generator], Sequence[Batch[Shard]]],
        *,
        epochs: int,
        score: Callable[[], float] | None = None,
        gradient_step: GradientStep | None = None,
        patience: int | None = None,
        clip: float = 5.0,
        threads: int = 1,
        minutes: float | None = None,
        seed: int = 0,
    ) -> None:
        self.model, self.optimiser, self.schedule, self.batches = model, Averaged(optimiser), schedule, batches
        self.score, self.gradient_step = score, gradient_step or GraphStep(model)
        self.epochs, self.patience, self.clip, self.threads = epochs, patience, clip, threads
        self.minutes, self.seed = minutes, seed
        self.progress = Progress()
        self.best: State = {}  # means of the best epoch, of the last one without a score; none before the first

    def run(self) -> Iterator[Step | Epoch]:
        """Train to the end of the plan, or from where ``restore`` put us."""
        now = self.progress
        with Team(self.threads) as team, kernels.Crew(self.threads) as crew:
            while now.epoch < self.epochs and not self._late():
                has_score = now.best_score is not None
                if has_score and self.patience is not None and now.epoch - now.best_epoch >= self.patience:
                    return
                yield from self._epoch(Workers(team, crew))

    def _epoch(self, workers: Workers) -> Iterator[Step | Epoch]:
        now, began, seed = self.progress, time.perf_counter() - self.progress.seconds, self.seed
        if now.batch == 0:  # not where a stopped epoch goes on
            self.optimiser.restart()
        batches = self.batches(np.random.default_rng([seed, now.epoch]))

        def prepare(number: int) -> Prepared | None:
            """A batch with its generators; None after the last one."""
            if number >= len(batches):
                return None
            key = [seed, now.epoch, number]
            return self.gradient_step.prepare(batches[number], lambda shard: np.random.default_rng([*key, shard]))

        prepared = prepare(now.batch)
        while prepared is not None and not self._late():
            rate = self.schedule(self._share(len(batches)))
            self.gradient_step.begin(prepared, workers)
            coming = prepare(now.batch + 1)  # while helpers have begun with this one
            loss = self._learn(prepared, rate, workers)
            now.loss_sum += loss
            now.batch += 1
            now.steps += 1
            now.seconds = time.perf_counter() - began
            yield Step(
                epoch=now.epoch,
                batch=now.batch,
                batches=len(batches),
                loss=loss,
                tokens=prepared.batch.tokens,
                progress=self._share(len(batches)),
            )
            prepared = coming
        score = None
        if self.score is not None:
            with self.optimiser.in_place():
                score = self.score()
        is_best = score is not None and (now.best_score is None or score > now.best_score)
        loss = now.loss_sum / max(now.batch, 1)
        now.epoch += 1
        if is_best:
            now.best_score, now.best_epoch = score, now.epoch
        if is_best or self.score is None:
            self.best = self.optimiser.means()
        now.seconds = time.perf_counter() - began
        now.history.append({"epoch": now.epoch, "loss": loss, "score": score, "seconds": now.seconds})
        now.batch, now.loss_sum = 0, 0.0
        yield Epoch(epoch=now.epoch, loss=loss, score=score, is_best=is_best, seconds=now.seconds)

    def _learn(self, prepared: Prepared, rate: float, workers: Workers) -> float:
        """One step of the optimiser; the loss before it."""
        try:
            loss, slopes = self.gradient_step.finish(prepared, workers)
            if not np.isfinite(loss):
                raise NumericalError("the loss is not finite", got=loss)
            self.optimiser.step(slopes, rate, clip=self.clip, crew=workers.crew)
        except NumericalError as error:
            where = f"epoch {self.progress.epoch + 1}, batch {self.progress.batch + 1}"
            raise NumericalError(f"the training has diverged ({error}): try a smaller rate", where=where) from None
        return loss

    def _share(self, batches: int) -> float:
        """The completed share of training, by batches or, under a time budget, by the clock if that is further."""
        now = self.progress
        done = (now.epoch * batches + now.batch) / max(self.epochs * batches, 1)
        if self.minutes is not None:
            done = max(done, now.seconds / (60 * self.minutes))
        return min(done, 1.0)

    def _late(self) -> bool:
        return self.minutes is not None and self.progress.seconds >= 60 * self.minutes

    def keep_best(self) -> None:
        """Give the model the parameters worth keeping; if no epoch is complete, the means of the steps so far."""
        parameters = self.model.parameters()
        for name, value in (self.best or self.optimiser.means()).items():
            if not np.isfinite(value).all():
                raise NumericalError(f"the training has diverged: {name} is not finite; try a smaller rate")
            parameters[name].value = value.copy()

    def state(self) -> tuple[State, dict[str, Any]]:
        """Arrays and plain values from which ``restore`` goes on with the same bits."""
        arrays = {f"model/{name}": p.value.copy() for name, p in self.model.parameters().items()}
        arrays |= {f"best/{name}": value for name, value in self.best.items()}
        arrays |= {f"optimiser/{name}": value for name, value in self.optimiser.state().items()}
        return arrays, vars(self.progress) | {"history": list(self.progress.history)}

    def restore(self, arrays: Mapping[str, Array], progress: Mapping[str, Any]) -> None:
        """Continue from ``state()``, which may come from a file: everything is checked before it is used."""
        now = Progress.of_json(progress, self.epochs)
        for name in arrays:
            if not name.startswith(("model/", "best/", "optimiser/")):
                raise ModelFileError("the checkpoint has an array of another kind", got=name[:80])
        parameters = self.model.parameters()
        values = checked_state(arrays_under("model/", arrays), parameters, "parameters of the checkpoint")
        best = arrays_under("best/", arrays)
        if now.epoch:
            best = checked_state(best, self.optimiser.optimiser.parameters, "best parameters of the checkpoint")
        elif best:
            raise ModelFileError("best parameters of the checkpoint", expected="none before an epoch is complete")
        self.optimiser.restore(arrays_under("optimiser/", arrays))
        for name, value in values.items():
            parameters[name].value = value
        self.best, self.progress = best, now
