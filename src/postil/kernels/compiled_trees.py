"""The kernels of trees.c, phrases.c and quadratic.c under the names and arguments of ``plain_trees.py``.

The quadratic forms of a single row go to NumPy: that is one pass over U, which BLAS does faster, as rows stand side by
side here.
"""

from collections.abc import Sequence

import numpy as np

from postil.arrays import Array
from postil.errors import IndexRangeError
from postil.kernels import plain_trees
from postil.kernels.checking import check_shape, floats
from postil.kernels.library import call, lib

leaf_cells_up, cells_up = call.leaf_cells_up, call.cells_up
cells_down, leaf_cells_down = call.cells_down, call.leaf_cells_down
bilinear_forms, chosen_products = call.bilinear_forms, call.chosen_products
quadratic_weights, sums_of_pairs = call.quadratic_weights, call.sums_of_pairs
_HOW = {"sums": lib.OF_SUMS, "pairs": lib.OF_PAIRS, "cells": lib.OF_CELLS}


def binary_shape(widths: Array, offsets: Array) -> tuple[Array, Array]:
    """See ``plain_trees.binary_shape``."""
    try:
        back, heights = call.binary_shape(widths, offsets)
    except IndexRangeError:
        raise IndexRangeError("not a binary tree in post-order", where="trees") from None
    return back, heights


def composed_phrases(
    how: str,
    states: Array,
    forms: Array,
    children: Array,
    levels: Sequence[tuple[int, int]],
    W: Array,
    bias: Array | None = None,
) -> Array:
    """X (M, H): the vectors of words, then of phrases, for prediction. ``forms`` (n,) are rows of ``states``.

    | how    | a phrase                                                  | W         | states of U words  |
    |--------|-----------------------------------------------------------|-----------|--------------------|
    | sums   | tanh(W (x_1 + x_2)), no bias                              | (H, H)    | vectors, H         |
    | pairs  | tanh(W [x_1; x_2] + bias)                                 | (H, 2 H)  | vectors, H         |
    | cells  | o tanh(c), c = f_1 c_1 + f_2 c_2 + i u; maps o f_1 f_2 i u | (5 H, 2 H) | vectors, memory, 2 H |

    ``children`` (P, 2) are rows; ``levels`` cut the phrases, children stand on levels beneath.
    """
    n, P, kind = len(forms), len(children), floats(states, 2, "states of words").dtype
    H = W.shape[1] if how == "sums" else W.shape[1] // 2
    maps, width = (5 * H, 2 * H) if how == "cells" else (H, H)
    check_shape(states, (len(states), width), "states of words")
    check_shape(W, (maps, H if how == "sums" else 2 * H), "weights")
    cuts = np.array([0, *(end for _, end in levels)], np.int64)
    if [first for first, _ in levels] != cuts[:-1].tolist():
        raise IndexRangeError("an index points outside its table", where="children and levels")
    X, memory = np.empty((n + P, H), kind), np.empty((n + P if how == "cells" else 0, H), kind)
    call.composed_phrases(_HOW[how], states, forms, children, cuts, H, W, bias, X, memory)
    return X


def quadratic_forms(C: Array, U: Array, W: Array, b: Array, out: Array) -> None:
    """See ``plain_trees.quadratic_forms``."""
    (plain_trees if len(C) == 1 else call).quadratic_forms(C, U, W, b, out)


def quadratic_forms_back(dZ: Array, C: Array, U: Array, W: Array, out: Array) -> None:
    """See ``plain_trees.quadratic_forms_back``."""
    (plain_trees if len(C) == 1 else call).quadratic_forms_back(dZ, C, U, W, out)
