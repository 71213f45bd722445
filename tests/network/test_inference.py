"""Layers without gradients against their own forward."""

import numpy as np
import pytest

from postil.arrays import offsets_from_lengths
from postil.network import ACTIVATIONS, Activation, Chain, Dropout, LayerNorm, Linear, Residual, Window
from postil.network.inference import infer
from postil.network.layer import Run
from postil.network.precomputed import WindowMap

RNG = np.random.default_rng(0)
OFFSETS = offsets_from_lengths([3, 0, 1, 7, 2])
H = 20


def noisy(layer):
    """Parameters that are nowhere 0 or 1."""
    for parameter in layer.parameters().values():
        parameter.value = RNG.normal(size=parameter.shape).astype(np.float32)
    return layer


def convolution(activation, *, bias=True):
    return Chain(
        LayerNorm(H, rng=RNG),
        Window(H, 3, rng=RNG),
        Linear(3 * H, H, rng=RNG, bias=bias),
        Activation(activation),
        Dropout(0.5),
    )


LAYERS = {
    **{
        f"linear, {name}": lambda name=name: [Linear(H, H, rng=RNG), Activation(name), Dropout(0.3)]
        for name in ACTIVATIONS
    },
    **{f"residual, {name}": lambda name=name: [Residual(convolution(name))] for name in ACTIVATIONS},
    "residual without bias": lambda: [Residual(convolution("relu", bias=False))],
    "residual of another kind": lambda: [Residual(Linear(H, H, rng=RNG))],
    "several": lambda: [
        Activation("relu"),
        Residual(convolution("relu")),
        Residual(convolution("relu")),
        LayerNorm(H, rng=RNG),
    ],
    "nothing": list,
}


@pytest.mark.parametrize("name", LAYERS)
def test_the_same_numbers_as_forward(name):
    layers = [noisy(layer) for layer in LAYERS[name]()]
    X = RNG.normal(size=(int(OFFSETS[-1]), H)).astype(np.float32)
    expected = Chain(*layers).forward(X, Run(offsets=OFFSETS))[0]
    assert np.allclose(infer(layers, X.copy(), OFFSETS), expected, rtol=1e-4, atol=1e-3)
    assert len(infer(layers, X[:0], OFFSETS[:1])) == 0


@pytest.mark.parametrize("size", [1, 3, 5])
def test_a_window_map_is_the_linear_layer_behind_a_window(size):
    window, linear = noisy(Window(6, size, rng=RNG)), noisy(Linear(6 * size, H, rng=RNG))
    X = RNG.normal(size=(int(OFFSETS[-1]), 6)).astype(np.float32)
    expected = Chain(window, linear).forward(X, Run(offsets=OFFSETS))[0]
    whole = WindowMap.of_window(window, linear)
    parts = [whole.part(0, 4, bias=True), whole.part(4, 6, bias=False)]
    terms = sum(part.rows(X[:, a:b]).reshape(-1, size, H) for part, (a, b) in zip(parts, [(0, 4), (4, 6)], strict=True))
    padding = sum(part.padding for part in parts)
    found = np.zeros_like(expected)
    for first, end in zip(OFFSETS[:-1], OFFSETS[1:], strict=True):
        for t in range(first, end):
            for k in range(size):
                place = t + k - size // 2
                found[t] += terms[place, k] if first <= place < end else padding[k]
    assert np.allclose(found, expected, atol=1e-4)
