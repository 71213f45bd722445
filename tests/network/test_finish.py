"""Bias, activation and dropout in one pass are the same layers one behind the other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil import kernels
from postil.network import Activation, Chain, Dropout, LayerNorm, Linear
from postil.network.layer import Run, finish_of


def rng(seed=0):
    return np.random.default_rng(seed)


def one_by_one(layers, X, run, dY):
    """Output and gradients of a chain whose layers know nothing of each other."""
    backs, gradients = [], {}
    for layer in layers:
        X, back = layer.forward(X, run)
        backs.append(back)
    for back in reversed(backs):
        dY, found = back(dY)
        gradients |= found
    return X, dY, gradients


@given(
    st.integers(0, 10_000),
    st.sampled_from(kernels.ACTIVATIONS[1:]),
    st.sampled_from([np.float32, np.float64]),
    st.sampled_from([None, 0.0, 0.5]),
    st.booleans(),
)
@np.errstate(invalid="ignore")  # some BLAS builds raise this flag for valid products
def test_a_chain_gives_what_its_layers_give_one_by_one(seed, activation, dtype, rate, bias):
    random = rng(seed)
    layers = [Linear(5, 7, rng=random, bias=bias, dtype=dtype), Activation(activation)]
    layers += [] if rate is None else [Dropout(rate)]
    layers += [Linear(7, 3, rng=random, dtype=dtype), Activation("tanh"), LayerNorm(3, rng=random, dtype=dtype)]
    X = random.normal(size=(random.integers(0, 9), 5)).astype(dtype)
    dY = random.normal(size=(len(X), 3)).astype(dtype)
    Y, back = Chain(*layers).forward(X, Run(rng=rng(1)))
    dX, gradients = back(dY)
    expected_Y, expected_dX, expected = one_by_one(layers, X, Run(rng=rng(1)), dY)
    assert np.array_equal(Y, expected_Y) and Y.dtype == dtype
    assert np.array_equal(dX, expected_dX)
    assert gradients.keys() == expected.keys()
    for parameter, gradient in expected.items():
        assert np.array_equal(gradients[parameter], gradient), parameter.name


@pytest.mark.parametrize(
    ("layers", "run", "together"),
    [
        ([Activation("relu"), Dropout(0.5), Activation("relu")], Run(rng=rng()), 2),
        ([Activation("relu"), Dropout(0.5, rows=True)], Run(rng=rng()), 1),
        ([Activation("hardtanh")], Run(rng=rng()), 1),
        ([Activation("tanh"), Dropout(0.5)], Run(rng=rng()), 0),
        ([Dropout(0.5)], Run(rng=rng()), 0),
        ([Activation("relu"), Dropout(0.5)], Run(), 0),  # not in training: nothing to remember
        ([], Run(rng=rng()), 0),
    ],
)
def test_what_is_done_together(layers, run, together):
    assert finish_of(layers, run)[0] == together


def test_a_forward_pass_changes_nothing():
    X = rng().normal(size=(4, 5))
    before = X.copy()
    chain = Chain(Linear(5, 7, rng=rng(), dtype=np.float64), Activation("relu"), Dropout(0.5))
    Y, back = chain.forward(X, Run(rng=rng()))
    dY, kept = np.ones_like(Y), Y.copy()
    once, again = back(dY), back(dY)
    assert np.array_equal(X, before) and np.array_equal(Y, kept) and (dY == 1).all()
    assert np.array_equal(once[0], again[0])
