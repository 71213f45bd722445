"""The kernels of phrases.c under the names and arguments of ``plain_phrases.py``; float32 and float64."""

from collections.abc import Sequence

import numpy as np

from postil.arrays import Array
from postil.errors import IndexRangeError
from postil.kernels.checking import contiguous, floats
from postil.kernels.compiled import BYTES, INTEGERS, finish, pointer, reals
from postil.kernels.library import ffi, lib
from postil.kernels.plain_phrases import CELLS, SUMS

_HOW = {"sums": lib.OF_SUMS, "pairs": lib.OF_PAIRS, "cells": lib.OF_CELLS}


def composed_phrases(
    how: str,
    states: Array,
    forms: Array,
    children: Array,
    levels: Sequence[tuple[int, int]],
    W: Array,
    bias: Array | None = None,
) -> Array:
    """See ``plain_phrases.composed_phrases``."""
    states = floats(states, 2, "states of words")
    n, P, kind = len(forms), len(children), states.dtype
    H = W.shape[1] if how == SUMS else W.shape[1] // 2
    maps, width = (5 * H, 2 * H) if how == CELLS else (H, H)
    table = reals(states, kind, (len(states), width), "states of words"), len(states)
    forms = contiguous(forms, np.int64, (n,), "forms of words")
    children = contiguous(children, np.int64, (P, 2), "children")
    cuts = np.array([0, *(end for _, end in levels)], np.int64)
    if [first for first, _ in levels] != cuts[:-1].tolist():
        raise IndexRangeError("an index points outside its table", where="children and levels")
    trees = *(pointer(array, INTEGERS) for array in (forms, children, cuts)), len(levels), n, P, H
    weights = reals(W, kind, (maps, H if how == SUMS else 2 * H), "weights")
    biases = ffi.NULL if bias is None else reals(bias, kind, (maps,), "bias")
    X, memory = np.empty((n + P, H), kind), np.empty((n + P if how == CELLS else 0, H), kind)
    outputs = pointer(X, BYTES), pointer(memory, BYTES)
    code = lib.composed_phrases(_HOW[how], kind.itemsize == 4, *table, *trees, weights, biases, *outputs)
    finish(code, "children and levels")
    return X
