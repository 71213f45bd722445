import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from postil.graph import RowGradient, dense

ids = st.lists(st.integers(0, 9), max_size=30)


def occurrences(rows):
    rng = np.random.default_rng(len(rows))
    return np.array(rows, np.int64), rng.integers(-9, 9, (len(rows), 2)).astype(float)


def slow_sum(rows, values):
    table = np.zeros((10, 2))
    for row, value in zip(rows, values, strict=True):
        table[row] += value
    return table


@given(ids)
def test_what_belongs_to_one_row_is_added_up(rows):
    rows, values = occurrences(rows)
    gradient = RowGradient.from_occurrences(rows, values, (10, 2))
    assert np.array_equal(dense(gradient), slow_sum(rows, values))
    assert list(gradient.rows) == sorted(set(rows))


@given(ids, ids)
def test_two_sparse_gradients_add_to_a_sparse_one(a, b):
    first, second = (RowGradient.from_occurrences(*occurrences(rows), (10, 2)) for rows in (a, b))
    total = RowGradient.total([first, second])
    assert np.array_equal(dense(total), dense(first) + dense(second))
    assert list(total.rows) == sorted(set(a) | set(b))
