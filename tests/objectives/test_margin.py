"""The max-margin cost (B2, E4)."""

import numpy as np
import pytest

from postil.errors import ConfigurationError, DtypeError, NumericalError, ShapeError
from postil.graph import Input, gradients
from postil.objectives import max_margin


def test_pairs_inside_the_margin_cost_and_send_gradients_and_the_others_do_not():
    true, corrupt = Input(np.array([2.0, 0.5])), Input(np.array([[0.0, 1.5], [1.0, -4.0]]))
    loss = max_margin(true, corrupt)
    # costs: 1 + 0 - 2 = -1, 1 + 1.5 - 2 = 0.5, 1 + 1 - 0.5 = 1.5, 1 - 4 - 0.5 = -3.5
    assert np.isclose(loss.value, 2.0 / 4)
    found = gradients(loss)
    assert np.array_equal(found[true], [-0.25, -0.25])
    assert np.array_equal(found[corrupt], [[0, 0.25], [0.25, 0]])


def test_a_cost_of_exactly_zero_sends_no_gradient():
    true, corrupt = Input(np.array([1.0])), Input(np.array([[0.0]]))
    found = gradients(max_margin(true, corrupt))
    assert found[true] == 0 and found[corrupt] == 0


def test_the_sum_of_the_slides_and_another_margin():
    true, corrupt = Input(np.array([0.0])), Input(np.array([[0.0, 0.0, -5.0]]))
    loss = max_margin(true, corrupt, margin=3.0, normalise="sum")
    assert loss.value == 6
    assert gradients(loss)[true] == -2


def test_no_pairs_cost_nothing():
    true, corrupt = Input(np.empty(0)), Input(np.empty((0, 3)))
    assert max_margin(true, corrupt).value == 0


@pytest.mark.parametrize(
    ("true", "corrupt", "options", "error", "message"),
    [
        (
            np.ones(2),
            np.ones((3, 1)),
            {},
            ShapeError,
            r"scores must be true \(P,\), corrupt \(P, C\) \(got \(2,\), \(3, 1\)",
        ),
        (np.ones(2), np.ones((2, 1), np.float32), {}, DtypeError, "one float type"),
        (np.ones(2), np.ones((2, 1)), {"normalise": "max"}, ConfigurationError, "normalise must be mean or sum"),
        (np.array([np.inf]), np.ones((1, 1)), {}, NumericalError, "scores of true windows"),
    ],
)
def test_bad_input(true, corrupt, options, error, message):
    with pytest.raises(error, match=message):
        max_margin(Input(true), Input(corrupt), **options)


@pytest.mark.parametrize("margin", [-1.0, np.nan, np.inf])
def test_impossible_margins(margin):
    with pytest.raises(ConfigurationError, match="margin must be 0 or more"):
        max_margin(Input(np.ones(1)), Input(np.ones((1, 1))), margin=margin)


def test_scores_near_the_largest_float():
    with pytest.raises(NumericalError, match="max-margin objective: a value is not finite"):
        max_margin(Input(np.array([-1e308])), Input(np.array([[1e308]])))


def test_scores_must_be_nodes():
    with pytest.raises(DtypeError, match="scores of true windows: expected a node"):
        max_margin(np.ones(1), Input(np.ones((1, 1))))
    with pytest.raises(DtypeError, match="scores of corrupt windows: expected a node"):
        max_margin(Input(np.ones(1)), np.ones((1, 1)))
