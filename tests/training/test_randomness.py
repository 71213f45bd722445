import numpy as np
import pytest

from postil.errors import ConfigurationError
from postil.training import generator_state, restored_generator


@pytest.mark.parametrize("kind", [np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64])
def test_a_generator_goes_on_exactly_where_it_stopped(kind):
    rng = np.random.Generator(kind(3))
    rng.normal(size=7)
    rng.integers(0, 10, 3, dtype=np.int32)  # leaves half a word in the buffer
    state = generator_state(rng)
    assert isinstance(state, str)
    restored = restored_generator(state)
    assert np.array_equal(rng.normal(size=20), restored.normal(size=20))
    assert np.array_equal(rng.integers(0, 10, 5, dtype=np.int32), restored.integers(0, 10, 5, dtype=np.int32))


@pytest.mark.parametrize("state", ["", "{}", '{"bit_generator": "system"}', "[]"])
def test_a_state_that_is_none(state):
    with pytest.raises(ConfigurationError, match="state of a random generator"):
        restored_generator(state)
