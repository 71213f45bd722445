# ruff: noqa: F403 - the type checker takes every public name
"""Layers: arrays to scores, each with its backward next to its forward."""

import typing

from postil import lazy

if typing.TYPE_CHECKING:
    from postil.network.activations import *
    from postil.network.containers import *
    from postil.network.layer import *
    from postil.network.linear import *
    from postil.network.lookup import *
    from postil.network.pooling import *
    from postil.network.tree import *
    from postil.network.window import Window as Window
    from postil.network.window import WindowAverage as WindowAverage
    from postil.network.window import convolution as convolution
else:
    _MODULES = {
        ".activations": "ACTIVATIONS Activation Dropout LayerNorm ParametricReLU",
        ".containers": "Chain Concatenation Residual",
        ".layer": "INITIALISERS Initialiser Layer LayerPullback ParameterGradients Run constant fan_in_as_printed "
        "fan_in_variance xavier",
        ".linear": "Linear",
        ".lookup": "LookupTable LookupTables",
        ".pooling": "CharacterConvolution MaxOverTime SentenceConvolution",
        ".window": "Window WindowAverage convolution",
        ".tree": "AffineComposition Composition SumComposition TensorComposition TreeLSTM new_composition",
    }
    __all__ = [*" ".join(_MODULES.values()).split(), "COMPOSITIONS"]
    __getattr__, __dir__ = lazy.exports(__name__, _MODULES)

_NAMES = {"sum": "SumComposition", "concatenation": "AffineComposition", "tensor": "TensorComposition"}
COMPOSITIONS = lazy.LazyTable("postil.network.tree", {**_NAMES, "tree-lstm": "TreeLSTM"})
"""Name -> class; the choices of the setting ``composition``."""
