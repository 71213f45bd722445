"""The kernels of quadratic.c under the names and arguments of ``plain_quadratic.py``; float32 and float64.

The forms of a single row go to NumPy: that is one pass over U, which BLAS does faster, as rows stand side by side here.
"""

from postil.arrays import Array
from postil.kernels import plain_quadratic
from postil.kernels.compiled import call

bilinear_forms, chosen_products = call.bilinear_forms, call.chosen_products
quadratic_weights, sums_of_pairs = call.quadratic_weights, call.sums_of_pairs


def quadratic_forms(C: Array, U: Array, W: Array, b: Array, out: Array) -> None:
    """See ``plain_quadratic.quadratic_forms``."""
    (plain_quadratic if len(C) == 1 else call).quadratic_forms(C, U, W, b, out)


def quadratic_forms_back(dZ: Array, C: Array, U: Array, W: Array, out: Array) -> None:
    """See ``plain_quadratic.quadratic_forms_back``."""
    (plain_quadratic if len(C) == 1 else call).quadratic_forms_back(dZ, C, U, W, out)
