"""Brown clusters: every merge of the compiled kernel is one that loses least, by the definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.errors import IndexRangeError
from postil.kernels import plain_pretraining as plain

compiled = pytest.importorskip("postil.kernels.compiled_pretraining", reason="the kernels were not compiled here")
BOTH = pytest.mark.parametrize("module", [plain, compiled], ids=["plain", "compiled"])


def drawn(seed, V, pairs=60, largest=300):
    rng = np.random.default_rng(seed)
    keys = np.unique(rng.integers(0, V * V, pairs))
    counts = rng.integers(1, largest, len(keys))
    return plain.Bigrams((keys // V).astype(np.int32), (keys % V).astype(np.int32), counts, V)


def check_merges(bigrams, N, merges):
    """Each merge in turn loses as little as any other pair of clusters would."""
    counts = np.zeros((bigrams.V, bigrams.V), np.int64)
    np.add.at(counts, (bigrams.first, bigrams.second), bigrams.counts)
    members = {word: [word] for word in range(N)}
    assert merges.shape == (bigrams.V - 1, 2)
    for word, (kept, gone) in enumerate(merges.tolist(), start=N):
        if word < bigrams.V:
            members[word] = [word]
        lost = plain.merging_losses(counts, list(members.values()))
        names = list(members)
        i, j = sorted((names.index(kept), names.index(gone)))
        assert lost[i, j] <= lost.min() + 1e-6 * max(1, abs(lost.min()))
        members[kept] += members.pop(gone)
    assert len(members) == 1


@given(st.integers(0, 2**32 - 1), st.integers(3, 12), st.data())
def test_every_merge_loses_least(seed, V, data):
    bigrams = drawn(seed, V)
    N = data.draw(st.integers(1, V - 1))
    check_merges(bigrams, N, compiled.brown_merges(bigrams, N))


def test_counts_beyond_the_table_of_logarithms():
    bigrams = drawn(1, 8, largest=1 << 20)
    check_merges(bigrams, 4, compiled.brown_merges(bigrams, 4))


def test_the_twin():
    bigrams = drawn(2, 9)
    check_merges(bigrams, 4, plain.brown_merges(bigrams, 4))


@BOTH
def test_progress_is_reported(module):
    told = []
    module.brown_merges(drawn(0, 9), 4, told.append)
    assert told[-1] == 8


@BOTH
def test_wrong_arguments(module):
    bigrams = drawn(0, 9)
    for N in (0, 9):
        with pytest.raises(IndexRangeError, match="number of clusters must be 1 to 8, less than the words"):
            module.brown_merges(bigrams, N)
    with pytest.raises(IndexRangeError, match="bigrams"):
        module.brown_merges(bigrams._replace(first=bigrams.first + 5), 3)
