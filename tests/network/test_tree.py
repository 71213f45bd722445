"""Recursive networks by level against a function that calls itself on the flow graph, node by node (D1, D3)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.examples import examples
from oracles.recursion import vectors
from postil import graph
from postil.errors import ConfigurationError, ShapeError
from postil.graph import Parameter
from postil.network import ACTIVATIONS, COMPOSITIONS, AffineComposition, SumComposition, new_composition
from postil.network.tree import Forest
from postil.text.trees.tree import Tree, balanced, right_branching

WORDS = "abcdef"
D = 3

leaves = st.sampled_from(WORDS).map(lambda word: (None, word))
nested = st.recursive(leaves, lambda part: st.tuples(st.none(), part, part), max_leaves=10)
forests = st.lists(nested.map(Tree.of), min_size=1, max_size=5)


def made(kind, seed=0, activation="tanh"):
    rng = np.random.default_rng(seed)
    composition = new_composition(
        kind, D, 4 if kind == "tree-lstm" else D, rng=rng, dtype=np.float64, activation=activation
    )
    for parameter in composition.parameters().values():  # V begins small, biases at 0: nothing is to be hidden by that
        parameter.value[...] = rng.normal(scale=0.7, size=parameter.shape)
    return composition, Parameter(rng.normal(size=(len(WORDS), D)), "words")


def by_level(composition, table, trees, order=None):
    """The node of the recursion, in the order of the forest's nodes: rows (N, H)."""
    forest = Forest.of([tree.children for tree in trees])
    plan = forest.schedule(np.arange(len(trees)) if order is None else order)
    ids = np.concatenate([leaf_ids(tree) for tree in trees])
    X = composition(graph.take_rows(table, ids[plan.nodes[: plan.leaves]]), plan)
    return graph.take_rows(X, np.argsort(plan.nodes))


def leaf_ids(tree):
    return np.array([WORDS.index(word) if word is not None else -1 for word in tree.words])


def weighted_sum(X, seed=1):
    return (X * np.random.default_rng(seed).normal(size=X.shape)).sum()


@pytest.mark.parametrize("kind", COMPOSITIONS)
@given(trees=forests, seed=st.integers(0, 100))
@examples(0.5)
def test_values_and_gradients_are_those_of_the_recursion(kind, trees, seed):
    composition, table = made(kind, seed)
    X = by_level(composition, table, trees)
    parts = [
        node
        for tree in trees
        for node in vectors(
            kind, composition.parameters(), tree, table, [WORDS.index(w) for w in tree.tokens], composition.hidden
        )
    ]
    rows = graph.concatenate([graph.reshape(node, 1, -1) for node in parts], 0)
    np.testing.assert_allclose(X.value, rows.value, rtol=0, atol=1e-10)
    ours, theirs = graph.gradients(weighted_sum(X)), graph.gradients(weighted_sum(rows))
    for parameter in [*composition.parameters().values(), table]:
        found = graph.dense(ours[parameter])
        expected = graph.dense(theirs[parameter]) if parameter in theirs else np.zeros(parameter.shape)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("often", [1, 5, 100], ids=["rare words", "some frequent words", "frequent words"])
@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("kind", COMPOSITIONS)
@given(trees=forests, seed=st.integers(0, 100))
@examples(0.3)
def test_prediction_composes_as_training_does(kind, activation, often, trees, seed):
    composition, table = made(kind, seed, activation)
    plan = Forest.of([tree.children for tree in trees]).schedule(np.arange(len(trees)))
    forms = np.concatenate([leaf_ids(tree) for tree in trees])[plan.nodes[: plan.leaves]]
    uses = np.zeros((2, len(WORDS)), np.int64)
    for row, form in enumerate(forms):
        uses[plan.parents[row] & 1, form] += plan.parents[row] < 2 * plan.inner
    X = composition.composer(table.value, lambda: often * uses)(forms, plan)
    np.testing.assert_allclose(X, composition.upward(table.value[forms], plan)[0], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", COMPOSITIONS)
def test_the_company_of_other_trees_changes_nothing(kind):
    composition, table = made(kind)
    trees = [balanced(list("abcde")), balanced(["f"]), right_branching(list("fedcba")), balanced(list("ab"))]
    alone = np.concatenate([by_level(composition, table, [tree]).value for tree in trees])
    np.testing.assert_allclose(by_level(composition, table, trees).value, alone, rtol=0, atol=1e-12)
    mixed = by_level(composition, table, trees, order=np.array([2, 0, 3, 1]))
    np.testing.assert_allclose(mixed.value, alone, rtol=0, atol=1e-12)


def test_a_phrase_of_twice_the_same_word_counts_twice():
    composition, table = made("sum")
    W, x = composition.W.value, table.value[0]
    X = by_level(composition, table, [balanced(["a", "a"])])
    loss = X[2].sum()
    gradient = graph.gradients(loss)[table]
    slope = 1 - np.tanh(W @ (2 * x)) ** 2
    np.testing.assert_allclose(graph.dense(gradient)[0], 2 * (W.T @ slope), atol=1e-12)
    assert list(gradient.rows) == [0], "the words that do not occur have no gradient at all"


def test_a_sentence_of_one_word_has_a_gradient():
    composition, table = made("sum")
    found = graph.gradients(weighted_sum(by_level(composition, table, [balanced(["c"])])))
    expected = np.random.default_rng(1).normal(size=(1, D))
    np.testing.assert_allclose(graph.dense(found[table])[2], expected[0])
    assert (found[composition.W] == 0).all()


def test_repeated_phrases_add_up():
    composition, table = made("tree-lstm")
    phrase = balanced(list("abc"))

    def gradient_of(trees):
        X = by_level(composition, table, trees)
        roots = np.cumsum([len(tree) for tree in trees]) - 1
        return graph.gradients(graph.take_rows(X, roots).sum())

    once, thrice = gradient_of([phrase]), gradient_of([phrase] * 3)
    for parameter in [*composition.parameters().values(), table]:
        np.testing.assert_allclose(graph.dense(thrice[parameter]), 3 * graph.dense(once[parameter]), atol=1e-12)


def test_the_sum_cannot_see_the_order_and_the_others_can():
    trees = [balanced(["a", "b"]), balanced(["b", "a"])]
    for kind in COMPOSITIONS:
        X = by_level(*made(kind), trees).value
        assert np.allclose(X[2], X[5]) == (kind == "sum")


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_every_activation_of_the_foundation(activation):
    composition, table = made("concatenation", activation=activation)
    X = by_level(composition, table, [balanced(["a", "b"])])
    z = composition.W.value @ np.concatenate([table.value[0], table.value[1]]) + composition.b.value
    np.testing.assert_allclose(X.value[2], ACTIVATIONS[activation](z[None])[0][0], atol=1e-12)


@pytest.mark.parametrize("kind", COMPOSITIONS)
def test_a_deep_tree_in_float32(kind):
    composition = new_composition(kind, 4, 4, rng=np.random.default_rng(0))
    tree = right_branching(["a"] * 2_000)
    plan = Forest.of([tree.children]).schedule(np.array([0]))
    X = composition(graph.Input(np.ones((2_000, 4), np.float32)), plan)
    found = graph.gradients(X[plan.roots].sum())
    assert X.dtype == np.float32 and np.isfinite(X.value).all()
    assert all(np.isfinite(gradient).all() for gradient in found.values())


def test_mistakes_are_named():
    with pytest.raises(ConfigurationError, match="activation must be one of hardtanh"):
        AffineComposition(3, rng=np.random.default_rng(0), activation="cosine")
    plan = Forest.of([balanced(["a", "b"]).children]).schedule(np.array([0]))
    with pytest.raises(ShapeError, match=r"SumComposition: vectors of leaves: expected \(2, 3\), got \(2, 4\)"):
        SumComposition(3, rng=np.random.default_rng(0))(graph.Input(np.zeros((2, 4), np.float32)), plan)
