"""The table of kernels: its rows are the prototypes of kernels.h, and its wrappers check what they say."""

import re
from pathlib import Path

import numpy as np
import pytest

from postil.errors import DtypeError, ShapeError
from postil.kernels import table

HEADER = Path(table.__file__).with_name("kernels.h").read_text(encoding="utf-8")
PROTOTYPES = dict(re.findall(r"^int (\w+)\(([^)]*)\);", HEADER, re.MULTILINE))


@pytest.mark.parametrize("name", table.TABLE)
def test_a_row_is_the_prototype(name):
    arguments = [re.sub(r"\w+$", "", " ".join(argument.split())).strip() for argument in PROTOTYPES[name].split(",")]
    assert table.types_in_c(name) == arguments


def wrapper(name):
    return getattr(pytest.importorskip("postil.kernels.compiled", reason="not compiled here").call, name)


def test_wrong_arguments_are_named():
    X, padding, offsets = np.zeros((4, 2), np.float32), np.zeros(2, np.float32), np.array([0, 4])
    with pytest.raises(DtypeError, match="X of windows: wrong element type: expected float32 or float64"):
        wrapper("windows")(X.astype(int), padding, offsets, 3)
    with pytest.raises(ShapeError, match=r"padding of windows: wrong shape: expected \(2,\), got \(3,\)"):
        wrapper("windows")(X, np.zeros(3), offsets, 3)
    with pytest.raises(ShapeError, match=r"dY of windows_back: wrong shape: expected \(4, 6\), got \(4, 7\)"):
        wrapper("windows_back")(np.zeros((4, 7)), offsets, 3)
    with pytest.raises(ShapeError, match="M of chosen_products: wrong shape: expected 3 dimensions"):
        wrapper("chosen_products")(X, X, np.zeros(4, int), X)
    with pytest.raises(ShapeError, match=r"V of sums_of_pairs: wrong shape: expected \(2, 3, 2\), got \(2, 3, 4\)"):
        wrapper("sums_of_pairs")(np.zeros((2, 3, 4)))
    with pytest.raises(ShapeError, match="out of activate: an array that is changed: expected a writable"):
        wrapper("activate")(X, None, 0, 1, 0, X.astype(float))


def test_types_and_layouts_are_made_fit():
    """What C cannot read is copied: other types, other strides, lists."""
    X = np.arange(8.0).reshape(2, 4)
    expected = wrapper("windows")(np.ascontiguousarray(X.T), np.ones(2), np.array([0, 1, 4]), 3)
    assert np.array_equal(wrapper("windows")(X.T, [1, 1], [0, 1, 4], 3), expected)
    assert expected.dtype == np.float64 and expected.shape == (4, 6)
