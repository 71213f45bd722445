"""The flow graph: nodes, operations with their gradients, drawings."""

import typing

from postil import lazy
from postil.graph.node import (
    Gradient,
    Gradients,
    Input,
    Node,
    Parameter,
    Parameterised,
    Pullback,
    Result,
    RowGradient,
    ancestors,
    dense,
    sum_of_two,
)
from postil.graph.operations import (
    add,
    concatenate,
    divide,
    exp,
    getitem,
    log,
    matmul,
    max,
    mean,
    multiply,
    negative,
    power,
    relu,
    reshape,
    sigmoid,
    softmax,
    sqrt,
    subtract,
    sum,
    take_rows,
    tanh,
    transpose,
)
from postil.graph.reverse import gradients, jacobian

if typing.TYPE_CHECKING:
    from postil.graph.drawing import draw
else:  # the rest is what makes a node a node; drawings need HTML
    __getattr__, __dir__ = lazy.exports(__name__, {".drawing": ["draw"]})

__all__ = ["Node", "Input", "Parameter", "Parameterised", "Result", "Pullback"]
__all__ += ["Gradient", "Gradients", "RowGradient", "gradients", "jacobian", "ancestors", "dense", "sum_of_two"]
__all__ += ["add", "subtract", "multiply", "divide", "power", "negative", "matmul"]
__all__ += ["exp", "log", "sqrt", "tanh", "sigmoid", "relu", "softmax", "sum", "mean", "max"]
__all__ += ["reshape", "transpose", "concatenate", "getitem", "take_rows", "draw"]
