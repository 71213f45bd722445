"""Words drawn at random come as often as they should."""

from types import SimpleNamespace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from postil.pretraining.training import PretrainingConfig, Skipgram, WordSampler


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=40))
def test_the_table_holds_the_probabilities(counts):
    counts = np.array(counts)
    sampler, V = WordSampler(counts), len(counts)
    found = np.bincount(np.arange(V), sampler.own, V) + np.bincount(sampler.other, 1 - sampler.own, V)
    expected = counts**0.75 / (counts**0.75).sum()
    np.testing.assert_allclose(found / V, expected, atol=1e-5)


def test_draws_follow_the_table():
    sampler = WordSampler(np.array([1000, 100, 10, 1]), power=1.0)
    drawn = sampler.draw((50_000, 2), np.random.default_rng(0))
    assert drawn.shape == (50_000, 2) and drawn.dtype == np.int32
    np.testing.assert_allclose(
        np.bincount(drawn.ravel(), minlength=4) / 1e5, np.array([1000, 100, 10, 1]) / 1111, atol=0.005
    )


def test_frequent_words_are_kept_less_often():
    corpus = SimpleNamespace(counts=np.array([50_000, 100, 1]), tokens=100_000)
    kept = Skipgram(PretrainingConfig(sample=1e-3), corpus).keeping
    np.testing.assert_allclose(kept, [np.sqrt(0.002) + 0.002, 1, 1], rtol=1e-6)
