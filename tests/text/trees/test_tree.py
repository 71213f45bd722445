"""Trees: what they are made from, and their shapes."""

import sys
from functools import partial
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.errors import ConfigurationError, DataError
from postil.text.trees.tree import Tree, balanced, right_branching

DEEP = 20_000
GOOD_FILM = Tree(["2", "2", "3"], ["good", "film", None], [(), (), (0, 1)])

words = st.sampled_from(["good", "bad", "not", "film", "(", "é"])
labels = st.none() | st.sampled_from(["0", "4", "NP"])
inner = partial(st.lists, min_size=1, max_size=5)
nested = st.recursive(
    st.tuples(labels, words),
    lambda child: st.builds(
        lambda label, children: (label, *children), labels, st.lists(child, min_size=1, max_size=5)
    ),
    max_leaves=25,
)


def as_nested(tree: Tree, node: int = -1):
    """The obvious way back, for small trees."""
    if tree.words[node] is not None:
        return (tree.labels[node], tree.words[node])
    return (tree.labels[node], *[as_nested(tree, child) for child in tree.children[node]])


def obviously_binarised(item, direction):
    label, *inside = item
    if isinstance(inside[0], str):
        return item
    inside = [obviously_binarised(child, direction) for child in inside]
    if len(inside) == 1:
        return (label if label is not None else inside[0][0], *inside[0][1:])
    while len(inside) > 2:
        if direction == "left":
            inside[:2] = [(None, inside[0], inside[1])]
        else:
            inside[-2:] = [(None, inside[-2], inside[-1])]
    return (label, *inside)


class Nltk(list):
    """The part of nltk.Tree that matters: a list of children with a method label()."""

    def __init__(self, label, children):
        super().__init__(children)
        self._label = label

    def label(self):
        return self._label


def test_nested_tuples():
    assert Tree.of(("3", ("2", "good"), ("2", "film"))) == GOOD_FILM
    assert Tree.of(["3", ["2", "good"], ["2", "film"]]) == GOOD_FILM
    assert Tree.of((3, (2, "good"), (2, "film"))) == GOOD_FILM
    assert Tree.of(GOOD_FILM) is GOOD_FILM


def test_bare_words_are_leaves_without_a_label():
    assert Tree.of(("NP", "good", "film")) == Tree([None, None, "NP"], ["good", "film", None], [(), (), (0, 1)])
    assert Tree.of((None, "good")) == Tree([None], ["good"], [()])


def test_nltk_trees():
    assert Tree.of(Nltk("3", [Nltk("2", ["good"]), Nltk("2", ["film"])])) == GOOD_FILM
    chunks = Nltk("S", [Nltk("NP", [("the", "DT"), ("film", "NN")]), ("ends", "VBZ")])
    assert Tree.of(chunks) == Tree.of(("S", ("NP", ("DT", "the"), ("NN", "film")), ("VBZ", "ends")))


@given(nested)
def test_nested_tuples_and_back(item):
    assert as_nested(Tree.of(item)) == item


@given(nested)
def test_nodes_stand_in_post_order(item):
    tree = Tree.of(item)
    for each in (tree, tree.binarised("left"), tree.binarised("right"), balanced(tree.tokens)):
        parents = [child for children in each.children for child in children]
        assert sorted(parents) == list(range(len(each) - 1))
        assert_post_order(each)


def assert_post_order(tree):
    """The last child stands right before its parent, each other one right before the next one's subtree."""
    sizes = []
    for node, children in enumerate(tree.children):
        sizes.append(1 + sum(sizes[child] for child in children))
        if children:
            assert children[-1] == node - 1
        for left, right in pairwise(children):
            assert left == right - sizes[right]


@given(nested, st.sampled_from(["left", "right"]))
def test_binarised_as_the_obvious_recursion_does(item, direction):
    tree = Tree.of(item)
    binary, places = tree.binarised_with_places(direction)
    assert as_nested(binary) == obviously_binarised(item, direction)
    assert binary == tree.binarised(direction)
    assert binary.is_binary
    assert binary.tokens == tree.tokens
    assert [binary.spans[place] for place in places] == tree.spans
    joins = set(range(len(binary))) - set(places)
    assert all(binary.labels[node] is None and binary.children[node] for node in joins)
    assert len(set(places)) == len(set(tree.spans))


def test_a_unary_chain_keeps_its_upper_label():
    tree = Tree.of(("decl", ("S", ("NP", ("NNP", "Anna")), (None, ("VP", ("VBZ", "reads"))))))
    assert as_nested(tree.binarised()) == ("decl", ("NP", "Anna"), ("VP", "reads"))
    assert tree.binarised_with_places()[1] == [0, 0, 1, 1, 1, 2, 2]


def test_directions():
    flat = Tree.of(("NP", "a", "b", "c", "d"))
    left = ("NP", (None, (None, (None, "a"), (None, "b")), (None, "c")), (None, "d"))
    right = ("NP", (None, "a"), (None, (None, "b"), (None, (None, "c"), (None, "d"))))
    assert as_nested(flat.binarised("left")) == left
    assert as_nested(flat.binarised("right")) == right


@pytest.mark.parametrize("T", range(1, 40))
def test_trees_over_tokens(T):
    tokens = [f"w{t}" for t in range(T)]
    for tree in (balanced(tokens), right_branching(tokens)):
        assert tree.tokens == tokens
        assert tree.is_binary
        assert len(tree) == 2 * T - 1
        assert tree.labels == [None] * len(tree)
        assert tree.spans[-1] == (0, T)
        assert_post_order(tree)
    assert balanced(tokens).heights[-1] == (T - 1).bit_length()
    assert right_branching(tokens).heights[-1] == T - 1
    assert Tree.of(tokens) == balanced(tokens)
    assert Tree.of(tokens, shape="right") == right_branching(tokens)


def test_properties():
    tree = Tree.of(("S", ("NP", ("DT", "the"), ("NN", "film")), ("VBZ", "ends")))
    assert tree.tokens == ["the", "film", "ends"]
    assert tree.root_label == "S"
    assert tree.heights == [0, 0, 1, 0, 2]
    assert tree.spans == [(0, 1), (1, 2), (0, 2), (2, 3), (0, 3)]
    assert list(tree)[2] == ("NP", None, (0, 1))
    assert tree.with_labels(list("abcde")).labels == list("abcde")
    with pytest.raises(DataError, match="5 labels, got 1"):
        tree.with_labels(["a"])


def deep(direction):
    item = ("0", "end")
    for level in range(DEEP):
        item = (str(level), ("1", "w"), item) if direction == "right" else (str(level), item, ("1", "w"), ("2", "v"))
    return item


@pytest.mark.slow
@pytest.mark.parametrize("direction", ["left", "right"])
def test_deep_trees_do_not_overflow_the_stack(direction):
    assert sys.getrecursionlimit() < DEEP
    tree, again = Tree.of(deep(direction)), Tree.of(deep(direction))
    assert tree == again
    assert hash(tree) == hash(again)
    assert tree.heights[-1] == DEEP
    assert repr(tree) == repr(again)
    for way in ("left", "right"):
        assert tree.binarised(way).tokens == tree.tokens


def test_a_deep_unary_chain_is_one_node():
    item = ("0", "end")
    for level in range(DEEP):
        item = (str(level), item)
    assert as_nested(Tree.of(item).binarised()) == (str(DEEP - 1), "end")


def test_an_error_in_a_deep_tree_does_not_overflow_the_stack():
    item = ("0", "end")
    for _ in range(DEEP):
        item = ("1", item)
    with pytest.raises(DataError, match="not a label"):
        Tree.of((item, item))


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ((), "not a tree"),
        ([], "not a tree"),
        (("NP",), "a node without word or child"),
        (("NP", ("DT",)), "a node without word or child"),
        (("NP", ("DT", "")), "an empty word"),
        ((("a", "b"), "c"), "not a label"),
        (("NP", 3), "not a tree"),
        ("(NP the)", "not a tree"),
        (7, "not a tree"),
        (["good", ""], "not a list of tokens"),
        (("NP", ()), "not a tree"),
    ],
)
def test_what_is_not_a_tree(value, what):
    with pytest.raises(DataError, match=what):
        Tree.of(value)


def test_unknown_choices():
    with pytest.raises(ConfigurationError, match=r"direction must be 'left' or 'right' \(got 'up'"):
        GOOD_FILM.binarised_with_places("up")
    with pytest.raises(ConfigurationError, match="balanced or right, got 'left'"):
        Tree.of(["a"], shape="left")
    with pytest.raises(DataError, match="without a word"):
        balanced([])
    with pytest.raises(DataError, match="without a word"):
        right_branching([])
    with pytest.raises(DataError, match="not a list of tokens"):
        balanced("text")


@pytest.mark.parametrize(
    "children",
    [
        [(), (), (1, 0)],  # the wrong way round
        [(), (), (), (0, 2), (1, 3)],  # each a child once, but no post-order
        [(), (), (0, 0)],
        [(), ()],  # two roots
        [(), (5,)],
    ],
)
def test_nodes_in_another_order_are_refused(children):
    words = [None if own else "w" for own in children]
    with pytest.raises(DataError, match="of a tree"):
        Tree([None] * len(children), words, children)


def test_every_node_has_a_label_and_a_word_or_none():
    with pytest.raises(DataError, match="nodes of a tree"):
        Tree(["a"], ["w", "v"], [()])
