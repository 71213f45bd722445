"""The gradient check of fitted taggers, and that it finds a wrong gradient."""

import numpy as np
import pytest

import postil
from oracles.corpora import named_entities, parts_of_speech
from postil import graph
from postil.errors import ConfigurationError
from postil.graph import dense
from postil.models.laboratory import Laboratory, as_table, examine_parts, sentence_loss
from postil.models.networks.tree_network import TreeNetwork
from postil.network import COMPOSITIONS

SMALL = {
    "hidden": 4,
    "word_dim": 3,
    "caps_dim": 2,
    "column_dim": 2,
    "position_dim": 2,
    "epochs": 1,
    "rate": 0.02,
    "input_dropout": 0.2,
    "hidden_dropout": 0.2,
}


# All presets are rows of `postil check`; here are objectives and encoders once each, fitted.
@pytest.mark.slow
@pytest.mark.parametrize("preset", ["fast", "window-wll", "sentence-sll", "linear-crf"])
def test_the_loss_of_a_fitted_model_has_the_right_gradient(preset, tmp_path):
    vectors = tmp_path / "v.txt"
    vectors.write_text("anna 0.5 1\noslo 0.1 2\n")
    X, y = named_entities(20)
    X = [[(word, word[-1]) for word in tokens] for tokens in X]
    y = [[label.replace("LOC", "PER") for label in labels] for labels in y]  # one class: few labels to step through
    tagger = postil.Tagger(preset=preset, vectors=vectors, **SMALL, l2=0.01).fit(X, y)
    report = examine_parts(tagger.model, np.random.default_rng(1))
    assert report.passed, report.failures
    names = {entry.name for entry in report.entries}
    assert names == set(tagger.model.network.parameters())
    assert report.checked > 100


@pytest.mark.slow
def test_labels_without_a_scheme_too():
    tagger = postil.Tagger(**SMALL).fit(*parts_of_speech(20))
    assert examine_parts(tagger.model, np.random.default_rng(1)).passed


def test_a_wrong_gradient_is_found(monkeypatch):
    from postil.network import layer

    def wrong(X, W, b, finish=None, right=layer.linear):
        Y, back = right(X, W, b, finish)
        return Y, lambda dY: (back(dY)[0], back(dY)[1] * 1.001, back(dY)[2])

    tagger = postil.Tagger(preset="window-wll", **SMALL).fit(*named_entities(20))
    monkeypatch.setattr(layer, "linear", wrong)
    assert not examine_parts(tagger.model, np.random.default_rng(1)).passed


# --------------------------------- The gradient check of fitted tree classifiers: right ones pass, a wrong one is found


TREES = [
    ("3", ("2", "the"), ("3", ("2", "not"), ("1", "bad"))),
    ("1", ("2", "the"), ("1", ("2", "not"), ("3", "good"))),
    ("3", "good"),
] * 4


def fitted_trees(**settings):
    small = {"hidden": 4, "word_dim": 3, "epochs": 1}
    return postil.TreeClassifier(**{**small, **settings}).fit(TREES).model


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_trees_of_every_composition(composition):
    report = examine_parts(fitted_trees(composition=composition, hidden_dropout=0.2, l2=0.01), np.random.default_rng(0))
    assert report.passed, report.failures
    assert {entry.name.split(".")[0] for entry in report.entries} >= {"words", "composition", "output"}


@pytest.mark.parametrize("learn_vectors", [True, False])
def test_trees_with_fixed_vectors(learn_vectors, tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("good 0.1 0.2\nbad -0.1 0.3\nnot 0.5 0.1\n", encoding="utf8")
    parts = fitted_trees(vectors=str(path), learn_vectors=learn_vectors)
    report = examine_parts(parts, np.random.default_rng(0))
    assert report.passed, report.failures
    assert ("words.table" in {entry.name for entry in report.entries}) is learn_vectors


def test_a_wrong_gradient_of_trees_is_found(monkeypatch):
    """A loss whose value moves with the output's weights by more than its gradient says."""
    true_loss = TreeNetwork.loss

    def skewed(self, shard, *, rng):
        return true_loss(self, shard, rng=rng) + 0.01 * float((self.output.W.value**2).sum())

    parts = fitted_trees()
    monkeypatch.setattr(TreeNetwork, "loss", skewed)
    report = examine_parts(parts, np.random.default_rng(0))
    assert [entry.name for entry in report.entries if entry.failure(report.tolerance)] == ["output.W"]


# ----------------- The laboratory: gradients agree with its own slopes at every node, steps are those of the optimisers


X = [["Anna", "lives", "in", "Oslo"], ["Bob", "likes", "old", "Lima"]] * 3
Y = [["B-PER", "O", "O", "B-LOC"]] * 6
GOLD = ["O", "O", "O", "B-LOC"]


@pytest.fixture(scope="module", params=["fast", "window-softmax", "sentence-sll", "linear-crf", "accurate"])
def tagger(request):
    return postil.Tagger(preset=request.param, hidden=5, epochs=1).fit(X, Y)


@pytest.mark.slow
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
