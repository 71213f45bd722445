import pytest

from postil.errors import ConfigurationError
from postil.training import Constant, InverseDecay, WarmUpAndDecay


def test_constant():
    assert [Constant(rate=0.1)(t) for t in (1, 1000)] == [0.1, 0.1]


def test_inverse_decay_is_flat_until_tau():
    schedule = InverseDecay(rate=0.5, tau=10)
    assert [schedule(t) for t in (1, 10, 20, 100)] == [0.5, 0.5, 0.25, 0.05]


def test_warm_up_and_decay():
    schedule = WarmUpAndDecay(rate=1.0, steps=10, warm_up=4)
    assert [schedule(t) for t in (1, 4, 7, 10, 12)] == [0.25, 1.0, 0.5, 0.0, 0.0]
    assert WarmUpAndDecay(rate=1.0, steps=10, final_share=0.1)(10) == pytest.approx(0.1)
    assert WarmUpAndDecay(rate=1.0, steps=10)(1) == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Constant(rate=0), "rate must be a positive number .got 0"),
        (lambda: Constant(rate=float("nan")), "rate must be a positive number .got nan"),
        (lambda: InverseDecay(rate=1, tau=-1), "tau must be a positive number .got -1"),
        (lambda: WarmUpAndDecay(rate=1, steps=5, warm_up=5), "warm_up must be 0 to 4 of 5 steps .got 5"),
        (lambda: WarmUpAndDecay(rate=1, steps=5, final_share=2), "final_share must be 0 to 1 .got 2"),
    ],
)
def test_impossible_schedules(make, message):
    with pytest.raises(ConfigurationError, match=message):
        make()


def test_without_warm_up_the_rate_begins_at_its_height():
    assert WarmUpAndDecay(rate=0.1, steps=10)(0) == pytest.approx(0.1)


def test_an_infinite_rate():
    with pytest.raises(ConfigurationError, match=r"rate must be a positive number \(got inf"):
        Constant(rate=float("inf"))
