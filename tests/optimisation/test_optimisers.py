"""Each optimiser against one step derived by hand, dense against sparse, and stopped against uninterrupted.

Equations A11, B8, B9, C1.
"""

import numpy as np
import pytest

from postil.errors import ConfigurationError, DtypeError, ShapeError
from postil.graph import Input, Parameter, RowGradient
from postil.network import Linear
from postil.optimisation import OPTIMISERS, SGD, AdaGrad, Adam

V, D = 8, 3


def table(seed=0, dtype=np.float64):
    return Parameter(np.random.default_rng(seed).normal(size=(V, D)).astype(dtype), "table", fan_in=4)


def dense_gradients(steps, seed=1):
    return list(np.random.default_rng(seed).normal(size=(steps, V, D)))


def all_rows(gradient):
    return RowGradient(np.arange(V), gradient, (V, D))


@pytest.mark.parametrize(("divide_by", "divisor"), [("nothing", 1), ("fan-in", 4), ("root-fan-in", 2)])
def test_sgd(divide_by, divisor):
    p, (g,) = table(), dense_gradients(1)
    expected = p.value - 0.1 / divisor * g
    SGD({"p": p}, divide_by=divide_by).step({p: g}, 0.1)
    assert np.allclose(p.value, expected)


def test_adagrad_with_the_epsilon_inside_the_root():
    p, (g1, g2) = table(), dense_gradients(2)
    g1[0, 0] = g2[0, 0] = 0.0
    expected = p.value - 0.1 * g1 / np.sqrt(g1**2 + 1e-8)
    expected -= 0.1 * g2 / np.sqrt(g1**2 + g2**2 + 1e-8)
    optimiser = AdaGrad({"p": p})
    optimiser.step({p: g1}, 0.1)
    optimiser.step({p: g2}, 0.1)
    assert np.allclose(p.value, expected, atol=1e-14)


def test_adam():
    p, gs = table(), dense_gradients(3)
    expected, m, v = p.value.copy(), np.zeros((V, D)), np.zeros((V, D))
    for t, g in enumerate(gs, start=1):
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        expected -= 0.1 * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.999**t)) + 1e-8)
    optimiser = Adam({"p": p})
    for g in gs:
        optimiser.step({p: g}, 0.1)
    assert np.allclose(p.value, expected)


@pytest.mark.parametrize("name", OPTIMISERS)
def test_the_pace_of_a_parameter_multiplies_its_rate(name):
    quick, slow = table(), table()
    quick.pace = 4.0
    one, other = OPTIMISERS[name]({"p": quick}), OPTIMISERS[name]({"p": slow})
    for g in dense_gradients(3):
        one.step({quick: g}, 0.025)
        other.step({slow: g}, 0.1)
    assert np.array_equal(quick.value, slow.value)


@pytest.mark.parametrize("name", OPTIMISERS)
def test_a_sparse_gradient_with_every_row_equals_the_dense_one(name):
    a, b = table(), table()
    one, other = OPTIMISERS[name]({"p": a}), OPTIMISERS[name]({"p": b})
    for g in dense_gradients(4):
        one.step({a: g}, 0.1)
        other.step({b: all_rows(g)}, 0.1)
    assert np.array_equal(a.value, b.value)


@pytest.mark.parametrize("name", OPTIMISERS)
def test_untouched_rows_do_not_move_and_live_in_their_own_time(name):
    """A row that is touched twice in ten steps moves as if there had been two steps."""
    a, b = table(), table()
    one, other = OPTIMISERS[name]({"p": a}), OPTIMISERS[name]({"p": b})
    for t, g in enumerate(dense_gradients(10)):
        rows = np.array([2, 5]) if t in (3, 7) else np.array([0])
        one.step({a: RowGradient(rows, g[rows], (V, D))}, 0.1)
        if t in (3, 7):
            other.step({b: g}, 0.1)
    assert np.array_equal(a.value[[2, 5]], b.value[[2, 5]])
    untouched = [1, 3, 4, 6, 7]
    assert np.array_equal(a.value[untouched], table().value[untouched])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", OPTIMISERS)
def test_a_restored_optimiser_goes_on_with_the_same_bits(name, dtype):
    gs = [g.astype(dtype) for g in dense_gradients(6)]
    whole, halves = table(dtype=dtype), table(dtype=dtype)
    uninterrupted = OPTIMISERS[name]({"p": whole})
    for g in gs:
        uninterrupted.step({whole: g}, 0.05)
    first = OPTIMISERS[name]({"p": halves})
    for g in gs[:3]:
        first.step({halves: g}, 0.05)
    state = first.state()
    first.step({halves: gs[0] * 100}, 0.0)  # what happens after must not reach the saved state
    second = OPTIMISERS[name]({"p": halves})
    second.restore(state)
    for g in gs[3:]:
        second.step({halves: g}, 0.05)
    assert halves.value.dtype == dtype
    assert np.array_equal(whole.value, halves.value)


def test_gradients_of_other_nodes_are_passed_over():
    p, x = table(), Input(np.ones(2))
    before = p.value.copy()
    SGD({"p": p}).step({x: np.ones(2), table(1): np.ones((V, D))}, 0.1)
    assert np.array_equal(p.value, before)


def test_a_single_number_can_be_learnt():
    for make in OPTIMISERS.values():
        p = Parameter(np.array(1.0), "p")
        make({"p": p}).step({p: np.array(2.0)}, 0.1)
        assert p.value < 1 and p.value.shape == ()


def test_states_that_do_not_fit():
    adam = Adam({"p": table()})
    with pytest.raises(ConfigurationError, match="state of an optimiser: expected mean/p, square/p, touches/p, got "):
        adam.restore({})
    state = adam.state()
    with pytest.raises(ShapeError, match=r"mean/p in the state of an optimiser: expected \(8, 3\), got \(1,\)"):
        adam.restore({**state, "mean/p": np.zeros(1)})


def test_impossible_settings():
    with pytest.raises(ConfigurationError, match=r"divide_by must be nothing or fan-in or root-fan-in \(got 'x'"):
        SGD({}, divide_by="x")
    with pytest.raises(ConfigurationError, match=r"beta2 must be at least 0 and below 1 \(got 1"):
        Adam({}, beta2=1)


@pytest.mark.parametrize("name", OPTIMISERS)
def test_gradients_of_another_shape_or_float_type(name):
    p = table()
    optimiser = OPTIMISERS[name]({"p": p})
    with pytest.raises(ShapeError, match=r"gradient of p: expected \(8, 3\), got \(3,\)"):
        optimiser.step({p: np.ones(3)}, 0.1)
    with pytest.raises(DtypeError, match="gradient of p: expected float64, got float32"):
        optimiser.step({p: np.ones((8, 3), np.float32)}, 0.1)


def test_a_state_of_another_float_type():
    adam = Adam({"p": table()})
    with pytest.raises(DtypeError, match="mean/p in the state of an optimiser: expected float64, got float32"):
        adam.restore({**adam.state(), "mean/p": np.zeros((8, 3), np.float32)})


@pytest.mark.parametrize("rate", [-0.1, float("nan"), float("inf")])
def test_an_impossible_rate_changes_nothing(rate):
    W = Parameter(np.ones(2), "W")
    with pytest.raises(ConfigurationError, match=f"learning rate: expected a finite number, 0 or more, got {rate}"):
        SGD({"W": W}).step({W: np.ones(2)}, rate)
    assert W.value.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("given", "got"),
    [
        (lambda layer: layer, "a Linear"),
        (lambda layer: [layer.parameters()], "a list"),
        (lambda layer: list(layer.parameters().values()), "a list"),
        (lambda layer: {"W": layer.W.value}, r"a dict with \['ndarray'\]"),
    ],
)
def test_what_is_not_a_dict_of_parameters_is_one_clear_error(given, got):
    layer = Linear(2, 3, rng=np.random.default_rng(0))
    message = rf"expected a dict from names to parameters, such as layer.parameters\(\), got {got}"
    with pytest.raises(ConfigurationError, match=message):
        AdaGrad(given(layer))
