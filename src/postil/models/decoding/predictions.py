"""The answers of ``predict`` as a list that NumPy takes for one column of lists."""

from collections.abc import Iterable
from typing import Any, final

import numpy as np

from postil.arrays import Array


@final
class Predictions(list[list[str]]):
    """A list of label lists. As an array it is (B,), of lists, whatever their lengths.

    NumPy would otherwise refuse lists of different lengths, and make a matrix of equal ones. scikit-learn's
    ``cross_val_predict`` concatenates the answers of its folds as arrays.
    """

    def __init__(self, labels: Iterable[list[str]] = ()) -> None:
        super().__init__(labels)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        column = np.empty(len(self), object)
        column[:] = list(self)
        return column
