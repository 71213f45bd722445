"""The wrappers that are made of the table of kernels check what it says. The compiler compares its rows with the C."""

import numpy as np
import pytest

from postil.errors import DtypeError, ShapeError


def wrapper(name):
    return getattr(pytest.importorskip("postil.kernels.library", reason="not compiled here").call, name)


def test_wrong_arguments_are_named():
    X, padding, offsets = np.zeros((4, 2), np.float32), np.zeros(2, np.float32), np.array([0, 4])
    with pytest.raises(DtypeError, match="X of windows: wrong element type: expected float32 or float64"):
        wrapper("windows")(X.astype(int), padding, offsets, 3, 1)
    with pytest.raises(ShapeError, match=r"padding of windows: wrong shape: expected \(2,\), got \(3,\)"):
        wrapper("windows")(X, np.zeros(3), offsets, 3, 1)
    with pytest.raises(ShapeError, match=r"dY of windows_back: wrong shape: expected \(4, 6\), got \(4, 7\)"):
        wrapper("windows_back")(np.zeros((4, 7)), offsets, 3, 1)
    with pytest.raises(ShapeError, match="M of chosen_products: wrong shape: expected 3 dimensions"):
        wrapper("chosen_products")(X, X, np.zeros(4, int), X)
    with pytest.raises(ShapeError, match=r"V of sums_of_pairs: wrong shape: expected \(2, 3, 2\), got \(2, 3, 4\)"):
        wrapper("sums_of_pairs")(np.zeros((2, 3, 4)))
    with pytest.raises(ShapeError, match="out of activate: an array that is changed: expected a writable"):
        wrapper("activate")(X, None, "relu", 1, 0, X.astype(float))


def test_types_and_layouts_are_made_fit():
    """What C cannot read is copied: other types, other strides, lists."""
    X = np.arange(8.0).reshape(2, 4)
    expected = wrapper("windows")(np.ascontiguousarray(X.T), np.ones(2), np.array([0, 1, 4]), 3, 1)
    assert np.array_equal(wrapper("windows")(X.T, [1, 1], [0, 1, 4], 3, 1), expected)
    assert expected.dtype == np.float64 and expected.shape == (4, 6)


def test_results_are_cut_to_the_counts_that_c_finds():
    rows, sums = wrapper("sums_of_occurrences")(np.array([3, 1, 3]), np.eye(3))
    assert rows.tolist() == [1, 3] and sums.tolist() == [[0, 1, 0], [1, 0, 1]]


def test_a_tuple_is_one_argument_and_the_last_ones_may_come_later():
    """Two leaves and the phrase over them: the arrays are checked once, a level is a call of its own."""
    n, P, H = 2, 1, 3
    shapes = [(n, 3, H), (P, 5, H), *[(n + P, H)] * 3, (2 * P + 1, H)]
    cells = [np.zeros(shape) for shape in shapes]
    children, parents = np.array([[0, 1]]), np.array([0, 1, 2])
    level = wrapper("cells_up")(cells, np.zeros(5 * H), children, parents)
    assert level(0, 1) is None and np.all(cells[1][:, :4] == 0.5)
    with pytest.raises(ShapeError, match="phrases of cells_up: wrong shape"):
        wrapper("cells_up")([cells[0], cells[1][:, 1:], *cells[2:]], np.zeros(5 * H), children, parents)
    with pytest.raises(ShapeError, match="c of cells_up: an array that is changed"):
        wrapper("cells_up")([*cells[:2], cells[2].astype(np.float32), *cells[3:]], np.zeros(5 * H), children, parents)
