"""Batches of similar length: every sentence once, within the size, the same for the same generator."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.errors import ConfigurationError
from postil.features import batches_of_similar_length

lengths = st.lists(st.integers(0, 40))


def batches(values, size, seed=0, **unit):
    return batches_of_similar_length(values, size, np.random.default_rng(seed), **unit)


@given(lengths, st.integers(1, 60), st.integers(0, 5))
def test_by_tokens(values, size, seed):
    found = batches(values, size, seed, unit="tokens")
    assert sorted(index for batch in found for index in batch) == list(range(len(values)))
    assert all(len(batch) for batch in found)
    assert all(len(batch) == 1 or sum(values[i] for i in batch) <= size for batch in found)
    again = batches(np.array(values, np.int32), size, seed, unit="tokens")
    assert [batch.tolist() for batch in again] == [batch.tolist() for batch in found]


@given(lengths, st.integers(1, 10))
def test_by_sentences(values, size):
    found = batches(values, size)
    assert sorted(index for batch in found for index in batch) == list(range(len(values)))
    assert sorted(map(len, found))[1:] == [size] * (len(found) - 1)


def test_lengths_in_a_batch_are_similar():
    values = np.random.default_rng(1).integers(1, 100, 1000)
    found = batches(values, 500, unit="tokens")
    assert np.mean([values[batch].std() for batch in found]) < 0.1 * values.std()


def test_order_and_company_change():
    values = [10] * 100
    first, second = (batches(values, 5, seed) for seed in (0, 1))
    assert {frozenset(batch.tolist()) for batch in first} != {frozenset(batch.tolist()) for batch in second}
    rising = list(range(1, 400, 3))
    means = [np.mean(batch) for batch in batches(rising, 5)]
    assert means != sorted(means)


def test_impossible_sizes():
    with pytest.raises(ConfigurationError, match="size of batches: expected 1 or more, got 0"):
        batches([1, 2], 0)
    with pytest.raises(ConfigurationError, match="expected 'sentences' or 'tokens', got 'words'"):
        batches([1, 2], 3, unit="words")
