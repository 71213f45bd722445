"""L2 regularisation (B5, E9)."""

import numpy as np
import pytest

from postil.errors import ConfigurationError, DtypeError, IndexRangeError, NumericalError
from postil.graph import Parameter, RowGradient, gradients
from postil.network import Linear, LookupTable
from postil.objectives import l2

rng = np.random.default_rng(0)
LAYER, WORDS = Linear(3, 2, rng=rng, dtype=np.float64), LookupTable(6, 2, rng=rng, dtype=np.float64)
PARAMETERS = [LAYER.W, LAYER.b, WORDS.table]


def test_weights_decay_biases_and_tables_do_not():
    penalty = l2(PARAMETERS, 0.1)
    assert np.isclose(penalty.value, 0.1 * (LAYER.W.value**2).sum())
    found = gradients(penalty)
    assert set(found) == {LAYER.W}
    assert np.allclose(found[LAYER.W], 0.2 * LAYER.W.value)


def test_only_touched_rows_of_a_table_decay_each_once():
    penalty = l2(PARAMETERS, 0.1, touched={WORDS.table: np.array([4, 1, 4])})
    rows = WORDS.table.value[[1, 4]]
    assert np.isclose(penalty.value, 0.1 * ((LAYER.W.value**2).sum() + (rows**2).sum()))
    found = gradients(penalty)[WORDS.table]
    assert isinstance(found, RowGradient) and list(found.rows) == [1, 4]
    assert np.allclose(found.values, 0.2 * rows)


def test_nothing_to_decay():
    assert l2([LAYER.b], 0.1).value == 0


def test_a_negative_strength():
    with pytest.raises(ConfigurationError, match="strength of L2: expected 0 or more, got -1"):
        l2(PARAMETERS, -1)


def test_a_weight_given_twice_decays_once():
    W = Parameter(np.array([3.0]), "W")
    assert l2([W, W], 0.5).value == 4.5


def test_the_penalty_has_the_float_type_of_the_parameters_even_where_none_decays():
    assert l2([Parameter(np.ones(2), "b", decays=False)], 0.1).dtype == np.float64
    with pytest.raises(
        DtypeError, match="parameters of L2: expected all float32 or all float64, got a float64, b float32"
    ):
        l2([Parameter(np.ones(2), "a"), Parameter(np.ones(2, np.float32), "b")], 0.1)


def test_touched_rows_are_checked_and_strength_is_a_number():
    table = Parameter(np.ones((3, 2)), "table", decays=False)
    with pytest.raises(IndexRangeError, match="touched rows of table: index out of range: expected 0 to 2, got -1"):
        l2([], 0.1, touched={table: np.array([-1])})
    with pytest.raises(ConfigurationError, match="strength of L2"):
        l2([table], np.nan)


def test_the_penalty_of_many_small_weights_is_exact():
    W = Parameter(np.full(4_000_000, 1e-3, np.float32), "W")
    assert l2([W], 1.0).value == pytest.approx(4.0, rel=1e-6)


def test_names_and_arrays_are_no_parameters():
    with pytest.raises(DtypeError, match=r"parameters of L2: expected Parameter nodes, .* got str 'W'"):
        l2(LAYER.parameters(), 0.1)
    with pytest.raises(DtypeError, match="parameters of L2: expected Parameter nodes"):
        l2([np.ones(2)], 0.1)


def test_a_penalty_that_is_not_finite():
    with pytest.raises(NumericalError, match="L2 penalty: a value is not finite"):
        l2([Parameter(np.array([1e200]), "W")], 0.1)
