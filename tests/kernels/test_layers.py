"""Compiled kernels of training against their NumPy twins, on random, hostile and awkward input."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil import kernels
from postil.arrays import offsets_from_lengths
from postil.errors import ConfigurationError, DtypeError, IndexRangeError, ShapeError
from postil.kernels import AdamMemory, AdamSettings, Noise, Totals
from postil.kernels import plain_layers as plain

compiled = pytest.importorskip("postil.kernels.compiled_layers", reason="the kernels were not compiled here")

seeds = st.integers(0, 2**32 - 1)
kinds = st.sampled_from([np.float32, np.float64])
widths = st.sampled_from([1, 3, 7, 8, 9, 16, 31, 50])
BOTH = pytest.mark.parametrize("module", [plain, compiled], ids=["plain", "compiled"])


def batch(seed, D, kind):
    """A ragged batch (N, D) with its offsets, and the generator that made it."""
    rng = np.random.default_rng(seed)
    offsets = offsets_from_lengths(rng.integers(0, 8, rng.integers(0, 7)))
    return rng.normal(size=(offsets[-1], D)).astype(kind), offsets, rng


def assert_close(ours, theirs):
    assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
    tolerance = 1e-5 if ours.dtype == np.float32 else 1e-12
    assert np.allclose(ours, theirs, rtol=tolerance, atol=tolerance)


# ------------------------------------------------------------------------------------------------ windows


@given(seeds, widths, kinds, st.sampled_from([1, 3, 5, 11]), st.sampled_from([1, 2, 5]))
def test_windows_are_the_same_to_the_last_bit(seed, D, kind, size, dilation):
    X, offsets, rng = batch(seed, D, kind)
    padding = rng.normal(size=D).astype(kind)
    ours, theirs = (
        compiled.windows(X, padding, offsets, size, dilation),
        plain.windows(X, padding, offsets, size, dilation),
    )
    assert ours.shape == theirs.shape == (len(X), size * D) and np.array_equal(ours, theirs)
    dY = rng.normal(size=ours.shape).astype(kind)
    (dX, dpadding), (expected, expected_padding) = (
        m.windows_back(dY, offsets, size, dilation) for m in (compiled, plain)
    )
    assert dX.dtype == expected.dtype and np.array_equal(dX, expected)
    assert_close(dpadding, expected_padding)


@given(seeds, widths, kinds)
def test_maxima_and_their_first_rows_are_the_same(seed, D, kind):
    X, offsets, _ = batch(seed, D, kind)
    offsets = np.unique(offsets)  # no empty sentences
    X = np.round(X)  # some are equal
    (ours, our_rows), (theirs, their_rows) = (m.first_maxima(X, offsets) for m in (compiled, plain))
    assert ours.dtype == theirs.dtype and np.array_equal(ours, theirs)
    assert our_rows.dtype == their_rows.dtype and np.array_equal(our_rows, their_rows)


def test_a_maximum_that_is_not_a_number_has_no_row():
    X = np.array([[1, 2], [np.nan, 3], [0, -np.inf]], np.float32)
    for module in (compiled, plain):
        assert module.first_maxima(X, np.array([0, 2, 3]))[1].tolist() == [[3, 1], [2, 2]]
    with pytest.raises(ShapeError, match="offsets"):
        compiled.first_maxima(X, np.array([0, 2, 4]))
    with pytest.raises(IndexError, match="first_maxima"):
        compiled.first_maxima(X, np.array([0, 2, 2, 3]))


def test_windows_of_awkward_arrays():
    X, offsets, _ = batch(4, 6, np.float32)
    columns, strided = np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2]
    expected = plain.windows(X, np.ones(6, np.float32), offsets, 3, 1)
    for awkward in (columns, strided):
        assert np.array_equal(compiled.windows(awkward, np.ones(6), offsets.astype(np.int32), 3, 1), expected)
    dX, dpadding = plain.windows_back(expected, offsets, 3, 1)
    ours, ours_padding = compiled.windows_back(np.asfortranarray(expected), offsets, 3, 1)
    assert np.array_equal(ours, dX)
    assert_close(ours_padding, dpadding)


def test_windows_that_do_not_fit_are_refused():
    X, padding = np.zeros((3, 2)), np.zeros(2)
    for wrong in ([0, 4], [0, 2], [0, 2, 1, 3], [1, 3]):
        with pytest.raises(ShapeError, match="offsets"):
            compiled.windows(X, padding, np.array(wrong), 3, 1)
        with pytest.raises(ShapeError, match="offsets"):
            compiled.windows_back(np.zeros((3, 6)), np.array(wrong), 3, 1)
    with pytest.raises(ShapeError, match="padding"):
        compiled.windows(X, np.zeros(3), [0, 3], 3, 1)
    with pytest.raises(ShapeError, match=r"dY of windows_back: wrong shape: expected \(3, 6\)"):
        compiled.windows_back(np.zeros((3, 7)), [0, 3], 3, 1)
    with pytest.raises(DtypeError):
        compiled.windows(X.astype(int), padding, [0, 3], 3, 1)


# ------------------------------------------------------------------------------------------------ layer norm


@given(seeds, widths, kinds)
def test_layer_norm_is_the_same(seed, D, kind):
    X, _, rng = batch(seed, D, kind)
    gain, bias, dY = (rng.normal(size=shape).astype(kind) for shape in (D, D, X.shape))
    theirs = plain.normalise_rows(X, gain, bias, 1e-5)
    for ours, expected in zip(compiled.normalise_rows(X, gain, bias, 1e-5), theirs, strict=True):
        if D > 1:  # with one column everything is 0 but for rounding, stretched by 1 / sqrt(epsilon)
            assert_close(ours, expected)
    _, Z, deviation = theirs
    backward = [module.normalise_rows_back(dY, Z, deviation, gain) for module in (compiled, plain)]
    for ours, expected in zip(*backward, strict=True):
        largest = max(1, np.abs(expected).max(initial=0), 1 / deviation.min(initial=1))
        assert np.allclose(ours, expected, rtol=0, atol=1e-5 * largest)


def test_layer_norm_refuses_what_does_not_fit():
    with pytest.raises(ShapeError, match="gain"):
        compiled.normalise_rows(np.zeros((2, 3)), np.zeros(2), np.zeros(3), 1e-5)
    with pytest.raises(ShapeError, match="deviation"):
        compiled.normalise_rows_back(np.zeros((2, 3)), np.zeros((2, 3)), np.zeros(2), np.zeros(3))


# ------------------------------------------------------------------------------------------------ activations, noise

shares = st.sampled_from([0, 1, 2**31, 2**32 - 1])


@given(seeds, widths, kinds, st.sampled_from(kernels.ACTIVATIONS), shares, st.booleans(), st.booleans())
def test_activations_are_the_same_to_the_last_bit(seed, H, kind, activation, dropped, biased, in_place):
    Z, _, rng = batch(seed, H, kind)
    bias = rng.normal(size=H).astype(kind) if biased else None
    noise = Noise(int(rng.integers(0, 2**63)) * 2 + 1, dropped)
    results = []
    for module in (compiled, plain):
        z = Z.copy()
        out = z if in_place else np.empty_like(z)
        slopes = module.activate(z, bias, activation, noise, out)
        results.append((out, slopes))
        assert in_place or np.array_equal(z, Z)
    for ours, theirs in zip(*results, strict=True):
        assert ours.dtype == theirs.dtype == kind and np.array_equal(ours, theirs)


@BOTH
@pytest.mark.parametrize("activation", kernels.ACTIVATIONS)
def test_slopes_are_zero_where_the_activation_is_flat_or_the_element_dropped(module, activation):
    Z = np.array([[-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0]])
    out, all_kept = np.empty_like(Z), Noise(0, 0)
    slopes = module.activate(Z, None, activation, all_kept, out)
    rises = {"identity": np.ones(7), "relu": Z[0] > 0, "hardtanh": np.abs(Z[0]) <= 1}[activation]
    assert np.array_equal(slopes[0], rises)
    noise = Noise(123, 2**31)
    expected, kept = out.copy(), plain.kept_elements(noise, Z.shape, Z.dtype)
    assert np.array_equal(module.activate(Z, None, activation, noise, out), slopes * kept)
    assert np.array_equal(out, expected * kept) and set(kept[0]) == {0.0, 2.0}


def test_random_bits_are_even_and_independent():
    """Shares, and correlations with the neighbour, with the row below and with the next key, in standard deviations."""
    n, keys, p = 20_000, 60, 0.3
    scores = []
    for key in np.random.default_rng(0).integers(0, 2**63, keys):
        here, next_key = ((plain.random_bits(int(k), n) < p * 2**32) - p for k in (key, key + 1))
        products = (here[1:] * here[:-1], here[128:] * here[:-128], here * next_key)
        scores.append(
            [here.mean() / np.sqrt(p * (1 - p) / n), *(x.mean() * np.sqrt(n) / (p * (1 - p)) for x in products)]
        )
    assert (np.abs(np.mean(scores, axis=0)) * np.sqrt(keys) < 4).all()
    assert (np.std(scores, axis=0) > 0.6).all() and (np.std(scores, axis=0) < 1.4).all()


def test_activations_of_awkward_arrays():
    Z = np.arange(12, dtype=np.float32).reshape(2, 6)[:, ::2].T - 5
    out = np.empty((2, 3), np.float32).T  # columns first: goes to the twin
    compiled.activate(Z, np.ones(2), "relu", Noise(0, 0), out)
    assert np.array_equal(out, np.maximum(Z + 1, 0))
    with pytest.raises(ShapeError, match="bias"):
        compiled.activate(Z.copy(), np.ones(3), "relu", Noise(0, 0), np.empty((3, 2), np.float32))
    with pytest.raises(ConfigurationError, match="activation of a kernel"):
        compiled.activate(Z.copy(), None, "tanh", Noise(0, 0), np.empty((3, 2), np.float32))


@given(seeds, kinds, st.sampled_from([(), (0,), (1,), (15,), (16,), (17,), (9, 60), (3, 4, 5)]))
def test_sums_of_squares_are_the_same(seed, kind, shape):
    x = np.asarray(np.random.default_rng(seed).normal(size=shape), kind)
    assert compiled.sum_of_squares(x) == pytest.approx(plain.sum_of_squares(x), rel=1e-6, abs=1e-12)
    assert compiled.sum_of_squares(x.T) == pytest.approx(float((x.astype(np.float64) ** 2).sum()), rel=1e-6)


# ------------------------------------------------------------------------------------------------ sparse rows


@given(seeds, widths, kinds, st.sampled_from([1, 5, 3000, 2**40]), st.sampled_from([0, 1, 40, 300]))
def test_sums_of_occurrences_are_the_same(seed, D, kind, V, N):
    rng = np.random.default_rng(seed)
    ids, values = rng.integers(0, V, N), rng.normal(size=(N, D)).astype(kind)
    (rows, sums), (expected_rows, expected_sums) = (m.sums_of_occurrences(ids, values) for m in (compiled, plain))
    assert rows.dtype == np.int64 and np.array_equal(rows, expected_rows)
    assert sums.shape == expected_sums.shape and sums.dtype == kind
    assert np.allclose(sums, expected_sums, rtol=0, atol=1e-5 * max(1, np.abs(expected_sums).max(initial=0)))


def test_sums_of_awkward_occurrences():
    values = np.arange(12, dtype=np.float32).reshape(2, 6)[:, ::2].T  # strided, columns first
    rows, sums = compiled.sums_of_occurrences(np.array([2, 0, 2], np.int16), values)
    assert rows.tolist() == [0, 2] and sums.tolist() == [[2, 8], [4, 16]]
    with pytest.raises(IndexRangeError, match="sums_of_occurrences"):
        compiled.sums_of_occurrences(np.array([0, -1, 2]), values)
    with pytest.raises(ShapeError, match="values of sums_of_occurrences"):
        compiled.sums_of_occurrences(np.array([0, 1]), values)


def table(seed, kind, shape):
    rng = np.random.default_rng(seed)
    value, mean, square, g = (np.asarray(rng.normal(size=shape), kind) for _ in range(4))
    touches = np.asarray(rng.integers(0, 5, (*shape[:1], *[1] * (len(shape) - 1))))
    np.abs(square, out=square)
    return [value, mean, square, touches], g, rng


shapes = st.sampled_from([(), (1,), (7,), (1, 1), (6, 9), (20, 50), (3, 4, 5), (0, 4)])


def some_rows(rng, shape, sparse):
    return np.flatnonzero(rng.random(shape[0]) < 0.5) if sparse and shape else ...


def assert_same_steps(ours, theirs):
    for one, other in zip(ours, theirs, strict=True):
        assert one.dtype == other.dtype
        assert np.allclose(one, other, rtol=1e-6, atol=1e-7)


@given(seeds, kinds, shapes, st.booleans(), st.booleans(), st.sampled_from([1.0, 0.3]))
def test_steps_of_adam_are_the_same(seed, kind, shape, sparse, averaged, scale):
    arrays, g, rng = table(seed, kind, shape)
    part = some_rows(rng, shape, sparse)
    settings = AdamSettings(0.01, scale=scale)
    arrays += [rng.normal(size=shape), np.asarray(rng.integers(0, 5, shape[:1]))]
    ours, theirs = ([np.array(array) for array in arrays] for _ in range(2))
    for copies, module in ((ours, compiled), (theirs, plain)):
        memory, totals = AdamMemory(*copies[:4]), Totals(*copies[4:], 7)
        for steps in (7, 8):
            totals.steps = steps
            module.adam_step(memory, part, g[part], settings, totals if averaged else None)
    assert_same_steps(ours, theirs)


@given(seeds, kinds, shapes, st.booleans())
def test_steps_of_adagrad_are_the_same(seed, kind, shape, sparse):
    (value, _, square, _), g, rng = table(seed, kind, shape)
    part = some_rows(rng, shape, sparse)
    ours, theirs = ([np.array(value), np.array(square)] for _ in range(2))
    for _ in range(2):
        compiled.adagrad_step(*ours, part, g[part], 0.01, 1e-8)
        plain.adagrad_step(*theirs, part, g[part], 0.01, 1e-8)
    assert_same_steps(ours, theirs)


@given(seeds, kinds, st.sampled_from([(), (1,), (7,), (6, 9), (20, 50), (3, 4, 5), (0, 4)]), st.booleans())
def test_totals_are_settled_alike(seed, kind, shape, sparse):
    (value, *_), _, rng = table(seed, kind, shape)
    part = some_rows(rng, shape, sparse)
    total, settled = rng.normal(size=shape), np.asarray(rng.integers(0, 5, shape[:1]))
    ours, theirs = ([np.array(array) for array in (total, settled)] for _ in range(2))
    compiled.settle_rows(*ours, value, part, 7)
    plain.settle_rows(*theirs, value, part, 7)
    assert np.allclose(ours[0], theirs[0], rtol=1e-15, atol=1e-15) and np.array_equal(ours[1], theirs[1])


def test_rows_to_settle_lie_inside_their_table():
    with pytest.raises(IndexRangeError, match="settle_rows"):
        compiled.settle_rows(np.zeros((3, 2)), np.zeros(3, np.int64), np.ones((3, 2)), np.array([0, 3]), 1)


@BOTH
def test_a_step_in_an_array_that_c_cannot_change_goes_to_the_twin(module):
    (value, *memory), g, _ = table(0, np.float32, (6, 8))
    expected = value.copy()
    plain.adam_step(AdamMemory(expected, *(array.copy() for array in memory)), ..., g, AdamSettings(0.1))
    columns = np.asfortranarray(value)
    module.adam_step(AdamMemory(columns, *memory), ..., g, AdamSettings(0.1))
    assert_close(np.ascontiguousarray(columns), expected)


def test_a_frozen_parameter_is_not_changed():
    arrays, g, _ = table(0, np.float32, (6, 8))
    memory = AdamMemory(*arrays)
    compiled.adam_step(memory, ..., g, AdamSettings(0.1))
    arrays[0].flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        compiled.adam_step(memory, ..., g, AdamSettings(0.1))


def test_rows_outside_the_table_are_refused():
    arrays, g, _ = table(0, np.float32, (6, 8))
    memory, (value, _, square, touches) = AdamMemory(*arrays), arrays
    before, settings = value.copy(), AdamSettings(0.1)
    for wrong in ([0, 6], [-1, 2]):
        with pytest.raises(IndexRangeError, match="adam_step"):
            compiled.adam_step(memory, np.array(wrong), g[:2], settings)
        with pytest.raises(IndexRangeError, match="adagrad_step"):
            compiled.adagrad_step(value, square, np.array(wrong), g[:2], 0.1, 1e-8)
    with pytest.raises(ShapeError, match="gradient"):
        compiled.adagrad_step(value, square, np.array([1, 2]), g[:1], 0.1, 1e-8)
    with pytest.raises(ShapeError, match="touches"):
        compiled.adam_step(AdamMemory(*arrays[:3], touches[:3]), ..., g, settings)
    with pytest.raises(ShapeError, match="totals of averages"):
        compiled.adam_step(memory, ..., g, settings, Totals(np.zeros((6, 7)), np.zeros(6, np.int64), 1))
    assert np.array_equal(value, before)


def test_threads_do_not_disturb_each_other():
    batches = [batch(seed, 40, np.float32) for seed in range(6)]

    def work(one):
        X, offsets, _ = one
        Y = compiled.windows(X, np.zeros(40, np.float32), offsets, 5, 1)
        return Y, *compiled.windows_back(Y, offsets, 5, 1), *compiled.sums_of_occurrences(np.arange(len(X)) % 7, X)

    expected = [work(one) for one in batches]
    with ThreadPoolExecutor(4) as pool:
        for ours, theirs in zip(pool.map(work, batches), expected, strict=True):
            assert all(np.array_equal(one, other) for one, other in zip(ours, theirs, strict=True))


@BOTH
def test_overflow_is_told_as_numpy_tells_it(module):
    huge = np.full((3, 2), 3e38, np.float32)
    calls = {
        "sums": lambda: module.sums_of_occurrences(np.zeros(3, np.int64), huge),
        "windows": lambda: module.windows_back(np.full((3, 6), 3e38, np.float32), np.array([0, 3]), 3, 1),
        "activation": lambda: module.activate(huge.copy(), huge[0], "relu", Noise(0, 0), huge.copy()),
        "layer norm": lambda: module.normalise_rows(huge, np.ones(2, np.float32), np.ones(2, np.float32), 1e-5),
    }
    for call in calls.values():
        with np.errstate(all="raise", under="ignore"), pytest.raises(FloatingPointError):
            call()
        with np.errstate(all="ignore"):
            call()
    with np.errstate(all="raise", under="ignore"):
        module.sums_of_occurrences(np.arange(3), huge)  # nothing is added: a flag from before must not be heard
