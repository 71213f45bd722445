"""The table of tree compositions: name -> class, and one function that builds any of them."""

from typing import Any

import numpy as np

from postil.network.initialisers import Initialiser, xavier
from postil.network.tree import AffineComposition, Composition, SumComposition, TensorComposition
from postil.network.tree_lstm import TreeLSTM

COMPOSITIONS: dict[str, Any] = {
    "sum": SumComposition,
    "concatenation": AffineComposition,
    "tensor": TensorComposition,
    "tree-lstm": TreeLSTM,
}


def new_composition(
    name: str,
    D: int,
    H: int,
    *,
    rng: np.random.Generator,
    activation: str = "tanh",
    initialise: Initialiser = xavier,
    dtype: Any = np.float32,
) -> Composition:
    """Create a composition with vectors of width H. Only a Tree-LSTM accepts word vectors of another width D."""
    if name == "tree-lstm":
        return TreeLSTM(D, H, rng=rng, initialise=initialise, dtype=dtype)
    composition: Composition = COMPOSITIONS[name](H, rng=rng, activation=activation, initialise=initialise, dtype=dtype)
    return composition
