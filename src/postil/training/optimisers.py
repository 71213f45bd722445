"""Optimisers: one small class each. A step on sparse gradients costs what the touched rows cost, never the table.

An optimiser is made with the named parameters it may change. ``step(gradients, rate)`` changes their values in place;
``state()`` returns everything it has accumulated as plain arrays and ``restore`` takes it back exactly.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from types import EllipsisType
from typing import Any, NamedTuple, TypeAlias, final

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.errors import ConfigurationError, DtypeError, IndexRangeError, NumericalError, ShapeError
from postil.graph import Gradient, Gradients, Node, Parameter, RowGradient
from postil.kernels import AdamKernel, AdamUpdate, ComingRows, Crew, Totals

State: TypeAlias = dict[str, Array]
# What a gradient touches of an array: all of it (the index ...), or some rows.
Part: TypeAlias = EllipsisType | Array


Averages: TypeAlias = Callable[[str], Totals]
FusedRun: TypeAlias = Callable[[AdamKernel], bool]
FusedGradients: TypeAlias = Mapping[Node, Gradient | ComingRows]


class Change(NamedTuple):
    """What a step does to one parameter."""

    part: Part
    g: Array
    rate: float
    scale: float
    """A factor of g."""
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


def _rows_and_values(gradient: Gradient | ComingRows) -> tuple[Array | None, Array, Any]:
    """Rows (None: all), values, and where it is going to be written how many of them there are."""
    if isinstance(gradient, ComingRows):
        return gradient.rows, gradient.values, gradient.found
    part, g = part_and_values(gradient)
    return (part if isinstance(part, np.ndarray) else None), g, None


def one_step(crew: Crew) -> FusedRun:
    """How a crew takes a step of Adam by itself."""

    def run(adam: AdamKernel) -> bool:
        crew.post([])
        return crew.join(adam).is_stepped

    return run


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


def _check_fits(what: str, name: str, given: Gradient | ComingRows, like: Parameter | Array) -> None:
    """An array of another shape would be stretched silently, one of another type converted."""
    if given.shape != like.shape:
        raise ShapeError(what.format(name), expected=like.shape, got=given.shape)
    if given.dtype != like.dtype:
        raise DtypeError(what.format(name), expected=like.dtype, got=given.dtype)


def _described(parameters: object) -> str:
    if isinstance(parameters, Mapping):
        return f"a dict with {sorted({type(value).__name__ for value in parameters.values()})}"
    return f"a {type(parameters).__name__}"


class Optimiser(ABC):
    """Base of all optimisers: finds the names of the parameters and keeps named arrays of state for them."""

    def __init__(self, parameters: Mapping[str, Parameter]) -> None:
        if not (isinstance(parameters, Mapping) and all(isinstance(p, Parameter) for p in parameters.values())):
            raise ConfigurationError(
                "parameters of an optimiser",
                expected="a dict from names to parameters, such as layer.parameters()",
                got=_described(parameters),
            )
        self.parameters = dict(parameters)
        self._names: dict[Node, str] = {parameter: name for name, parameter in parameters.items()}
        self._memory: State = {}

    @abstractmethod
    def _update(self, name: str, parameter: Parameter, change: Change) -> None:
        """θ[part] -= rate · change, and the memory with it. The gradient itself is not changed."""

    def step(self, gradients: Gradients, rate: float, *, scale: float = 1.0, averages: Averages | None = None) -> None:
        """Update every parameter that has a gradient, by the rate times its pace. Others do not change.

        ``scale`` multiplies all gradients. ``averages`` returns the totals of a parameter by name: its value is added
        to them before it changes.
        """
        if not 0 <= rate < np.inf:
            raise ConfigurationError("learning rate", expected="a finite number, 0 or more", got=rate)
        for node, gradient in gradients.items():
            name = self._names.get(node)
            if name is None:
                continue  # an input, or a parameter that is kept fixed
            parameter = self.parameters[name]
            _check_fits("gradient of {}", name, gradient, parameter)
            totals = averages(name) if averages is not None else None
            self._update(name, parameter, Change(*part_and_values(gradient), rate * parameter.pace, scale, totals))

    def fused_step(
        self,
        gradients: FusedGradients,
        rate: float,
        *,
        clip: float,
        run: FusedRun,
        averages: Averages | None = None,
    ) -> bool:
        """Clip all gradients to the norm ``clip`` and step, on several threads. False: nothing is done, none is there.

        It changes the parameters as ``clipping_factor`` and ``step`` do, up to the rounding of the norm. ``run`` has
        the step done: ``one_step``, or what computes gradients that are still coming first.
        """
        return False

    def state(self) -> State:
        """Copies of all state arrays, by ``kind/parameter`` name."""
        return {key: array.copy() for key, array in self._memory.items()}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Continue exactly where ``state()`` was taken."""
        memory = checked_state(state, like=self._memory)
        for key, array in memory.items():
            if key.startswith("square") and array.size and array.min() < 0:
                raise NumericalError(f"{key} in the state of an optimiser has a negative sum of squares")
        self._memory = memory

    def _remember(self, kind: str, shape_of: Callable[[Parameter], tuple[int, ...]], dtype: type | None = None) -> None:
        """One array of zeros per parameter. The system hands out zero pages lazily: untouched rows take no memory."""
        for name, parameter in self.parameters.items():
            self._memory[f"{kind}/{name}"] = np.zeros(shape_of(parameter), dtype or parameter.dtype)


@final
class SGD(Optimiser):
    """Stochastic gradient descent (C1), with the rate divided by the fan-in (A11), its root (B8), or by nothing."""

    DIVISORS: dict[str, Callable[[int], float]] = {
        "nothing": lambda fan_in: 1.0,
        "fan-in": lambda fan_in: float(fan_in),
        "root-fan-in": lambda fan_in: float(np.sqrt(fan_in)),
    }

    def __init__(self, parameters: Mapping[str, Parameter], *, divide_by: str = "nothing") -> None:
        super().__init__(parameters)
        if divide_by not in self.DIVISORS:
            raise ConfigurationError("divide_by", expected=" or ".join(self.DIVISORS), got=repr(divide_by))
        self._divisor = self.DIVISORS[divide_by]

    def _update(self, name: str, parameter: Parameter, change: Change) -> None:
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

    def _update(self, name: str, parameter: Parameter, change: Change) -> None:
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

    def fused_step(
        self,
        gradients: FusedGradients,
        rate: float,
        *,
        clip: float,
        run: FusedRun,
        averages: Averages | None = None,
    ) -> bool:
        if self._kernel is None or not 0 <= rate < np.inf or not clip > 0 or not gradients.keys() <= self._names.keys():
            return False
        updates = []
        for node, gradient in gradients.items():
            name = self._names[node]
            parameter, memory = self.parameters[name], self._memory_of(name, self.parameters[name])
            _check_fits("gradient of {}", name, gradient, parameter)
            rows, g, found = _rows_and_values(gradient)
            totals = averages(name) if averages is not None else None
            updates.append(AdamUpdate(memory, rows, found, g, rate * parameter.pace, totals))
        return self._kernel.enter(updates, clip) and run(self._kernel)

    def _memory_of(self, name: str, parameter: Parameter) -> kernels.AdamMemory:
        memory = self._of_parameter.get(name)
        if memory is None or memory.value is not parameter.value:  # the value may be another array than it was
            kept = (self._memory[f"{kind}/{name}"] for kind in ("mean", "square", "touches"))
            memory = self._of_parameter[name] = kernels.AdamMemory(parameter.value, *kept)
        return memory

    def _update(self, name: str, parameter: Parameter, change: Change) -> None:
        memory = self._memory_of(name, parameter)
        settings = kernels.AdamSettings(change.rate, self.beta1, self.beta2, self.epsilon, change.scale)
        kernels.adam_step(memory, change.part, change.g, settings, change.totals)


OPTIMISERS: dict[str, Callable[[Mapping[str, Parameter]], Optimiser]] = {
    "adam": Adam,
    "adagrad": AdaGrad,
    "sgd": SGD,
    "sgd-fan-in": partial(SGD, divide_by="fan-in"),
    "sgd-root-fan-in": partial(SGD, divide_by="root-fan-in"),
}
"""Name -> how to build it; the choices of the setting ``optimiser``."""
