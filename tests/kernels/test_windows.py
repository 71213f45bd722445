"""Kernels on windows: compiled against their NumPy twins and against loops that say what is meant."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil import kernels
from postil.arrays import offsets_from_lengths
from postil.errors import ConfigurationError, IndexRangeError, ShapeError
from postil.kernels import plain_layers as plain

compiled = pytest.importorskip("postil.kernels.compiled_layers", reason="the kernels were not compiled here")

BOTH = [plain, compiled]
seeds = st.integers(0, 2**32 - 1)
windows = st.sampled_from([1, 3, 5, 7])
widths = st.sampled_from([1, 2, 15, 16, 17, 63, 64, 65, 128, 160])
activations = st.sampled_from(kernels.ACTIVATIONS)


def floats(rng, *shape):
    return rng.normal(size=shape).astype(np.float32)


def ragged(rng):
    return offsets_from_lengths(rng.integers(0, 7, rng.integers(0, 7)))


def random_sums(seed, size, H):
    rng = np.random.default_rng(seed)
    offsets, V = ragged(rng), int(rng.integers(1, 9))
    return floats(rng, V, size * H), rng.integers(0, V, offsets[-1]), offsets, floats(rng, offsets[-1], H)


def slow_sums(rows, ids, offsets, size, before):
    """Token by token, position by position."""
    total, H = before.copy(), before.shape[1]
    for first, end in pairwise(offsets):
        for t in range(first, end):
            for k in range(size):
                place = t + k - size // 2
                row = ids[place] if first <= place < end else 0
                total[t] += rows[row, k * H : (k + 1) * H]
    return total


@given(seeds, windows, widths, activations, st.booleans())
def test_sums_over_windows_are_the_same_to_the_last_bit(seed, size, H, activation, add):
    rows, ids, offsets, before = random_sums(seed, size, H)
    ours, theirs = before.copy(), before.copy()
    assert compiled.sum_windows(rows, ids, offsets, size, activation, ours, add=add) is ours
    plain.sum_windows(rows, ids, offsets, size, activation, theirs, add=add)
    assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("module", BOTH)
@given(seed=seeds, size=windows, H=st.sampled_from([1, 3, 64, 70]))
def test_sums_over_windows_are_what_they_say(module, seed, size, H):
    rows, ids, offsets, before = random_sums(seed, size, H)
    found = module.sum_windows(rows, ids, offsets, size, "identity", before.copy(), add=True)
    assert np.allclose(found, slow_sums(rows, ids, offsets, size, before), atol=1e-5)
    fresh = module.sum_windows(rows, ids, offsets, size, "hardtanh", np.full_like(before, np.nan), add=False)
    assert np.allclose(fresh, np.clip(slow_sums(rows, ids, offsets, size, 0 * before), -1, 1), atol=1e-5)


@pytest.mark.parametrize("module", BOTH)
def test_no_number_is_passed_on_and_none_is_made(module):
    Y = np.array([[np.nan, np.inf, -np.inf, 2.0]], np.float32)
    for activation, expected in (
        ("relu", [np.nan, np.inf, 0, 2]),
        ("hardtanh", [np.nan, 1, -1, 1]),
        ("identity", [np.nan, np.inf, -np.inf, 2]),
    ):
        found = module.sum_windows(Y, np.array([0]), np.array([0, 1]), 1, activation, np.empty_like(Y), add=False)
        assert np.array_equal(found[0], expected, equal_nan=True)


@pytest.mark.parametrize("module", BOTH)
def test_wrong_arguments_are_refused(module):
    rows, ids, offsets, out = random_sums(5, 3, 4)
    assert len(ids)
    with pytest.raises(IndexRangeError, match="outside its table"):
        module.sum_windows(rows, ids + len(rows), offsets, 3, "relu", out, add=False)
    with pytest.raises(IndexRangeError, match="outside its table"):
        module.sum_windows(rows, ids * 0 - 1, offsets, 3, "relu", out, add=False)
    with pytest.raises(ShapeError, match="offsets"):
        module.sum_windows(rows, ids, offsets + 1, 3, "relu", out, add=False)
    with pytest.raises(ShapeError, match="rows of sum_windows"):
        module.sum_windows(rows[:, 1:], ids, offsets, 3, "relu", out, add=False)
    with pytest.raises(ShapeError, match="out of sum_windows"):
        module.sum_windows(rows, ids, offsets, 3, "relu", out[:, ::2], add=False)
    with pytest.raises(ConfigurationError, match="identity or relu or hardtanh"):
        module.sum_windows(rows, ids, offsets, 3, "tanh", out, add=False)


def test_threads_get_what_one_gets():
    rows, ids, offsets, out = random_sums(7, 5, 128)

    def once(_):
        return compiled.sum_windows(rows, ids, offsets, 5, "relu", np.empty_like(out), add=False)

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(once, range(50)))
    assert all(np.array_equal(result, results[0]) for result in results)


@pytest.mark.slow
@given(seeds, windows, widths)
def test_gradients_of_sums_are_the_same_up_to_rounding(seed, size, H):
    rng = np.random.default_rng(seed)
    rows, ids, offsets, _ = random_sums(seed, size, H)
    dY = floats(rng, len(ids), H)
    found = [module.spread_windows(dY, ids, offsets, size, np.empty_like(rows)) for module in BOTH]
    assert found[0] == pytest.approx(found[1], abs=1e-5)


@pytest.mark.parametrize("module", BOTH)
@given(seed=seeds, size=windows, H=st.sampled_from([1, 3, 64, 70]))
def test_gradients_of_sums_are_the_transpose_of_sums(module, seed, size, H):
    """Σ dY · sum(rows) = Σ spread(dY) · rows, whatever the rows are."""
    rng = np.random.default_rng(seed)
    rows, ids, offsets, _ = random_sums(seed, size, H)
    rows = rows.astype(np.float64)
    dY = rng.normal(size=(len(ids), H))
    sums = module.sum_windows(rows, ids, offsets, size, "identity", np.empty((len(ids), H)), add=False)
    spread = module.spread_windows(dY, ids, offsets, size, np.empty_like(rows))
    assert (dY * sums).sum() == pytest.approx((spread * rows).sum(), abs=1e-9)
