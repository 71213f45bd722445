"""Sparse attributes of tokens and the weights of (attribute, label) pairs, in NumPy.

Letters: N tokens with M attributes in all, A distinct attributes, L labels, K features. A feature is a pair of an
attribute and a label that has a weight.
"""

from typing import NamedTuple

import numpy as np

from postil.arrays import Array, checked_offsets
from postil.errors import IndexRangeError, ShapeError
from postil.kernels.checking import contiguous


class Attributes(NamedTuple):
    """The attributes of tokens, one row per token."""

    ids: Array  # (M,) int32; negative: an unknown attribute, which counts nothing
    values: Array | None  # (M,) float64; None: all are 1
    offsets: Array  # (N + 1,) int64


class AttributeTokens(NamedTuple):
    """The same by attribute: where each of them occurs, in ascending order of tokens."""

    starts: Array  # (A + 1,) int64
    tokens: Array  # (M,) int32
    values: Array | None  # (M,) float64


class PairWeights(NamedTuple):
    """The features of every attribute: labels in ascending order."""

    firsts: Array  # (A + 1,) int64
    targets: Array  # (K,) int32


def checked_pairs(pairs: PairWeights, L: int) -> PairWeights:
    """Features as C expects them: labels below L, at most L of them for each attribute."""
    firsts = checked_offsets(pairs.firsts, rows=len(pairs.targets))
    targets = contiguous(pairs.targets, np.int32, pairs.targets.shape, where="targets")
    if len(targets) and not (targets.min() >= 0 and targets.max() < L and np.diff(firsts).max() <= L):
        raise IndexRangeError("an index points outside its table", where="targets")
    return PairWeights(np.ascontiguousarray(firsts, np.int64), targets)


def attribute_scores(attributes: Attributes, pairs: PairWeights, weights: Array, L: int) -> Array:
    """(N, L) the sum over the attributes of a token of value times weight. ``weights`` (K,)."""
    pairs, ids = checked_pairs(pairs, L), attributes.ids
    offsets = checked_offsets(attributes.offsets, rows=len(ids))
    if weights.shape != pairs.targets.shape:
        raise ShapeError("wrong shape", expected=pairs.targets.shape, got=weights.shape, where="weights")
    _check_ids(ids, len(pairs.firsts) - 1)
    known = np.flatnonzero(ids >= 0)
    tokens = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))[known]
    places, sources = _spread(pairs.firsts, ids[known])
    values = weights[places] if attributes.values is None else weights[places] * attributes.values[known][sources]
    cells = tokens[sources] * L + pairs.targets[places]
    return np.bincount(cells, values, minlength=(len(offsets) - 1) * L).reshape(-1, L)


def padded_labels(L: int) -> int:
    """Columns of tables that kernels add row by row: a multiple of the doubles in a vector."""
    return -(-L // 4) * 4


def attribute_sums(attributes: Attributes, table: Array, L: int) -> Array:
    """(N, L) the same scores from a table (A, ``padded_labels(L)``) with a row of weights for every attribute."""
    ids, offsets = attributes.ids, checked_offsets(attributes.offsets, rows=len(attributes.ids))
    _check_ids(ids, len(table))
    rows = np.where(ids[:, None] >= 0, table[:, :L][ids], 0.0) if len(table) else np.zeros((len(ids), L))
    if attributes.values is not None:
        rows = rows * attributes.values[:, None]
    sums = np.concatenate([np.zeros((1, L)), np.cumsum(rows, axis=0)])
    return np.asarray(sums[offsets[1:]] - sums[offsets[:-1]])


def attribute_counts(
    occurrences: AttributeTokens, pairs: PairWeights, marginals: Array, L: int, first: int, end: int, out: Array
) -> None:
    """Into ``out`` (K,) what the features of attributes ``first:end`` expect under marginals (N, P) of L labels.

    The expectation of a feature is the sum over the tokens of its attribute of value times probability of its label.
    """
    pairs = checked_pairs(pairs, L)
    K = slice(int(pairs.firsts[first]), int(pairs.firsts[end]))
    owners = np.repeat(np.arange(first, end), np.diff(pairs.firsts[first : end + 1]))
    places, sources = _spread(occurrences.starts, owners)
    tokens = occurrences.tokens[places]
    _check_ids(tokens, len(marginals), lowest=0)
    values = marginals[tokens, pairs.targets[K][sources]]
    if occurrences.values is not None:
        values = values * occurrences.values[places]
    out[K] = np.bincount(sources, values, minlength=len(owners))


def attribute_tokens(attributes: Attributes, A: int) -> AttributeTokens:
    """Where each of A attributes occurs; occurrences of unknown attributes are left out."""
    ids = attributes.ids
    offsets = checked_offsets(attributes.offsets, rows=len(ids))
    _check_ids(ids, A)
    order = np.argsort(ids, kind="stable")
    order = order[np.searchsorted(ids[order], 0) :]
    starts = np.concatenate([[0], np.cumsum(np.bincount(ids[order], minlength=A))]).astype(np.int64)
    tokens = np.repeat(np.arange(len(offsets) - 1, dtype=np.int32), np.diff(offsets))[order]
    return AttributeTokens(starts, tokens, None if attributes.values is None else attributes.values[order])


def observed_features(occurrences: AttributeTokens, labels: Array, L: int) -> tuple[PairWeights, Array]:
    """The labels each attribute is seen with, and the sum of its values with each of them (K,). ``labels`` (N,)."""
    A = len(occurrences.starts) - 1
    _check_ids(occurrences.tokens, len(labels), lowest=0)
    _check_ids(labels, L, lowest=0)
    owners = np.repeat(np.arange(A), np.diff(occurrences.starts))
    cells = owners * L + labels[occurrences.tokens]
    found, inverse = np.unique(cells, return_inverse=True)
    totals = np.bincount(inverse, occurrences.values, minlength=len(found)).astype(np.float64)
    firsts = np.searchsorted(found, np.arange(A + 1) * L).astype(np.int64)
    return PairWeights(firsts, (found % L).astype(np.int32)), totals


def _check_ids(ids: Array, count: int, lowest: int | None = None) -> None:
    if len(ids) and (ids.max() >= count or (lowest is not None and ids.min() < lowest)):
        raise IndexRangeError("an index points outside its table", where="attributes")


def _spread(firsts: Array, owners: Array) -> tuple[Array, Array]:
    """All places firsts[o]:firsts[o + 1] of the owners one after the other, and which owner each belongs to."""
    sizes = firsts[owners + 1] - firsts[owners]
    sources = np.repeat(np.arange(len(owners)), sizes)
    begins = np.cumsum(sizes) - sizes
    return np.arange(len(sources)) - begins[sources] + firsts[owners][sources], sources
