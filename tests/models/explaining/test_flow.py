"""The graph of a sentence's loss: the value of training, gradients for every parameter that the sentence uses."""

import numpy as np
import pytest

import postil
from postil import graph
from postil.errors import DataError
from postil.graph import ancestors
from postil.models.laboratory import sentence_loss
from postil.models.networks.network import Example

X = [["Anna", "lives", "in", "Oslo"], ["Bob", "likes", "old", "Lima"]] * 3
Y = [["B-PER", "O", "O", "B-LOC"]] * 6


@pytest.mark.parametrize("settings", [{}, {"objective": "softmax"}, {"ensemble": 2}, {"encoder": "convolutions"}])
def test_it_is_the_loss_of_training_without_noise(settings):
    noiseless = {"input_dropout": 0.0, "hidden_dropout": 0.0, "word_dropout": 0.0, "min_count": 1}
    tagger = postil.Tagger(epochs=1, hidden=4, **noiseless, **settings).fit(X, Y)
    loss = sentence_loss(tagger, X[0], Y[0])
    parts = tagger.model
    (gold,) = tagger.model.codec.numbers([Y[0]])
    example = Example(inputs=parts.features.inputs([X[0]]), gold=gold)
    trained = parts.network.loss(example, rng=np.random.default_rng(0))
    assert float(loss.value) == pytest.approx(float(trained.value), rel=1e-5)
    nodes = ancestors(loss)
    assert set(parts.network.parameters().values()) <= set(nodes)
    assert set(graph.gradients(loss, nodes)) == set(nodes)
    assert float(sentence_loss(tagger, X[0]).value) <= float(sentence_loss(tagger, X[0], ["O"] * 4).value)


def test_labels_must_fit():
    tagger = postil.Tagger(epochs=1, hidden=4).fit(X, Y)
    with pytest.raises(DataError, match="one for each of the 4 tokens"):
        sentence_loss(tagger, X[0], ["O"])
