"""Every layer in a graph, beside the layer itself."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.onnx_graphs import is_word, padded, ragged, run
from postil.arrays import offsets_from_lengths
from postil.errors import ConfigurationError
from postil.export.onnx_graph import Graph
from postil.export.onnx_network import NetworkGraph
from postil.network import (
    ACTIVATIONS,
    Activation,
    Chain,
    CharacterConvolution,
    Dropout,
    LayerNorm,
    Linear,
    LookupTables,
    MaxOverTime,
    Residual,
    SentenceConvolution,
    Window,
    WindowAverage,
)
from postil.network.initialisers import fan_in_variance
from postil.network.layer import Run

pytestmark = [pytest.mark.extra("onnx"), pytest.mark.extra("onnxruntime")]

D = 3


def layers(rng):
    """One or more of every kind, with random parameters."""
    make = {"rng": rng, "initialise": fan_in_variance}
    window = Window(D, 3, **make)
    norm = LayerNorm(D, rng=rng)
    norm.gain.value = rng.normal(size=D).astype(np.float32)
    norm.bias.value = rng.normal(size=D).astype(np.float32)
    sentence = SentenceConvolution(D, 4, 5, distance_dim=2, longest_distance=3, rng=rng)
    padding = sentence.convolution.layers[0].padding
    padding.value = rng.normal(size=padding.shape).astype(np.float32)
    return {
        "linear": Linear(D, 4, **make),
        "linear without bias": Linear(D, 4, bias=False, **make),
        "dropout": Dropout(0.5),
        "norm": norm,
        "window of 1": Window(D, 1, **make),
        "window of 3": window,
        "window of 7": Window(D, 7, **make),
        "average": WindowAverage(5),
        "nothing": Chain(),
        "residual": Residual(Chain(window, Linear(3 * D, D, **make), Activation("relu"))),
        "sentence": sentence,
        **{name: Activation(name) for name in ACTIVATIONS},
    }


def applied(layer, X, offsets):
    g = Graph()
    network = NetworkGraph(g, g.input("words", np.bool_, ["B", "T"]))
    g.output(network.layer(layer, g.input("x", np.float32, ["B", "T", X.shape[1]])), "y", np.float32, ["B", "T", "H"])
    return ragged(run(g, words=is_word(offsets), x=padded(X, offsets))["y"], offsets)


@pytest.mark.parametrize("name", layers(np.random.default_rng(0)))
@settings(max_examples=12)
@given(lengths=st.lists(st.integers(0, 7), min_size=1, max_size=4).filter(any), seed=st.integers(0, 99))
def test_a_layer_computes_what_it_computes_in_python(name, lengths, seed):
    rng = np.random.default_rng(seed)
    layer, offsets = layers(rng)[name], offsets_from_lengths(lengths)
    X = 2 * rng.normal(size=(int(offsets[-1]), D)).astype(np.float32)
    expected, _ = layer.forward(X, Run(offsets=offsets))
    np.testing.assert_allclose(applied(layer, X, offsets), expected, atol=2e-6)


def test_a_layer_that_is_not_known_is_one_clear_line():
    g = Graph()
    network = NetworkGraph(g, g.input("words", np.bool_, ["B", "T"]))
    with pytest.raises(ConfigurationError, match="layer of the network: expected one that ONNX export knows, got Max"):
        network.layer(MaxOverTime(), "x")


@settings(max_examples=12)
@given(seed=st.integers(0, 99))
def test_characters(seed):
    rng = np.random.default_rng(seed)
    layer = CharacterConvolution(5, 4, D=3, rng=rng)
    layer.window.padding.value = rng.normal(size=3).astype(np.float32)
    ids = np.zeros((4, 8), np.int64)
    for row, length in enumerate([8, 1, 0, 3]):
        ids[row, :length] = rng.integers(1, 6, length)
    g = Graph()
    network = NetworkGraph(g, g.input("words", np.bool_, ["B", "T"]))
    g.output(network._characters(layer, g.input("ids", np.int64, ["B", "T", 8])), "y", np.float32, ["B", "T", "H"])
    found = run(g, words=np.ones((2, 2), bool), ids=ids.reshape(2, 2, 8))["y"]
    np.testing.assert_allclose(found.reshape(4, 4), layer.forward(ids, Run())[0], atol=1e-6)


def test_tables():
    rng = np.random.default_rng(0)
    layer = LookupTables([(4, 2), (3, 2), (5, 1)], rng=rng)
    ids = np.stack([rng.integers(0, V, 6) for V, _ in layer.sizes], axis=1)
    g = Graph()
    network = NetworkGraph(g, g.input("words", np.bool_, ["B", "T"]))
    parts = network._looked_up(layer, g.input("ids", np.int64, ["B", "T", 4]), 1)
    g.output(g.add("Concat", *parts, axis=2), "y", np.float32, ["B", "T", "H"])
    shifted = np.concatenate([np.full((6, 1), 9), ids], axis=1).reshape(2, 3, 4)
    found = run(g, words=np.ones((2, 3), bool), ids=shifted)["y"]
    np.testing.assert_array_equal(found.reshape(6, 5), layer.forward(ids, Run())[0])
