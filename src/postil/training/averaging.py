"""Averaged parameters (averaged SGD): the mean of all values a parameter had, exact also for sparse rows."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import final

import numpy as np

from postil.arrays import Array
from postil.graph import Gradients
from postil.kernels import Totals
from postil.training.optimisers import Optimiser, State, checked_state


@final
class Averaged:
    """An optimiser around which the mean of θ_1 … θ_T, the values after each step, is kept.

    A row that a step does not touch keeps its value, so its share of the sum is settled only when it is touched next:
    before the change, ``total += (steps it stood still) · θ``. A step costs what the touched rows cost.
    """

    def __init__(self, optimiser: Optimiser) -> None:
        self.optimiser = optimiser
        self.steps = 0
        self._total = {name: np.zeros(p.shape, np.float64) for name, p in optimiser.parameters.items()}
        # Up to which step the total of a row is settled; a parameter without rows is one row.
        self._settled = {name: np.zeros(p.shape[:1], np.int64) for name, p in optimiser.parameters.items()}

    def restart(self) -> None:
        """Forget what came before: the mean is over the steps from now on."""
        self.steps = 0
        for name, parameter in self.optimiser.parameters.items():
            self._total[name] = np.zeros(parameter.shape, np.float64)
            self._settled[name] = np.zeros(parameter.shape[:1], np.int64)

    def step(self, gradients: Gradients, rate: float, *, scale: float = 1.0) -> None:
        self.optimiser.step(gradients, rate, scale=scale, averages=self._totals_of)
        self.steps += 1

    def mean(self, name: str) -> Array:
        """The mean of parameter ``name`` over all steps so far, in the parameter's own float type."""
        parameter = self.optimiser.parameters[name]
        if self.steps == 0:
            return parameter.value.copy()
        still: Array = self.steps - self._settled[name]
        still = still.reshape(still.shape + (1,) * (parameter.ndim - still.ndim))
        total = self._total[name] + still * parameter.value
        return np.asarray(total / self.steps).astype(parameter.dtype)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Inside the block the parameters have their mean values; afterwards their own again."""
        own = {name: parameter.value for name, parameter in self.optimiser.parameters.items()}
        for name, parameter in self.optimiser.parameters.items():
            parameter.value = self.mean(name)
        try:
            yield
        finally:
            for name, parameter in self.optimiser.parameters.items():
                parameter.value = own[name]

    def state(self) -> State:
        own = {key: array.copy() for key, array in self._memory().items()}
        return own | {f"optimiser/{key}": array for key, array in self.optimiser.state().items()}

    def restore(self, state: Mapping[str, Array]) -> None:
        inner = {k.removeprefix("optimiser/"): v for k, v in state.items() if k.startswith("optimiser/")}
        own = checked_state({k: v for k, v in state.items() if not k.startswith("optimiser/")}, like=self._memory())
        self.optimiser.restore(inner)
        self.steps = int(own["steps"])
        self._total = {name: own[f"total/{name}"] for name in self._total}
        self._settled = {name: own[f"settled/{name}"] for name in self._settled}

    def _memory(self) -> State:
        totals = {f"total/{name}": array for name, array in self._total.items()}
        settled = {f"settled/{name}": array for name, array in self._settled.items()}
        return {"steps": np.array(self.steps), **totals, **settled}

    def _totals_of(self, name: str) -> Totals:
        """What a step brings up to the present before it changes the parameter."""
        return Totals(self._total[name], self._settled[name], self.steps)
