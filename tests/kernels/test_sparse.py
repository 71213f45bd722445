"""Kernels of sparse attributes: compiled against plain, and both against a dense matrix product."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.errors import IndexRangeError, ShapeError
from postil.kernels import Attributes, AttributeTokens, PairWeights
from postil.kernels import plain_sparse as plain

compiled = pytest.importorskip("postil.kernels.compiled_sparse", reason="the kernels were not compiled here")
BOTH = pytest.mark.parametrize("module", [plain, compiled], ids=["plain", "compiled"])


def drawn(seed, N, A, L, weighted, unknown=True):
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 6, N))]).astype(np.int64)
    ids = rng.integers(-1 if unknown else 0, A, offsets[-1]).astype(np.int32)
    values = rng.normal(size=len(ids)) if weighted else None
    kept = rng.random((A, L)) < rng.random((A, 1)) * 1.3  # some attributes have every label, some none
    firsts = np.concatenate([[0], np.cumsum(kept.sum(axis=1))]).astype(np.int64)
    pairs = PairWeights(firsts, np.nonzero(kept)[1].astype(np.int32))
    table = np.zeros((A, L))
    table[kept] = weights = rng.normal(size=int(kept.sum()))
    return Attributes(ids, values, offsets), pairs, weights, kept, table


def dense(attributes, A):
    matrix = np.zeros((len(attributes.offsets) - 1, A))
    tokens = np.repeat(np.arange(len(matrix)), np.diff(attributes.offsets))
    values = np.ones(len(tokens)) if attributes.values is None else attributes.values
    known = attributes.ids >= 0
    np.add.at(matrix, (tokens[known], attributes.ids[known]), values[known])
    return matrix


cases = (st.integers(0, 2**32 - 1), st.integers(0, 12), st.integers(1, 9), st.integers(1, 9), st.booleans())


@given(*cases)
def test_scores_and_expectations_are_matrix_products(seed, N, A, L, weighted):
    attributes, pairs, weights, kept, table = drawn(seed, N, A, L, weighted)
    X, marginals = dense(attributes, A), np.random.default_rng(seed).random((N, L))
    for module in (plain, compiled):
        np.testing.assert_allclose(module.attribute_scores(attributes, pairs, weights, L), X @ table, atol=1e-12)
        rows = np.pad(table, ((0, 0), (0, plain.padded_labels(L) - L)), constant_values=np.nan)
        np.testing.assert_allclose(module.attribute_sums(attributes, rows, L), X @ table, atol=1e-11)
        occurrences, out = plain.attribute_tokens(attributes, A), np.full(len(weights), np.nan)
        cut = A // 2
        wide = np.pad(marginals, ((0, 0), (0, plain.padded_labels(L) - L)))
        module.attribute_counts(occurrences, pairs, wide, L, 0, cut, out=out)
        module.attribute_counts(occurrences, pairs, wide, L, cut, A, out=out)
        np.testing.assert_allclose(out, (X.T @ marginals)[kept], atol=1e-12)


def test_observed_features_by_hand():
    attributes = Attributes(np.array([1, 0, 1, 1], np.int32), np.array([1.0, 0.0, 2.0, 0.5]), np.array([0, 1, 3, 4]))
    occurrences = plain.attribute_tokens(attributes, 3)
    assert occurrences.starts.tolist() == [0, 1, 4, 4] and occurrences.tokens.tolist() == [1, 0, 1, 2]
    assert occurrences.values.tolist() == [0.0, 1.0, 2.0, 0.5]
    pairs, totals = plain.observed_features(occurrences, np.array([2, 0, 2]), 3)
    assert pairs.firsts.tolist() == [0, 1, 3, 3] and pairs.targets.tolist() == [0, 0, 2]
    assert totals.tolist() == [0.0, 2.0, 1.5], "an occurrence with value 0 makes a feature too"


@BOTH
def test_wrong_indices_are_refused(module):
    good = Attributes(np.array([0, 1], np.int32), None, np.array([0, 1, 2]))
    pairs = PairWeights(np.array([0, 1, 2]), np.array([0, 1], np.int32))
    assert module.attribute_scores(good, pairs, np.ones(2), 2).tolist() == [[1, 0], [0, 1]]
    with pytest.raises(IndexRangeError):
        module.attribute_scores(good._replace(ids=np.array([0, 2], np.int32)), pairs, np.ones(2), 2)
    with pytest.raises(IndexRangeError):
        module.attribute_scores(good, pairs._replace(targets=np.array([0, 2], np.int32)), np.ones(2), 2)
    with pytest.raises(ShapeError):
        module.attribute_scores(good, pairs, np.ones(3), 2)
    with pytest.raises(IndexRangeError):
        plain.attribute_tokens(good, 1)
    with pytest.raises(IndexRangeError):
        module.attribute_sums(good, np.ones((1, 4)), 2)
    far = AttributeTokens(np.array([0, 1, 2]), np.array([0, 5], np.int32), None)
    with pytest.raises(IndexRangeError):
        module.attribute_counts(far, pairs, np.ones((2, 4)), 2, 0, 2, out=np.empty(2))
    occurrences = plain.attribute_tokens(good, 2)
    with pytest.raises(IndexRangeError):
        compiled.attribute_counts(occurrences, pairs, np.ones((2, 4)), 2, 1, 3, out=np.empty(2))
    with pytest.raises(IndexRangeError):
        plain.observed_features(far, np.array([0, 1]), 2)
