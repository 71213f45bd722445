import numpy as np
import pytest

from postil.errors import ConfigurationError
from postil.graph import RowGradient, gradients
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
    with pytest.raises(ConfigurationError, match="strength of L2; expected 0 or more, got -1"):
        l2(PARAMETERS, -1)
