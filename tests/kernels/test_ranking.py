"""Ranking of windows on a shard: the compiled kernel against its twin, and the twin against the formula."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.errors import IndexRangeError, ShapeError
from postil.kernels import plain_pretraining as plain

compiled = pytest.importorskip("postil.kernels.compiled_pretraining", reason="the kernels were not compiled here")
BOTH = pytest.mark.parametrize("module", [plain, compiled], ids=["plain", "compiled"])
RATES = plain.RankingRates(0.05, 0.3, 1.0)


def drawn(seed, V=30, P=16, S=5, H=32, N=80):
    rng = np.random.default_rng(seed)
    table = rng.normal(0, 0.4, (V + 2, P)).astype(np.float32)
    sizes = ((S, P, H), 0.2), ((H,), 0.5), ((H,), 0.5)  # some units beyond ±1
    layers = plain.RankingLayers(*(rng.normal(0, size, shape).astype(np.float32) for shape, size in sizes))
    offsets = np.unique([0, *rng.integers(0, N + 1, 6), N])
    ids, corrupt = rng.integers(0, V + 1, N).astype(np.int32), rng.integers(0, V, N).astype(np.int32)
    return table, layers, plain.RankingText(ids, offsets, corrupt, V)


def whole(changes, R):
    table, touches = np.zeros((R, changes.values.shape[1]), np.float32), np.zeros(R, np.int64)
    table[changes.rows], touches[changes.rows] = changes.values, changes.touches
    return table, touches


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1), st.sampled_from([8, 24]), st.sampled_from([1, 3, 5]), st.sampled_from([16, 48]))
def test_compiled_and_plain_are_the_same(seed, P, S, H):
    for N in (0, 1, 37, 80):
        table, layers, text = drawn(seed, P=P, S=S, H=H, N=N)
        ours = compiled.ranking_shard(table, layers, text, RATES)
        theirs = plain.ranking_shard(table, layers, text, RATES)
        (values, touches), (expected, times) = (whole(found.rows["words"], len(table)) for found in (ours, theirs))
        np.testing.assert_allclose(values, expected, atol=2e-5)
        np.testing.assert_array_equal(touches, times)
        for found, wanted in zip(ours.arrays.values(), theirs.arrays.values(), strict=True):
            np.testing.assert_allclose(found, wanted, atol=2e-5)
        assert ours.terms == theirs.terms
        np.testing.assert_allclose(ours.loss, theirs.loss, rtol=1e-4, atol=1e-6)


def test_the_cost_is_that_of_the_formula():
    rng = np.random.default_rng(0)
    X, C = rng.normal(size=(40, 3, 4)), rng.normal(size=(40, 4))
    layers = plain.RankingLayers(rng.normal(size=(3, 4, 5)), rng.normal(size=5), rng.normal(size=5))

    def score(window):
        return layers.u @ np.clip(np.einsum("sd,sdh->h", window, layers.W) + layers.b, -1, 1)

    costs = [max(0, 1 - score(x) + score(np.stack([x[0], c, x[2]]))) for x, c in zip(X, C, strict=True)]
    found = plain.ranking_losses(X, C, layers, 1.0)
    np.testing.assert_allclose(found.loss, sum(costs))
    np.testing.assert_array_equal(found.violated, np.array(costs) > 0)
    assert 0 < found.violated.sum() < 40
    assert not found.dX[~found.violated].any()


@BOTH
def test_a_group_is_one_step_down_the_gradient(module):
    table, layers, text = drawn(3, N=3)
    text = text._replace(
        ids=np.array([4, 5, 6], np.int32), corrupt=np.array([7, 8, 6], np.int32), offsets=np.array([0, 3])
    )
    outside = len(table) - 1
    windows = np.array([[outside, outside, 4, 5, 6], [outside, 4, 5, 6, outside]])  # the third is not corrupt
    found = plain.ranking_losses(table[windows], table[[7, 8]], layers, 1.0)
    expected = np.zeros_like(table)
    np.subtract.at(expected, windows, np.float32(0.05) * found.dX)
    np.subtract.at(expected, np.array([7, 8]), np.float32(0.05) * found.dC)
    changes = module.ranking_shard(table, layers, text, RATES)
    assert changes.terms == 2
    np.testing.assert_allclose(whole(changes.rows["words"], len(table))[0], expected, atol=1e-6)
    np.testing.assert_allclose(changes.arrays["W"], -0.05 * 0.3 * found.layers.W, atol=1e-6)


@BOTH
def test_wrong_arguments(module):
    table, layers, text = drawn(0)
    with pytest.raises(IndexRangeError, match="ranking_shard: an index points outside its table"):
        module.ranking_shard(table, layers, text._replace(corrupt=text.corrupt + 2), RATES)
    with pytest.raises(IndexRangeError, match="ranking_shard: an index points outside its table"):
        module.ranking_shard(table, layers, text._replace(V=len(table)), RATES)
    with pytest.raises(ShapeError, match="S odd"):
        module.ranking_shard(table, layers._replace(W=layers.W[:4]), text, RATES)
