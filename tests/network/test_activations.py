"""Activations and their derivatives (A6, B6, E10)."""

import numpy as np
import pytest

from postil.errors import ConfigurationError
from postil.graph import Input, gradients
from postil.network import ACTIVATIONS, Activation, ParametricReLU

Z = np.array([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0])


def value_and_slope(name, z=Z):
    x = Input(np.array(z))
    y = Activation(name)(x)
    return y.value, gradients(y, seed=np.ones_like(y.value))[x]


def test_hardtanh_has_slope_one_on_the_closed_interval():
    value, slope = value_and_slope("hardtanh")
    assert np.array_equal(value, [-1, -1, -0.5, 0, 0.5, 1, 1])
    assert np.array_equal(slope, [0, 1, 1, 1, 1, 1, 0])


def test_relu_has_slope_zero_at_zero():
    value, slope = value_and_slope("relu")
    assert np.array_equal(value, [0, 0, 0, 0, 0.5, 1, 2])
    assert np.array_equal(slope, [0, 0, 0, 0, 1, 1, 1])


def test_leaky_relu():
    value, slope = value_and_slope("leaky-relu")
    assert np.allclose(value, [-0.02, -0.01, -0.005, 0, 0.5, 1, 2])
    assert np.allclose(slope, [0.01, 0.01, 0.01, 0.01, 1, 1, 1])


def test_sigmoid_and_tanh_are_one_function():
    """tanh z = 2 sigmoid(2z) - 1, and both derivatives as in the corrected formulas."""
    value, slope = value_and_slope("sigmoid", 2 * Z)
    assert np.allclose(2 * value - 1, value_and_slope("tanh")[0])
    assert np.allclose(slope, np.exp(-2 * Z) / (1 + np.exp(-2 * Z)) ** 2)
    assert np.allclose(value, 1 / (1 + np.exp(-2 * Z)))


def test_softsign_slope_has_no_sign():
    value, slope = value_and_slope("softsign")
    assert np.allclose(value, Z / (1 + abs(Z)))
    assert np.allclose(slope, 1 / (1 + abs(Z)) ** 2)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_huge_values_do_not_overflow(name):
    value, slope = value_and_slope(name, [-1e4, 1e4])
    assert np.isfinite(value).all() and np.isfinite(slope).all()


def test_parametric_relu_learns_its_slope():
    layer = ParametricReLU(2, slope=0.5, dtype=np.float64)
    x = Input(np.array([[-2.0, 3.0], [4.0, -6.0]]))
    y = layer(x)
    assert np.array_equal(y.value, [[-1, 3], [4, -3]])
    found = gradients(y.sum())
    assert np.array_equal(found[layer.slope], [-2, -6])
    assert np.array_equal(found[x], [[0.5, 1], [1, 0.5]])


def test_an_unknown_activation_lists_the_known_ones():
    with pytest.raises(ConfigurationError, match=r"activation must be one of hardtanh, sigmoid, .* .got 'swish'"):
        Activation("swish")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_both_tails_of_the_sigmoid_keep_their_digits(dtype):
    z = np.array([-80, -30, 30, 80], dtype)
    value, slope = value_and_slope("sigmoid", z)
    assert value.dtype == slope.dtype == dtype
    assert np.allclose(value, [np.exp(-80.0), np.exp(-30.0), 1, 1], rtol=1e-5, atol=0)
    assert np.allclose(slope, np.exp(-np.abs(z.astype(np.float64))), rtol=1e-5, atol=0)


def test_relu_of_minus_infinity_is_zero():
    assert list(Activation("relu")(np.array([-np.inf, np.inf])).value) == [0, np.inf]
