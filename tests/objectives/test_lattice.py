"""What a lattice accepts, and the order of time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.errors import DtypeError, NumericalError, ShapeError
from postil.kernels.plain_chain import Packing, Scratch
from postil.objectives import ChainScores, Lattice
from postil.objectives.crf import checked_scores

CHAIN = ChainScores.under_mask(3)


def lattice(unary, offsets=(0, 2), **options):
    return Lattice.over(unary, offsets, CHAIN, **options)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_of_either_float_type_become_float64(dtype):
    scores = np.arange(6, dtype=dtype).reshape(2, 3)
    made = lattice(scores)
    assert made.unary.dtype == np.float64 and np.array_equal(made.unary, scores)
    made.unary[0, 0] = 7
    assert scores[0, 0] == 0  # the caller's array is never ours


@pytest.mark.parametrize(
    ("unary", "options", "error", "message"),
    [
        (np.full((2, 3), np.nan), {}, NumericalError, r"unary scores: a value is not finite: expected finite numbers"),
        (np.array([[0, 0, 0], [0, -np.inf, 0]]), {}, NumericalError, r"got -inf at position \(1, 1\)"),
        (np.full((2, 3), 1e35), {}, NumericalError, r"unary scores: a score is too large: expected at most 1e\+30"),
        (np.zeros((2, 3), int), {}, DtypeError, "unary scores: wrong element type: expected float32 or float64"),
        (np.zeros((2, 4)), {}, ShapeError, r"unary scores: wrong shape: expected \(N, 3\), got \(2, 4\)"),
        (np.zeros(3), {}, ShapeError, r"unary scores: wrong shape"),
        (np.zeros((2, 3)), {"offsets": [0, 1]}, ShapeError, "offsets of a ragged batch: expected a rising sequence"),
        (np.zeros((2, 3)), {"offsets": [0, 2, 1, 2]}, ShapeError, "offsets of a ragged batch"),
        (
            np.zeros((2, 3)),
            {"allowed": np.ones((2, 3))},
            DtypeError,
            "allowed labels: wrong element type: expected bool",
        ),
        (
            np.zeros((2, 3)),
            {"allowed": np.ones((2, 2), bool)},
            ShapeError,
            r"allowed labels: wrong shape: expected \(2, 3\)",
        ),
        (np.zeros((2, 3)), {"bias": np.zeros(2)}, ShapeError, r"label bias: wrong shape: expected \(3,\), got \(2,\)"),
        (np.zeros((2, 3)), {"bias": np.array([0, np.nan, 0])}, NumericalError, "label bias: a value is not finite"),
    ],
)
def test_a_batch_that_does_not_fit(unary, options, error, message):
    with pytest.raises(error, match=message):
        lattice(unary, **options)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"transitions": np.zeros((3, 2))}, ShapeError, r"transitions scores: wrong shape: expected \(3, 3\)"),
        ({"start": np.full(3, np.inf)}, NumericalError, "start scores: a value is not finite"),
        ({"allowed_end": np.ones(3, int)}, DtypeError, "allowed end: wrong element type: expected bool"),
        ({"allowed_transitions": np.ones(3, bool)}, ShapeError, "allowed transitions: wrong shape"),
    ],
)
def test_a_chain_that_does_not_fit(options, error, message):
    with pytest.raises(error, match=message):
        ChainScores.under_mask(3, **options)


def test_what_is_forbidden_is_impossible_not_unlikely():
    allowed = np.array([[True, False], [True, True]])
    chain = ChainScores.under_mask(2, transitions=np.full((2, 2), 5.0), allowed_transitions=allowed)
    assert chain.transitions.tolist() == [[5, -np.inf], [5, 5]]
    restricted = Lattice.over(np.ones((2, 2)), [0, 2], chain, allowed=allowed)
    assert restricted.unary.tolist() == [[1, -np.inf], [1, 1]]


def test_edges_pairs_and_sums_of_a_batch_with_empty_sentences():
    batch = Lattice.over(np.zeros((5, 3)), [0, 0, 2, 2, 5, 5], CHAIN)
    assert batch.sentences.first.tolist() == [0, 2] and batch.sentences.last.tolist() == [1, 4]
    assert batch.pairs.tolist() == [0, 2, 3]
    assert batch.sentences.sums(np.arange(5.0)).tolist() == [0, 1, 0, 9, 0]
    part, tokens = batch.selected(np.array([3, 0, 1]))
    assert part.offsets.tolist() == [0, 3, 3, 5] and tokens.tolist() == [2, 3, 4, 0, 1]


@given(st.lists(st.integers(0, 6), max_size=8))
def test_packing_holds_every_token_once_in_either_direction(lengths):
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)
    packing = Packing(offsets)
    N = int(offsets[-1])
    tokens, left, right = packing.both_ways()
    assert sorted(packing.forward.tolist()) == list(range(N))
    assert sorted([*left.tolist(), *right.tolist()]) == list(range(2 * N))
    assert np.array_equal(tokens[left], np.arange(N)) and np.array_equal(tokens[right], np.arange(N))
    for t, (first, end) in enumerate(packing.steps):
        alive = packing.order[: end - first]
        assert sorted(alive.tolist()) == [b for b, length in enumerate(lengths) if length > t]
        assert np.array_equal(packing.forward[first:end], offsets[alive] + t)
        block = np.concatenate([offsets[alive] + t, offsets[alive + 1] - 1 - t])
        assert np.array_equal(tokens[2 * first : 2 * end], block)


def test_scratch_memory_is_used_again_under_its_name():
    scratch = Scratch()
    first = scratch.array("a", 4, 3)
    assert np.shares_memory(first, scratch.array("a", 2, 3))
    assert not np.shares_memory(first, scratch.array("b", 4, 3))
    assert scratch.array("a", 10, 3).shape == (10, 3)
    assert scratch.array("a", 7).ctypes.data % 64 == 0


def test_the_limit_of_scores_is_that_of_each_score():
    """Many large scores are not one that is too large: the message would contradict itself."""
    large = np.full((200, 3), 9e29)
    assert checked_scores(large, (200, 3), where="unary scores").max() == 9e29
    large[7, 1] = -2e30
    with pytest.raises(NumericalError, match=r"expected at most 1e\+30, got 2e\+30"):
        checked_scores(large, (200, 3), where="unary scores")
