"""Compiled recursions on a chain against their NumPy twins, on random, hostile and awkward input."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.arrays import offsets_from_lengths
from postil.errors import DtypeError, ShapeError
from postil.kernels import plain_chain as plain

compiled = pytest.importorskip("postil.kernels.compiled_chain", reason="the kernels were not compiled here")

BOTH = [plain, compiled]
seeds = st.integers(0, 2**32 - 1)
label_numbers = st.sampled_from([1, 2, 3, 7, 8, 9, 16, 17, 23, 24, 25, 33, 48, 49])
SCORES = ("normal", "ties", "enormous")


def random_chain(seed, L, *, scores="normal", forbidden=0.0, dtype=np.float64, longest=9, sentences=6):
    """Arguments of a recursion. ``ties``: scores of few values; ``forbidden``: the share of impossible steps."""
    rng = np.random.default_rng(seed)
    offsets = offsets_from_lengths(rng.integers(0, longest + 1, rng.integers(0, sentences + 1)))

    def table(*shape):
        drawn = rng.integers(-1, 2, shape) if scores == "ties" else rng.normal(size=shape)
        return drawn.astype(float) * (1e25 if scores == "enormous" else 1)

    def step(*shape):
        return np.where(rng.random(shape) < forbidden, -np.inf, table(*shape))

    return step(offsets[-1], L).astype(dtype), offsets, step(L, L), step(L), step(L)


def assert_same(ours, theirs):
    for one, other in zip(ours, theirs, strict=True):
        assert one.dtype == other.dtype and np.array_equal(one, other)


@given(
    seeds,
    label_numbers,
    st.sampled_from(SCORES),
    st.sampled_from([0.0, 0.2, 0.7]),
    st.sampled_from([np.float32, np.float64]),
)
def test_viterbi_is_the_same_to_the_last_bit(seed, L, scores, forbidden, dtype):
    chain = random_chain(seed, L, scores=scores, forbidden=forbidden, dtype=dtype)
    labels, best = compiled.viterbi(*chain)
    expected_labels, expected_best = plain.viterbi(*chain)
    assert np.array_equal(best, expected_best)
    possible = np.repeat(best > -np.inf, np.diff(chain[1]))  # labels of an impossible sentence mean nothing
    assert np.array_equal(labels[possible], expected_labels[possible])


@given(
    seeds, label_numbers, st.sampled_from(SCORES), st.sampled_from([0.0, 0.3, 0.7]), st.sampled_from([1, 2, 3, 7, 30])
)
def test_the_k_best_are_the_same_to_the_last_bit(seed, L, scores, forbidden, k):
    chain = random_chain(seed, L, scores=scores, forbidden=forbidden, longest=6, sentences=4)
    (paths, best), (expected_paths, expected_best) = (module.ranked_paths(*chain, k) for module in BOTH)
    assert np.array_equal(best, expected_best)
    possible = np.repeat(best > -np.inf, np.diff(chain[1]), axis=0)
    assert np.array_equal(paths[possible], expected_paths[possible])
    if len(best):
        assert np.array_equal(best[:, 0], compiled.viterbi(*chain)[1])


def test_the_k_best_of_more_paths_than_memory_holds():
    chain = random_chain(1, 3)
    with pytest.raises((MemoryError, ValueError)):
        compiled.ranked_paths(*chain, 2**58)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lengths", "L"),
    [([], 3), ([0], 3), ([0, 0, 0], 1), ([1], 1), ([1], 500), ([0, 1, 0, 2, 0], 500), ([3000], 2), ([1] * 2000, 17)],
)
def test_extreme_sizes(lengths, L):
    rng = np.random.default_rng(len(lengths))
    offsets = offsets_from_lengths(lengths)
    chain = rng.normal(size=(offsets[-1], L)), offsets, rng.normal(size=(L, L)), rng.normal(size=L), rng.normal(size=L)
    assert_same(compiled.viterbi(*chain), plain.viterbi(*chain))
    for paths, scores in [module.ranked_paths(*chain, 2) for module in BOTH]:
        assert_same((paths[:, 0], scores[:, 0]), plain.viterbi(*chain))


def test_labels_of_impossible_sentences_are_labels_all_the_same():
    unary, offsets, transitions, start, end = random_chain(3, 5, sentences=9)
    labels, scores = compiled.viterbi(unary, offsets, np.full_like(transitions, -np.inf), start - np.inf, end)
    assert (scores[np.diff(offsets) > 0] == -np.inf).all()
    assert ((labels >= 0) & (labels < 5)).all()


@given(seeds)
def test_any_layout_of_memory_will_do(seed):
    chain = random_chain(seed, 9, dtype=np.float32)
    strided = [np.repeat(array, 2, axis=-1)[..., ::2] for array in chain]
    columns = [np.asfortranarray(array) for array in chain]
    for awkward in (strided, columns):
        assert_same(compiled.viterbi(*awkward), compiled.viterbi(*chain))


def test_small_offsets_and_read_only_arrays_will_do():
    unary, offsets, *steps = random_chain(5, 4)
    for array in (unary, *steps):
        array.flags.writeable = False
    assert_same(compiled.viterbi(unary, offsets.astype(np.uint8), *steps), plain.viterbi(unary, offsets, *steps))


@pytest.mark.parametrize("module", BOTH, ids=["plain", "compiled"])
def test_arguments_that_do_not_fit_are_refused(module):
    unary, offsets, transitions, start, end = np.zeros((4, 3)), [0, 1, 4], np.zeros((3, 3)), np.zeros(3), np.zeros(3)
    with pytest.raises(DtypeError, match="expected float32 or float64, got int64"):
        module.viterbi(unary.astype(int), offsets, transitions, start, end)
    with pytest.raises(DtypeError, match="float16"):
        module.viterbi(unary.astype(np.float16), offsets, transitions, start, end)
    for wrong in ([0, 5], [1, 4], [0, 3, 2, 4], [0, -1, 4], [], [0, 2**62, 4]):
        with pytest.raises(ShapeError, match="offsets"):
            module.viterbi(unary, np.array(wrong, np.int64), transitions, start, end)
    with pytest.raises(ShapeError, match=r"transitions: wrong shape: expected \(3, 3\), got \(2, 3\)"):
        module.viterbi(unary, offsets, transitions[:2], start, end)
    with pytest.raises(ShapeError, match="start"):
        module.viterbi(unary, offsets, transitions, start[:2], end)
    with pytest.raises(ShapeError, match="unary"):
        module.viterbi(unary[0], offsets, transitions, start, end)
    with pytest.raises(ShapeError, match="1 label or more"):
        module.viterbi(unary[:, :0], offsets, transitions[:0, :0], start[:0], end[:0])


def test_threads_do_not_disturb_each_other():
    chains = [random_chain(seed, 17, sentences=60) for seed in range(8)]
    expected = [compiled.viterbi(*chain) for chain in chains]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            for ours, theirs in zip(pool.map(lambda chain: compiled.viterbi(*chain), chains), expected, strict=True):
                assert_same(ours, theirs)


def assert_close(ours, theirs):
    assert np.allclose(ours, theirs, rtol=1e-9, atol=1e-12)


@given(
    seeds,
    label_numbers,
    st.sampled_from(SCORES),
    st.sampled_from([0.0, 0.2, 0.7]),
    st.sampled_from([np.float32, np.float64]),
)
def test_moments_are_the_same(seed, L, scores, forbidden, dtype):
    chain = random_chain(seed, L, scores=scores, forbidden=forbidden, dtype=dtype)
    log_z, marginals, counts, exact = compiled.chain_moments(*chain)
    expected = plain.chain_moments(*chain)
    assert np.array_equal(exact, expected[3])
    tokens = np.repeat(exact, np.diff(chain[1]))
    assert_close(log_z[exact], expected[0][exact])
    assert_close(marginals[tokens], expected[1][tokens])
    assert_close(counts, expected[2])
    assert np.allclose(marginals[tokens].sum(axis=1), 1)
    assert np.isclose(counts.sum(), np.maximum(np.diff(chain[1])[exact] - 1, 0).sum())


@given(seeds, label_numbers, st.sampled_from([0.0, 0.3]))
def test_messages_are_the_same(seed, L, forbidden):
    chain = random_chain(seed, L, forbidden=forbidden)
    ours, theirs = compiled.chain_messages(*chain), plain.chain_messages(*chain)
    assert np.array_equal(ours.is_exact, theirs.is_exact)
    tokens = np.repeat(ours.is_exact, np.diff(chain[1]))
    for name in ("factors", "prefix", "scale", "following", "arriving", "weight"):
        one, other = getattr(ours, name), getattr(theirs, name)
        assert one.shape == other.shape
        assert_close(one[tokens], other[tokens])
    assert_close(ours.transitions, theirs.transitions)
    assert_close(ours.log_partition[ours.is_exact], theirs.log_partition[ours.is_exact])


def test_the_exponential_is_that_of_numpy_to_a_few_units_of_the_last_place():
    scores = np.concatenate([-np.linspace(0, 708, 9999), -np.geomspace(1e-300, 1, 999), [-1e4, -np.inf]])
    N = len(scores)
    chain = np.stack([np.zeros(N), scores], axis=1), np.arange(N + 1), np.zeros((2, 2)), np.zeros(2), np.zeros(2)
    factors = compiled.chain_messages(*chain).factors[:, 1]
    assert (factors[-2:] == 0).all()
    assert (np.abs(factors[:-2] / np.exp(scores[:-2]) - 1) < 1e-15).all()


@pytest.mark.parametrize("forward_backward", ["chain_moments", "chain_messages"])
@pytest.mark.parametrize(
    ("lengths", "L"), [([], 3), ([0], 3), ([0, 0], 1), ([1], 1), ([0, 1, 0, 2, 0], 500), ([20000], 2), ([1] * 2000, 17)]
)
def test_extreme_sizes_forward_and_backward(lengths, L, forward_backward):
    rng = np.random.default_rng(len(lengths))
    offsets = offsets_from_lengths(lengths)
    chain = rng.normal(size=(offsets[-1], L)), offsets, rng.normal(size=(L, L)), rng.normal(size=L), rng.normal(size=L)
    for ours, theirs in zip(
        getattr(compiled, forward_backward)(*chain), getattr(plain, forward_backward)(*chain), strict=True
    ):
        assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
        assert_close(ours, theirs)


def test_what_is_too_far_apart_is_not_exact():
    unary, offsets, transitions, start, end = np.zeros((3, 2)), [0, 1, 3, 3], np.zeros((2, 2)), np.zeros(2), np.zeros(2)
    for module in BOTH:
        for token, step, exact in (
            (-201, 0, False),
            (0, 201, False),
            (-199, 0, True),
            (-150, 49, True),
            (-150, 51, False),
        ):
            unary[1, 1] = token
            transitions[0, 1] = step
            others = step <= 200
            found = module.chain_moments(unary, offsets, transitions, start, end)[3]
            assert found.tolist() == [others, exact, True]


def test_probabilities_that_would_be_denormal_gradients_are_zero():
    unary, steps = np.array([[0.0, -40, -90]]), (np.zeros((3, 3)), np.zeros(3), np.zeros(3))
    for module in BOTH:
        marginals = module.chain_moments(unary, [0, 1], *steps)[1]
        assert marginals[0, 2] == 0
        assert np.isclose(marginals[0, 1], np.exp(-40), rtol=1e-9, atol=0)


def test_moments_do_not_depend_on_threads():
    chains = [random_chain(seed, 17, sentences=60) for seed in range(8)]
    expected = [compiled.chain_moments(*chain) for chain in chains]
    with ThreadPoolExecutor(4) as pool:
        for ours, theirs in zip(pool.map(lambda chain: compiled.chain_moments(*chain), chains), expected, strict=True):
            assert_same(ours, theirs)


@pytest.mark.parametrize("module", BOTH)
@pytest.mark.parametrize("L", [1, 2, 5, 9, 17])
@pytest.mark.parametrize("where", ["unary", "transitions"])
def test_labels_are_labels_even_where_scores_are_no_numbers(module, L, where):
    """Rows are padded inside of the kernel: no label may come from there, as it would be followed to other rows."""
    unary, steps = np.zeros((6, L)), np.zeros((L, L))
    (unary if where == "unary" else steps)[:] = np.nan
    labels, _ = module.viterbi(unary, np.array([0, 4, 6]), steps, np.zeros(L), np.zeros(L))
    assert labels.min() >= 0 and labels.max() < L
