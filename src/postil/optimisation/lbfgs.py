"""L-BFGS and, with an L1 term, OWL-QN: minimise a smooth convex function with a few past gradients (Nocedal 1980;
Andrew and Gao 2007).

The loop, the line searches and both tests for the end are those of libLBFGS, so that a model trained here ends where
one trained by CRFsuite ends:

    converged   |g| / max(1, |x|) <= epsilon
    stopped     (f of ``period`` iterations before - f) / f < delta

From top to bottom: settings, the loop, the direction, the line searches.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias, final

import numpy as np

from postil.arrays import Array
from postil.errors import ConfigurationError

Objective = Callable[[Array], tuple[float, Array]]
"""Weights (K,) -> the value and its gradient (K,)."""

LINE_SEARCHES = ("MoreThuente", "Backtracking", "StrongBacktracking")
# Sufficient decrease, curvature, and the shortest and longest step; the width at which an interval counts as a point.
_DECREASE, _CURVATURE, _SHORTEST, _LONGEST, _WIDTH = 1e-4, 0.9, 1e-20, 1e20, 1e-16


@final
@dataclass(frozen=True, kw_only=True)
class LBFGSSettings:
    """How L-BFGS searches and when it ends."""

    c1: float = 0.0
    memories: int = 6
    epsilon: float = 1e-5
    period: int = 10
    delta: float = 1e-5
    linesearch: str = "MoreThuente"
    max_linesearch: int = 20
    max_iterations: int | None = None

    def __post_init__(self) -> None:
        if self.linesearch not in LINE_SEARCHES:
            raise ConfigurationError("linesearch", expected=" or ".join(LINE_SEARCHES), got=repr(self.linesearch))
        lowest_of = {"c1": 0, "memories": 1, "epsilon": 0, "period": 0, "delta": 0, "max_linesearch": 1}
        for name, lowest in lowest_of.items():
            if not getattr(self, name) >= lowest:
                raise ConfigurationError(name, expected=f"must be at least {lowest}", got=getattr(self, name))


@final
@dataclass(frozen=True)
class SearchPoint:
    """Where the search is: weights, value and gradient; with an L1 term ``slope`` is the pseudo-gradient."""

    x: Array
    value: float
    gradient: Array
    slope: Array


Evaluate = Callable[[Array], SearchPoint]


class Iteration(NamedTuple):
    """One iteration of the loop. ``ending`` says why it is the last one, None: it is not."""

    number: int
    point: SearchPoint
    step: float
    trials: int
    ending: str | None


# ------------------------------------------------------------------------------------------------ the loop


def minimise(objective: Objective, x: Array, settings: LBFGSSettings) -> Iterator[Iteration]:
    """Yield the iterations from ``x`` (K,) on; nothing if ``x`` is the minimum already or no step helps."""
    c1 = settings.c1

    def evaluate(x: Array) -> SearchPoint:
        """The objective plus c1 |x|_1; the pseudo-gradient is 0 where no step to either side helps."""
        value, gradient = objective(x)
        if not c1:
            return SearchPoint(x, value, gradient, gradient)
        slope = gradient + c1 * np.sign(x)
        at_zero = x == 0.0
        slope[at_zero] = np.sign(gradient[at_zero]) * np.maximum(np.abs(gradient[at_zero]) - c1, 0.0)
        return SearchPoint(x, value + c1 * float(np.abs(x).sum()), gradient, slope)

    def is_flat(point: SearchPoint) -> bool:
        return float(np.linalg.norm(point.slope)) <= settings.epsilon * max(1.0, float(np.linalg.norm(point.x)))

    point = evaluate(x)
    if is_flat(point):
        return
    search = _projected if c1 else _more_thuente if settings.linesearch == "MoreThuente" else _backtracking
    direction, step = -point.slope, 1.0 / float(np.linalg.norm(point.slope))
    memory: list[tuple[Array, Array, float]] = []  # the last steps s and changes of the gradient y, and y s
    past = [point.value]
    for number in itertools.count(1):
        if not c1 and float(point.slope @ direction) > 0:
            return
        found = search(evaluate, point, direction, step, settings)
        if found is None:
            return
        arrived, step, trials = found
        ending = None
        # 0 over 0 is not an improvement: the search ends
        gain = past[number - settings.period] - arrived.value if 0 < settings.period <= number else math.inf
        if is_flat(arrived):
            ending = "L-BFGS resulted in convergence"
        elif gain < settings.delta * arrived.value or gain == 0.0:
            ending = "L-BFGS terminated with the stopping criteria"
        elif settings.max_iterations is not None and settings.max_iterations < number + 1:
            ending = "L-BFGS terminated with the maximum number of iterations"
        yield Iteration(number, arrived, step, trials, ending)
        if ending is not None:
            return
        past.append(arrived.value)
        s, y = arrived.x - point.x, arrived.gradient - point.gradient
        memory = [*memory, (s, y, float(y @ s))][-settings.memories :]
        point, step = arrived, 1.0
        direction = _direction(memory, point.slope)
        if c1:
            direction[direction * point.slope >= 0] = 0.0  # never against the pseudo-gradient


def _direction(memory: list[tuple[Array, Array, float]], slope: Array) -> Array:
    """-H g: q = -g; back through the memory q -= α y; q scaled by ys / yy; forward again q += (α - β) s."""
    q, alphas, room = -slope, [], np.empty_like(slope)
    for s, y, ys in reversed(memory):
        alphas.append(float(s @ q) / ys)
        q -= np.multiply(y, alphas[-1], out=room)
    _, y, ys = memory[-1]
    q *= ys / float(y @ y)
    for (s, y, ys), alpha in zip(memory, reversed(alphas), strict=True):
        q += np.multiply(s, alpha - float(y @ q) / ys, out=room)
    return q


# ------------------------------------------------------------------------------------------------ line searches


# Each returns the point arrived at, the step that led there and the number of points tried; None: no better point.
Found: TypeAlias = tuple[SearchPoint, float, int] | None


def _backtracking(
    evaluate: Evaluate, start: SearchPoint, direction: Array, step: float, settings: LBFGSSettings
) -> Found:
    """Halve the step until it decreases the value enough, lengthen it while the slope is still steep (Wolfe)."""
    slope = float(start.slope @ direction)
    for trials in range(1, settings.max_linesearch + 1):
        point = evaluate(start.x + step * direction)
        here = float(point.slope @ direction)
        if point.value > start.value + step * _DECREASE * slope:
            factor = 0.5
        elif here < _CURVATURE * slope:
            factor = 2.1
        elif settings.linesearch == "StrongBacktracking" and here > -_CURVATURE * slope:
            factor = 0.5
        else:
            return point, step, trials
        if not _SHORTEST <= step <= _LONGEST:
            break
        step *= factor
    return None


def _projected(evaluate: Evaluate, start: SearchPoint, direction: Array, step: float, settings: LBFGSSettings) -> Found:
    """Halve the step; weights that would change their sign become 0 (OWL-QN)."""
    orthant = np.where(start.x == 0.0, -start.slope, start.x)
    for trials in range(1, settings.max_linesearch + 1):
        x = start.x + step * direction
        x[x * orthant <= 0.0] = 0.0
        point = evaluate(x)
        if point.value <= start.value + _DECREASE * float((x - start.x) @ start.slope):
            return point, step, trials
        if not _SHORTEST <= step <= _LONGEST:
            break
        step *= 0.5
    return None


class _Trial(NamedTuple):
    """A step along the direction, the value there and its derivative by the step."""

    step: float
    value: float
    slope: float

    def tilted(self, slope: float) -> "_Trial":
        """The same on the function minus ``slope`` times the step."""
        return _Trial(self.step, self.value - self.step * slope, self.slope - slope)


@dataclass(frozen=True)
class _Interval:
    """The best step so far, the other end of the interval, and whether a minimum must lie between them."""

    best: _Trial
    other: _Trial
    bracketed: bool = False

    @property
    def width(self) -> float:
        return abs(self.other.step - self.best.step)


def _more_thuente(
    evaluate: Evaluate, start: SearchPoint, direction: Array, step: float, settings: LBFGSSettings
) -> Found:
    """Moré and Thuente (1994): interpolate within an interval that shrinks around a step with both Wolfe conditions."""
    origin = _Trial(0.0, start.value, float(start.slope @ direction))
    enough = _DECREASE * origin.slope
    interval, widths, first_stage = _Interval(origin, origin), (2.0 * _LONGEST, _LONGEST), True
    for trials in range(1, settings.max_linesearch + 1):
        best, other = interval.best.step, interval.other.step
        low, high = sorted((best, other)) if interval.bracketed else (best, step + 4.0 * (step - best))
        step = min(max(step, _SHORTEST), _LONGEST)
        stuck = interval.bracketed and (not low < step < high or high - low <= _WIDTH * high)
        if stuck or (interval.bracketed and trials == settings.max_linesearch):
            step = interval.best.step
        point = evaluate(start.x + step * direction)
        here = _Trial(step, point.value, float(point.slope @ direction))
        target = start.value + step * enough
        if stuck or not math.isfinite(here.value):
            return None
        if here.value <= target and abs(here.slope) <= -_CURVATURE * origin.slope:
            return point, step, trials
        if step in (_SHORTEST, _LONGEST):
            return None
        first_stage = first_stage and not (here.value <= target and here.slope >= _DECREASE * origin.slope)
        tilt = enough if first_stage and target < here.value <= interval.best.value else 0.0
        try:
            interval, step = _narrowed(interval, here, low, high, tilt)
        except ZeroDivisionError:  # two trials without a difference
            return None
        if interval.bracketed:
            if interval.width >= 0.66 * widths[0]:
                step = interval.best.step + 0.5 * (interval.other.step - interval.best.step)
            widths = widths[1], interval.width
    return None


def _narrowed(interval: _Interval, here: _Trial, low: float, high: float, tilt: float) -> tuple[_Interval, float]:
    """The interval with a new trial as one of its ends, and the next step to try."""
    best, other, t = interval.best.tilted(tilt), interval.other.tilted(tilt), here.tilted(tilt)
    turns = t.slope * (1.0 if best.slope > 0 else -1.0) < 0
    step, bounded = _next_step(_Interval(best, other, interval.bracketed), t, turns, low, high)
    if best.value < t.value:
        interval = replace(interval, other=here, bracketed=True)
    else:
        far = interval.best if turns else interval.other
        interval = _Interval(here, far, interval.bracketed or turns)
    step = min(max(step, low), high)
    if interval.bracketed and bounded:
        bound = interval.best.step + 0.66 * (interval.other.step - interval.best.step)
        step = min(step, bound) if interval.best.step < interval.other.step else max(step, bound)
    return interval, step


def _next_step(interval: _Interval, t: _Trial, turns: bool, low: float, high: float) -> tuple[float, bool]:
    """The four cases of the paper: the next step, and whether it must keep away from the far end."""
    x, y = interval.best, interval.other

    def secant() -> float:
        return t.step + t.slope / (t.slope - x.slope) * (x.step - t.step)

    if x.value < t.value:  # 1: higher, so the minimum lies between
        cubic = _cubic(x, t)
        parabola = x.step + x.slope / ((x.value - t.value) / (t.step - x.step) + x.slope) / 2 * (t.step - x.step)
        closer = abs(cubic - x.step) < abs(parabola - x.step)
        return (cubic if closer else cubic + 0.5 * (parabola - cubic)), True
    if turns:  # 2: lower, and the slope has changed its sign
        cubic, line = _cubic(x, t), secant()
        return (cubic if abs(cubic - t.step) > abs(line - t.step) else line), False
    if abs(t.slope) < abs(x.slope):  # 3: lower, and less steep
        cubic, line = _cubic_beyond(x, t, low, high), secant()
        cubic_is_closer = abs(t.step - cubic) < abs(t.step - line)
        return (cubic if cubic_is_closer == interval.bracketed else line), True
    if interval.bracketed:  # 4: lower, and as steep
        return _cubic(t, y), False
    return (high if x.step < t.step else low), False


def _cubic_terms(u: _Trial, v: _Trial) -> tuple[float, float, float]:
    """theta, its scale s, and (theta / s)² - (u' / s)(v' / s)."""
    theta = (u.value - v.value) * 3 / (v.step - u.step) + u.slope + v.slope
    s = max(abs(theta), abs(u.slope), abs(v.slope))
    return theta, s, (theta / s) ** 2 - (u.slope / s) * (v.slope / s)


def _cubic(u: _Trial, v: _Trial) -> float:
    """Where the cubic through two trials has its minimum."""
    theta, s, square = _cubic_terms(u, v)
    gamma = s * math.sqrt(max(0.0, square)) * (-1.0 if v.step < u.step else 1.0)
    return u.step + (gamma - u.slope + theta) / (gamma - u.slope + gamma + v.slope) * (v.step - u.step)


def _cubic_beyond(u: _Trial, v: _Trial, low: float, high: float) -> float:
    """The same if that lies beyond v, else an end of the interval."""
    theta, s, square = _cubic_terms(u, v)
    gamma = s * math.sqrt(max(0.0, square)) * (-1.0 if u.step < v.step else 1.0)
    ratio = (gamma - v.slope + theta) / (gamma - v.slope + gamma + u.slope)
    if ratio < 0.0 and gamma != 0.0:
        return v.step - ratio * (v.step - u.step)
    return high if theta < 0 else low
