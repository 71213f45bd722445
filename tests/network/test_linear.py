"""The linear layer (A3)."""

import numpy as np

from postil.graph import Input, gradients
from postil.network import Linear


def test_equations_13_to_15_written_out():
    layer = Linear(3, 2, rng=np.random.default_rng(0), dtype=np.float64)
    x = Input(np.array([[1.0, 2.0, 3.0]]))
    delta = np.array([[0.5, -1.0]])
    y = layer(x)
    found = gradients(y, seed=delta)
    W, b = layer.W, layer.b
    assert np.allclose(y.value[0], W.value @ x.value[0] + b.value)
    assert np.allclose(found[W], np.outer(delta[0], x.value[0]))
    assert np.allclose(found[b], delta[0])
    assert np.allclose(found[x][0], W.value.T @ delta[0])
