"""Scores of trees against plain counting."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.errors import DataError
from postil.metrics import significance
from postil.metrics.tables import confusion_table, text
from postil.metrics.trees import length_table, score_trees
from postil.text.trees.tree import Tree

LABELS = "01234"


def sure(label: str) -> tuple[str, dict[str, float]]:
    return label, {label: 1.0}


def tree_of(labels: list[str | None]) -> Tree:
    """A right-branching tree with these labels, an odd number of them."""
    T = (len(labels) + 1) // 2
    return Tree.of([f"w{t}" for t in range(T)], shape="right").with_labels(labels)


some_trees = st.lists(
    st.integers(1, 8).flatmap(
        lambda T: st.lists(
            st.tuples(st.none() | st.sampled_from(LABELS), st.lists(st.integers(0, 9), min_size=5, max_size=5)),
            min_size=2 * T - 1,
            max_size=2 * T - 1,
        )
    ),
    max_size=5,
)


def prediction(weights: list[int]) -> tuple[str, dict[str, float]]:
    total = sum(weights) + 5
    probabilities = {label: (weight + 1) / total for label, weight in zip(LABELS, weights, strict=True)}
    return max(probabilities, key=lambda label: probabilities[label]), probabilities


@given(some_trees)
def test_against_loops(drawn):
    gold = [tree_of([label for label, _ in nodes]) for nodes in drawn]
    predicted = [[prediction(weights) for _, weights in nodes] for nodes in drawn]
    scores = score_trees(gold, predicted)
    pairs = [
        (g, p) for tree, found in zip(gold, predicted, strict=True) for g, p in zip(tree.labels, found, strict=True)
    ]
    pairs = [(g, p) for g, p in pairs if g is not None]
    roots = [(t.root_label, f[-1]) for t, f in zip(gold, predicted, strict=True) if t.root_label is not None]
    for share, answers in ((scores.nodes, pairs), (scores.roots, roots)):
        assert share.tokens == len(answers)
        assert share.correct == sum(g == p[0] for g, p in answers)
    assert sum(one.tokens for one in scores.lengths.values()) == len(pairs)
    assert sum(one.correct for one in scores.lengths.values()) == scores.nodes.correct
    assert scores.node_calibration.counts.sum() == len(pairs)
    assert scores.root_calibration.kept.sum() == scores.roots.correct
    assert scores.node_counts.sum(axis=0).tolist() == [scores.nodes.correct, len(pairs)]
    assert scores.root_counts.sum(axis=0).tolist() == [scores.roots.correct, len(roots)]
    seen = {g for g, _ in pairs}
    if not (seen & {"0", "1"} and seen & {"3", "4"}):
        assert scores.root_binary is scores.node_binary is None
        return
    for share, answers in ((scores.node_binary, pairs), (scores.root_binary, roots)):
        sided = [(int(g) > 2, p[1]) for g, p in answers if g != "2"]
        gaps = [(good, p["3"] + p["4"] - p["0"] - p["1"]) for good, p in sided]
        assert share.tokens == len(sided)
        certain = sum(abs(gap) > 1e-9 and (gap > 0) == good for good, gap in gaps)
        assert certain <= share.correct <= certain + sum(abs(gap) <= 1e-9 for _, gap in gaps)
    json.dumps(scores.to_dict())


def test_a_worked_example():
    gold = [tree_of(["2", "3", "4"]), tree_of(["2", "1", "1"]), tree_of([None, None, "2"])]
    leaning = ("2", {"1": 0.4, "2": 0.5, "3": 0.1})  # neutral, but rather bad
    predicted = [[sure("2"), sure("3"), sure("3")], [sure("2"), sure("1"), leaning], [sure("2"), sure("2"), sure("2")]]
    scores = score_trees(gold, predicted)
    figures = scores.to_dict()
    assert figures["root_accuracy"] == pytest.approx(100 / 3)
    assert figures["node_accuracy"] == pytest.approx(100 * 5 / 7)
    assert figures["root_binary_accuracy"] == 100
    assert figures["node_binary_accuracy"] == 100
    assert (figures["trees"], figures["roots"], figures["nodes"]) == (3, 3, 7)
    assert figures["confusion"] == {"1": {"2": 1}, "2": {"2": 1}, "4": {"3": 1}}
    lengths = {name: (one.correct, one.tokens) for name, one in scores.lengths.items()}
    assert lengths == {"1": (4, 4), "2": (1, 3)}
    assert scores.main_score == pytest.approx(1 / 3)
    interval = significance.bootstrap_interval(
        scores.root_counts, significance.accuracy, rng=np.random.default_rng(0), resamples=50
    )
    assert interval.value == pytest.approx(1 / 3)


def test_no_side_is_a_wrong_side():
    scores = score_trees([tree_of(["3"]), tree_of(["1"])], [[("2", {"1": 0.25, "2": 0.5, "3": 0.25})]] * 2)
    assert (scores.root_binary.correct, scores.root_binary.tokens) == (0, 2)


@pytest.mark.parametrize("labels", [["decl", "wh"], ["0", "1"], ["1", "2"], ["0", "1", "5"]])
def test_other_labels_have_no_binary_accuracy(labels):
    trees = [tree_of([label]) for label in labels]
    figures = score_trees(trees, [[sure(label)] for label in labels]).to_dict()
    assert figures["root_binary_accuracy"] is None
    assert figures["root_accuracy"] == 100


def test_trees_without_labels_at_the_root():
    scores = score_trees([tree_of(["1", "3", None])], [[sure("1"), sure("2"), sure("3")]])
    assert scores.to_dict()["root_accuracy"] is None
    assert scores.main_score == 0.5


def test_what_does_not_fit():
    with pytest.raises(DataError, match="number of trees: expected 1, got 0"):
        score_trees([tree_of(["1"])], [])
    with pytest.raises(DataError, match="expected 3 nodes, got 1"):
        score_trees([tree_of(["1", "1", "1"])], [[sure("1")]])


def test_tables():
    gold = [tree_of(["2", "3", "4"]), tree_of(["2"] * 69)]
    scores = score_trees(gold, [[sure("2")] * 3, [sure("2")] * 69])
    assert text(confusion_table(scores.roots, "Roots")).split("\n") == [
        "Roots",
        "gold \\ predicted  2  4",
        "----------------------",
        "2                 1",
        "4                 1",
    ]
    assert [row[0] for row in length_table(scores).rows] == ["1", "2", "3-4", "5-8", "9-16", "17-32", "33+"]
    wide = score_trees([tree_of([f"a-label-{n}"]) for n in range(9)], [[sure("x")]] * 9)
    assert confusion_table(wide.roots, "Roots").title == "Roots: confused most often"
