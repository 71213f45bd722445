import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.arrays import Ragged, checked_finite, checked_floats, checked_indices, offsets_from_lengths
from postil.errors import DtypeError, IndexRangeError, NumericalError, ShapeError


@given(st.lists(st.lists(st.integers(-5, 5), max_size=6), max_size=8))
def test_a_ragged_batch_gives_its_sequences_back(sequences):
    batch = Ragged.from_sequences(sequences, np.int64)
    assert [list(row) for row in batch] == sequences
    assert len(batch) == len(sequences)
    assert list(batch.lengths) == [len(s) for s in sequences]
    assert all(list(batch[i - len(sequences)]) == s for i, s in enumerate(sequences))


def test_an_empty_batch_of_empty_sentences():
    assert len(Ragged.from_sequences([])) == 0
    assert len(Ragged.from_sequences([[], []])) == 2


@pytest.mark.parametrize(
    ("offsets", "message"),
    [
        ([0, 2], "a rising sequence from 0 to 3"),
        ([1, 3], "a rising sequence from 0 to 3"),
        ([0, 2, 1, 3], "a rising sequence from 0 to 3"),
        ([[0, 3]], "a vector of integers"),
        ([], "a vector of integers"),
        ([0.0, 3.0], "a vector of integers"),
    ],
)
def test_wrong_offsets(offsets, message):
    with pytest.raises(ShapeError, match=message):
        Ragged(np.zeros((3, 2)), np.array(offsets))


def test_a_sentence_that_is_not_there():
    with pytest.raises(IndexRangeError, match="no such sentence: expected an index below 1, got 1"):
        Ragged(np.zeros(3), [0, 3])[1]


def test_offsets_from_lengths():
    assert list(offsets_from_lengths([2, 0, 3])) == [0, 2, 2, 5]


def test_floats_are_checked():
    assert checked_floats([1, 2], "x").dtype == np.float64
    assert checked_floats(np.float32(1), "x").dtype == np.float32
    for wrong in (np.array([1, 2]), np.zeros(2, np.float16), np.array(["a"]), "text", None, [1j]):
        with pytest.raises(DtypeError, match="where: wrong element type: expected float32 or float64"):
            checked_floats(wrong, "where")
    with pytest.raises(ShapeError, match="rows of different lengths"):
        checked_floats([[1.0], [1.0, 2.0]], "where")


def test_indices_are_checked():
    with pytest.raises(
        IndexRangeError, match=r"table: index out of range: expected 0 to 4, got 5 at position \(1, 0\)"
    ):
        checked_indices(np.array([[0, 1], [5, 2]]), 5, "table")
    with pytest.raises(IndexRangeError, match="got -1"):
        checked_indices([-1], 5, "table")
    with pytest.raises(DtypeError, match="expected integers, got float64"):
        checked_indices([0.0], 5, "table")
    assert checked_indices([], 5, "table").dtype == np.int64


def test_finite_is_checked():
    with pytest.raises(NumericalError, match=r"scores: a value is not finite: expected finite numbers, got nan at .*1"):
        checked_finite(np.array([0.0, np.nan]), "scores")


def test_a_slice_of_a_ragged_batch_is_one():
    batch = Ragged(np.arange(12).reshape(6, 2), [0, 1, 1, 4, 6])
    some = batch[1:3]
    assert isinstance(some, Ragged) and some.offsets.tolist() == [0, 0, 3]
    assert some.data.tolist() == batch.data[1:4].tolist()
    assert [rows.tolist() for rows in batch[::-2]] == [batch[3].tolist(), batch[1].tolist()]
    assert batch[4:].data.shape == (0, 2) and len(batch[4:]) == 0


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: Ragged(1.0, [0, 1]),
            ShapeError,
            r"data of a ragged batch: expected an array of rows, got float64 \(\)",
        ),
        (
            lambda: Ragged.from_sequences([np.ones((1, 3)), np.ones((2, 4))]),
            ShapeError,
            r"sequences of a ragged batch: expected rows of one shape, got rows of shape \(3,\), rows of shape \(4,\)",
        ),
        (lambda: Ragged.from_sequences([1, 2]), ShapeError, "expected a list or an array of rows, got int 1"),
        (lambda: Ragged.from_sequences([[[1], [2, 3]]]), ShapeError, "a sequence of a ragged batch: expected rows of"),
        (lambda: Ragged.from_sequences([[1]])["a"], IndexRangeError, "no such sentence: .* got 'a'"),
    ],
)
def test_impossible_ragged_batches(make, error, message):
    with pytest.raises(error, match=message):
        make()
