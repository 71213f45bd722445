from functools import partial

import numpy as np
import pytest

from postil.errors import ConfigurationError, ShapeError
from postil.network import (
    INITIALISERS,
    LayerNorm,
    Linear,
    LookupTable,
    ParametricReLU,
    Window,
    constant,
    fan_in_as_printed,
    fan_in_variance,
    xavier,
)
from postil.network.layer import UNUSED, new_parameter, zeros

SHAPE = (400, 100)


def drawn(initialise):
    return initialise(np.random.default_rng(0), SHAPE)


@pytest.mark.parametrize(
    ("initialise", "variance"),
    [
        (fan_in_as_printed, 1 / np.sqrt(100)),  # A10 as printed
        (fan_in_variance, 1 / 100),  # A10 as other texts read it
        (partial(fan_in_as_printed, fan_in=1), 1),  # the lookup table
        (xavier, 2 / (100 + 400)),  # B7
    ],
)
def test_variances(initialise, variance):
    values = drawn(initialise)
    bound = np.sqrt(3 * variance)  # of a centred uniform variable
    assert abs(values.var() / variance - 1) < 0.02
    assert abs(values.mean()) < 0.01 * bound
    assert 0.99 * bound < abs(values).max() <= bound


def test_constants():
    assert np.array_equal(drawn(constant(2.5)), np.full(SHAPE, 2.5))


@pytest.mark.parametrize("name", INITIALISERS)
def test_the_same_seed_gives_the_same_values(name):
    assert np.array_equal(drawn(INITIALISERS[name]), drawn(INITIALISERS[name]))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda rng: Linear(0, 3, rng=rng), ConfigurationError, r"W: sizes of a layer: .* from 1, got \(3, 0\)"),
        (lambda rng: Linear(2, 2.5, rng=rng), ConfigurationError, r"sizes of a layer: expected whole numbers"),
        (lambda rng: LookupTable(-1, 3, rng=rng), ConfigurationError, r"table: sizes of a layer"),
        (lambda rng: Window(0, 3, rng=rng), ConfigurationError, r"padding: sizes of a layer"),
        (lambda rng: LayerNorm(0, rng=rng), ConfigurationError, r"gain: sizes of a layer"),
        (lambda rng: ParametricReLU(0), ConfigurationError, r"slope: sizes of a layer"),
        (lambda rng: Window(2, "3", rng=rng), ConfigurationError, r"window size: expected an odd number"),
        (
            lambda rng: Linear(2, 3, rng=rng, initialise="xavier"),
            ConfigurationError,
            r"W: initialise must be a function, such as INITIALISERS\['xavier'\] .got str 'xavier'",
        ),
        (
            lambda rng: Linear(2, 3, rng=None),
            ConfigurationError,
            r"W: rng must be np.random.default_rng.*got NoneType",
        ),
        (
            lambda rng: Linear(2, 3, rng=rng, initialise=lambda rng, shape: np.zeros(2)),
            ShapeError,
            r"W: first value of a parameter: expected \(3, 2\), got \(2,\)",
        ),
    ],
)
def test_layers_that_cannot_be_made(make, error, message):
    with pytest.raises(error, match=message):
        make(np.random.default_rng(0))


def test_placeholders_take_no_memory_and_cannot_be_written_to():
    value = new_parameter("W", (10**6, 10**6), zeros, UNUSED, np.float32).value
    assert value.shape == (10**6, 10**6) and value.dtype == np.float32 and value[5, 7] == 0
    assert value.base.nbytes == 4 and not value.flags.writeable
