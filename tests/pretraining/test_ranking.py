"""What ranking draws for a shard, and its cost as a node."""

import numpy as np
import pytest

from postil.errors import ShapeError
from postil.graph import Input
from postil.kernels.plain_pretraining import ShardRoom
from postil.pretraining import CorpusConfig, PretrainingConfig
from postil.pretraining.corpus import read_corpus
from postil.pretraining.training import Ranking, window_ranking


@pytest.fixture
def corpus():
    with read_corpus(["a b c a b", "d a", "a a c d zebra a"] * 40, CorpusConfig(min_count=41)) as found:
        yield found


def test_unknown_words_keep_their_place(corpus):
    text = Ranking(PretrainingConfig(method="ranking"), corpus).drawn(
        np.array(corpus.ids[:16]), np.random.default_rng(0)
    )
    names = [*corpus.words, "?"]
    assert [names[i] for i in text.ids] == "a b c a b d a a a c d ? a".split()
    assert np.unique(text.offsets).tolist() == [0, 5, 7, 13]
    assert text.corrupt.max() < text.V == len(corpus.words)


def test_a_shard_does_not_change_the_parameters(corpus):
    method = Ranking(PretrainingConfig(method="ranking", dimensions=5, hidden=16), corpus)
    parameters = method.initial(len(corpus.words), np.random.default_rng(0))
    before = {name: array.copy() for name, array in parameters.items()}
    result = method.run(parameters, np.array(corpus.ids), 0.05, np.random.default_rng(0), ShardRoom())
    for name, array in before.items():
        np.testing.assert_array_equal(parameters[name], array)
    assert set(result.arrays) == {"W", "b", "u"}
    assert not result.rows["words"].values[:, 5:].any() and not result.arrays["W"][:, 5:].any()  # padding stays zero


def test_wrong_shapes():
    shapes = {"windows": (2, 3, 4), "corrupt": (2, 5), "W": (3, 4, 5), "b": (5,), "u": (5,)}
    with pytest.raises(ShapeError, match="corrupt centres"):
        window_ranking(*(Input(np.ones(shape), name) for name, shape in shapes.items()))
