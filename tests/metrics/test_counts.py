"""Counts and the ratios derived from them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.metrics.counts import Counts, ratio


def test_ratios() -> None:
    counts = Counts(correct=3, predicted=4, gold=6)
    assert (counts.precision, counts.recall, counts.f1) == (0.75, 0.5, 0.6)
    assert Counts(3, 4, 6, partial=1).precision == 3.5 / 4


def test_zero_by_zero_is_zero() -> None:
    assert (Counts().precision, Counts().recall, Counts().f1) == (0, 0, 0)
    assert Counts(0, 5, 0).recall == 0
    assert Counts(0, 0, 5).precision == 0


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50))
def test_f1_is_the_harmonic_mean(correct: int, more_predicted: int, more_gold: int) -> None:
    counts = Counts(correct, correct + more_predicted, correct + more_gold)
    both = counts.precision + counts.recall
    assert counts.f1 == pytest.approx(2 * counts.precision * counts.recall / both if both else 0)


def test_counts_add() -> None:
    assert Counts(1, 2, 3, 4) + Counts(10, 20, 30, 40) == Counts(11, 22, 33, 44)


def test_to_dict_is_in_percent() -> None:
    assert Counts(1, 2, 4).to_dict() == {
        "precision": 50, "recall": 25, "f1": pytest.approx(100 / 3), "support": 4, "predicted": 2, "correct": 1,
    }  # fmt: skip
    assert Counts(1, 2, 4, partial=1).to_dict()["partial"] == 1


def test_ratio_of_arrays() -> None:
    assert ratio([1, 2, 0], [2, 0, 0]).tolist() == [0.5, 0, 0]
    assert ratio(1, np.array([[2], [4]])).tolist() == [[0.5], [0.25]]
