"""What skip-gram draws for a shard, and its cost as a node."""

import numpy as np
import pytest

from postil.errors import ShapeError
from postil.graph import Input
from postil.kernels.plain_pretraining import ShardRoom
from postil.pretraining import CorpusConfig, PretrainingConfig
from postil.pretraining.corpus import read_corpus
from postil.pretraining.training import Skipgram, negative_sampling

TEXT = ["a b c a b", "d a", "a a c d zebra a"] * 40


@pytest.fixture
def corpus():
    with read_corpus(TEXT, CorpusConfig(min_count=41)) as found:
        yield found


def test_sentences_without_unknown_words(corpus):
    text = Skipgram(PretrainingConfig(sample=1e9, negatives=3, window=4), corpus).drawn(
        np.array(corpus.ids[:16]), np.random.default_rng(0)
    )
    assert [corpus.words[i] for i in text.ids] == "a b c a b d a a a c d a".split()
    assert np.unique(text.offsets).tolist() == [0, 5, 7, 12]
    assert text.negatives.shape == (12, 3)
    assert text.reach.min() >= 1 and text.reach.max() <= 4


def test_frequent_words_are_skipped_at_random(corpus):
    text = Skipgram(PretrainingConfig(sample=1e-2), corpus).drawn(np.array(corpus.ids), np.random.default_rng(0))
    counts = np.bincount(text.ids)
    assert counts[0] < corpus.counts[0] / 2
    assert len(text.reach) == len(text.negatives) == text.offsets[-1] == len(text.ids)


def test_a_shard_does_not_change_the_parameters(corpus):
    method = Skipgram(PretrainingConfig(dimensions=5), corpus)
    parameters = method.initial(len(corpus.words), np.random.default_rng(0))
    assert parameters["inputs"].shape == (len(corpus.words), 8) and not parameters["inputs"][:, 5:].any()
    before = parameters["inputs"].copy()
    result = method.run(parameters, np.array(corpus.ids), 0.05, np.random.default_rng(0), ShardRoom())
    np.testing.assert_array_equal(parameters["inputs"], before)
    assert result.terms and not result.rows["outputs"].values[:, 5:].any()


def test_wrong_shapes():
    X, Y = Input(np.ones((2, 3)), "X"), Input(np.ones((4, 3)), "Y")
    with pytest.raises(ShapeError, match=r"wanted \(Q,\)"):
        negative_sampling(X, Y, np.ones(3))
