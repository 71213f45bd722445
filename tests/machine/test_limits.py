"""The limits that measurements are compared with. No test depends on how fast the machine is."""

import numpy as np

from postil.machine import limits
from postil.models.tagger import Tagger
from postil.models.tree_classifier import TreeClassifier
from postil.text.trees.tree import Tree


def test_parts_of_a_limit_add_up():
    one, other = limits.Limit(products=1, bytes=2, recursion=3), limits.Limit(products=10, bytes=20)
    assert one.seconds == 6 and (one + other) == limits.Limit(products=11, bytes=22, recursion=3)


def test_products_of_a_window_network_are_those_of_its_shapes(monkeypatch):
    """Once per distinct word for the first layer, once per token for the output, each with its gradients."""
    asked = []
    monkeypatch.setattr(
        limits, "product_seconds", lambda *shape, backward=False: asked.append((shape, backward)) or 1.0
    )
    monkeypatch.setattr(limits, "bandwidth", lambda: 1e9)
    X, y = [["a", "b", "a"], ["b", "b"]], [["O", "B-X", "O"], ["O", "O"]]
    fitting = Tagger(preset="window-sll", hidden=7, word_dim=4, caps_dim=1).fitting(X, y)
    batches = fitting.training.batches(0, np.random.default_rng(0))
    limit = limits.tagger_training_limit(fitting.parts.network, batches)
    labels = len(fitting.parts.labelling.labels)
    assert asked == [((2, 5, 5 * 7), True), ((5, 7, labels), True)]
    assert limit.products == 2.0 and limit.bytes > 0 and limit.recursion > 0


def test_rows_of_trees(monkeypatch):
    """Three words make two inner nodes and five nodes in all."""
    asked = []
    monkeypatch.setattr(limits, "product_seconds", lambda *shape, backward=False: asked.append(shape[0]) or 1.0)
    monkeypatch.setattr(limits, "bandwidth", lambda: 1e9)
    tree = ("1", ("0", "a"), ("1", ("0", "b"), ("1", "c")))
    fitting = TreeClassifier().fitting([Tree.of(tree)])
    limits.tree_training_limit(fitting.parts.network, fitting.training.batches(0, np.random.default_rng(0)))
    assert sorted(asked) == [2, 3, 5]
