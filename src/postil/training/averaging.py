"""Averaged parameters (averaged SGD): the mean of all values a parameter had, exact also for sparse rows."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import final

import numpy as np

from postil.arrays import Array
from postil.errors import IndexRangeError
from postil.graph import Gradients
from postil.kernels import Totals
from postil.training.optimisers import FusedGradients, FusedRun, Optimiser, State, checked_state


@final
class Averaged:
    """Wraps an optimiser and keeps the mean of θ_1 … θ_T, the values after each step.

    A row without a gradient keeps its value, so its share of the sum is added only when it next changes:
    ``total += (steps without change) · θ``. A step costs as much as the rows that change.
    """

    def __init__(self, optimiser: Optimiser) -> None:
        self.optimiser = optimiser
        self.restart()

    def restart(self) -> None:
        """Restart the mean: it covers the steps from now on."""
        self.steps = 0
        # A row of a total is settled up to some step; a parameter without rows is one row.
        self._totals = {
            name: Totals(np.zeros(p.shape, np.float64), np.zeros(p.shape[:1], np.int64), 0)
            for name, p in self.optimiser.parameters.items()
        }

    def step(self, gradients: Gradients, rate: float, *, scale: float = 1.0) -> None:
        self.optimiser.step(gradients, rate, scale=scale, averages=self._totals_of)
        self.steps += 1

    def fused_step(self, gradients: FusedGradients, rate: float, *, clip: float, run: FusedRun) -> bool:
        """See ``Optimiser.fused_step``."""
        is_done = self.optimiser.fused_step(gradients, rate, clip=clip, run=run, averages=self._totals_of)
        self.steps += is_done
        return is_done

    def mean(self, name: str) -> Array:
        """The mean of parameter ``name`` over all steps so far, in the parameter's own float type."""
        parameter = self.optimiser.parameters[name]
        if self.steps == 0:
            return parameter.value.copy()
        totals = self._totals[name]
        still: Array = self.steps - totals.settled
        still = still.reshape(still.shape + (1,) * (parameter.ndim - still.ndim))
        total = totals.total + still * parameter.value
        return np.asarray(total / self.steps).astype(parameter.dtype)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Inside the block, the parameters have their mean values; afterwards, their own again."""
        values = {name: parameter.value for name, parameter in self.optimiser.parameters.items()}
        for name, parameter in self.optimiser.parameters.items():
            parameter.value = self.mean(name)
        try:
            yield
        finally:
            for name, parameter in self.optimiser.parameters.items():
                parameter.value = values[name]

    def state(self) -> State:
        sums = {key: array.copy() for key, array in self._memory().items()}
        return sums | {f"optimiser/{key}": array for key, array in self.optimiser.state().items()}

    def restore(self, state: Mapping[str, Array]) -> None:
        inner = {k.removeprefix("optimiser/"): v for k, v in state.items() if k.startswith("optimiser/")}
        sums = checked_state({k: v for k, v in state.items() if not k.startswith("optimiser/")}, like=self._memory())
        steps = int(sums["steps"])
        for name in self._totals:
            if (sums[f"settled/{name}"] > steps).any():
                raise IndexRangeError(f"settled/{name} in the state of the averages: expected at most {steps} steps")
        self.optimiser.restore(inner)
        self.steps = steps
        self._totals = {name: Totals(sums[f"total/{name}"], sums[f"settled/{name}"], 0) for name in self._totals}

    def _memory(self) -> State:
        sums = {f"total/{name}": totals.total for name, totals in self._totals.items()}
        settled = {f"settled/{name}": totals.settled for name, totals in self._totals.items()}
        return {"steps": np.array(self.steps), **sums, **settled}

    def _totals_of(self, name: str) -> Totals:
        """What a step brings up to the present before it changes the parameter."""
        totals = self._totals[name]
        totals.steps = self.steps
        return totals
