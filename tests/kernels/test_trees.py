"""Compiled kernels of trees against their NumPy twins, on random and hostile input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.arrays import offsets_from_lengths
from postil.errors import IndexRangeError, ShapeError
from postil.kernels import plain_trees as plain

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


def level(seed, H, kind):
    """A level of N phrases, numbers ``first`` to ``first + N`` of P, over M nodes."""
    rng = np.random.default_rng(seed)
    N, first, above = (int(rng.integers(low, 6)) for low in (0, 0, 1))
    P, M = first + N + above, 3 + first

    def normal(*shape):
        return rng.normal(size=shape).astype(kind)

    return {
        "A": np.tanh(normal(N, 5, H)),
        "tanh_c": np.tanh(normal(N, H)),
        "memory": normal(M, H),
        "children": rng.integers(0, M, (N, 2)),
        "parents": rng.integers(2 * (first + N), 2 * P + 1, N),
        "dH": normal(N, H),
        "first": first,
        "sent_h": normal(2 * P + 1, H),
        "sent_c": normal(2 * P + 1, H),
        "out": np.zeros((N, 5, H), kind),
    }


@given(seeds, widths, kinds)
def test_cells_up_are_the_same(seed, H, kind):
    case = level(seed, H, kind)
    found = []
    for module in (plain, compiled):
        A, out = case["A"].copy(), np.zeros_like(case["tanh_c"])
        module.cells_up(A, case["memory"], case["children"], out=out)
        found.append((A, out))
    for one, other in zip(*found, strict=True):
        assert_close(other, one)


@given(seeds, widths, kinds)
def test_cells_down_are_the_same(seed, H, kind):
    found = []
    for module in (plain, compiled):
        case = level(seed, H, kind)
        module.cells_down(**case)
        found.append((case["out"], case["sent_c"]))
    for one, other in zip(*found, strict=True):
        assert_close(other, one)


@given(seeds, widths, kinds)
def test_leaf_cells_down_are_the_same(seed, H, kind):
    case = level(seed, H, kind)
    given_ = np.ascontiguousarray(case["A"][:, :3]), *(case[k] for k in ("tanh_c", "parents", "dH", "sent_h", "sent_c"))
    assert_close(compiled.leaf_cells_down(*given_), plain.leaf_cells_down(*given_))


def test_rows_outside_their_tables():
    for name, value in (("children", 99), ("children", -1), ("parents", 999), ("parents", 0)):
        case = level(3, 4, np.float32)
        assert len(case["A"])
        case[name][0] = value
        with pytest.raises(IndexRangeError):
            compiled.cells_down(**case)
        if name == "children":
            with pytest.raises(IndexRangeError):
                compiled.cells_up(case["A"], case["memory"], case["children"], out=np.zeros_like(case["tanh_c"]))


def test_an_array_that_is_changed_is_never_a_copy():
    case = level(3, 4, np.float32)
    with pytest.raises(ShapeError, match="changed"):
        compiled.cells_up(case["A"][:, :, ::-1], case["memory"], case["children"], out=np.zeros_like(case["tanh_c"]))


def test_overflow_is_heard():
    case = level(3, 4, np.float32)
    case["dH"][0, 0] = np.float32(3e38)
    case["sent_h"][:] = np.float32(3e38)
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        compiled.cells_down(**case)
