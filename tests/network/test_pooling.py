"""The maximum over time (A5)."""

import numpy as np
import pytest

from postil.arrays import Ragged
from postil.errors import NumericalError, ShapeError
from postil.graph import Input, gradients
from postil.network import MaxOverTime


def test_the_maximum_of_each_feature_and_its_gradient():
    x = Input(np.array([[1.0, 5.0], [3.0, 2.0], [0.0, 0.0]]), offsets=[0, 2, 3])
    y = MaxOverTime()(x)
    assert np.array_equal(y.value, [[3, 5], [0, 0]])
    found = gradients(y, seed=np.array([[1.0, 2.0], [3.0, 4.0]]))[x]
    assert np.array_equal(found, [[0, 2], [1, 0], [3, 4]])
    assert y.offsets is None


def test_the_first_of_equal_maxima_gets_the_gradient():
    x = Input(np.array([[2.0], [2.0], [2.0], [1.0], [1.0]]), offsets=[0, 3, 5])
    y = MaxOverTime()(x)
    assert np.array_equal(gradients(y, seed=np.array([[1.0], [5.0]]))[x], [[1], [0], [0], [5], [0]])


def test_an_empty_sentence_has_no_maximum():
    with pytest.raises(ShapeError, match="sentence 1 of the batch: max over time: expected at least one word"):
        MaxOverTime()(Ragged(np.ones((2, 1)), [0, 1, 1, 2]))


def test_the_maximum_of_nan_is_an_error():
    with pytest.raises(NumericalError, match=r"max over time: .* got nan at position \(1, 0\)"):
        MaxOverTime()(Ragged(np.array([[1.0], [np.nan]]), [0, 2]))
