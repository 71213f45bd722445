import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.errors import ConfigurationError, ShapeError
from postil.graph import Parameter, RowGradient
from postil.optimisation import OPTIMISERS, SGD, Averaged

V, D = 5, 2


def parameters():
    rng = np.random.default_rng(0)
    return {"table": Parameter(rng.normal(size=(V, D)), "table"), "scale": Parameter(np.array(2.0), "scale")}


def sparse(rows, seed):
    rows = np.array(sorted(rows), np.int64)
    return RowGradient(rows, np.random.default_rng(seed).normal(size=(len(rows), D)), (V, D))


@given(st.lists(st.sets(st.integers(0, V - 1)), max_size=12), st.sampled_from(sorted(OPTIMISERS)))
def test_the_mean_is_exact_also_for_rows_that_stood_still(touched, name):
    named = parameters()
    averaged = Averaged(OPTIMISERS[name](named))
    history = []
    for t, rows in enumerate(touched):
        found = {named["table"]: sparse(rows, t)}
        if t % 3 == 0:
            found[named["scale"]] = np.array(0.5)
        averaged.step(found, 0.1)
        history.append({n: p.value.copy() for n, p in named.items()})
    for n, p in named.items():
        expected = np.mean([values[n] for values in history], axis=0) if history else p.value
        assert np.allclose(averaged.mean(n), expected, rtol=1e-12, atol=1e-14)


def test_inside_the_block_parameters_are_means():
    named = parameters()
    averaged = Averaged(SGD(named))
    averaged.step({named["scale"]: np.array(1.0)}, 1.0)
    averaged.step({named["scale"]: np.array(1.0)}, 1.0)
    assert named["scale"].value == 0
    with averaged.in_place():
        assert named["scale"].value == 0.5
    assert named["scale"].value == 0


@pytest.mark.parametrize("name", OPTIMISERS)
def test_a_restored_average_goes_on_with_the_same_bits(name):
    def run(named, averaged, steps):
        for t in steps:
            averaged.step({named["table"]: sparse({t % V, 3}, t)}, 0.1)

    whole, halves = parameters(), parameters()
    uninterrupted = Averaged(OPTIMISERS[name](whole))
    run(whole, uninterrupted, range(8))
    first = Averaged(OPTIMISERS[name](halves))
    run(halves, first, range(4))
    second = Averaged(OPTIMISERS[name](halves))
    second.restore(first.state())
    run(halves, second, range(4, 8))
    assert np.array_equal(uninterrupted.mean("table"), second.mean("table"))
    assert second.steps == 8


def test_states_that_do_not_fit_change_nothing():
    p = Parameter(np.ones((3, 2)), "p")
    averaged = Averaged(SGD({"p": p}))
    averaged.step({p: np.ones((3, 2))}, 0.1)
    with pytest.raises(ConfigurationError, match="expected settled/p, steps, total/p, got nothing"):
        averaged.restore({})
    with pytest.raises(ShapeError, match=r"total/p in the state of an optimiser: expected \(3, 2\), got \(2,\)"):
        averaged.restore({**averaged.state(), "total/p": np.zeros(2)})
    assert np.allclose(averaged.mean("p"), 0.9)
