"""Gradient checks by central differences in float64 (B4), for anything that is made of nodes.

    postil.gradcheck.check(lambda W, x: tanh(W @ x), W, x)      a function of nodes
    postil.gradcheck.check(layer, X)                            a layer or an objective, with its parameters
    postil.gradcheck.check(model, batch)                        a model: something with parameters() and loss(batch)

``check`` raises GradientError and names the parameter, the index and both values; ``examine`` returns the report.

The numeric slope at an entry is the two-sided formula D(ε) = (f(θ + ε) - f(θ - ε)) / 2ε, not the one-sided snippet of
the documents; (4 D(ε) - D(2ε)) / 3 of it removes the error of order ε², so that ε can be large enough for rounding not
to matter. It grows with the value, as max(1, |θ|), along a direction as max(1, root mean square of θ). The error is
|a - n| / max(|a|, |n|, 1e-3 max|n|, 1e-8), max|n| over the whole parameter: an entry that is tiny compared with the
others is not judged by its rounding. Small arrays are checked entry by entry; large ones at random entries and along
random directions. If the interval crosses a kink (hardtanh, ReLU, max, hinge) a smaller ε is tried; an entry that still
crosses is left out and counted, and more than 1 % left out is a failure.

Slopes that are all 0, analytic and numeric, test nothing: under a hinge whose cost is 0, every pullback agrees. Such a
parameter or input fails, unless ``expect_zero`` names it.
"""

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from postil.arrays import Array, Ragged, checked_finite, sum_of_squares
from postil.errors import GradientError
from postil.graph import Input, Node, Parameter, dense, gradients
from postil.graph.node import recorded_branches
from postil.threads import one_blas_thread

TOLERANCE = 1e-6
EPSILONS = (1e-4, 1e-5)  # the second where the first crosses a kink
LARGEST_SHARE_LEFT_OUT = 0.01
SMALLEST_SLOPE = 1e-8  # smaller slopes are compared as if they were this large
ROUNDING = 16 * float(np.finfo(np.float64).eps)

# The value of the function and the branches it took, after its leaves were changed in place.
_Evaluate: TypeAlias = Callable[[], tuple[float, list[Array]]]


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How many slopes are compared for each parameter and input."""

    every_entry_up_to: int = 400
    """Arrays of at most this many numbers are checked at every entry, larger ones by the two fields below."""
    entries: int = 60
    directions: int = 40
    """Random directions; each has a component along every entry, so that one wrong entry shows in all of them."""


@dataclass(frozen=True, kw_only=True)
class Disagreement:
    """Where the analytic and the numeric gradient differ most. ``index`` is a text: an index or a direction."""

    index: str
    analytic: float
    numeric: float


@dataclass(frozen=True, kw_only=True)
class Entry:
    """The outcome for one parameter or input."""

    name: str
    shape: tuple[int, ...]
    checked: int
    left_out: int
    worst_error: float
    worst: Disagreement | None
    largest: float
    """The largest slope of all that were compared, analytic or numeric."""
    expects_zero: bool = False

    def is_zero(self, tolerance: float) -> bool:
        """Whether every slope is too small to tell the gradient from 0: nothing was tested."""
        return self.largest <= tolerance * SMALLEST_SLOPE

    def verdict(self, tolerance: float) -> str:
        """``ok``, ``WRONG`` or ``NOT TESTED``."""
        if self.failure(tolerance) is None:
            return "ok"
        return "NOT TESTED" if self.is_zero(tolerance) and not self.expects_zero else "WRONG"

    def failure(self, tolerance: float) -> str | None:
        """Describe what is wrong with this entry; None if nothing is."""
        gradient = f"gradient of {self.name} {self.shape}"
        if self.expects_zero and not self.is_zero(tolerance):
            return f"{gradient} is not 0 as expected: the largest slope is {self.largest:.10g}"
        if self.worst is not None and not self.worst_error <= tolerance:
            values = f"analytic {self.worst.analytic:.10g}, numeric {self.worst.numeric:.10g}"
            return f"{gradient} is wrong at {self.worst.index}: {values}, error {self.worst_error:.2g}"
        if self.left_out > LARGEST_SHARE_LEFT_OUT * (self.checked + self.left_out):
            tried = self.checked + self.left_out
            return f"{self.left_out} of {tried} values of {self.name} stand at a kink: choose other inputs"
        if self.is_zero(tolerance) and not self.expects_zero:
            values = f"all {self.checked} slopes are 0" if self.checked else "it is empty"
            advice = f"choose other inputs, or pass expect_zero=[{self.name!r}] if its gradient is meant to be 0"
            return f"nothing was tested at {self.name} {self.shape}, {values}: {advice}"
        return None


@dataclass(frozen=True, kw_only=True)
class GradientReport:
    """The outcome of one check."""

    name: str
    entries: list[Entry]
    tolerance: float

    @property
    def passed(self) -> bool:
        return not self.failures

    @property
    def failures(self) -> list[str]:
        return [failure for entry in self.entries if (failure := entry.failure(self.tolerance)) is not None]

    @property
    def worst_error(self) -> float:
        return max((entry.worst_error for entry in self.entries), default=0.0)

    @property
    def checked(self) -> int:
        return sum(entry.checked for entry in self.entries)

    @property
    def left_out(self) -> int:
        return sum(entry.left_out for entry in self.entries)

    def __str__(self) -> str:
        """The outcome per parameter and input."""
        width = max([len(entry.name) for entry in self.entries] + [len(self.name), 9])
        lines = [f"{self.name:<{width}}  {'shape':>12}  {'checked':>7}  {'skipped':>8}  worst error"]
        for e in self.entries:
            shape = "×".join(map(str, e.shape)) or "number"
            counts = f"{shape:>12}  {e.checked:>7}  {e.left_out:>8}  {e.worst_error:11.1e}"
            lines.append(f"{e.name:<{width}}  {counts}  {e.verdict(self.tolerance)}")
        return "\n".join(lines)


def check(target: Any, *inputs: Any, **options: Any) -> GradientReport:
    """Like ``examine``, but raise GradientError unless everything agrees."""
    report = examine(target, *inputs, **options)
    if not report.passed:
        raise GradientError("; ".join(report.failures), where=report.name)
    return report


def examine(
    target: Any,
    *inputs: Any,
    parameters: Mapping[str, Parameter] | None = None,
    name: str | None = None,
    rng: np.random.Generator | None = None,
    epsilons: tuple[float, ...] = EPSILONS,
    tolerance: float = TOLERANCE,
    sampling: Sampling | None = None,
    expect_zero: Collection[str] = (),
) -> GradientReport:
    """Compare the gradients of ``target`` with central differences.

    ``target`` is a function of nodes that returns a node, a layer, an objective, or a model with ``loss(*inputs)``.
    ``inputs`` are its arguments: float arrays and ragged batches of floats become input nodes and are checked; those
    inside tuples and lists become float64 and are held fixed; anything else (integers, strings, …) is passed on as it
    is. ``parameters`` default to ``target.parameters()``. Parameters are converted to float64 for the check and
    restored afterwards.

    ``sampling`` says how many slopes are compared. ``expect_zero`` names the parameters and inputs (``"input 0"``)
    whose gradient is meant to be 0; any other one fails if all its slopes are 0, because then nothing was tested.

    A result that is not a single number is reduced to a sum with fixed random weights. A target with noise must draw
    the same noise at every call: ``lambda x: layer(x, rng=np.random.default_rng(0))``.
    """
    function = target.loss if hasattr(target, "loss") else target
    if parameters is None:
        parameters = target.parameters() if hasattr(target, "parameters") else {}
    # Not seed 0: weights equal to inputs that a user drew from default_rng(0) would make a special case of the check.
    rng = rng or np.random.default_rng(0x504F5354)
    title = str(name or getattr(target, "name", None) or getattr(target, "__name__", None) or type(target).__name__)
    with one_blas_thread(), _in_float64(parameters.values()):  # thousands of small products: threads would only wait
        arguments: list[Any] = []
        for i, value in enumerate(inputs):
            is_array = isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f")
            if isinstance(value, Node):
                arguments.append(Input(value.value.astype(np.float64), value.name or f"input {i}", value.offsets))
            elif isinstance(value, Ragged) and value.data.dtype.kind == "f":
                arguments.append(Input(value.data.astype(np.float64), f"input {i}", value.offsets))
            else:
                arguments.append(Input(np.array(value, np.float64), f"input {i}") if is_array else _lifted(value))
        leaves: dict[str, Node] = {}  # under unique names: of two with the same name both are checked
        for path, leaf in [(a.name, a) for a in arguments if isinstance(a, Input)] + list(parameters.items()):
            names = itertools.chain([path], (f"{path} ({i})" for i in itertools.count(2)))
            leaves[next(one for one in names if one not in leaves)] = leaf
        if not leaves:
            raise GradientError("nothing to check", expected="float inputs or parameters", got="none", where=title)
        if unknown := [named for named in expect_zero if named not in leaves]:
            raise GradientError("expect_zero", expected=f"names among {list(leaves)}", got=unknown, where=title)
        # The function as one number: its value times fixed weights, added up.
        first = checked_finite(function(*arguments).value, where="the function under check")
        weights: Array = np.ones_like(first) if first.size == 1 else rng.normal(size=first.shape)

        def evaluate() -> tuple[float, list[Array]]:
            with recorded_branches() as branches:
                value = function(*arguments).value
            return float(np.vdot(weights, value)), branches

        analytic = gradients(function(*arguments), leaves.values(), seed=weights)
        entries = []
        for path, leaf in leaves.items():
            probes = _probes(leaf.value, sampling or Sampling(), rng)
            slopes = dense(analytic[leaf])
            entries.append(_examined(path, leaf.value, slopes, evaluate, epsilons, probes, path in expect_zero))
    return GradientReport(name=title, entries=entries, tolerance=tolerance)


def _examined(
    name: str,
    value: Array,
    analytic: Array,
    evaluate: _Evaluate,
    epsilons: tuple[float, ...],
    probes: Iterable[tuple[str, "_Direction"]],
    expects_zero: bool,
) -> Entry:
    """Check one leaf. ``value`` is changed in place and set back."""
    found: list[Disagreement] = []
    left_out = 0
    for index, direction in probes:
        # How far to move for a value of this size: compared with 1e6, a step of 1e-4 would drown in rounding.
        if isinstance(direction, tuple):
            size, slope = abs(value[direction]), float(analytic[direction])
        else:
            size, slope = np.sqrt(sum_of_squares(value) / value.size), float(np.vdot(analytic, direction))
        scale = float(max(1.0, size))
        slopes = (_slope(value, direction, epsilon * scale, evaluate) for epsilon in epsilons)
        numeric = next((slope for slope in slopes if slope is not None), None)
        if numeric is None:
            left_out += 1
        else:
            found.append(Disagreement(index=index, analytic=slope, numeric=numeric))
    largest = max((abs(d.numeric) for d in found), default=0.0)
    least = 1e-3 * largest, SMALLEST_SLOPE
    errors = [abs(d.analytic - d.numeric) / max(abs(d.analytic), abs(d.numeric), *least) for d in found]
    # NaN counts as the worst error of all.
    worst = max(range(len(found)), key=lambda i: np.nan_to_num(errors[i], nan=np.inf), default=None)
    return Entry(
        name=name,
        shape=value.shape,
        checked=len(found),
        left_out=left_out,
        worst_error=0.0 if worst is None else errors[worst],
        worst=None if worst is None else found[worst],
        largest=float(np.max([largest, *(abs(d.analytic) for d in found)])),  # NaN if one of them is
        expects_zero=expects_zero,
    )


_Direction: TypeAlias = tuple[int, ...] | Array


def _probes(value: Array, sampling: Sampling, rng: np.random.Generator) -> Iterator[tuple[str, _Direction]]:
    """(name, direction) of every slope to compare. A direction is the index of one entry, or an array of norm 1."""
    if value.size <= sampling.every_entry_up_to:
        places = np.arange(value.size)
    else:
        places = rng.choice(value.size, min(sampling.entries, value.size), replace=False)
        for i in range(sampling.directions):
            direction = rng.normal(size=value.shape)
            yield f"random direction {i}", direction / np.linalg.norm(direction)
    for place in places:
        index = tuple(int(i) for i in np.unravel_index(place, value.shape))
        yield f"index {list(index)}", index


def _slope(value: Array, direction: _Direction, epsilon: float, evaluate: _Evaluate) -> float | None:
    """(4 D(ε) - D(2ε)) / 3, or None if a kink lies in between."""
    values: list[float] = []
    branches: list[list[Array]] = []
    before = value.copy()
    for step in (epsilon, -epsilon, 2 * epsilon, -2 * epsilon):
        if isinstance(direction, tuple):
            value[direction] += step
        else:
            value += step * direction
        try:
            f, taken = evaluate()
        finally:
            value[...] = before
        values.append(f)
        branches.append(taken)
    for others in branches[1:]:
        if len(others) != len(branches[0]) or not all(map(np.array_equal, others, branches[0])):
            return None
    near, near_below, far, far_below = values
    if max(values) - min(values) <= ROUNDING * max(map(abs, values)):
        return 0.0  # the function does not move: what is left is rounding, which ε would blow up
    return (4 * (near - near_below) / (2 * epsilon) - (far - far_below) / (4 * epsilon)) / 3


@contextmanager
def _in_float64(parameters: Any) -> Iterator[None]:
    """The parameters hold float64 copies inside the block, and their own arrays again afterwards."""
    own = [(parameter, parameter.value) for parameter in parameters]
    for parameter, value in own:
        parameter.value = value.astype(np.float64)
    try:
        yield
    finally:
        for parameter, value in own:
            parameter.value = value


def _lifted(value: Any) -> Any:
    """The same with float64 for every other float type in it, through tuples and lists."""
    if isinstance(value, tuple | list):
        make = getattr(value, "_make", type(value))  # a named tuple keeps its names
        return make(_lifted(part) for part in value)
    if isinstance(value, Ragged):
        return Ragged(_lifted(value.data), value.offsets)
    if isinstance(value, Node) and value.dtype != np.float64:  # of others the node itself counts: it may be checked
        return Input(_lifted(value.value), value.name, value.offsets)
    if isinstance(value, np.ndarray | np.generic) and value.dtype.kind == "f":
        return value.astype(np.float64)
    return value
