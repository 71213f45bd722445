import inspect

import numpy as np
import pytest

from oracles.created import created_parameters
from postil import network
from postil.arrays import Ragged
from postil.errors import ConfigurationError, DtypeError
from postil.graph import Input, Parameter, gradients
from postil.network import Activation, Chain, Composition, Concatenation, Layer, Linear, Residual, Window


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


# A layer of each kind, with all its parameters.
KINDS = {
    network.LookupTable: lambda rng: network.LookupTable(4, 2, rng=rng),
    network.LookupTables: lambda rng: network.LookupTables([(4, 2), (3, 2), (2, 1)], rng=rng),
    network.Linear: lambda rng: network.Linear(2, 3, rng=rng),
    network.Window: lambda rng: network.Window(2, 3, rng=rng),
    network.WindowAverage: lambda rng: network.WindowAverage(3),
    network.MaxOverTime: lambda rng: network.MaxOverTime(),
    network.CharacterConvolution: lambda rng: network.CharacterConvolution(4, 3, D=2, rng=rng),
    network.SentenceConvolution: lambda rng: network.SentenceConvolution(2, 3, 3, rng=rng),
    network.Activation: lambda rng: network.Activation("tanh"),
    network.ParametricReLU: lambda rng: network.ParametricReLU(2),
    network.Dropout: lambda rng: network.Dropout(0.5),
    network.LayerNorm: lambda rng: network.LayerNorm(2, rng=rng),
    network.Chain: lambda rng: network.Chain(network.Linear(2, 2, rng=rng), network.ParametricReLU(2)),
    network.Concatenation: lambda rng: network.Concatenation(*(network.Linear(2, 2, rng=rng) for _ in range(2))),
    network.Residual: lambda rng: network.Residual(network.Linear(2, 2, rng=rng)),
    network.SumComposition: lambda rng: network.SumComposition(2, rng=rng),
    network.AffineComposition: lambda rng: network.AffineComposition(2, rng=rng),
    network.TensorComposition: lambda rng: network.TensorComposition(2, rng=rng),
    network.TreeLSTM: lambda rng: network.TreeLSTM(2, 3, rng=rng),
}


def test_every_kind_of_layer_is_in_the_table():
    public = {kind for kind in vars(network).values() if inspect.isclass(kind) and not inspect.isabstract(kind)}
    assert {kind for kind in public if issubclass(kind, Layer | Composition)} == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_no_parameter_is_forgotten(kind):
    with created_parameters() as created:
        layer = KINDS[kind](rng())
    assert type(layer) is kind
    assert set(layer.parameters().values()) == set(created)


class Hidden(Layer):
    """Keeps its parameter where parameters() does not look."""

    def __init__(self):
        slope = Parameter(np.ones(2), "slope")
        self.slope = lambda: slope

    def forward(self, X, run):
        slope = self.slope()
        return X * slope.value, lambda dY: (dY * slope.value, {slope: (dY * X).sum(axis=0)})


@pytest.mark.parametrize("wrapped", [lambda layer: layer, Chain, Residual])
def test_a_layer_that_hides_a_parameter_cannot_be_trained(wrapped):
    x = Input(np.ones((3, 2)))
    with pytest.raises(ConfigurationError, match=r"parameters\(\) does not list.* got slope"):
        gradients(wrapped(Hidden())(x).sum())


class Scale(Layer):
    """A layer of one's own; what its forward and its pullback return is ``answer(Y, …)``."""

    def __init__(self, forward, pullback):
        self.w = Parameter(np.ones(3), "w")
        self._forward, self._pullback = forward, pullback

    def forward(self, X, run):
        return self._forward(X * self.w.value, lambda dY: self._pullback(self, dY * self.w.value, (dY * X).sum(axis=0)))


def both(*parts):
    return parts


MISTAKES = {
    "keyed by name": (both, lambda layer, dX, dw: (dX, {"w": dw}), "must have parameters as keys, such as self.W"),
    "only dX": (both, lambda layer, dX, dw: dX, r"must return \(dX, {parameter: gradient}\).*got float64 \(2, 3\)"),
    "a list of gradients": (both, lambda layer, dX, dw: (dX, [dw]), r"must return .*got \(ndarray, list\)"),
    "no pullback": (
        lambda Y, back: Y,
        None,
        r"forward of a layer must return \(Y, pullback\) \(got float64 ",
    ),
}


@pytest.mark.parametrize("wrapped", [lambda layer: layer, Residual, Concatenation, Chain])
@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_in_a_layer_of_ones_own_are_explained(mistake, wrapped):
    forward, pullback, message = MISTAKES[mistake]
    with pytest.raises(ConfigurationError, match=f"Scale: .*{message}"):
        gradients(wrapped(Scale(forward, pullback))(Input(np.ones((2, 3)))), seed=np.ones((2, 3)))
