# ruff: noqa: F403 - the type checker takes every public name
"""Layers: arrays to scores, each with its backward next to its forward."""

import typing

from postil import lazy

if typing.TYPE_CHECKING:
    from postil.network.layer import *
    from postil.network.lookup import LookupTable as LookupTable
    from postil.network.lookup import LookupTables as LookupTables
    from postil.network.tree import *
    from postil.network.window import *
else:
    _MODULES = {
        ".layer": "ACTIVATIONS Activation Chain Concatenation Dropout INITIALISERS Initialiser Layer LayerNorm "
        "LayerPullback Linear ParameterGradients ParametricReLU Residual Run constant fan_in_as_printed "
        "fan_in_variance xavier",
        ".lookup": "LookupTable LookupTables",
        ".window": "CharacterConvolution MaxOverTime SentenceConvolution Window WindowAverage convolution",
        ".tree": "AffineComposition Composition SumComposition TensorComposition TreeLSTM new_composition",
    }
    __all__ = [*" ".join(_MODULES.values()).split(), "COMPOSITIONS"]
    __getattr__, __dir__ = lazy.exports(__name__, _MODULES)

_NAMES = {"sum": "SumComposition", "concatenation": "AffineComposition", "tensor": "TensorComposition"}
COMPOSITIONS = lazy.LazyTable("postil.network.tree", {**_NAMES, "tree-lstm": "TreeLSTM"})
"""Name -> class; the choices of the setting ``composition``."""
