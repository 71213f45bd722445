"""The kernels of sparse.c under the names and arguments of ``plain_sparse.py``."""

from typing import Any

import numpy as np

from postil.arrays import Array
from postil.errors import IndexRangeError, ShapeError
from postil.kernels.checking import contiguous
from postil.kernels.compiled import BYTES, DOUBLES, INTEGERS, finish, pointer, ready_offsets
from postil.kernels.library import ffi, lib
from postil.kernels.plain_sparse import Attributes, AttributeTokens, PairWeights

_SMALL = ffi.typeof("int32_t[]")


def _ids(array: Array, where: str) -> Array:
    return contiguous(array, np.int32, (len(array),), where=where)


def _values(values: Array | None, count: int) -> Any:
    return ffi.NULL if values is None else pointer(contiguous(values, np.float64, (count,), where="values"), DOUBLES)


def _pairs(pairs: PairWeights) -> tuple[Array, Array]:
    return ready_offsets(pairs.firsts, len(pairs.targets)), _ids(pairs.targets, "targets")


def attribute_scores(attributes: Attributes, pairs: PairWeights, weights: Array, L: int) -> Array:
    """See ``plain_sparse.attribute_scores``."""
    firsts, targets = _pairs(pairs)
    weights = contiguous(weights, np.float64, targets.shape, where="weights")
    ids, offsets = _ids(attributes.ids, "ids"), ready_offsets(attributes.offsets, len(attributes.ids))
    N = len(offsets) - 1
    out = np.empty((N, L))
    code = lib.attribute_scores(
        *(pointer(ids, _SMALL), _values(attributes.values, len(ids)), pointer(offsets, INTEGERS), N, len(ids)),
        *(pointer(firsts, INTEGERS), pointer(targets, _SMALL), pointer(weights, DOUBLES)),
        *(len(firsts) - 1, len(targets), L, pointer(out, DOUBLES)),
    )
    finish(code, "attributes", offsets, len(ids))
    return out


def attribute_sums(attributes: Attributes, table: Array, L: int) -> Array:
    """See ``plain_sparse.attribute_sums``."""
    ids, offsets = _ids(attributes.ids, "ids"), ready_offsets(attributes.offsets, len(attributes.ids))
    table, N = contiguous(table, np.float64, np.shape(table)[:2], where="table"), len(offsets) - 1
    out = np.empty((N, L))
    code = lib.attribute_sums(
        *(pointer(ids, _SMALL), _values(attributes.values, len(ids)), pointer(offsets, INTEGERS), N, len(ids)),
        *(pointer(table, DOUBLES), *table.shape, L, pointer(out, DOUBLES)),
    )
    finish(code, "attributes", offsets, len(ids))
    return out


def attribute_counts(
    occurrences: AttributeTokens, pairs: PairWeights, marginals: Array, L: int, first: int, end: int, out: Array
) -> None:
    """See ``plain_sparse.attribute_counts``."""
    N, P = marginals.shape
    firsts, targets = _pairs(pairs)
    if not 0 <= first <= end < len(firsts):
        raise IndexRangeError("an index points outside its table", where="attributes")
    contiguous(out, np.float64, targets.shape, "expectations", changed=True)
    if len(occurrences.starts) != len(firsts):
        raise ShapeError("wrong shape", expected=firsts.shape, got=occurrences.starts.shape, where="attributes")
    tokens, starts = _ids(occurrences.tokens, "tokens"), ready_offsets(occurrences.starts, len(occurrences.tokens))
    rows = contiguous(marginals, np.float64, (N, P), where="marginals")
    code = lib.attribute_counts(
        *(pointer(starts, INTEGERS), pointer(tokens, _SMALL), _values(occurrences.values, len(tokens)), len(tokens)),
        *(first, end, pointer(firsts, INTEGERS), pointer(targets, _SMALL), len(targets)),
        *(pointer(rows, DOUBLES), N, P, L, pointer(out, DOUBLES)),
    )
    finish(code, "attributes", starts, len(tokens))


def attribute_tokens(attributes: Attributes, A: int) -> AttributeTokens:
    """See ``plain_sparse.attribute_tokens``."""
    ids, offsets = _ids(attributes.ids, "ids"), ready_offsets(attributes.offsets, len(attributes.ids))
    starts, tokens = np.empty(A + 1, np.int64), np.empty(len(ids), np.int32)
    values = None if attributes.values is None else np.empty(len(ids))
    code = lib.attribute_tokens(
        *(pointer(ids, _SMALL), _values(attributes.values, len(ids)), pointer(offsets, INTEGERS)),
        *(len(offsets) - 1, len(ids), A, pointer(starts, INTEGERS), pointer(tokens, _SMALL)),
        ffi.NULL if values is None else pointer(values, DOUBLES),
    )
    finish(code, "attributes", offsets, len(ids))
    known = int(starts[-1])
    return AttributeTokens(starts, tokens[:known], None if values is None else values[:known])


def observed_features(occurrences: AttributeTokens, labels: Array, L: int) -> tuple[PairWeights, Array]:
    """See ``plain_sparse.observed_features``."""
    tokens, starts = _ids(occurrences.tokens, "tokens"), ready_offsets(occurrences.starts, len(occurrences.tokens))
    labels = contiguous(labels, np.int64, (len(labels),), where="labels")
    A, M = len(starts) - 1, len(tokens)
    firsts, targets, totals = np.empty(A + 1, np.int64), np.empty(M, np.int32), np.empty(M)
    row, seen = np.empty(L), np.empty(L, np.uint8)
    code = lib.observed_features(
        *(pointer(starts, INTEGERS), pointer(tokens, _SMALL), _values(occurrences.values, M), M),
        *(pointer(labels, INTEGERS), len(labels), A, L, pointer(firsts, INTEGERS), pointer(targets, _SMALL)),
        *(pointer(totals, DOUBLES), pointer(row, DOUBLES), pointer(seen, BYTES)),
    )
    finish(code, "attributes", starts, M)
    K = int(firsts[-1])
    return PairWeights(firsts, targets[:K].copy()), totals[:K].copy()
