"""The compiled composition of phrases against its NumPy twin, on random trees and hostile input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import phrases as plain
from postil.arrays import offsets_from_lengths
from postil.errors import DtypeError, IndexRangeError, ShapeError
from postil.kernels import plain_trees
from postil.network.tree import Forest

compiled = pytest.importorskip("postil.kernels.compiled_trees", reason="the kernels were not compiled here")

seeds = st.integers(0, 2**32 - 1)
kinds = st.sampled_from([np.float32, np.float64])
widths = st.sampled_from([1, 3, 8, 17, 50])
hows = st.sampled_from(plain.HOW)
BOTH = pytest.mark.parametrize("module", [plain, compiled], ids=["plain", "compiled"])


def random_widths(rng, leaves):
    """The number of children of each node of a random binary tree in post-order."""
    if leaves == 1:
        return [0]
    left = int(rng.integers(1, leaves))
    return [*random_widths(rng, left), *random_widths(rng, leaves - left), 2]


def batch(seed, how, H, kind, most_trees=40):
    """Arguments of ``composed_phrases``: enough trees for levels of more than one chunk of rows."""
    rng = np.random.default_rng(seed)
    trees = [random_widths(rng, int(leaves)) for leaves in rng.integers(1, 9, rng.integers(1, most_trees))]
    flat, offsets = np.array([w for tree in trees for w in tree], np.uint8), offsets_from_lengths(list(map(len, trees)))
    back, heights = plain_trees.binary_shape(flat, offsets)
    plan = Forest(back=back, heights=heights, offsets=offsets).schedule(np.arange(len(trees)))
    states = rng.normal(size=(7, 2 * H if how == "cells" else H)).astype(kind)
    shape = (5 * H if how == "cells" else H, H if how == "sums" else 2 * H)
    W = (rng.normal(size=shape) / np.sqrt(H)).astype(kind)
    bias = None if how == "sums" else rng.normal(size=len(W)).astype(kind)
    return [how, states, rng.integers(0, 7, plan.leaves), plan.children, plan.levels, W, bias]


@pytest.mark.slow
@given(seeds, hows, widths, kinds)
def test_phrases_are_the_same(seed, how, H, kind):
    given = batch(seed, how, H, kind)
    ours, theirs = compiled.composed_phrases(*given), plain.composed_phrases(*given)
    assert ours.shape == theirs.shape and ours.dtype == theirs.dtype == kind
    tolerance = 2e-5 if kind == np.float32 else 1e-12
    assert np.allclose(ours, theirs, rtol=tolerance, atol=tolerance)


@BOTH
def test_a_phrase_by_hand(module):
    states, forms, children = np.array([[0.5], [-0.25]]), np.array([0, 1, 0]), np.array([[0, 1], [3, 2]])
    X = module.composed_phrases("pairs", states, forms, children, [(0, 1), (1, 2)], np.array([[2.0, 4.0]]), np.ones(1))
    first = np.tanh(2 * 0.5 + 4 * -0.25 + 1)
    assert np.allclose(X[:, 0], [0.5, -0.25, 0.5, first, np.tanh(2 * first + 4 * 0.5 + 1)])


@BOTH
@pytest.mark.parametrize(
    ("forms", "children", "levels"),
    [
        ([0, 7], [[0, 1]], [(0, 1)]),
        ([0, -1], [[0, 1]], [(0, 1)]),
        ([0, 1], [[0, 2]], [(0, 1)]),
        ([0, 1], [[-1, 1]], [(0, 1)]),
        ([0, 1, 2], [[0, 1], [3, 2]], [(0, 2)]),
        ([0, 1], [[0, 1]], []),
        ([0, 1], [[0, 1]], [(0, 2)]),
        ([0, 1, 2], [[0, 1], [0, 2]], [(1, 2)]),
        ([0, 1, 2], [[0, 1], [0, 2]], [(0, 1), (0, 2)]),
    ],
    ids=["form", "form below 0", "itself", "child below 0", "same level", "no level", "too long", "a gap", "overlap"],
)
def test_wrong_indices(module, forms, children, levels):
    states, W = np.zeros((7, 3)), np.zeros((3, 3))
    with pytest.raises(IndexRangeError):
        module.composed_phrases("sums", states, np.array(forms), np.array(children), levels, W)


def test_wrong_shapes_and_types():
    _, states, forms, children, levels, W, bias = batch(0, "pairs", 3, np.float32)
    with pytest.raises(ShapeError, match="bias"):
        compiled.composed_phrases("pairs", states, forms, children, levels, W, bias[:2])
    with pytest.raises(ShapeError, match="states of words"):
        compiled.composed_phrases("cells", states, forms, children, levels, W, bias)
    with pytest.raises(DtypeError):
        compiled.composed_phrases("pairs", states.astype(int), forms, children, levels, W, bias)


@BOTH
@pytest.mark.parametrize("how", plain.HOW)
def test_nan_spreads_to_the_phrases_above_it(module, how):
    given = batch(3, how, 8, np.float32)
    given[1] = np.where(np.arange(7)[:, None] == given[2][0], np.nan, given[1]).astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        X = module.composed_phrases(*given)
    n = len(given[2])
    parents = n + np.flatnonzero((np.isnan(X[given[3]][:, :, 0])).any(axis=1))
    assert len(parents) and np.isnan(X[parents]).all()
