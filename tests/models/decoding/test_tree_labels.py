"""Labels of trees: which roots may get, their numbers, their weights."""

import pytest

from postil.errors import DataError
from postil.models.decoding.tree_labels import NO_LABEL, TreeLabels, balanced_weights, named_weights
from postil.text.trees.tree import Tree

TREES = [Tree.of(("3", ("2", "a"), ("1", "b"))), Tree.of(("1", "c"))]


def test_labels_of_all_nodes_or_of_roots():
    every = TreeLabels.of(TREES, "all")
    assert every.labels == ["1", "2", "3"] and every.at_roots == ["1", "3"]
    assert every.not_at_roots.tolist() == [1]
    roots = TreeLabels.of(TREES, "root")
    assert roots.labels == roots.at_roots == ["1", "3"] and not len(roots.not_at_roots)


def test_numbers_of_known_unknown_and_missing_labels():
    labels = TreeLabels.of(TREES, "all")
    assert [found.tolist() for found in labels.numbers([["3", None, "9"], []])] == [[2, NO_LABEL, NO_LABEL], []]


def test_nothing_to_learn_from():
    with pytest.raises(DataError):
        TreeLabels.of([], "all")


def test_stored_and_read_again():
    labels = TreeLabels.of(TREES, "all")
    again = TreeLabels.from_json(labels.as_json())
    assert (again.labels, again.at_roots) == (labels.labels, labels.at_roots)


def test_balanced_classes_weigh_the_same():
    gold = TreeLabels.of(TREES, "all").numbers([["1", "1", "1", "3"]])[0]
    weights = balanced_weights(gold, 3)
    assert weights[gold].mean() == pytest.approx(1)
    assert 3 * weights[0] == pytest.approx(weights[2])


def test_weights_by_name():
    assert named_weights({"3": 2.0}, ["1", "3"]).tolist() == [1, 2]
    with pytest.raises(DataError, match="9"):
        named_weights({"9": 2.0}, ["1", "3"])
