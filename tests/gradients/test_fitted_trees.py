"""The gradient check of fitted tree classifiers: right ones pass, a wrong one is found."""

import numpy as np
import pytest

import postil
from postil.gradients.fitted_trees import examine_tree_parts
from postil.models.scoring.tree_network import TreeNetwork
from postil.network.tree_compositions import COMPOSITIONS

TREES = [
    ("3", ("2", "the"), ("3", ("2", "not"), ("1", "bad"))),
    ("1", ("2", "the"), ("1", ("2", "not"), ("3", "good"))),
    ("3", "good"),
] * 4


def fitted(**settings):
    small = {"hidden": 4, "word_dim": 3, "epochs": 1}
    return postil.TreeClassifier(**{**small, **settings}).fit(TREES).fitted_parts()


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_every_composition(composition):
    report = examine_tree_parts(fitted(composition=composition, hidden_dropout=0.2, l2=0.01), np.random.default_rng(0))
    assert report.passed, report.failures
    assert {entry.name.split(".")[0] for entry in report.entries} >= {"words", "composition", "output"}


@pytest.mark.parametrize("learn_vectors", [True, False])
def test_with_fixed_vectors(learn_vectors, tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("good 0.1 0.2\nbad -0.1 0.3\nnot 0.5 0.1\n", encoding="utf8")
    parts = fitted(vectors=str(path), learn_vectors=learn_vectors)
    report = examine_tree_parts(parts, np.random.default_rng(0))
    assert report.passed, report.failures
    assert ("words.table" in {entry.name for entry in report.entries}) is learn_vectors


def test_a_wrong_gradient_is_found(monkeypatch):
    """A loss whose value moves with the output's weights by more than its gradient says."""
    true_loss = TreeNetwork.loss

    def skewed(self, shard, *, rng):
        return true_loss(self, shard, rng=rng) + 0.01 * float((self.output.W.value**2).sum())

    parts = fitted()
    monkeypatch.setattr(TreeNetwork, "loss", skewed)
    report = examine_tree_parts(parts, np.random.default_rng(0))
    assert [entry.name for entry in report.entries if entry.failure(report.tolerance)] == ["output.W"]
