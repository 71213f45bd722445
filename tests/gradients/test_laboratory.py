"""The laboratory: gradients agree with its own slopes at every node, steps are those of the optimisers."""

import numpy as np
import pytest

import postil
from postil import graph
from postil.errors import ConfigurationError
from postil.gradients.laboratory import Laboratory, as_table
from postil.graph import dense
from postil.models.explaining.flow import sentence_loss

X = [["Anna", "lives", "in", "Oslo"], ["Bob", "likes", "old", "Lima"]] * 3
Y = [["B-PER", "O", "O", "B-LOC"]] * 6
GOLD = ["O", "O", "O", "B-LOC"]


@pytest.fixture(scope="module", params=["fast", "window-softmax", "sentence-sll", "linear-crf", "accurate"])
def tagger(request):
    return postil.Tagger(preset=request.param, hidden=5, epochs=1).fit(X, Y)


def test_every_node_agrees_with_its_slopes(tagger):
    laboratory = Laboratory(tagger, X[0], GOLD)
    loss, keys = laboratory.graph()
    assert float(loss.value) == pytest.approx(float(sentence_loss(tagger, X[0], GOLD).value), rel=1e-5)
    gradients = graph.gradients(loss, list(keys))
    for node, key in keys.items():
        central, one_sided = laboratory.slopes(key, 2, 2)
        exact = as_table(dense(gradients[node]))[:2, :2]
        np.testing.assert_allclose(central, exact, rtol=1e-6, atol=1e-6, err_msg=key)
        np.testing.assert_allclose(one_sided, exact, rtol=1e-3, atol=1e-3, err_msg=key)
    assert laboratory.loss() == float(loss.value), "slopes leave nothing behind"


def test_numbers_are_set_and_steps_taken(tagger):
    laboratory = Laboratory(tagger, X[0], GOLD)
    before = laboratory.loss()
    laboratory.set("#0", 1, 2, 4.0)
    _, keys = laboratory.graph()
    changed = next(node for node, key in keys.items() if key == "#0")
    assert changed.name == "changed" and changed.value[1, 2] == pytest.approx(4.0)
    assert laboratory.loss() != before
    laboratory.set("#0", 1, 2, 3.0)
    changed = next(node for node, key in laboratory.graph()[1].items() if key == "#0")
    assert changed.value[1, 2] == pytest.approx(3.0)
    losses = [laboratory.step("sgd", 0.01) for _ in range(3)]
    assert losses == sorted(losses, reverse=True)
    assert float(sentence_loss(tagger, X[0], GOLD).value) == pytest.approx(before, rel=1e-5), "the model is as it was"


def test_a_step_of_sgd_by_hand():
    tagger = postil.Tagger(preset="fast", hidden=5, epochs=1, word_rate=1.0).fit(X, Y)
    laboratory = Laboratory(tagger, X[0], GOLD)
    loss, keys = laboratory.graph()
    name = {key: node for node, key in keys.items()}["output0.W"]
    expected = name.value - 0.5 * dense(graph.gradients(loss, [name])[name])
    laboratory.step("sgd", 0.5)
    np.testing.assert_allclose(laboratory.parameters["output0.W"].value, expected)


def test_what_is_not_there_is_refused():
    laboratory = Laboratory(postil.Tagger(hidden=5, epochs=1).fit(X, Y), X[0])
    with pytest.raises(ConfigurationError, match="node"):
        laboratory.set("#99", 0, 0, 1.0)
    with pytest.raises(ConfigurationError, match="a row below 4"):
        laboratory.set("#0", 4, 0, 1.0)
