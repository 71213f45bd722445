"""Schedules: functions of the step t = 1, 2, … that give the learning rate (B8)."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, final

from postil.errors import ConfigurationError

Schedule: TypeAlias = Callable[[int], float]


@final
@dataclass(frozen=True, kw_only=True)
class Constant:
    """The same rate at every step (A11: fixed during training)."""

    rate: float

    def __post_init__(self) -> None:
        _positive("rate", self.rate)

    def __call__(self, t: int) -> float:
        return self.rate


@final
@dataclass(frozen=True, kw_only=True)
class InverseDecay:
    """B8: α(t) = α0 τ / max(t, τ). Constant for τ steps, then decreasing as 1/t."""

    rate: float
    tau: float

    def __post_init__(self) -> None:
        _positive("rate", self.rate)
        _positive("tau", self.tau)

    def __call__(self, t: int) -> float:
        return self.rate * self.tau / max(t, self.tau)


@final
@dataclass(frozen=True, kw_only=True)
class WarmUpAndDecay:
    """Linear increase to ``rate`` over ``warm_up`` steps, then linear decrease to ``final_share`` of it at ``steps``.

    With the ``final_share`` 0 the last step has the rate 0 and changes nothing.
    """

    rate: float
    steps: int
    warm_up: int = 0
    final_share: float = 0.0

    def __post_init__(self) -> None:
        _positive("rate", self.rate)
        if not 0 <= self.warm_up < self.steps:
            raise ConfigurationError(
                "warm_up", expected=f"0 to {self.steps - 1} of {self.steps} steps", got=self.warm_up
            )
        if not 0 <= self.final_share <= 1:
            raise ConfigurationError("final_share", expected="0 to 1", got=self.final_share)

    def __call__(self, t: int) -> float:
        if t < self.warm_up:
            return self.rate * t / self.warm_up
        done = min((t - self.warm_up) / (self.steps - self.warm_up), 1.0)
        return self.rate * (1 - done * (1 - self.final_share))


def _positive(name: str, value: float) -> None:
    if not 0 < value < math.inf:
        raise ConfigurationError(name, expected="a positive number", got=value)
