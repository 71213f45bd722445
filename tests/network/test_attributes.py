"""Sums of rows by sparse attributes: against the dense product. Their gradients are rows of the gradient list."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.errors import ShapeError
from postil.graph import Input, dense, gradients
from postil.kernels import Attributes
from postil.network.lookup import sums_of_rows, weighted_rows

A, D = 5, 3
tokens = st.lists(st.lists(st.tuples(st.integers(0, A - 1), st.floats(-2, 2, width=32)), max_size=4), max_size=6)


def attributes_of(rows):
    ids = np.array([a for row in rows for a, _ in row], np.int32)
    values = np.array([value for row in rows for _, value in row], np.float64)
    return Attributes(ids, values, np.cumsum([0, *map(len, rows)]))


def dense_of(rows):
    """(N, A)"""
    counts = np.zeros((len(rows), A))
    for t, row in enumerate(rows):
        for a, value in row:
            counts[t, a] += value
    return counts


@given(tokens, st.integers(0, 9))
def test_sums_and_gradients_are_those_of_a_dense_product(rows, seed):
    rng = np.random.default_rng(seed)
    W, dY, X = rng.normal(size=(A, D)), rng.normal(size=(len(rows), D)), dense_of(rows)
    table = Input(W)
    Y = weighted_rows(table, attributes_of(rows))
    np.testing.assert_allclose(Y.value, X @ W, atol=1e-12)
    dW = dense(gradients(Y, [table], seed=dY)[table])
    np.testing.assert_allclose(dW, X.T @ dY, atol=1e-12)


def test_values_of_1_need_not_be_given():
    rng = np.random.default_rng(0)
    given_values = attributes_of([[(1, 1.0), (1, 1.0)], [], [(0, 1.0)]])
    W = rng.normal(size=(A, D)).astype(np.float32)
    np.testing.assert_array_equal(sums_of_rows(W, given_values._replace(values=None)), sums_of_rows(W, given_values))
    assert sums_of_rows(W, given_values).dtype == np.float32


def test_offsets_must_fit():
    with pytest.raises(ShapeError):
        weighted_rows(Input(np.ones((A, D))), Attributes(np.zeros(2, np.int32), None, np.array([0, 3])))
