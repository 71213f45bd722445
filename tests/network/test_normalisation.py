import numpy as np

from postil.network import LayerNorm


def test_rows_have_mean_zero_and_variance_one():
    X = np.random.default_rng(0).normal(3, 5, (6, 40))
    Y = LayerNorm(40, rng=np.random.default_rng(0), dtype=np.float64)(X).value
    assert np.allclose(Y.mean(axis=1), 0) and np.allclose(Y.var(axis=1), 1, atol=1e-5)


def test_a_row_without_variance_stays_finite():
    Y = LayerNorm(4, rng=np.random.default_rng(0))(np.ones((2, 4), np.float32)).value
    assert np.array_equal(Y, np.zeros((2, 4)))
