"""Resampling over kinds of sentence against resampling sentence by sentence, and against enumeration."""

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from postil.errors import ConfigurationError, DataError
from postil.metrics import significance
from postil.metrics.significance import (
    Comparison,
    accuracy,
    bootstrap_interval,
    compare_systems,
    f1,
    randomisation_test,
)


def made_up_counts(rng: np.random.Generator, sentences: int, skill: float) -> NDArray[np.int64]:
    gold = rng.integers(0, 5, sentences)
    correct = rng.binomial(gold, skill)
    return np.stack([correct, correct + rng.integers(0, 2, sentences), gold], axis=1)


def test_scores() -> None:
    assert f1(np.array([[3, 4, 6], [0, 0, 0]])).tolist() == [0.6, 0]
    assert accuracy(np.array([3, 4])) == 0.75


@pytest.mark.slow
def test_interval_agrees_with_drawing_sentence_by_sentence() -> None:
    counts = made_up_counts(np.random.default_rng(0), 300, 0.7)
    rng = np.random.default_rng(1)
    drawn = rng.integers(0, 300, size=(20_000, 300))
    slow = np.quantile(f1(counts[drawn].sum(axis=1)), [0.025, 0.975])
    fast = bootstrap_interval(counts, f1, rng=rng, resamples=20_000)
    assert (fast.low, fast.high) == pytest.approx(slow, abs=0.002)
    assert fast.low < fast.value < fast.high
    assert fast.value == f1(counts.sum(axis=0))


def test_equal_sentences_leave_no_doubt() -> None:
    interval = bootstrap_interval(np.tile([1, 2, 2], (9, 1)), f1, rng=np.random.default_rng(0), resamples=50)
    assert interval == (0.5, 0.5, 0.5, 0.95, 50)
    assert interval.to_dict() == {"value": 50, "low": 50, "high": 50, "level": 0.95, "resamples": 50}


def test_no_sentences() -> None:
    empty = np.zeros((0, 3), np.int64)
    assert bootstrap_interval(empty, f1, rng=np.random.default_rng(0), resamples=5)[:3] == (0, 0, 0)
    assert compare_systems(empty, empty, f1, rng=np.random.default_rng(0), resamples=5).p_value == 1


def test_same_seed_same_answer_and_batches_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = made_up_counts(np.random.default_rng(0), 100, 0.5)
    whole = bootstrap_interval(counts, f1, rng=np.random.default_rng(5), resamples=300)
    monkeypatch.setattr(significance, "CELLS_AT_ONCE", 64)
    assert bootstrap_interval(counts, f1, rng=np.random.default_rng(5), resamples=300) == whole


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_p_value_agrees_with_all_swaps(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = made_up_counts(rng, 10, 0.4), made_up_counts(rng, 10, 0.8)
    observed = abs(f1(second.sum(axis=0)) - f1(first.sum(axis=0)))
    gaps = []
    for swaps in product([False, True], repeat=10):
        swap = np.array(swaps)[:, None]
        one, other = np.where(swap, second, first), np.where(swap, first, second)
        gaps.append(abs(f1(other.sum(axis=0)) - f1(one.sum(axis=0))))
    exact = np.mean(np.array(gaps) >= observed - 1e-12)
    drawn = randomisation_test(first, second, f1, rng=rng, resamples=20_000)
    assert drawn == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 20_000) + 1 / 20_000)


def test_comparison_of_unequal_systems() -> None:
    rng = np.random.default_rng(0)
    gold = rng.integers(0, 4, 500)
    weak, strong = rng.binomial(gold, 0.6), rng.binomial(gold, 0.8)
    first, second = (np.stack([correct, gold, gold], axis=1) for correct in (weak, strong))
    result = compare_systems(first, second, f1, rng=rng)
    assert result.difference == pytest.approx(result.second - result.first)
    assert 0 < result.low < result.difference < result.high
    assert result.p_value == pytest.approx(1 / 2001)
    assert result.second_better == 1
    turned = compare_systems(second, first, f1, rng=rng)
    assert turned.difference == -result.difference
    assert turned.second_better == 0
    assert result.to_dict()["difference"] == 100 * result.difference


def test_a_system_does_not_differ_from_itself() -> None:
    counts = made_up_counts(np.random.default_rng(0), 50, 0.5)
    result = compare_systems(counts, counts, f1, rng=np.random.default_rng(0), resamples=100)
    assert (result.difference, result.low, result.high, result.p_value, result.second_better) == (0, 0, 0, 1, 0.5)


def test_p_values_of_equal_systems_are_uniform() -> None:
    """The test keeps its promise: among systems of one skill, 5 % come out below 0.05."""
    rng = np.random.default_rng(0)
    below = 0
    for _ in range(400):
        gold = rng.integers(1, 4, 60)
        first, second = (np.stack([rng.binomial(gold, 0.6), gold, gold], axis=1) for _ in range(2))
        below += randomisation_test(first, second, f1, rng=rng, resamples=200) <= 0.05
    assert 8 <= below <= 34  # 20 expected, standard deviation 4.4


def test_bad_input() -> None:
    rng, counts = np.random.default_rng(0), np.ones((2, 3), np.int64)
    with pytest.raises(DataError, match=r"same sentences: expected \(2, 3\), got \(1, 3\)"):
        compare_systems(counts, counts[:1], f1, rng=rng)
    with pytest.raises(ConfigurationError, match="resamples: expected 1 or more, got 0"):
        bootstrap_interval(counts, f1, rng=rng, resamples=0)
    with pytest.raises(ConfigurationError, match="level of confidence"):
        bootstrap_interval(counts, f1, rng=rng, level=95)
    with pytest.raises(DataError, match="one row of counts per sentence"):
        bootstrap_interval(np.ones(3, np.int64), f1, rng=rng)


def test_an_interval_and_a_p_value_that_disagree_are_explained():
    def note(low, high, p_value):
        return Comparison(0.8, 0.9, 0.1, low, high, 0.95, p_value, 0.9, 2000).note

    assert note(0.01, 0.2, 0.01) == note(-0.01, 0.2, 0.4) == ""
    assert note(0.01, 0.2, 0.114).startswith(
        "the interval excludes 0, but p is not small: the difference is not certain"
    )
    assert note(-0.2, -0.01, 0.114) == note(0.01, 0.2, 0.114)
    assert note(-0.01, 0.2, 0.01).startswith("the interval includes 0, but p is small")


def test_few_differing_sentences_make_them_disagree():
    """Four sentences of fifty are better: few resamples have none of them, but they are only four coins."""
    first = np.array([[1, 1, 1]] * 46 + [[0, 1, 1]] * 4)
    second = np.array([[1, 1, 1]] * 50)
    result = compare_systems(first, second, f1, rng=np.random.default_rng(0))
    assert result.low > 0 and result.p_value > 0.05 and result.note
