# ruff: noqa: F403 - the type checker takes every public name
"""The flow graph: nodes, operations with their gradients, drawings."""

import typing

from postil import lazy
from postil.graph import operations as _operations  # noqa: F401 - gives nodes their operators

if typing.TYPE_CHECKING:
    from postil.graph.drawing import *
    from postil.graph.node import *
    from postil.graph.operations import *
    from postil.graph.reverse import *
else:
    _MODULES = {
        ".node": "Gradient Gradients Input Node Parameter Parameterised Pullback Result RowGradient ancestors dense "
        "sum_of_two",
        ".operations": "add concatenate divide exp getitem log matmul max mean multiply negative power relu reshape "
        "sigmoid softmax sqrt subtract sum take_rows tanh transpose",
        ".reverse": "gradients jacobian",
        ".drawing": "draw",
    }
    __all__ = " ".join(_MODULES.values()).split()
    __getattr__, __dir__ = lazy.exports(__name__, _MODULES)
