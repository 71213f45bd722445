import numpy as np
import pytest

from postil.errors import ConfigurationError
from postil.graph import Input, gradients
from postil.network import Dropout

X = np.ones((200, 50))


def test_nothing_happens_without_a_generator():
    assert np.array_equal(Dropout(0.5)(X).value, X)


def test_elements_are_dropped_and_the_mean_stays():
    y = Dropout(0.25)(X, rng=np.random.default_rng(0)).value
    assert set(np.unique(y)) == {0.0, 1 / 0.75}
    assert abs(y.mean() - 1) < 0.03


def test_rows_are_dropped_whole():
    y = Dropout(0.25, rows=True)(X, rng=np.random.default_rng(0)).value
    assert all(len(set(row)) == 1 for row in y)
    assert 0.1 < (y[:, 0] == 0).mean() < 0.4


def test_the_gradient_passes_where_the_value_passed():
    x = Input(X)
    y = Dropout(0.25)(x, rng=np.random.default_rng(0))
    assert np.array_equal(gradients(y.sum())[x], y.value)


def test_the_same_generator_gives_the_same_noise():
    once, again = (Dropout(0.5)(X, rng=np.random.default_rng(1)).value for _ in range(2))
    assert np.array_equal(once, again)


@pytest.mark.parametrize("rate", [-0.1, 1, 2])
def test_impossible_rates(rate):
    with pytest.raises(ConfigurationError, match=f"dropout rate: expected at least 0 and below 1, got {rate}"):
        Dropout(rate)
