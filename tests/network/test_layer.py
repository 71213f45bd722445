import numpy as np
import pytest

from postil.arrays import Ragged
from postil.errors import DtypeError
from postil.network import Activation, Chain, Concatenation, Linear, Residual, Window


def rng():
    return np.random.default_rng(0)


def test_parameters_are_named_by_their_place_and_listed_once():
    shared = Linear(3, 3, rng=rng())
    net = Chain(shared, Residual(shared), Concatenation(Window(3, 3, rng=rng()), Linear(3, 2, rng=rng())))
    assert list(net.parameters()) == [
        *["layers.0.W", "layers.0.b"],
        *["layers.2.layers.0.padding", "layers.2.layers.1.W", "layers.2.layers.1.b"],
    ]


def test_the_float_types_of_input_and_parameters_must_agree():
    layer = Linear(3, 2, rng=rng())
    with pytest.raises(DtypeError, match=r"Linear: input of a layer: expected float32 like W, got float64 \(5, 3\)"):
        layer(np.ones((5, 3)))


def test_offsets_travel_with_the_node():
    words = Ragged(np.ones((3, 2), np.float32), [0, 1, 3])
    node = Activation("tanh")(words)
    assert list(node.offsets) == [0, 1, 3]
    assert Window(2, 3, rng=rng())(node).shape == (3, 6)


def test_biases_and_paddings_do_not_decay_and_weights_know_their_fan_in():
    layer, window = Linear(7, 2, rng=rng()), Window(2, 3, rng=rng())
    assert layer.W.decays and layer.W.fan_in == 7
    assert not layer.b.decays and not window.padding.decays


def test_parameters_in_a_dict_are_found():
    layer = Chain(Linear(2, 2, rng=np.random.default_rng(0)))
    layer.extra = {"output": Linear(2, 1, rng=np.random.default_rng(0))}
    assert list(layer.parameters()) == ["layers.0.W", "layers.0.b", "extra.output.W", "extra.output.b"]
