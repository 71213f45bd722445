import numpy as np
import pytest

from postil.errors import ConfigurationError, NumericalError
from postil.graph import Parameter, RowGradient
from postil.optimisation import clipping_factor, gradient_norm

W, TABLE = Parameter(np.zeros(2), "W"), Parameter(np.zeros((4, 1)), "table")


def found():
    return {W: np.array([3.0, 0.0]), TABLE: RowGradient(np.array([1]), np.array([[4.0]]), (4, 1))}


def test_the_norm_is_over_everything():
    assert gradient_norm(found()) == 5.0


@pytest.mark.parametrize(("limit", "factor"), [(1.0, 0.2), (5.0, 1.0), (6.0, 1.0)])
def test_the_factor_brings_the_norm_to_the_limit(limit, factor):
    assert clipping_factor(found(), limit) == (factor, 5.0)


def test_gradients_of_zero_stay():
    assert clipping_factor({W: np.zeros(2)}, 1.0) == (1.0, 0.0)


def test_a_gradient_that_is_not_finite_is_named():
    with pytest.raises(NumericalError, match=r"W: a gradient is not finite.* expected finite numbers, got nan"):
        clipping_factor({**found(), W: np.array([np.nan, 0])}, 1.0)
    with pytest.raises(ConfigurationError, match=r"limit of the gradient norm.* a positive number.* got 0"):
        clipping_factor(found(), 0)


def test_the_norm_is_added_up_in_float64():
    many = Parameter(np.zeros(4_000_000, np.float32), "many")
    assert gradient_norm({many: np.full(4_000_000, 1e-3, np.float32)}) == pytest.approx(2.0, rel=1e-6)
    huge = Parameter(np.zeros(2, np.float32), "huge")
    factor, norm = clipping_factor({huge: np.full(2, 1e30, np.float32)}, 1.0)
    assert norm == pytest.approx(2**0.5 * 1e30)
    assert factor * norm == pytest.approx(1.0)
