"""Skip-gram on a shard: the compiled kernel against its twin, and the twin against one step by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.errors import IndexRangeError, ShapeError
from postil.kernels import plain_pretraining as plain

compiled = pytest.importorskip("postil.kernels.compiled_pretraining", reason="the kernels were not compiled here")
BOTH = pytest.mark.parametrize("module", [plain, compiled], ids=["plain", "compiled"])


def drawn(seed, V=30, P=16, N=80, K=5, reach=4):
    rng = np.random.default_rng(seed)
    inputs, outputs = (rng.normal(0, 0.4, (V, P)).astype(np.float32) for _ in range(2))
    offsets = np.unique([0, *rng.integers(0, N + 1, 6), N])
    text = plain.SkipgramText(
        rng.integers(0, V, N).astype(np.int32),
        offsets,
        rng.integers(0, reach + 1, N).astype(np.uint8),
        rng.integers(0, V, (N, K)).astype(np.int32),
    )
    return inputs, outputs, text


def whole(changes, V):
    """Changes and touches of every row of the table."""
    table, touches = np.zeros((V, changes.values.shape[1]), np.float32), np.zeros(V, np.int64)
    table[changes.rows], touches[changes.rows] = changes.values, changes.touches
    return table, touches


@given(st.integers(0, 2**32 - 1), st.sampled_from([8, 16, 56]), st.integers(0, 90), st.integers(1, 17))
def test_compiled_and_plain_are_the_same(seed, P, N, K):
    inputs, outputs, text = drawn(seed, P=P, N=N, K=K)
    before = inputs.copy(), outputs.copy()
    ours = compiled.skipgram_shard(inputs, outputs, text, 0.05)
    theirs = plain.skipgram_shard(inputs, outputs, text, 0.05)
    for name in ("inputs", "outputs"):
        (values, touches), (expected, times) = (whole(found.rows[name], 30) for found in (ours, theirs))
        np.testing.assert_allclose(values, expected, atol=1e-5)
        np.testing.assert_array_equal(touches, times)
    assert ours.terms == theirs.terms
    np.testing.assert_allclose(ours.loss, theirs.loss, rtol=1e-4)
    np.testing.assert_array_equal(inputs, before[0])
    np.testing.assert_array_equal(outputs, before[1])


def test_the_loss_of_a_window_is_that_of_the_formula():
    rng = np.random.default_rng(1)
    X, Y = rng.normal(size=(3, 4)), rng.normal(size=(4, 4))
    loss, _, _ = plain.pair_losses(X, Y, np.array([1, 0, -1, 0]))
    sigma = 1 / (1 + np.exp(-X @ Y.T))
    expected = -(np.log(sigma[:, 0]) + np.log(1 - sigma[:, 1]) + np.log(1 - sigma[:, 3])).sum()
    np.testing.assert_allclose(loss, expected)


@BOTH
def test_one_window_is_one_step_down_the_gradient(module):
    inputs, outputs, _ = drawn(0)
    text = plain.SkipgramText(
        np.array([3, 7], np.int32),
        np.array([0, 2]),
        np.array([1, 0], np.uint8),
        np.array([[1, 3], [0, 0]], np.int32),  # the second negative is the centre itself
    )
    _, dX, dO = plain.pair_losses(inputs[[7]], outputs[[3, 1]], np.array([1, 0]))
    found = module.skipgram_shard(inputs, outputs, text, 0.1)
    np.testing.assert_allclose(whole(found.rows["inputs"], 30)[0][7], -0.1 * dX[0], atol=1e-6)
    np.testing.assert_allclose(whole(found.rows["outputs"], 30)[0][[3, 1]], -0.1 * dO, atol=1e-6)


def test_a_room_is_used_again():
    inputs, outputs, text = drawn(5)
    room = plain.ShardRoom()
    first = whole(compiled.skipgram_shard(inputs, outputs, text, 0.05, room).rows["inputs"], 30)[0]
    again = whole(compiled.skipgram_shard(inputs, outputs, text, 0.05, room).rows["inputs"], 30)[0]
    np.testing.assert_array_equal(first, again)


@BOTH
def test_wrong_arguments(module):
    inputs, outputs, text = drawn(0)
    with pytest.raises(IndexRangeError, match="skipgram_shard: an index points outside its table"):
        module.skipgram_shard(inputs, outputs, text._replace(ids=text.ids + 30), 0.05)
    with pytest.raises(IndexRangeError, match="skipgram_shard: an index points outside its table"):
        module.skipgram_shard(inputs, outputs, text._replace(negatives=text.negatives - 30), 0.05)
    with pytest.raises(IndexRangeError, match="skipgram_shard"):
        module.skipgram_shard(inputs, outputs, text._replace(reach=text.reach + 40), 0.05)
    with pytest.raises(IndexRangeError, match="negatives must be 1 to 63"):
        module.skipgram_shard(inputs, outputs, text._replace(negatives=np.zeros((80, 64), np.int32)), 0.05)
    with pytest.raises(ShapeError, match="reach of words"):
        module.skipgram_shard(inputs, outputs, text._replace(reach=text.reach[1:]), 0.05)


def test_a_room_is_clean_after_an_error():
    inputs, outputs, text = drawn(2)
    room = plain.ShardRoom()
    with pytest.raises(IndexRangeError):
        compiled.skipgram_shard(inputs, outputs, text._replace(negatives=text.negatives + 30), 0.05, room)
    found = compiled.skipgram_shard(inputs, outputs, text, 0.05, room)
    expected = plain.skipgram_shard(inputs, outputs, text, 0.05)
    np.testing.assert_allclose(whole(found.rows["inputs"], 30)[0], whole(expected.rows["inputs"], 30)[0], atol=1e-5)


@BOTH
def test_rows_are_merged(module):
    table = np.ones((5, 8), np.float32)
    changes = plain.RowChanges(np.array([3, 1]), np.full((2, 8), 2, np.float32), np.ones(2, np.int32))
    module.merge_rows(table, changes, np.array([0.5, 1], np.float32))
    assert table[:, 0].tolist() == [1, 3, 1, 2, 1]
    with pytest.raises(IndexError):
        module.merge_rows(table, changes._replace(rows=np.array([3, 5])), np.ones(2, np.float32))
