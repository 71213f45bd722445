"""Windows over shared rows are the window and the linear layer on the rows written out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil import graph
from postil.errors import ShapeError
from postil.graph import Input, gradients, take_rows
from postil.network import convolution
from postil.network.window import shared_windows


@given(st.integers(0, 10_000), st.sampled_from([1, 3, 5, 7]), st.sampled_from([np.float32, np.float64]))
def test_the_same_as_window_and_linear_on_written_out_rows(seed, size, dtype):
    rng = np.random.default_rng(seed)
    layers = convolution(4, 3, size, rng=rng, dtype=dtype)
    window, linear = layers.layers
    window.padding.value = rng.normal(size=4).astype(dtype)
    linear.b.value = rng.normal(size=3).astype(dtype)
    lengths = rng.integers(0, 6, 4)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    x = Input(rng.normal(size=(5, 4)).astype(dtype))
    places = rng.integers(0, 5, offsets[-1])
    tokens = take_rows(x, places)
    tokens.offsets = offsets
    written_out, shared = layers(tokens), shared_windows(x, places, offsets, window, linear)
    close = 1e-12 if dtype == np.float64 else 1e-4
    assert shared.value == pytest.approx(written_out.value, abs=close)
    assert shared.value.dtype == dtype
    seed_gradient = rng.normal(size=shared.shape).astype(dtype)
    leaves = [x, *layers.parameters().values()]
    expected = gradients(written_out, leaves, seed=seed_gradient)
    found = gradients(shared, leaves, seed=seed_gradient)
    for leaf in leaves:
        dense = graph.dense(expected[leaf])
        assert found[leaf] == pytest.approx(dense, abs=close)


def test_rows_of_another_width_are_refused():
    rng = np.random.default_rng(0)
    window, linear = convolution(4, 3, 3, rng=rng).layers
    with pytest.raises(ShapeError, match="windows over shared rows"):
        shared_windows(Input(np.zeros((2, 5), np.float32)), np.array([0]), np.array([0, 1]), window, linear)
