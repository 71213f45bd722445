import numpy as np
import pytest

from postil.errors import DtypeError, NumericalError, ShapeError
from postil.graph import Input
from postil.graph.operations import computed, matmul, values_of


def test_operands_of_one_float_type():
    node, array = Input(np.ones(2, np.float32)), np.ones(2, np.float32)
    assert [type(value) for value in values_of("add", node, array, 2)] == [np.ndarray, np.ndarray, int]
    for other in (np.ones(2), np.array([1, 2]), np.float64(3)):
        with pytest.raises(DtypeError, match=r"operands of add.* all float32 or all float64"):
            values_of("add", node, other)


def test_a_result_that_is_not_finite_names_its_operation():
    with pytest.raises(NumericalError, match=r"result of log must be finite \(got divide by zero"):
        computed("log", np.log, np.zeros(1))
    with pytest.raises(NumericalError, match="matmul: a value is not finite"):
        matmul(Input(np.full((1, 1), 1e300)), np.full((1, 1), 1e300))


def test_shapes_that_do_not_fit_are_shown():
    with pytest.raises(ShapeError, match=r"add: .*float64 \(2,\), float64 \(3,\)"):
        computed("add", np.add, np.ones(2), np.ones(3))
