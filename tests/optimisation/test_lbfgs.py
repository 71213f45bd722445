"""L-BFGS and OWL-QN: minima known in closed form, both conditions of the line searches, and the ways to end."""

from itertools import pairwise

import numpy as np
import pytest

from postil.errors import ConfigurationError
from postil.optimisation.lbfgs import LINE_SEARCHES, LBFGSSettings, minimise

TIGHT = {"epsilon": 1e-7, "delta": 0.0, "period": 0, "max_iterations": 500}


def quadratic(seed=0, n=12):
    rng = np.random.default_rng(seed)
    B = rng.normal(size=(n, n))
    A, b = B @ B.T / n + np.eye(n) * 0.1, rng.normal(size=n)
    return A, b, lambda x: (float(0.5 * x @ A @ x - b @ x) + 100.0, A @ x - b)


def rosenbrock(x):
    a, b = x[:-1], x[1:]
    value = float(np.sum(100 * (b - a**2) ** 2 + (1 - a) ** 2))
    gradient = np.zeros_like(x)
    gradient[:-1] += -400 * a * (b - a**2) - 2 * (1 - a)
    gradient[1:] += 200 * (b - a**2)
    return value, gradient


@pytest.mark.parametrize("linesearch", LINE_SEARCHES)
def test_the_minimum_of_a_quadratic(linesearch):
    A, b, objective = quadratic()
    *_, last = minimise(objective, np.zeros(len(b)), LBFGSSettings(linesearch=linesearch, **TIGHT))
    np.testing.assert_allclose(last.point.x, np.linalg.solve(A, b), atol=1e-5)
    assert last.ending == "L-BFGS resulted in convergence"


@pytest.mark.parametrize("linesearch", LINE_SEARCHES)
def test_the_minimum_of_a_curved_valley(linesearch):
    start = np.array([-1.2, 1.0, -1.2, 1.0])
    iterations = [*minimise(rosenbrock, start, LBFGSSettings(linesearch=linesearch, **TIGHT))]
    np.testing.assert_allclose(iterations[-1].point.x, np.ones(4), atol=1e-5)
    values = [iteration.point.value for iteration in iterations]
    assert all(b < a for a, b in pairwise(values)), "every step lowers the value"


@pytest.mark.parametrize("c1", [0.05, 0.5, 1.0])
def test_an_l1_term_against_its_optimality_conditions(c1):
    _, b, objective = quadratic(seed=3)
    *_, last = minimise(objective, np.zeros(len(b)), LBFGSSettings(c1=c1, **TIGHT))
    x, gradient = last.point.x, last.point.gradient
    active = x != 0
    np.testing.assert_allclose(gradient[active], -c1 * np.sign(x[active]), atol=1e-5)
    assert (np.abs(gradient[~active]) <= c1 + 1e-5).all()
    assert 0 < active.sum() < len(x) or c1 == 0.05


def test_a_large_l1_term_leaves_nothing_to_do():
    _, b, objective = quadratic()
    assert [*minimise(objective, np.zeros(len(b)), LBFGSSettings(c1=100.0))] == []


def test_the_ways_to_end():
    _, b, objective = quadratic()
    *_, last = minimise(objective, np.zeros(len(b)), LBFGSSettings(max_iterations=2))
    assert last.number == 2 and "maximum number" in last.ending
    *_, last = minimise(objective, np.zeros(len(b)), LBFGSSettings(period=3, delta=0.5, epsilon=0.0))
    assert last.number == 3 and "stopping criteria" in last.ending


def test_the_argument_is_left_alone():
    _, b, objective = quadratic()
    start = np.zeros(len(b))
    *_, _last = minimise(objective, start, LBFGSSettings())
    assert not start.any()


def test_settings_are_checked():
    with pytest.raises(ConfigurationError, match="linesearch must be MoreThuente or"):
        LBFGSSettings(linesearch="Golden")
    with pytest.raises(ConfigurationError, match=r"c1 must be at least 0 \(got -1\)"):
        LBFGSSettings(c1=-1)
