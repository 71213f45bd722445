"""The kernels of quadratic.c under the names and arguments of ``plain_quadratic.py``; float32 and float64.

The forms of a single row go to NumPy: that is one pass over U, which BLAS does faster, as rows stand side by side here.
"""

import numpy as np

from postil.arrays import Array
from postil.kernels import plain_quadratic
from postil.kernels.checking import contiguous, floats
from postil.kernels.compiled import BYTES, INTEGERS, finish, pointer, reals
from postil.kernels.library import lib

_WHERE = "quadratic forms"


def sums_of_pairs(V: Array) -> Array:
    """See ``plain_quadratic.sums_of_pairs``."""
    V = floats(V, 3, _WHERE)
    K, D, _ = V.shape
    U = np.empty_like(V)
    given = reals(V, V.dtype, (K, D, K), "one matrix a unit"), V.itemsize == 4
    finish(lib.sums_of_pairs(*given, K, D, pointer(U, BYTES)), _WHERE)
    return U


def quadratic_forms(C: Array, U: Array, W: Array, b: Array, out: Array) -> None:
    """See ``plain_quadratic.quadratic_forms``."""
    C, (D, K) = floats(C, 2, _WHERE), W.shape
    N, kind = len(C), C.dtype
    rows, bias = reals(C, kind, (N, K), "rows"), reals(b, kind, (D,), "bias")
    weights = reals(U, kind, (K, D, K), "one matrix a unit"), reals(W, kind, (D, K), "weights")
    Z = reals(out, kind, (N, D), "forms", changed=True)
    if N == 1:
        plain_quadratic.quadratic_forms(C, U, W, b, out)
    else:
        finish(lib.quadratic_forms(rows, kind.itemsize == 4, *weights, bias, N, K, D, Z), _WHERE)


def bilinear_forms(L: Array, R: Array, U: Array, out: Array) -> None:
    """See ``plain_quadratic.bilinear_forms``."""
    L, (K, D, _) = floats(L, 2, _WHERE), U.shape
    N, kind = len(L), L.dtype
    rows = reals(L, kind, (N, K), "left rows"), kind.itemsize == 4, reals(R, kind, (N, K), "right rows")
    Z = reals(out, kind, (N, D), "forms", changed=True)
    finish(lib.bilinear_forms(*rows, reals(U, kind, (K, D, K), "one matrix a unit"), N, K, D, Z), _WHERE)


def chosen_products(X: Array, M: Array, which: Array, out: Array) -> None:
    """See ``plain_quadratic.chosen_products``."""
    X, (m, K, D) = floats(X, 2, _WHERE), M.shape
    N, kind = len(X), X.dtype
    rows = reals(X, kind, (N, K), "rows"), kind.itemsize == 4, reals(M, kind, (m, K, D), "matrices"), m
    which = contiguous(which, np.int64, (N,), "matrices of rows")
    Z = reals(out, kind, (N, D), "products", changed=True)
    finish(lib.chosen_products(*rows, pointer(which, INTEGERS), N, K, D, Z), "matrices of rows")


def quadratic_forms_back(dZ: Array, C: Array, U: Array, W: Array, out: Array) -> None:
    """See ``plain_quadratic.quadratic_forms_back``."""
    C, (D, K) = floats(C, 2, _WHERE), W.shape
    N, kind = len(C), C.dtype
    rows = reals(dZ, kind, (N, D), "gradient of forms"), kind.itemsize == 4, reals(C, kind, (N, K), "rows")
    weights = reals(U, kind, (K, D, K), "one matrix a unit"), reals(W, kind, (D, K), "weights")
    dC = reals(out, kind, (N, K), "gradient of rows", changed=True)
    if N == 1:
        plain_quadratic.quadratic_forms_back(dZ, C, U, W, out)
    else:
        finish(lib.quadratic_forms_back(*rows, *weights, N, K, D, dC), _WHERE)


def quadratic_weights(dZ: Array, C: Array) -> Array:
    """See ``plain_quadratic.quadratic_weights``."""
    C = floats(C, 2, _WHERE)
    (N, K), D = C.shape, np.shape(dZ)[-1]
    dV = np.empty((K, D, K), C.dtype)
    dZ = contiguous(dZ, C.dtype, (N, D), "gradient of forms")
    rows = pointer(dZ, BYTES), C.itemsize == 4, pointer(C, BYTES)
    finish(lib.quadratic_weights(*rows, N, K, D, pointer(dV, BYTES)), _WHERE)
    return dV
