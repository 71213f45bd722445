"""Layers: arrays to scores, each with its backward next to its forward."""

import typing

from postil import lazy
from postil.network.activations import ACTIVATIONS, Activation, Dropout, LayerNorm, ParametricReLU
from postil.network.containers import Chain, Concatenation, Residual
from postil.network.layer import (
    INITIALISERS,
    Initialiser,
    Layer,
    LayerPullback,
    ParameterGradients,
    Run,
    constant,
    fan_in_as_printed,
    fan_in_variance,
    xavier,
)
from postil.network.linear import Linear
from postil.network.lookup import LookupTable, LookupTables
from postil.network.pooling import CharacterConvolution, MaxOverTime, SentenceConvolution
from postil.network.window import Window, WindowAverage, convolution

if typing.TYPE_CHECKING:
    from postil.network.tree import (
        AffineComposition,
        Composition,
        SumComposition,
        TensorComposition,
        TreeLSTM,
        new_composition,
    )
else:  # most models have no trees
    _OF_TREES = "Composition SumComposition AffineComposition TensorComposition TreeLSTM new_composition"
    __getattr__, __dir__ = lazy.exports(__name__, {".tree": _OF_TREES})

_NAMES = {"sum": "SumComposition", "concatenation": "AffineComposition", "tensor": "TensorComposition"}
COMPOSITIONS = lazy.LazyTable("postil.network.tree", {**_NAMES, "tree-lstm": "TreeLSTM"})
"""Name -> class; the choices of the setting ``composition``."""

__all__ = ["Layer", "LayerPullback", "ParameterGradients", "Run"]
__all__ += ["Initialiser", "INITIALISERS", "constant", "fan_in_as_printed", "fan_in_variance", "xavier"]
__all__ += ["LookupTable", "LookupTables", "Linear", "Window", "WindowAverage", "convolution"]
__all__ += ["MaxOverTime", "SentenceConvolution", "CharacterConvolution"]
__all__ += ["ACTIVATIONS", "Activation", "ParametricReLU", "Dropout", "LayerNorm", "Chain", "Concatenation", "Residual"]
__all__ += ["Composition", "SumComposition", "AffineComposition", "TensorComposition", "TreeLSTM", "COMPOSITIONS"]
__all__ += ["new_composition"]
