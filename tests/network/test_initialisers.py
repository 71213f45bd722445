from functools import partial

import numpy as np
import pytest

from postil.network import INITIALISERS, constant, fan_in_as_printed, fan_in_variance, xavier

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
