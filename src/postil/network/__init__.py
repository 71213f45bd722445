"""Layers: arrays to scores, each with its backward beside its forward."""

import typing

from postil import lazy

if typing.TYPE_CHECKING:
    from postil.network.activations import ACTIVATIONS, Activation, ParametricReLU
    from postil.network.characters import CharacterConvolution
    from postil.network.containers import Chain, Concatenation, Residual
    from postil.network.dropout import Dropout
    from postil.network.initialisers import (
        INITIALISERS,
        Initialiser,
        constant,
        fan_in_as_printed,
        fan_in_variance,
        xavier,
    )
    from postil.network.layer import Layer, LayerPullback, ParameterGradients, Run
    from postil.network.linear import Linear
    from postil.network.lookup import LookupTable, LookupTables
    from postil.network.normalisation import LayerNorm
    from postil.network.pooling import MaxOverTime
    from postil.network.sentence import SentenceConvolution
    from postil.network.tree import AffineComposition, Composition, SumComposition, TensorComposition
    from postil.network.tree_compositions import COMPOSITIONS, new_composition
    from postil.network.tree_lstm import TreeLSTM
    from postil.network.window import Window, WindowAverage, convolution
else:
    __getattr__, __dir__ = lazy.exports(
        __name__,
        {
            ".activations": ["ACTIVATIONS", "Activation", "ParametricReLU"],
            ".characters": ["CharacterConvolution"],
            ".containers": ["Chain", "Concatenation", "Residual"],
            ".dropout": ["Dropout"],
            ".initialisers": [
                "INITIALISERS",
                "Initialiser",
                "constant",
                "fan_in_as_printed",
                "fan_in_variance",
                "xavier",
            ],
            ".layer": ["Layer", "LayerPullback", "ParameterGradients", "Run"],
            ".linear": ["Linear"],
            ".lookup": ["LookupTable", "LookupTables"],
            ".normalisation": ["LayerNorm"],
            ".pooling": ["MaxOverTime"],
            ".sentence": ["SentenceConvolution"],
            ".tree": ["AffineComposition", "Composition", "SumComposition", "TensorComposition"],
            ".tree_compositions": ["COMPOSITIONS", "new_composition"],
            ".tree_lstm": ["TreeLSTM"],
            ".window": ["Window", "WindowAverage", "convolution"],
        },
    )

__all__ = [
    "Layer",
    "LayerPullback",
    "ParameterGradients",
    "Run",
    "Initialiser",
    "INITIALISERS",
    "constant",
    "fan_in_as_printed",
    "fan_in_variance",
    "xavier",
    "LookupTable",
    "LookupTables",
    "Linear",
    "Window",
    "WindowAverage",
    "convolution",
    "MaxOverTime",
    "SentenceConvolution",
    "CharacterConvolution",
    "ACTIVATIONS",
    "Activation",
    "ParametricReLU",
    "Dropout",
    "LayerNorm",
    "Chain",
    "Concatenation",
    "Residual",
    "Composition",
    "SumComposition",
    "AffineComposition",
    "TensorComposition",
    "TreeLSTM",
    "COMPOSITIONS",
    "new_composition",
]
