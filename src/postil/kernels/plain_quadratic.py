"""Quadratic forms of many rows in NumPy, the products of the tensor composition.

    z_d = Σ_{j ≤ k} c_j U_d[j, k] c_k + W_d c + b_d

Letters: N rows c (K,), D units. The matrix of unit d stands at ``[:, d, :]`` of an array (K, D, K). U is symmetric, and
compiled kernels read only one half of it.
"""

import numpy as np

from postil.arrays import Array
from postil.errors import IndexRangeError


def sums_of_pairs(V: Array) -> Array:
    """U (K, D, K), by which c_j c_k is multiplied in cᵀ V_d c: V[j, d, k] + V[k, d, j], or V[j, d, j] where j = k."""
    U = V + V.transpose(2, 1, 0)
    _diagonal(U)[...] *= U.dtype.type(0.5)
    return U


def _diagonal(U: Array) -> Array:
    """A view (D, K) of U[j, d, j]."""
    return np.asarray(np.einsum("jdj->dj", U))


def _times(C: Array, U: Array) -> Array:
    """U_d c for every row and unit, (N, D, K)."""
    K, D, _ = U.shape
    return (C @ U.reshape(K, D * K)).reshape(len(C), D, K)


def quadratic_forms(C: Array, U: Array, W: Array, b: Array, out: Array) -> None:
    """Z (N, D) into ``out``.  C (N, K), U (K, D, K) as of ``sums_of_pairs``, W (D, K), b (D,)."""
    np.matmul(_times(C, U), C[:, :, None], out=out[:, :, None])
    out += (C * C) @ _diagonal(U).T  # now every pair has come twice
    out *= out.dtype.type(0.5)
    out += C @ W.T
    out += b


def bilinear_forms(L: Array, R: Array, U: Array, out: Array) -> None:
    """Add Σ_jk l_j U[j, d, k] r_k to ``out`` (N, D).  L (N, K), R (N, K), U (K, D, K), symmetric or not."""
    K, D, _ = U.shape
    out += np.matmul((L @ U.reshape(K, D * K)).reshape(len(L), D, K), R[:, :, None])[:, :, 0]


def chosen_products(X: Array, M: Array, which: Array, out: Array) -> None:
    """Add x M[which] of each row to ``out`` (N, D).  X (N, K), M (m, K, D), which (N,)."""
    if len(which) and (which.min() < 0 or which.max() >= len(M)):
        raise IndexRangeError("an index points outside its table", where="matrices of rows")
    for i in np.unique(which):
        rows = np.flatnonzero(which == i)
        out[rows] += X[rows] @ M[i]


def quadratic_forms_back(dZ: Array, C: Array, U: Array, W: Array, out: Array) -> None:
    """dC (N, K) into ``out``: ∂z_d/∂c = U_d c + diagonal of U_d ⊙ c + W_d."""
    np.matmul(dZ[:, None, :], _times(C, U), out=out[:, None, :])
    out += (dZ @ _diagonal(U)) * C
    out += dZ @ W


def quadratic_weights(dZ: Array, C: Array) -> Array:
    """dV (K, D, K), symmetric: Σ_n c_j dz_d c_k."""
    weighted = (C[:, :, None] * dZ[:, None, :]).reshape(len(C), C.shape[1] * dZ.shape[1])
    return (weighted.T @ C).reshape(C.shape[1], dZ.shape[1], C.shape[1])
