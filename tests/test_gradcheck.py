"""The checker is trusted only because it rejects wrong gradients: every mistake here must be found (B4)."""

from typing import Any, NamedTuple

import numpy as np
import pytest

import postil.graph as graph
from postil.arrays import Ragged
from postil.errors import GradientError, NumericalError
from postil.gradcheck import Sampling, check, examine
from postil.graph import Input, Parameter, Result, RowGradient
from postil.network import Activation, Linear, LookupTable

RNG = np.random.default_rng(5)


def linear_with(mistake):
    """y = W x + b with right gradients, then spoilt by ``mistake(dW, dx, db)``."""

    def function(W, x, b):
        def pullback(dY):
            return list(mistake(np.outer(dY, x.value), W.value.T @ dY, dY))

        return Result(W.value @ x.value + b.value, (W, x, b), pullback, "linear")

    return function


def one_wrong(dW, dx, db):
    dW = dW.copy()
    dW[1, 2] *= 1.01
    return dW, dx, db


MISTAKES = {
    "zero": (lambda dW, dx, db: (dW * 0, dx, db), "input 0"),
    "scaled by 1.001": (lambda dW, dx, db: (dW, dx * 1.001, db), "input 1"),
    "one wrong entry": (one_wrong, r"input 0 .* wrong at index \[1, 2\]"),
    "swapped sign": (lambda dW, dx, db: (dW, -dx, db), "input 1"),
    "forgotten bias": (lambda dW, dx, db: (dW, dx, None), "input 2"),
    "transposed": (lambda dW, dx, db: (dW.T, dx, db), "input 0"),
    "not a number": (lambda dW, dx, db: (dW, dx * np.nan, db), "input 1"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_gradient_is_rejected_and_named(mistake):
    spoil, message = MISTAKES[mistake]
    arrays = RNG.normal(size=(4, 4)), RNG.normal(size=4), RNG.normal(size=4)
    with pytest.raises(GradientError, match=message):
        check(linear_with(spoil), *arrays)


def test_the_right_gradient_is_accepted():
    arrays = RNG.normal(size=(4, 4)), RNG.normal(size=4), RNG.normal(size=4)
    report = check(linear_with(lambda *right: right), *arrays)
    assert report.checked == 24 and report.left_out == 0 and report.worst_error < 1e-8


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_gradient_of_a_large_array_is_rejected(mistake):
    """Random directions feel every entry, also the one that no sampled entry meets."""
    if mistake == "transposed":
        pytest.skip("a transposed gradient of a square matrix is among the small ones")
    spoil, message = MISTAKES[mistake]
    arrays = RNG.normal(size=(40, 50)), RNG.normal(size=50), RNG.normal(size=40)
    with pytest.raises(GradientError, match=message.split(" ")[0]):
        check(linear_with(spoil), *arrays)


def test_the_message_has_parameter_index_and_both_values():
    function = linear_with(one_wrong)
    with pytest.raises(GradientError) as caught:
        check(function, np.ones((2, 3)), np.ones(3), np.ones(2), name="my layer")
    assert str(caught.value).startswith("my layer: gradient of input 0 (2, 3) is wrong at index [1, 2]: analytic ")
    assert "numeric" in str(caught.value) and "error" in str(caught.value)


def test_wrong_sparse_gradients_are_rejected():
    def lookup(forget_repeats):
        def function(table):
            ids = np.array([1, 1, 2])

            def pullback(dY):
                if forget_repeats:  # each row's gradient is that of its last occurrence
                    return [RowGradient(np.array([1, 2]), dY[1:], table.shape)]
                return [RowGradient.from_occurrences(ids, dY, table.shape)]

            return Result(table.value[ids], (table,), pullback, "lookup")

        return function

    table = RNG.normal(size=(4, 3))
    check(lookup(False), table)
    with pytest.raises(GradientError, match="input 0"):
        check(lookup(True), table)


def test_a_wrong_gradient_inside_a_layer_names_the_parameter():
    layer = Linear(3, 2, rng=np.random.default_rng(0))
    forward = layer.forward

    def spoilt(X, run):
        Y, back = forward(X, run)

        def pullback(dY):
            dX, found = back(dY)
            return dX, {**found, layer.b: found[layer.b] * 2}

        return Y, pullback

    layer.forward = spoilt
    with pytest.raises(GradientError, match=r"gradient of b \(2,\) is wrong at index \[0\]"):
        check(layer, RNG.normal(size=(5, 3)))


def test_entries_at_a_kink_are_left_out_and_counted():
    x = RNG.normal(size=300)
    x[:2] = 1.0, 1e-7 - 1.0  # hardtanh bends here
    report = examine(Activation("hardtanh"), x)
    assert report.left_out == 2 and report.checked == 298 and report.passed


def test_too_many_entries_at_kinks_are_a_failure():
    report = examine(Activation("relu"), np.zeros(50))
    assert not report.passed
    assert report.failures == ["50 of 50 values of input 0 stand at a kink: choose other inputs"]


def test_kinks_do_not_hide_a_wrong_gradient():
    def relu_with_wrong_slope(x):
        right = Activation("relu")(x)
        return Result(right.value, (x,), lambda dY: [1.01 * g for g in right.pullback(dY)], "relu")

    with pytest.raises(GradientError, match="wrong at index"):
        check(relu_with_wrong_slope, np.array([0.0, 1.0, 2.0, -1.0]))


def test_parameters_come_back_unchanged():
    layer = Linear(3, 2, rng=np.random.default_rng(0))
    before = layer.W.value
    check(layer, RNG.normal(size=(5, 3)).astype(np.float32))
    assert layer.W.value is before and before.dtype == np.float32


def test_parameters_come_back_even_when_the_function_fails():
    layer = Linear(3, 2, rng=np.random.default_rng(0))
    before = layer.W.value
    with pytest.raises(ValueError, match="mine"):
        check(lambda: (_ for _ in ()).throw(ValueError("mine")), parameters=layer.parameters())
    assert layer.W.value is before


def test_a_model_is_something_with_parameters_and_a_loss():
    class Model:
        def __init__(self):
            self.table = LookupTable(6, 3, rng=np.random.default_rng(0))

        def parameters(self):
            return self.table.parameters()

        def loss(self, batch):
            return (self.table(batch) * 2.0).sum()

    report = check(Model(), Ragged(np.array([0, 3, 3]), np.array([0, 3])))
    assert [entry.name for entry in report.entries] == ["table"] and report.name == "Model"


def test_ragged_batches_and_nodes_are_inputs():
    rows = RNG.normal(size=(4, 2))
    assert check(graph.tanh, Ragged(rows, [0, 1, 4])).checked == 8
    assert check(graph.tanh, Input(rows, "vectors")).entries[0].name == "vectors"


def test_a_function_that_is_not_finite_is_an_error_of_its_own():
    with pytest.raises(NumericalError, match="the function under check"):
        check(lambda x: Result(x.value * np.inf, (x,), lambda dY: [dY], "broken"), np.ones(2))


def test_large_arrays_are_sampled():
    report = check(graph.tanh, RNG.normal(size=(100, 100)))
    assert report.checked == 100


@pytest.mark.parametrize("mistake", MISTAKES)
def test_two_random_directions_are_enough_to_find_a_mistake(mistake):
    spoil, message = MISTAKES[mistake]
    arrays = RNG.normal(size=(4, 4)), RNG.normal(size=4), RNG.normal(size=4)
    few = Sampling(every_entry_up_to=0, entries=0, directions=2)
    assert examine(linear_with(lambda *right: right), *arrays, sampling=few).checked == 3 * 2
    with pytest.raises(GradientError, match=message.split(" ")[0]):
        check(linear_with(spoil), *arrays, sampling=few)


def test_sampled_entries_are_at_most_those_there_are():
    few = Sampling(every_entry_up_to=1, entries=60, directions=0)
    assert check(graph.tanh, RNG.normal(size=7), sampling=few).checked == 7


def test_the_table_is_readable():
    report = check(lambda W: (W * W).sum(), np.ones((2, 3)), name="squares")
    head, row = str(report).splitlines()
    assert head.split() == ["squares", "shape", "checked", "skipped", "worst", "error"]
    assert row.split()[:4] == ["input", "0", "2×3", "6"] and row.endswith("ok")


def test_a_parameter_outside_the_function_was_not_tested_unless_that_is_meant():
    unused = {"unused": Parameter(np.ones(3), "unused")}
    with pytest.raises(GradientError, match=r"nothing was tested at unused \(3,\), all 3 slopes are 0"):
        check(lambda x: x * 2.0, np.ones(2), parameters=unused)
    assert check(lambda x: x * 2.0, np.ones(2), parameters=unused, expect_zero=["unused"]).passed


def hinge_with_wrong_slope(x):
    """max(0, 1 - x) with a gradient that is wrong by 99, which only a cost above 0 shows."""
    active = x.value < 1
    return Result(np.maximum(0.0, 1 - x.value), (x,), lambda dY: [-100 * dY * active], "hinge")


def test_a_hinge_without_cost_tests_nothing():
    report = examine(hinge_with_wrong_slope, np.array([2.0, 3.0]))
    assert not report.passed and report.worst_error == 0
    assert report.failures == [
        "nothing was tested at input 0 (2,), all 2 slopes are 0: "
        "choose other inputs, or pass expect_zero=['input 0'] if its gradient is meant to be 0"
    ]
    assert str(report).splitlines()[1].endswith("NOT TESTED")
    with pytest.raises(GradientError, match="wrong at index"):
        check(hinge_with_wrong_slope, np.array([2.0, -3.0]))


def test_only_the_rows_that_were_tested_pass():
    used, unused = (Parameter(RNG.normal(size=2), name) for name in ("used", "unused"))
    report = examine(lambda: used * 3.0 + unused * 0.0, parameters={"used": used, "unused": unused})
    assert [entry.verdict(report.tolerance) for entry in report.entries] == ["ok", "NOT TESTED"]


def test_a_gradient_that_is_expected_to_be_zero_must_be():
    with pytest.raises(GradientError, match=r"gradient of input 0 \(2,\) is not 0 as expected"):
        check(lambda x: x * 2.0, np.ones(2), expect_zero=["input 0"])
    with pytest.raises(GradientError, match=r"expect_zero must be names among \['input 0'\] \(got \['typo'\]\)"):
        check(lambda x: x * 2.0, np.ones(2), expect_zero=["typo"])


def test_an_empty_array_tests_nothing():
    with pytest.raises(GradientError, match=r"nothing was tested at input 0 \(0, 3\), it is empty"):
        check(lambda x, y: x.sum() + y.sum(), np.ones((0, 3)), np.ones(2))


def test_inputs_of_the_same_name_are_all_checked():
    def half_right(a, b):
        return Result(a.value * b.value, (a, b), lambda dY: [0 * dY, dY * a.value], "half right")

    twins = Input(np.array([1.0, 2.0]), "q"), Input(np.array([3.0, 4.0]), "q")
    report = examine(half_right, *twins)
    assert [entry.name for entry in report.entries] == ["q", "q (2)"]
    assert not report.passed


def test_nothing_to_check_is_a_failure():
    with pytest.raises(GradientError, match="nothing to check: expected float inputs or parameters, got none"):
        check(lambda ids: Input(1.0), np.arange(3))


@pytest.mark.parametrize("size", [3, 1000])
def test_large_values_are_moved_far_enough(size):
    x = 1e6 * (1 + RNG.random(size))
    assert check(lambda n: n * n, x).worst_error < 1e-8
    with pytest.raises(GradientError, match="wrong at"):
        check(lambda n: Result(n.value**2, (n,), lambda dY: [1.99 * n.value * dY], "wrong"), x)


def test_floats_inside_tuples_and_lists_become_float64_and_stay_fixed():
    class Batch(NamedTuple):
        X: Any
        rest: Any

    layer = Linear(3, 2, rng=np.random.default_rng(0))
    X = RNG.normal(size=(4, 3)).astype(np.float32)

    def loss(batch):
        ragged, ids, node, text = batch.rest
        assert ids.dtype == np.int64 and text == "gold" and node.dtype == np.float64
        assert np.array_equal(ragged.offsets, [0, 1, 4])
        return layer(batch.X).sum() + layer(ragged).sum()

    batch = Batch(X, [Ragged(X, [0, 1, 4]), np.arange(4), Input(X), "gold"])
    report = check(loss, batch, parameters=layer.parameters())
    assert [entry.name for entry in report.entries] == ["W", "b"]


def test_a_parameter_inside_a_list_is_still_itself():
    W = Parameter(np.ones(2, np.float32), "W")
    assert check(lambda given: given[0] * 3.0, [W], parameters={"W": W}).worst_error < 1e-9


def test_a_parameter_that_cancels_out_is_not_judged_by_rounding():
    """The bias of a score that only enters differences has the gradient 0, but its central difference is noise."""
    rows, bias = RNG.normal(size=(300, 7)), Parameter(np.array([0.3]), "bias")
    cancelled = {"parameters": {"bias": bias}, "expect_zero": ["bias"]}
    report = check(lambda x: ((x + bias) - (x * 0.5 + bias)).mean(), rows, **cancelled)
    assert report.entries[-1].worst_error <= 1e-6

    def spoilt(x):
        return Result(x.value.mean(), (x, bias), lambda dY: [np.full_like(rows, dY / rows.size), np.array([1e-7])], "f")

    with pytest.raises(GradientError, match="gradient of bias"):
        check(spoilt, rows, parameters={"bias": bias})
