"""postil bench, and the limits it measures against. No test depends on how fast the machine is."""

import json

import numpy as np
import pytest

from postil.commands import bench
from postil.commands.main import main
from postil.machine import limits
from postil.models.tagger import Tagger


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(bench, "SENTENCES", 60)
    monkeypatch.setattr(bench, "TREES", 20)
    monkeypatch.setattr(bench, "REPEATS", 1)
    monkeypatch.setattr(limits, "REPEATS", 1)


def test_json_has_every_row(small, capsys):
    assert main(["bench", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {"postil", "kernels", "threads", "NumPy", "Python"} <= set(told["machine"])
    names = [row["what"] for row in told["rows"]]
    for preset in ("fast", "accurate"):
        assert f"train {preset}" in names and f"tag {preset}" in names
    assert any("trees" in name for name in names) and any("one sentence" in name for name in names)
    assert all(row["per_second"] > 0 for row in told["rows"])
    assert all(row["share"] > 0 for row in told["rows"] if row["share"] is not None)
    assert sum(row["share"] is not None for row in told["rows"]) == 5


def test_the_table_says_what_is_measured(small, capsys):
    assert main(["bench"]) == 0
    printed = capsys.readouterr().out
    assert "of the limit" in printed and "kernels" in printed and "tokens/s" in printed and "trees/s" in printed


def test_a_number_of_threads_that_cannot_be(small, capsys):
    assert main(["bench", "--threads", "0"]) == 1
    assert "threads" in capsys.readouterr().err


# ------------------------------------------------------------------------------------------------ limits


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
    fitting = bench.TreeClassifier().fitting([bench.Tree.of(tree)])
    limits.tree_training_limit(fitting.parts.network, fitting.training.batches(0, np.random.default_rng(0)))
    assert sorted(asked) == [2, 3, 5]
