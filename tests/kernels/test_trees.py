"""Compiled kernels of trees against their NumPy twins, on random and hostile input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.arrays import offsets_from_lengths
from postil.errors import DtypeError, IndexRangeError, ShapeError
from postil.kernels import plain_trees as plain
from postil.network.tree import Forest

compiled = pytest.importorskip("postil.kernels.compiled_trees", reason="the kernels were not compiled here")

seeds = st.integers(0, 2**32 - 1)
kinds = st.sampled_from([np.float32, np.float64])
widths = st.sampled_from([1, 3, 8, 17, 50])
BOTH = pytest.mark.parametrize("module", [plain, compiled], ids=["plain", "compiled"])


def assert_close(ours, theirs):
    assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
    tolerance = 1e-5 if ours.dtype == np.float32 else 1e-12
    assert np.allclose(ours, theirs, rtol=tolerance, atol=tolerance)


# ------------------------------------------------------------------------------------------------ shapes


def random_widths(rng, leaves):
    """A random binary tree in post-order, by shifting words and joining the last two phrases."""
    found, waiting, left = [], 0, leaves
    while left or waiting > 1:
        if left and (waiting < 2 or rng.random() < 0.5):
            found.append(0)
            waiting, left = waiting + 1, left - 1
        else:
            found.append(2)
            waiting -= 1
    return found


@given(seeds)
def test_shapes_are_the_same(seed):
    rng = np.random.default_rng(seed)
    trees = [random_widths(rng, int(n)) for n in rng.integers(1, 12, rng.integers(0, 5))]
    flat, offsets = np.array([w for tree in trees for w in tree], np.uint8), offsets_from_lengths(list(map(len, trees)))
    for one, other in zip(plain.binary_shape(flat, offsets), compiled.binary_shape(flat, offsets), strict=True):
        assert one.dtype == other.dtype and np.array_equal(one, other)


@BOTH
def test_a_shape_by_hand(module):
    # (a ((b c) d)) and one word
    back, heights = module.binary_shape(np.array([0, 0, 0, 2, 0, 2, 2, 0], np.uint8), np.array([0, 7, 8]))
    assert back.tolist() == [[0, 0], [0, 0], [0, 0], [2, 1], [0, 0], [2, 1], [6, 1], [0, 0]]
    assert heights.tolist() == [0, 0, 0, 1, 0, 2, 3, 0]


@BOTH
@pytest.mark.parametrize(
    ("wrong", "offsets"),
    [([0, 0], [0, 2]), ([2], [0, 1]), ([0, 2], [0, 2]), ([0, 0, 3], [0, 3]), ([0, 0, 2], [0, 1, 3]), ([0], [0, 0, 1])],
    ids=["two roots", "no parts", "one part", "three parts", "parts of another tree", "an empty tree"],
)
def test_what_is_no_binary_tree(module, wrong, offsets):
    with pytest.raises(IndexRangeError, match="binary tree in post-order"):
        module.binary_shape(np.array(wrong, np.uint8), np.array(offsets))


@BOTH
def test_wrong_offsets(module):
    with pytest.raises(ShapeError, match="offsets"):
        module.binary_shape(np.zeros(3, np.uint8), np.array([0, 5]))


# ------------------------------------------------------------------------------------------------ cells


def batch(seed, H, kind):
    """A batch of trees: the products of their cells, where their nodes stand, gradients that come from elsewhere."""
    rng = np.random.default_rng(seed)
    trees = [random_widths(rng, int(leaves)) for leaves in rng.integers(1, 7, rng.integers(1, 5))]
    flat, offsets = np.array([w for tree in trees for w in tree], np.uint8), offsets_from_lengths(list(map(len, trees)))
    back, heights = plain.binary_shape(flat, offsets)
    plan = Forest(back=back, heights=heights, offsets=offsets).schedule(np.arange(len(trees)))
    n, P = plan.leaves, plan.inner

    def normal(*shape):
        return (2 * rng.normal(size=shape)).astype(kind)

    cells = plain.TreeCells(*(normal(*shape) for shape in plain.TreeCells.shapes(n, P, H)))
    sent_h, sent_c = normal(2 * P + 1, H), normal(2 * P + 1, H)
    sent_h[-1] = sent_c[-1] = 0
    gradients = {"dH": normal(n + P, H), "sent_h": sent_h, "sent_c": sent_c}
    return plan, cells, {"words": normal(3 * H), "phrases": normal(5 * H)}, gradients


def copied(arrays):
    return plain.TreeCells(*(array.copy() for array in arrays))


def went_up(module, plan, cells, bias):
    """The cells with everything filled in; the products stay as they were drawn, whatever the parts are."""
    cells = copied(cells)
    module.leaf_cells_up(cells, bias["words"], plan.parents)
    level = module.cells_up(cells, bias["phrases"], plan.children, plan.parents)
    for first, end in plan.levels:
        level(first, end)
    return cells


def went_down(module, plan, cells, gradients):
    given = {name: array.copy() for name, array in gradients.items()}
    dZ = np.zeros_like(cells.phrases)
    level = module.cells_down(cells, plan.children, plan.parents, **given, out=dZ)
    for first, end in reversed(plan.levels):
        level(first, end)
    return dZ, given["sent_c"], module.leaf_cells_down(cells, plan.parents, **given)


@given(seeds, widths, kinds)
def test_cells_up_are_the_same(seed, H, kind):
    plan, cells, bias, _ = batch(seed, H, kind)
    ours, theirs = (went_up(module, plan, cells, bias) for module in (compiled, plain))
    for name, one, other in zip(plain.TreeCells._fields, ours, theirs, strict=True):
        assert_close(one[:-1] if name == "parts" else one, other[:-1] if name == "parts" else other)


@given(seeds, widths, kinds)
def test_cells_down_are_the_same(seed, H, kind):
    plan, cells, bias, gradients = batch(seed, H, kind)
    cells = went_up(plain, plan, cells, bias)
    for one, other in zip(*(went_down(module, plan, cells, gradients) for module in (compiled, plain)), strict=True):
        assert_close(one, other)


@given(st.floats(-200, 200, width=32) | st.floats(-1, 1, width=32) | st.sampled_from([np.inf, -np.inf, 0.0, -0.0]))
def test_tanh_to_the_last_digits(z):
    """u of a word is tanh of its product: o and i play no part in it."""
    cells = plain.TreeCells(*(np.zeros(shape, np.float32) for shape in plain.TreeCells.shapes(1, 0, 1)))
    cells.words[0, 2] = z
    compiled.leaf_cells_up(cells, np.zeros(3, np.float32), np.array([0]))
    expected = np.tanh(np.float64(z))
    assert abs(cells.words[0, 2, 0] - expected) <= 4e-7 * abs(expected)


def test_each_vector_is_brought_to_its_parent():
    plan, cells, bias, _ = batch(5, 4, np.float32)
    assert plan.inner
    found = went_up(compiled, plan, cells, bias)
    np.testing.assert_array_equal(found.parts[:-1].reshape(plan.inner, 2, 4), found.h[plan.children])


def test_rows_outside_their_tables():
    plan, cells, bias, gradients = batch(5, 4, np.float32)
    first, end = plan.levels[0]
    n, P = plan.leaves, plan.inner
    for place, value in (((0, 0), 99), ((0, 1), -1), ((0, 0), n)):  # the last one: a part that is not done yet
        children = plan.children.copy()
        children[place] = value
        for level in (
            compiled.cells_up(copied(cells), bias["phrases"], children, plan.parents),
            compiled.cells_down(cells, children, plan.parents, **gradients, out=np.zeros_like(cells.phrases)),
        ):
            with pytest.raises(IndexRangeError):
                level(first, end)
    for place, value in ((0, 2 * P + 1), (0, -1), (n, 2 * P + 1), (n, 0)):
        parents = plan.parents.copy()
        parents[place] = value
        with pytest.raises(IndexRangeError):
            compiled.leaf_cells_up(copied(cells), bias["words"], parents)
            compiled.cells_up(copied(cells), bias["phrases"], plan.children, parents)(first, end)
    level = compiled.cells_up(copied(cells), bias["phrases"], plan.children, plan.parents)
    for wrong in ((-1, 1), (0, P + 1), (1, 0)):
        with pytest.raises(IndexRangeError):
            level(*wrong)


def test_an_array_that_is_changed_is_never_a_copy():
    plan, cells, bias, _ = batch(5, 4, np.float32)
    turned = cells._replace(phrases=cells.phrases[:, :, ::-1])
    with pytest.raises(ShapeError, match="phrases of cells_up: an array that is changed"):
        compiled.cells_up(turned, bias["phrases"], plan.children, plan.parents)
    with pytest.raises(ShapeError, match="h of "):
        compiled.leaf_cells_up(cells._replace(h=cells.h[1:]), bias["words"], plan.parents)
    with pytest.raises(DtypeError, match="words of "):
        compiled.leaf_cells_up(cells._replace(words=cells.words.astype(np.int64)), bias["words"], plan.parents)


def test_overflow_is_heard():
    plan, cells, bias, gradients = batch(5, 4, np.float32)
    gradients["dH"][:] = gradients["sent_h"][:] = np.float32(3e38)
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        went_down(compiled, plan, went_up(compiled, plan, cells, bias), gradients)
