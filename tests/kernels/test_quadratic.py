"""Quadratic forms: compiled kernels against their NumPy twins, and both against sums over all pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import phrases
from postil.errors import DtypeError, IndexRangeError, ShapeError
from postil.kernels import plain_trees as plain

compiled = pytest.importorskip("postil.kernels.compiled_trees", reason="the kernels were not compiled here")

seeds = st.integers(0, 2**32 - 1)
kinds = st.sampled_from([np.float32, np.float64])
rows = st.sampled_from([0, 1, 2, 4, 5, 8, 15, 16, 17, 31, 32, 33, 64, 65, 70])
columns = st.sampled_from([1, 2, 5, 8, 15, 16, 17, 33, 40])
units = st.sampled_from([1, 3, 4, 5, 9, 10, 11, 14, 20])
BOTH = pytest.mark.parametrize("module", [plain, compiled], ids=["plain", "compiled"])


def drawn(seed, N, K, D, kind):
    rng = np.random.default_rng(seed)
    shapes = {"C": (N, K), "V": (K, D, K), "W": (D, K), "b": (D,), "dZ": (N, D)}
    return {name: rng.normal(size=shape).astype(kind) for name, shape in shapes.items()}


def results(module, C, V, W, b, dZ):
    U = module.sums_of_pairs(V)
    Z, dC = np.full(dZ.shape, np.nan, C.dtype), np.full(C.shape, np.nan, C.dtype)
    module.quadratic_forms(C, U, W, b, out=Z)
    module.quadratic_forms_back(dZ, C, U, W, out=dC)
    return {"U": U, "Z": Z, "dC": dC, "dV": module.quadratic_weights(dZ, C)}


def assert_close(found, expected):
    assert found.shape == expected.shape and found.dtype == expected.dtype
    largest = np.abs(expected).max(initial=1)
    tolerance = 1e-5 if found.dtype == np.float32 else 1e-12
    assert np.abs(found - expected).max(initial=0) <= tolerance * largest


@given(seeds, rows, columns, units, kinds)
def test_compiled_and_plain_are_the_same(seed, N, K, D, kind):
    case = drawn(seed, N, K, D, kind)
    ours, theirs = results(compiled, **case), results(plain, **case)
    for name, expected in theirs.items():
        assert_close(ours[name], expected)


@BOTH
def test_against_the_formulas(module):
    case = drawn(0, 7, 6, 3, np.float64)
    C, V, W, b, dZ = case.values()
    found = results(module, **case)
    np.testing.assert_allclose(found["Z"], np.einsum("nj,jdk,nk->nd", C, V, C) + C @ W.T + b, atol=1e-12)
    expected = np.einsum("nd,jdk,nk->nj", dZ, V, C) + np.einsum("nd,kdj,nk->nj", dZ, V, C) + dZ @ W
    np.testing.assert_allclose(found["dC"], expected, atol=1e-12)
    np.testing.assert_allclose(found["dV"], np.einsum("nj,nd,nk->jdk", C, dZ, C), atol=1e-12)
    np.testing.assert_allclose(found["dV"], found["dV"].transpose(2, 1, 0), atol=1e-12)


@given(seeds, st.integers(2, 70))
def test_a_row_is_the_same_in_any_company(seed, N):
    case = drawn(seed, N, 17, 11, np.float32)
    again = {name: array[: N // 2] if name in ("C", "dZ") else array for name, array in case.items()}
    whole, half = results(compiled, **case), results(compiled, **again)
    for name in ("Z", "dC"):
        np.testing.assert_allclose(half[name], whole[name][: N // 2], rtol=1e-5, atol=1e-5)


@given(seeds, rows, columns, units, kinds)
def test_forms_of_two_rows_are_the_same(seed, N, K, D, kind):
    case = drawn(seed, N, K, D, kind)
    L, R, V = case["C"], case["C"][::-1], case["V"]
    expected = case["dZ"] + np.einsum("nj,jdk,nk->nd", L, V, R)
    for module in (phrases, compiled):
        out = case["dZ"].copy()
        module.bilinear_forms(L, R, V, out=out)
        assert_close(out, expected)


@given(seeds, rows, columns, units, kinds)
def test_chosen_products_are_the_same(seed, N, K, D, kind):
    case = drawn(seed, N, K, D, kind)
    rng = np.random.default_rng(seed)
    M, which = rng.normal(size=(3, K, D)).astype(kind), rng.integers(0, 3, N)
    expected = case["dZ"] + np.einsum("nk,nkd->nd", case["C"], M[which])
    for module in (phrases, compiled):
        out = case["dZ"].copy()
        module.chosen_products(case["C"], M, which, out=out)
        assert_close(out, expected)


@pytest.mark.parametrize("module", [phrases, compiled], ids=["oracle", "compiled"])
@pytest.mark.parametrize("wrong", [-1, 3])
def test_a_matrix_that_is_not_there(module, wrong):
    with pytest.raises(IndexRangeError):
        module.chosen_products(np.ones((2, 4)), np.ones((3, 4, 5)), np.array([0, wrong]), out=np.zeros((2, 5)))


def test_wrong_arguments():
    case = drawn(0, 4, 6, 3, np.float32)
    C, V, W, b, dZ = case.values()
    U, out = compiled.sums_of_pairs(V), np.empty((4, 3), np.float32)
    with pytest.raises(ShapeError, match=r"U of quadratic_forms: wrong shape: expected \(6, 3, 6\)"):
        compiled.quadratic_forms(C, U[:5], W, b, out=out)
    with pytest.raises(ShapeError, match=r"U of quadratic_forms: wrong shape: expected \(5, 3, 5\)"):
        compiled.quadratic_forms(C[:, :5], U, W, b, out=out)
    with pytest.raises(ShapeError, match="an array that is changed"):
        compiled.quadratic_forms(C, U, W, b, out=out[:, ::-1])
    with pytest.raises(ShapeError, match="C of quadratic_weights"):
        compiled.quadratic_weights(dZ[:3], C)
    with pytest.raises(ShapeError, match="V of sums_of_pairs"):
        compiled.sums_of_pairs(V[:5])
    with pytest.raises(DtypeError, match="dZ of quadratic_weights"):
        compiled.quadratic_weights(dZ.astype(np.int32), C)


def test_overflow_is_heard():
    case = drawn(0, 4, 6, 3, np.float32)
    case["C"] *= np.float32(1e30)
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        results(compiled, **case)
