"""Logistic regression."""

import numpy as np
import pytest

from postil.curation.logistic import Logistic


def rows(seed, shift):
    return np.random.default_rng(seed).normal(shift, [1.0, 3.0, 0.1], (200, 3))


def test_it_is_that_of_scikit_learn():
    from sklearn.linear_model import LogisticRegression  # takes a second, in every process that collects the tests

    ordinary, others = rows(0, 0.0), rows(1, [0.5, 0.0, 0.1])[:80]
    ours = Logistic.between(ordinary, others)
    X = np.concatenate([ordinary, others])
    scaled, target = (X - ours.mean) / ours.scale, np.repeat([0, 1], [200, 80])
    weights = np.where(target == 1, 0.5 / 80, 0.5 / 200)
    theirs = LogisticRegression(C=1e3, tol=1e-10, max_iter=1000).fit(scaled, target, sample_weight=weights)
    assert ours.weights == pytest.approx(theirs.coef_[0], rel=1e-3)
    assert ours.log_odds(X) == pytest.approx(theirs.decision_function(scaled), rel=1e-2, abs=1e-3)


def test_what_can_be_told_apart_completely_has_finite_weights():
    ours = Logistic.between(rows(0, 0.0), rows(1, 100.0))
    assert np.isfinite(ours.weights).all()
    assert ours.log_odds(rows(2, 100.0)).min() > ours.log_odds(rows(2, 0.0)).max()


def test_a_number_that_never_changes_does_no_harm():
    constant = np.ones((20, 1))
    assert Logistic.between(constant, constant).log_odds(constant) == pytest.approx(np.zeros(20), abs=1e-6)
