"""A window and a linear layer as a sum of one row per position: the same numbers as the layers give."""

import itertools

import numpy as np
import pytest

from postil.network import Linear, Window
from postil.network.layer import Run
from postil.network.precomputed import WindowMap

D, H, K = 4, 3, 5
OFFSETS = np.array([0, 4, 5, 11])


def summed(window_map, X):
    """Token by token: the row of each neighbour at its position, the padding's beyond the sentence."""
    rows = window_map.rows(X).reshape(len(X), K, H)
    Z = np.zeros((len(X), H))
    for start, end in itertools.pairwise(OFFSETS):
        for t in range(start, end):
            for k in range(K):
                place = t + k - K // 2
                Z[t] += rows[place, k] if start <= place < end else window_map.padding[k]
    return Z


def layers(rng, bias=True):
    window, linear = Window(D, K, rng=rng), Linear(K * D, H, rng=rng, bias=bias)
    for parameter in (*window.parameters().values(), *linear.parameters().values()):
        parameter.value[...] = rng.normal(size=parameter.shape)
    return window, linear


@pytest.mark.parametrize("bias", [True, False])
def test_the_sums_are_what_the_layers_give(bias):
    rng = np.random.default_rng(0)
    window, linear = layers(rng, bias)
    X = rng.normal(size=(11, D)).astype(np.float32)
    windows, _ = window.forward(X, Run(offsets=OFFSETS, rng=None))
    expected, _ = linear.forward(windows, Run(offsets=OFFSETS, rng=None))
    assert summed(WindowMap.of_window(window, linear), X) == pytest.approx(expected, abs=1e-5)


def test_parts_add_up_to_the_whole():
    rng = np.random.default_rng(1)
    whole = WindowMap.of_window(*layers(rng))
    X = rng.normal(size=(11, D)).astype(np.float32)
    parts = whole.part(0, 3, bias=True).rows(X[:, :3]) + whole.part(3, D, bias=False).rows(X[:, 3:])
    assert parts == pytest.approx(whole.rows(X), abs=1e-5)
    assert whole.width == K * H == parts.shape[1]


def test_maps_of_their_own_per_position_have_no_padding():
    rng = np.random.default_rng(2)
    maps = [Linear(D, H, rng=rng) for _ in range(K)]
    X = rng.normal(size=(11, D)).astype(np.float32)
    found = WindowMap.of_maps(maps)
    assert not found.padding.any()
    rows = found.rows(X).reshape(11, K, H)
    for k, linear in enumerate(maps):
        assert rows[:, k] == pytest.approx(X @ linear.W.value.T + linear.b.value, abs=1e-5)


def test_a_row_has_the_same_bits_whatever_words_are_beside_it():
    rng = np.random.default_rng(3)
    window_map = WindowMap.of_window(*layers(rng))
    X = rng.normal(size=(64, D)).astype(np.float32)
    whole = window_map.rows(X)
    assert all((window_map.rows(X[i : i + 1]) == whole[i]).all() for i in range(64))
