"""Schedules: the learning rate as a function of the progress of training.

The unit of time t is the caller's: the number of the step, or the share of the training that is done, 0 to 1. Settings
of time (``tau``, ``warm_up``, ``length``) are in the same unit. Estimators count in shares, because under a time budget
nobody knows how many steps there will be.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, final

from postil.errors import ConfigurationError

Schedule: TypeAlias = Callable[[float], float]

LOWEST_WARM_UP = 0.01  # of the rate: a rate of 0 would waste the first step


@final
@dataclass(frozen=True, kw_only=True)
class Constant:
    """The same rate at any time (A11: fixed during training)."""

    rate: float

    def __post_init__(self) -> None:
        _check_positive(rate=self.rate)

    def __call__(self, t: float) -> float:
        return self.rate


@final
@dataclass(frozen=True, kw_only=True)
class InverseDecay:
    """B8: α(t) = α0 τ / max(t, τ). Constant until τ, then decreasing as 1/t."""

    rate: float
    tau: float

    def __post_init__(self) -> None:
        _check_positive(rate=self.rate, tau=self.tau)

    def __call__(self, t: float) -> float:
        return self.rate * self.tau / max(t, self.tau)


@final
@dataclass(frozen=True, kw_only=True)
class WarmUpAndDecay:
    """Linear increase to ``rate`` until ``warm_up``, then linear decrease to ``final_share`` of it at ``length``.

    With ``final_share`` 0 a step at the very end has the rate 0 and changes nothing.
    """

    rate: float
    warm_up: float = 0.0
    final_share: float = 0.0
    length: float = 1.0

    def __post_init__(self) -> None:
        _check_positive(rate=self.rate, length=self.length)
        if not 0 <= self.warm_up <= self.length:
            raise ConfigurationError("warm_up", expected=f"between 0 and the length {self.length:g}", got=self.warm_up)
        if not 0 <= self.final_share <= 1:
            raise ConfigurationError("final_share", expected="between 0 and 1", got=self.final_share)

    def __call__(self, t: float) -> float:
        if t < self.warm_up:
            return self.rate * max(t / self.warm_up, LOWEST_WARM_UP)
        done = min((t - self.warm_up) / max(self.length - self.warm_up, 1e-9), 1.0)
        return self.rate * (1 - done * (1 - self.final_share))


def _check_positive(**settings: float) -> None:
    for name, value in settings.items():
        if not 0 < value < math.inf:
            raise ConfigurationError(name, expected="a positive number", got=value)
