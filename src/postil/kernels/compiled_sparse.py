"""The kernels of sparse.c under the names and arguments of ``plain_sparse.py``; those of online.c have no twins."""

import numpy as np

from postil.arrays import Array
from postil.errors import IndexRangeError
from postil.kernels.library import call
from postil.kernels.plain_sparse import Attributes, AttributeTokens, PairWeights

attribute_scores, attribute_sums = call.attribute_scores, call.attribute_sums
online_pass, descent_pass = call.online_pass, call.descent_pass


def attribute_counts(
    occurrences: AttributeTokens, pairs: PairWeights, marginals: Array, L: int, first: int, end: int, out: Array
) -> None:
    """See ``plain_sparse.attribute_counts``."""
    if not 0 <= first <= end < len(pairs.firsts):
        raise IndexRangeError("an index points outside its table", where="attributes")
    call.attribute_counts(occurrences, first, end, pairs, marginals, L, out)


def attribute_tokens(attributes: Attributes, A: int) -> AttributeTokens:
    """See ``plain_sparse.attribute_tokens``."""
    M = len(attributes.ids)
    starts, tokens = np.empty(A + 1, np.int64), np.empty(M, np.int32)
    values = None if attributes.values is None else np.empty(M)
    call.attribute_tokens(attributes, A, starts, tokens, values)
    known = int(starts[-1])
    return AttributeTokens(starts, tokens[:known], None if values is None else values[:known])


def observed_features(occurrences: AttributeTokens, labels: Array, L: int) -> tuple[PairWeights, Array]:
    """See ``plain_sparse.observed_features``."""
    firsts, targets, totals, _, _ = call.observed_features(occurrences, labels, L)
    K = int(firsts[-1])
    return PairWeights(firsts, targets[:K].copy()), totals[:K].copy()
