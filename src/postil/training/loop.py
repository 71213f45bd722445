"""The training loop, as a generator: it learns while somebody asks for the next event, and never prints.

It knows a protocol, not a model: named parameters, and the loss of a shard as a node. All randomness comes from the
seed and from counters (epoch, batch, shard), so a training that was stopped goes on with the same bits, and each batch
is cut into shards in the same way whatever the number of threads: shard gradients are added in the order of the shards.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, final

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.errors import ConfigurationError, ModelFileError, NumericalError
from postil.features.vocabulary import arrays_under
from postil.graph import Gradient, Node, Parameter, gradients, sum_of_two
from postil.kernels import AdamKernel, Crew
from postil.threads import Team
from postil.training.clipping import clipping_factor
from postil.training.optimisers import MOST_STEPS, FusedGradients, FusedRun, State, checked_state, one_step

Shard_contra = TypeVar("Shard_contra", contravariant=True)
Shard = TypeVar("Shard")
_Map: TypeAlias = Callable[..., Any]  # map, or that of a pool: results come in the order of the arguments
LossAndGradients: TypeAlias = tuple[float, dict[Node, Gradient]]


class Trainable(Protocol[Shard_contra]):
    """What the loop asks of a model."""

    def parameters(self) -> dict[str, Parameter]: ...
    def loss(self, shard: Shard_contra, *, rng: np.random.Generator) -> Node:
        """A node with the mean loss of the shard. ``rng`` is for dropout and the like."""


class FusedStep(Protocol[Shard_contra]):
    """A faster path to the loss and gradients of a shard times its share, on all threads at once."""

    def prepare(self, shard: Shard_contra, share: float, *, rng: np.random.Generator) -> Any:
        """What does not depend on the parameters: it is called while the batch before is computed."""

    def begin(self, prepared: Any, *, crew: Crew) -> "Begun | None":
        """Have the crew's helpers begin. None where only the general path can tell."""


class Begun(Protocol):
    """A batch that helpers work on; the caller takes part when it asks for the step or the result."""

    def gradients(self) -> FusedGradients: ...
    def step(self, adam: AdamKernel) -> bool:
        """Finish the gradients, and the step into which they were entered."""

    def loss(self) -> float:
        """After the step."""

    def result(self) -> LossAndGradients | None:
        """None where only the general path can tell. The gradients stay valid until the next batch begins."""


class Steps(Protocol):
    """What the loop asks of an optimiser: Optimiser and Averaged both fit."""

    def step(self, gradients: Mapping[Node, Gradient], rate: float, *, scale: float = 1.0) -> None: ...
    def fused_step(self, gradients: FusedGradients, rate: float, *, clip: float, run: FusedRun) -> bool: ...
    def state(self) -> State: ...
    def restore(self, state: Mapping[str, Array]) -> None: ...


@final
@dataclass(frozen=True)
class Batch(Generic[Shard]):
    """Shards with their shares of the batch's mean loss, which add up to 1; ``tokens`` for the speed shown."""

    shards: Sequence[Shard]
    shares: Sequence[float]
    tokens: int


_Prepared: TypeAlias = tuple[Batch[Shard], Any]  # a batch, and what the fused path has prepared for it


@final
@dataclass(frozen=True, kw_only=True)
class Plan:
    """How long to train and how."""

    epochs: int
    patience: int | None = None
    """Stop after so many epochs without a better score; None: never."""
    clip: float = 5.0
    threads: int = 1
    minutes: float | None = None
    """A time budget: the schedule is shortened so that it ends with it."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name, smallest in (("epochs", 1), ("threads", 1)):
            if getattr(self, name) < smallest:
                raise ConfigurationError(name, expected=f"{smallest} or more", got=getattr(self, name))
        if self.minutes is not None and not self.minutes > 0:
            raise ConfigurationError("minutes", expected="a positive number", got=self.minutes)


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
    """Where a training stands: everything that must be saved besides parameters and optimiser."""

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
        """The progress of a training of at most ``epochs`` epochs, every value checked."""
        if not isinstance(values, dict) or set(values) != set(cls.__dataclass_fields__):
            expected = ", ".join(cls.__dataclass_fields__)
            raise ModelFileError("progress of the training", expected=expected, got=_shown(values))
        now = cls(**values)
        checks = {
            "epoch": _is_count(now.epoch, epochs),
            "batch": _is_count(now.batch, MOST_STEPS),
            "steps": _is_count(now.steps, MOST_STEPS),
            "loss_sum": _is_number(now.loss_sum),
            "seconds": _is_number(now.seconds) and now.seconds >= 0,
            "best_score": now.best_score is None or _is_number(now.best_score),
            "best_epoch": _is_count(now.best_epoch, epochs) and (now.best_epoch == 0) == (now.best_score is None),
            "history": _is_history(now.history, now.epoch),
        }
        for name, holds in checks.items():
            if not holds:
                what = f"progress of the training: an impossible {name}"
                raise ModelFileError(what, got=_shown(getattr(now, name)))
        return now


def _is_count(value: object, most: int) -> bool:
    return type(value) is int and 0 <= value <= most


def _is_number(value: object) -> bool:
    return (type(value) is float or type(value) is int) and abs(value) < 1e100


def _is_history(history: object, epochs: int) -> bool:
    if not isinstance(history, list) or len(history) != epochs:
        return False
    return all(_is_epoch(number, entry) for number, entry in enumerate(history, 1))


def _is_epoch(number: int, entry: object) -> bool:
    """Whether an entry of the history is that of an epoch."""
    if not isinstance(entry, dict) or set(entry) != {"epoch", "loss", "score", "seconds"}:
        return False
    has_score = entry["score"] is None or _is_number(entry["score"])
    return entry["epoch"] == number and has_score and _is_number(entry["loss"]) and _is_number(entry["seconds"])


def _shown(value: object) -> str:
    return repr(value)[:80]


@final
class Training(Generic[Shard]):
    """One training run.

    ``batches(epoch, rng)`` gives the batches of an epoch; ``schedule(share)`` the rate for the share of the training
    that is done, 0 to 1; ``score()`` the present quality on held-out data, higher is better, or None to use the full
    schedule and keep the last parameters; ``kept()`` the parameters worth keeping, by default the present ones.
    ``fused`` computes batches of one shard.
    """

    def __init__(
        self,
        model: Trainable[Shard],
        optimiser: Steps,
        schedule: Callable[[float], float],
        batches: Callable[[int, np.random.Generator], Sequence[Batch[Shard]]],
        plan: Plan,
        score: Callable[[], float] | None = None,
        kept: Callable[[], State] | None = None,
        fused: FusedStep[Shard] | None = None,
    ) -> None:
        self.model, self.optimiser, self.schedule = model, optimiser, schedule
        self.batches, self.plan, self.score, self.fused = batches, plan, score, fused
        self.kept = kept or (lambda: {name: p.value.copy() for name, p in model.parameters().items()})
        self.progress = Progress()
        self.best: State = {}

    def run(self) -> Iterator[Step | Epoch]:
        """Train to the end of the plan, or from where ``restore`` put us."""
        with Team(self.plan.threads) as team, kernels.new_crew(self.plan.threads) as crew:
            while not self._finished():
                yield from self._epoch(team, crew)

    def _epoch(self, team: Team, crew: Crew) -> Iterator[Step | Epoch]:
        now, began = self.progress, time.perf_counter() - self.progress.seconds
        batches = self.batches(now.epoch, np.random.default_rng([self.plan.seed, now.epoch]))
        coming = self._prepared(batches, now.batch)
        while coming is not None and not self._late():
            batch, ready = coming
            share = self._share(len(batches))
            begun = None if self.fused is None or ready is None else self.fused.begin(ready, crew=crew)
            coming = self._prepared(batches, now.batch + 1)  # while helpers have begun with this one
            loss = self._learn(batch, begun, share, team, crew)
            now.loss_sum += loss
            now.batch += 1
            now.steps += 1
            now.seconds = time.perf_counter() - began
            yield Step(
                epoch=now.epoch,
                batch=now.batch,
                batches=len(batches),
                loss=loss,
                tokens=batch.tokens,
                progress=self._share(len(batches)),
            )
        yield self._end_of_epoch(now.batch, began)

    def _prepared(self, batches: Sequence[Batch[Shard]], number: int) -> "_Prepared[Shard] | None":
        """A batch and what the fused path needs of it; None after the last one."""
        if number >= len(batches):
            return None
        batch = batches[number]
        if self.fused is None or len(batch.shards) != 1:
            return batch, None
        return batch, self.fused.prepare(batch.shards[0], batch.shares[0], rng=self._rng(number, 0))

    def _learn(self, batch: Batch[Shard], begun: Begun | None, share: float, team: Team, crew: Crew) -> float:
        """One step of the optimiser; the loss before it."""
        now, rate, clip = self.progress, self.schedule(share), self.plan.clip
        try:
            if begun is not None and self.optimiser.fused_step(begun.gradients(), rate, clip=clip, run=begun.step):
                return begun.loss()
            mean, total = (begun.result() if begun is not None else None) or self._gradients(batch, team.map)
            if not np.isfinite(mean):
                raise NumericalError("the loss is not finite", got=mean)
            if not self.optimiser.fused_step(total, rate, clip=clip, run=one_step(crew)):
                factor, _ = clipping_factor(total, clip)
                self.optimiser.step(total, rate, scale=factor)
        except NumericalError as error:
            where = f"epoch {now.epoch + 1}, batch {now.batch + 1}"
            raise NumericalError(f"the training has diverged ({error}): try a smaller rate", where=where) from None
        return mean

    def _gradients(self, batch: Batch[Shard], mapped: _Map) -> LossAndGradients:
        """The loss and its gradients by the flow graph. Shards are computed in any order and added up in theirs."""

        @np.errstate(over="ignore", invalid="ignore")  # what is not finite is complained of by the caller
        def of_shard(i: int) -> LossAndGradients:
            loss = self.model.loss(batch.shards[i], rng=self._rng(self.progress.batch, i))
            return float(loss.value) * batch.shares[i], gradients(loss, seed=np.full_like(loss.value, batch.shares[i]))

        total: dict[Node, Gradient] = {}
        mean = 0.0
        for loss, shard_gradients in mapped(of_shard, range(len(batch.shards))):
            mean += loss
            for node, gradient in shard_gradients.items():
                total[node] = sum_of_two(total[node], gradient) if node in total else gradient
        return mean, total

    def _rng(self, batch: int, shard: int) -> np.random.Generator:
        return np.random.default_rng([self.plan.seed, self.progress.epoch, batch, shard])

    def _end_of_epoch(self, batches: int, began: float) -> Epoch:
        now = self.progress
        score = self.score() if self.score is not None else None
        is_best = score is not None and (now.best_score is None or score > now.best_score)
        now.epoch += 1
        if is_best:
            now.best_score, now.best_epoch = score, now.epoch
            self.best = self.kept()
        now.seconds = time.perf_counter() - began
        event = Epoch(
            epoch=now.epoch, loss=now.loss_sum / max(batches, 1), score=score, is_best=is_best, seconds=now.seconds
        )
        now.history.append({"epoch": now.epoch, "loss": event.loss, "score": score, "seconds": now.seconds})
        now.batch, now.loss_sum = 0, 0.0
        return event

    def _share(self, batches: int) -> float:
        """How much of the training is done, by batches or, under a time budget, by the clock if that is further."""
        now = self.progress
        done = (now.epoch * batches + now.batch) / max(self.plan.epochs * batches, 1)
        if self.plan.minutes is not None:
            done = max(done, now.seconds / (60 * self.plan.minutes))
        return min(done, 1.0)

    def _finished(self) -> bool:
        now, plan = self.progress, self.plan
        waited = (
            plan.patience is not None and now.best_score is not None and now.epoch - now.best_epoch >= plan.patience
        )
        return now.epoch >= plan.epochs or waited or self._late()

    def _late(self) -> bool:
        return self.plan.minutes is not None and self.progress.seconds >= 60 * self.plan.minutes

    def keep_best(self) -> None:
        """Give the model the parameters of its best epoch, where there was a score."""
        parameters = self.model.parameters()
        for name, value in self.best.items():
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
        """Go on where ``state()`` was taken. What it is given may come from a file: nothing is used before a check."""
        now = Progress.of_json(progress, self.plan.epochs)
        for name in arrays:
            if not name.startswith(("model/", "best/", "optimiser/")):
                raise ModelFileError("the checkpoint has an array of another kind", got=name[:80])
        parameters = self.model.parameters()
        values = checked_state(arrays_under("model/", arrays), parameters, "parameters of the checkpoint")
        best = arrays_under("best/", arrays)
        if now.best_epoch:
            best = checked_state(best, self.kept(), "best parameters of the checkpoint")
        elif best:
            raise ModelFileError("best parameters of the checkpoint", expected="none before an epoch is the best")
        self.optimiser.restore(arrays_under("optimiser/", arrays))
        for name, value in values.items():
            parameters[name].value = value
        self.best, self.progress = best, now
