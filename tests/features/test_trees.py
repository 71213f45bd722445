"""Trees as flat arrays, and the order in which a batch is computed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.errors import DataError
from postil.network.tree import Forest
from postil.text.trees.tree import Tree, balanced, right_branching

words = st.sampled_from(["a", "b", "c"])
leaves = words.map(lambda word: (None, word))
nested = st.recursive(leaves, lambda part: st.tuples(st.none(), part, part), max_leaves=12)
forests = st.lists(nested.map(Tree.of), min_size=1, max_size=6)


@given(forests, st.randoms())
def test_a_schedule_says_who_is_whose_child(trees, random):
    which = list(range(len(trees)))
    random.shuffle(which)
    forest = Forest.of([tree.children for tree in trees])
    plan = forest.schedule(np.array(which))
    tree_of = np.repeat(np.arange(len(trees)), forest.sizes)
    own = plan.nodes - forest.offsets[tree_of[plan.nodes]]
    assert sorted(plan.nodes) == list(range(sum(map(len, trees))))
    for inner, (left, right) in enumerate(plan.children):
        row = plan.leaves + inner
        tree = tree_of[plan.nodes[row]]
        assert tree_of[plan.nodes[left]] == tree_of[plan.nodes[right]] == tree
        assert trees[tree].children[own[row]] == (own[left], own[right])
        assert plan.parents[left] == 2 * inner and plan.parents[right] == 2 * inner + 1
    assert list(tree_of[plan.nodes[plan.roots]]) == which
    assert all(own[row] == len(trees[i]) - 1 for row, i in zip(plan.roots, which, strict=True))
    assert all(plan.parents[row] == 2 * plan.inner for row in plan.roots)


@given(forests)
def test_levels_are_the_heights(trees):
    forest = Forest.of([tree.children for tree in trees])
    plan = forest.schedule(np.arange(len(trees)))
    assert [h for tree in trees for h in tree.heights] == list(forest.heights)
    heights = forest.heights[plan.nodes]
    assert (heights[: plan.leaves] == 0).all()
    for height, (a, b) in enumerate(plan.levels, start=1):
        assert (heights[plan.leaves + a : plan.leaves + b] == height).all() and b > a
    assert sum(b - a for a, b in plan.levels) == plan.inner


def test_a_selection_leaves_the_others_out():
    trees = [balanced(list("abc")), balanced(["a"]), right_branching(list("abcd"))]
    plan = Forest.of([tree.children for tree in trees]).schedule(np.array([2]))
    assert sorted(plan.nodes) == list(range(6, 13))
    assert plan.levels == [(0, 1), (1, 2), (2, 3)]


def test_a_very_deep_tree():
    deep = right_branching(["a"] * 40_000)
    forest = Forest.of([deep.children, balanced(["a", "b"]).children])
    assert forest.heights.dtype == np.int32 and forest.tree_heights[0] == 39_999
    assert len(forest.schedule(np.array([1, 0])).levels) == 39_999


def test_only_binary_trees_are_taken():
    with pytest.raises(DataError, match=r"trees of a network: expected two children at every inner node.*, got 3"):
        Forest.of([Tree.of(("A", ("B", "b"), ("C", "c"), ("D", "d"))).children])
