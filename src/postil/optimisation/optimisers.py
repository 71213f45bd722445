"""Optimisers: one small class each. A step on sparse gradients costs what the touched rows cost, never the table.

An optimiser is made with the named parameters it may change. ``step(gradients, rate)`` changes their values in place;
``state()`` returns everything it has accumulated as plain arrays and ``restore`` takes it back exactly.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import EllipsisType
from typing import NamedTuple, TypeAlias, final

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.errors import ConfigurationError, DtypeError, IndexRangeError, NumericalError, ShapeError
from postil.graph import Gradient, Gradients, Node, Parameter, RowGradient
from postil.kernels import AdamUpdate, Crew, Totals

State: TypeAlias = dict[str, Array]
# What a gradient touches of an array: all of it (the index ...), or some rows.
Part: TypeAlias = EllipsisType | Array


class ParameterChange(NamedTuple):
    """The update of one parameter in one step; ``scale`` is a factor of g."""

    part: Part
    g: Array
    rate: float
    scale: float
    totals: Totals | None

    def begin(self, value: Array) -> Array:
        """Settle the totals; the gradient."""
        if self.totals is not None:
            kernels.settle_rows(self.totals.total, self.totals.settled, value, self.part, self.totals.steps)
        return self.g if self.scale == 1 else self.g * self.g.dtype.type(self.scale)


def part_and_values(gradient: Array | RowGradient) -> tuple[Part, Array]:
    """Where the gradient acts, and its values there."""
    if isinstance(gradient, RowGradient):
        return gradient.rows, gradient.values
    return ..., gradient


MOST_STEPS = 1 << 53
"""Counters in states are at most this; it is never reached, and far from where integers overflow."""


def checked_state(
    state: Mapping[str, Array], like: Mapping[str, Array | Parameter], what: str = "state of an optimiser"
) -> State:
    """Copies of the arrays of ``state``, if they fit: everything that a checkpoint holds passes through here.

    Their names, shapes and types must be those of ``like``; numbers must be finite, and counters possible.
    """
    if state.keys() != like.keys():
        missing, others = (sorted(a.keys() - b.keys()) for a, b in ((like, state), (state, like)))
        got = f"{_listed(missing)} missing" if missing else f"{_listed(others)} as well"
        got = got if state else "nothing"
        raise ConfigurationError(what, expected=_listed(sorted(like)), got=got)
    for key, array in state.items():
        _check_fits(f"{{}} in the {what}", key, array, like[key])
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise NumericalError(f"{key} in the {what} has numbers that are not finite")
        if array.dtype.kind in "iu" and array.size and not 0 <= array.min() <= array.max() <= MOST_STEPS:
            raise IndexRangeError(f"{key} in the {what} has an impossible number")
    return {key: np.array(array) for key, array in state.items()}


def _listed(names: list[str]) -> str:
    shown = ", ".join(name[:80] for name in names[:10])
    return f"{shown} and {len(names) - 10} others" if len(names) > 10 else shown or "nothing"


def _check_fits(what: str, name: str, given: Gradient, like: Parameter | Array) -> None:
    """An array of another shape would be stretched silently, one of another type converted."""
    if given.shape != like.shape:
        raise ShapeError(what.format(name), expected=like.shape, got=given.shape)
    if given.dtype != like.dtype:
        raise DtypeError(what.format(name), expected=like.dtype, got=given.dtype)


class Optimiser(ABC):
    """Base of all optimisers: finds the names of the parameters and keeps named arrays of state for them."""

    def __init__(self, parameters: Mapping[str, Parameter]) -> None:
        if not (isinstance(parameters, Mapping) and all(isinstance(p, Parameter) for p in parameters.values())):
            got, expected = type(parameters).__name__, "a dict from names to parameters, such as layer.parameters()"
            if isinstance(parameters, Mapping):
                got = f"dict with {sorted({type(value).__name__ for value in parameters.values()})}"
            raise ConfigurationError("parameters of an optimiser", expected=expected, got=f"a {got}")
        self.parameters = dict(parameters)
        self._names: dict[Node, str] = {parameter: name for name, parameter in parameters.items()}
        self._memory: State = {}

    @abstractmethod
    def _update(self, name: str, parameter: Parameter, change: ParameterChange) -> None:
        """θ[part] -= rate · change, and the memory with it. The gradient itself is not changed.

        ``change.begin`` comes first: it adds the old values to the averages.
        """

    def step(
        self,
        gradients: Gradients,
        rate: float,
        *,
        clip: float | None = None,
        averages: Mapping[str, Totals] | None = None,
        crew: Crew | None = None,
    ) -> None:
        """Update every parameter that has a gradient, by the rate times its pace. Others do not change.

        With ``clip`` all gradients are scaled down together to that norm. ``averages`` are totals by the names of
        parameters: each value is added to its total before it changes. The threads of a ``crew`` share the work.
        """
        if not 0 <= rate < np.inf:
            raise ConfigurationError("learning rate", expected="a finite number, 0 or more", got=rate)
        # Others are inputs, or parameters that are kept fixed.
        learnt = {self._names[node]: gradient for node, gradient in gradients.items() if node in self._names}
        for name, gradient in learnt.items():
            _check_fits("gradient of {}", name, gradient, self.parameters[name])
        totals, scale = averages or {}, 1.0
        if clip is not None:
            is_whole = clip > 0 and len(learnt) == len(gradients)
            if crew is not None and is_whole and self._step_together(learnt, rate, clip, totals, crew):
                return
            scale, _ = clipping_factor(gradients, clip)
        for name, gradient in learnt.items():
            parameter = self.parameters[name]
            change = ParameterChange(*part_and_values(gradient), rate * parameter.pace, scale, totals.get(name))
            self._update(name, parameter, change)

    def _step_together(
        self, gradients: Mapping[str, Gradient], rate: float, clip: float, totals: Mapping[str, Totals], crew: Crew
    ) -> bool:
        """Clip and step in one call of a kernel, up to the rounding of the norm. False: nothing is changed."""
        return False

    def state(self) -> State:
        """Copies of all state arrays, by ``kind/parameter`` name."""
        return {key: array.copy() for key, array in self._memory.items()}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Continue exactly where ``state()`` was taken."""
        memory = checked_state(state, like=self._memory)
        for key, array in memory.items():
            if key.startswith("square") and array.min(initial=0) < 0:
                raise NumericalError(f"{key} in the state of an optimiser has a negative sum of squares")
        self._memory = memory

    def _remember(self, kind: str, shape_of: Callable[[Parameter], tuple[int, ...]], dtype: type | None = None) -> None:
        """One array of zeros per parameter. The system hands out zero pages lazily: untouched rows take no memory."""
        for name, parameter in self.parameters.items():
            self._memory[f"{kind}/{name}"] = np.zeros(shape_of(parameter), dtype or parameter.dtype)


@final
class SGD(Optimiser):
    """Stochastic gradient descent (C1), with the rate divided by the fan-in (A11), its root (B8), or by nothing."""

    DIVISORS: dict[str, Callable[[int], float]] = {"nothing": lambda _: 1.0, "fan-in": float, "root-fan-in": math.sqrt}

    def __init__(self, parameters: Mapping[str, Parameter], *, divide_by: str = "nothing") -> None:
        super().__init__(parameters)
        if divide_by not in self.DIVISORS:
            raise ConfigurationError("divide_by", expected=" or ".join(self.DIVISORS), got=repr(divide_by))
        self._divisor = self.DIVISORS[divide_by]

    def _update(self, name: str, parameter: Parameter, change: ParameterChange) -> None:
        g, divisor = change.begin(parameter.value), self._divisor(parameter.fan_in)
        divided = g if divisor == 1 else g / parameter.dtype.type(divisor)
        parameter.value[change.part] -= parameter.dtype.type(change.rate) * divided


@final
class AdaGrad(Optimiser):
    """B9: every entry has its own rate, which decreases with its past gradients. The 1e-8 is inside the root."""

    EPSILON = 1e-8

    def __init__(self, parameters: Mapping[str, Parameter]) -> None:
        super().__init__(parameters)
        self._remember("squares", lambda p: p.shape)

    def _update(self, name: str, parameter: Parameter, change: ParameterChange) -> None:
        g, squares = change.begin(parameter.value), self._memory[f"squares/{name}"]
        kernels.adagrad_step(parameter.value, squares, change.part, g, change.rate, self.EPSILON)


@final
class Adam(Optimiser):
    """Adam with lazy rows: each row counts its own steps, and only those in which it has a gradient.

    The moments of rows without a gradient do not decay, and the bias correction uses the row's own count. For dense
    gradients, this is the usual Adam.
    """

    def __init__(
        self, parameters: Mapping[str, Parameter], *, beta1: float = 0.9, beta2: float = 0.999, epsilon: float = 1e-8
    ) -> None:
        super().__init__(parameters)
        for name, beta in (("beta1", beta1), ("beta2", beta2)):
            if not 0 <= beta < 1:
                raise ConfigurationError(name, expected="at least 0 and below 1", got=beta)
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon
        self._of_parameter: dict[str, kernels.AdamMemory] = {}
        self._kernel = kernels.adam_kernel(beta1, beta2, epsilon)
        self._remember("mean", lambda p: p.shape)
        self._remember("square", lambda p: p.shape)
        self._remember("touches", lambda p: p.shape[:1] + (1,) * (len(p.shape) - 1), np.int64)

    def restore(self, state: Mapping[str, Array]) -> None:
        super().restore(state)
        self._of_parameter.clear()

    def _step_together(
        self, gradients: Mapping[str, Gradient], rate: float, clip: float, totals: Mapping[str, Totals], crew: Crew
    ) -> bool:
        if self._kernel is None:
            return False
        updates = []
        for name, gradient in gradients.items():
            parameter, (part, g) = self.parameters[name], part_and_values(gradient)
            rows = part if isinstance(part, np.ndarray) else None
            memory = self._memory_of(name, parameter)
            updates.append(AdamUpdate(memory, totals.get(name), rows, g, rate * parameter.pace))
        return self._kernel.enter(updates, clip) and crew.step(self._kernel)

    def _memory_of(self, name: str, parameter: Parameter) -> kernels.AdamMemory:
        memory = self._of_parameter.get(name)
        if memory is None or memory.value is not parameter.value:  # the value may be another array than it was
            kept = (self._memory[f"{kind}/{name}"] for kind in ("mean", "square", "touches"))
            memory = self._of_parameter[name] = kernels.AdamMemory(parameter.value, *kept)
        return memory

    def _update(self, name: str, parameter: Parameter, change: ParameterChange) -> None:
        settings = kernels.AdamSettings(change.rate, self.beta1, self.beta2, self.epsilon, change.scale)
        kernels.adam_step(self._memory_of(name, parameter), change.part, change.g, settings, change.totals)


SGDByFanIn = partial(SGD, divide_by="fan-in")
SGDByRootFanIn = partial(SGD, divide_by="root-fan-in")


# ------------------------------------------------------------------------------------------------ clipping


def gradient_norm(gradients: Gradients) -> float:
    """The Euclidean norm of all gradients taken as one long vector."""
    return math.sqrt(sum(kernels.sum_of_squares(part_and_values(gradient)[1]) for gradient in gradients.values()))


def clipping_factor(gradients: Gradients, limit: float) -> tuple[float, float]:
    """The factor (at most 1) that brings the norm of all gradients down to ``limit``; and the norm before."""
    if not limit > 0:
        raise ConfigurationError("limit of the gradient norm", expected="a positive number", got=limit)
    norm = gradient_norm(gradients)
    if not np.isfinite(norm):
        names = ", ".join(node.name for node, g in gradients.items() if not np.isfinite(part_and_values(g)[1]).all())
        where = names or "their sum"
        raise NumericalError("a gradient is not finite", expected="finite numbers", got=norm, where=where)
    return min(1.0, limit / max(norm, limit)), norm


# ------------------------------------------------------------------------------------------------ averaged parameters


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

    def step(self, gradients: Gradients, rate: float, *, clip: float | None = None, crew: Crew | None = None) -> None:
        """See ``Optimiser.step``."""
        for totals in self._totals.values():
            totals.steps = self.steps
        self.optimiser.step(gradients, rate, clip=clip, averages=self._totals, crew=crew)
        self.steps += 1

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

    def means(self) -> State:
        """``mean`` of every parameter."""
        return {name: self.mean(name) for name in self.optimiser.parameters}

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Inside the block, the parameters have their mean values; afterwards, their own again."""
        values = {name: parameter.value for name, parameter in self.optimiser.parameters.items()}
        for name, mean in self.means().items():
            self.optimiser.parameters[name].value = mean
        try:
            yield
        finally:
            for name, parameter in self.optimiser.parameters.items():
                parameter.value = values[name]

    def state(self) -> State:
        own = {key: array.copy() for key, array in self._memory().items()}
        return own | {f"optimiser/{key}": array for key, array in self.optimiser.state().items()}

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


# ------------------------------------------------------------------------------------------------------------ schedules
# The learning rate as a function of the progress of training. The unit of time t is the caller's: the number of the
# step, or the share of the training that is done, 0 to 1. ``tau``, ``warm_up`` and ``length`` are in the same unit.
# Estimators count in shares, because under a time budget nobody knows how many steps there will be.


Schedule: TypeAlias = Callable[[float], float]
LOWEST_WARM_UP = 0.01  # of the rate: a rate of 0 would waste the first step


def constant(t: float, *, rate: float) -> float:
    """The same rate at any time (A11: fixed during training)."""
    return rate


def inverse_decay(t: float, *, rate: float, tau: float) -> float:
    """B8: α(t) = α0 τ / max(t, τ). Constant until τ, then decreasing as 1/t."""
    return rate * tau / max(t, tau)


def warm_up_and_decay(
    t: float, *, rate: float, warm_up: float = 0.0, final_share: float = 0.0, length: float = 1.0
) -> float:
    """Linear increase to ``rate`` until ``warm_up``, then linear decrease to ``final_share`` of it at ``length``.

    With ``final_share`` 0 a step at the very end has the rate 0 and changes nothing.
    """
    if t < warm_up:
        return rate * max(t / warm_up, LOWEST_WARM_UP)
    done = min((t - warm_up) / max(length - warm_up, 1e-9), 1.0)
    return rate * (1 - done * (1 - final_share))
