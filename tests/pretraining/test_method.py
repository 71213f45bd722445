"""Shards become one step: changes of rare words add up, those of frequent words are averaged."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from postil.kernels.plain_pretraining import RowChanges, ShardChanges
from postil.pretraining.training import merge, merging_scales, padded_table


def test_the_scale_of_a_parabola_is_exact():
    """Descent on (x - 3)² / 2 in four shards at once moves as far as one shard after the other."""
    rate, touches = 0.01, 60
    moved = -3 * np.expm1(-rate * touches)  # of one shard from 0
    scale = merging_scales(np.zeros(4, np.int64), np.full(4, touches), rate, V=1)
    np.testing.assert_allclose((scale * moved).sum(), -3 * np.expm1(-rate * 4 * touches), rtol=1e-6)


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=8), st.floats(1e-6, 1.0))
def test_scales_are_between_a_mean_and_a_sum(touches, pull):
    scales = merging_scales(np.zeros(len(touches), np.int64), np.array(touches), pull, V=3)
    assert (scales <= 1 + 1e-6).all() and (scales >= 1 / len(touches) - 1e-6).all()


def test_a_row_of_one_shard_takes_the_whole_change():
    assert merging_scales(np.array([0, 2]), np.array([1000, 1]), 0.5, V=3).tolist() == [1, 1]


class _Method:
    curvature = 1.0


def test_merge_adds_rows_and_averages_arrays():
    parameters = {"words": np.zeros((4, 8), np.float32), "W": np.ones(2, np.float32)}

    def result(row, value):
        rows = RowChanges(np.array([row]), np.full((1, 8), value, np.float32), np.array([1], np.int32))
        return ShardChanges({"words": rows}, {"W": np.full(2, value, np.float32)}, 0.0, 1)

    merge(_Method(), parameters, [result(1, 1.0), result(1, 3.0), result(2, 2.0)], rate=1e-9)
    np.testing.assert_allclose(parameters["words"][:, 0], [0, 4, 2, 0])
    np.testing.assert_allclose(parameters["W"], [3, 3])


def test_tables_are_padded_with_zeros():
    table = padded_table(np.ones((2, 5)))
    assert table.shape == (2, 8) and table.dtype == np.float32
    assert table.sum() == 10
