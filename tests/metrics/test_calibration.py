"""Reliability tables against a loop over bins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.errors import ConfigurationError, DataError
from postil.metrics.calibration import calibrate

answers = st.lists(st.tuples(st.one_of(st.sampled_from([0.0, 0.1, 0.3, 0.7, 1.0]), st.floats(0, 1)), st.booleans()))


@given(answers, st.integers(1, 12))
def test_against_a_loop_over_bins(pairs: list[tuple[float, bool]], bins: int) -> None:
    table = calibrate([p for p, _ in pairs], [c for _, c in pairs], bins=bins)
    expected_error, edges = 0.0, np.linspace(0, 1, bins + 1)
    for i in range(bins):
        inside = [(p, c) for p, c in pairs if edges[i] < p <= edges[i + 1] or (i == 0 and p == 0)]
        assert table.counts[i] == len(inside)
        if inside:
            promised, kept = np.mean([p for p, _ in inside]), np.mean([c for _, c in inside])
            assert table.confidence[i] == pytest.approx(promised)
            assert table.accuracy[i] == pytest.approx(kept)
            expected_error += len(inside) / len(pairs) * abs(promised - kept)
    assert table.expected_error == pytest.approx(expected_error, abs=1e-12)


def test_perfect_and_worst() -> None:
    assert calibrate([1, 1, 0], [True, True, False]).expected_error == 0
    assert calibrate([1, 1], [False, False]).expected_error == 1
    assert calibrate([1, 0.5], [False, True]).largest_error == 1
    assert calibrate([], []).expected_error == 0


def test_honest_probabilities_have_a_small_error() -> None:
    rng = np.random.default_rng(3)
    probabilities = rng.random(50_000)
    honest = calibrate(probabilities, rng.random(50_000) < probabilities)
    boastful = calibrate(np.sqrt(probabilities), rng.random(50_000) < probabilities)
    assert honest.expected_error < 0.01
    assert boastful.expected_error > 0.1


def test_tables_add_up() -> None:
    whole = calibrate([0.9, 0.8, 0.35], [True, False, False])
    added = calibrate([0.8], [False]) + calibrate([0.9, 0.35], [True, False])
    assert added.to_dict() == whole.to_dict()
    assert [row["count"] for row in whole.to_dict()["bins"]] == [1, 1, 1]
    assert whole.to_dict()["expected_calibration_error"] == pytest.approx(100 * (0.1 + 0.8 + 0.35) / 3)


def test_bad_input() -> None:
    with pytest.raises(DataError, match=r"not a probability: expected 0 to 1, got 1\.5"):
        calibrate([0.5, 1.5], [True, True])
    with pytest.raises(DataError, match="not a probability: expected 0 to 1, got nan"):
        calibrate([float("nan")], [True])
    with pytest.raises(DataError, match="one probability per answer"):
        calibrate([0.5], [True, False])
    with pytest.raises(ConfigurationError, match="number of bins: expected 1 or more, got 0"):
        calibrate([], [], bins=0)
    with pytest.raises(ConfigurationError, match="different bins"):
        calibrate([], [], bins=2) + calibrate([], [], bins=3)


def test_the_error_that_perfect_probabilities_have_by_chance():
    rng = np.random.default_rng(0)
    probabilities = rng.beta(2, 1, size=400)
    errors = [calibrate(probabilities, rng.random(400) < probabilities).expected_error for _ in range(400)]
    assert calibrate(probabilities, probabilities > 0.5).error_by_chance == pytest.approx(np.mean(errors), rel=0.05)
    assert calibrate([], []).error_by_chance == 0


def test_sums_that_miss_one_by_their_rounding_are_probabilities() -> None:
    table = calibrate([1 + 2.3e-16, -1e-17], [True, False])
    assert table.to_dict() == calibrate([1.0, 0.0], [True, False]).to_dict()
