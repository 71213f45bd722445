from functools import partial

import numpy as np
import pytest

from postil.optimisation import SCHEDULES, constant, inverse_decay, new_schedule, warm_up_and_decay


def test_constant():
    assert [partial(constant, rate=0.1)(t) for t in (1, 1000)] == [0.1, 0.1]


def test_inverse_decay_is_flat_until_tau():
    schedule = partial(inverse_decay, rate=0.5, tau=10)
    assert [schedule(t) for t in (1, 10, 20, 100)] == [0.5, 0.5, 0.25, 0.05]


def test_inverse_decay_in_shares_is_that_in_steps():
    steps, shares = partial(inverse_decay, rate=0.5, tau=10), partial(inverse_decay, rate=0.5, tau=0.1)
    assert [shares(t / 100) for t in range(1, 101)] == pytest.approx([steps(t) for t in range(1, 101)])


def test_warm_up_and_decay():
    schedule = partial(warm_up_and_decay, rate=1.0, length=10, warm_up=4)
    assert [schedule(t) for t in (1, 4, 7, 10, 12)] == [0.25, 1.0, 0.5, 0.0, 0.0]
    assert partial(warm_up_and_decay, rate=1.0, length=10, final_share=0.1)(10) == pytest.approx(0.1)
    assert partial(warm_up_and_decay, rate=1.0, length=10)(1) == pytest.approx(0.9)


def test_the_first_step_of_a_warm_up_changes_something():
    assert partial(warm_up_and_decay, rate=0.1, warm_up=0.5)(0) == pytest.approx(0.001)


def test_a_training_that_only_warms_up():
    schedule = partial(warm_up_and_decay, rate=1.0, warm_up=1.0, final_share=0.5)
    assert [schedule(share) for share in (0.25, 0.999, 1.0)] == [0.25, 0.999, 1.0]


def test_without_warm_up_the_rate_begins_at_its_height():
    assert partial(warm_up_and_decay, rate=0.1, length=10)(0) == pytest.approx(0.1)


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedules_are_made_of_the_settings_they_know(name):
    settings = {"rate": 0.5, "warm_up": 0.1, "final_share": 0.2, "tau": 0.25, "hidden": 300}
    schedule = new_schedule(name, settings)
    expected = {"linear": [0.5, 0.1], "constant": [0.5, 0.5], "inverse-decay": [0.5, 0.125]}
    assert np.allclose([schedule(0.1), schedule(1.0)], expected[name])
