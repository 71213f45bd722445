"""Words and labels of trees as they stand in files; whole trees are in test_treebank.py."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postil.errors import DataError
from postil.text.trees.bracketing import bracketed, checked_label, decoded, encoded
from postil.text.trees.tree import Tree


@pytest.mark.parametrize(
    ("word", "written"), [("(", "-LRB-"), ("a/b", "a\\/b"), ("*", "\\*"), ("film", "film"), ("x[1]", "x-LSB-1-RSB-")]
)
def test_escapes(word, written):
    assert encoded(word, "NN") == written and decoded(written) == word


@given(st.text(st.sampled_from("()[]{}/*\\-LRBab"), min_size=1, max_size=6))
def test_a_word_that_is_written_is_read_again(word):
    try:
        written = encoded(word, None)
    except DataError:
        return
    assert decoded(written) == word and not set(written) & set("()")


def test_traces_keep_their_stars():
    assert encoded("*T*-1", "-NONE-") == "*T*-1"
    assert encoded("*T*-1", "NP") == "\\*T\\*-1"


@pytest.mark.parametrize("word", ["", "a b", "a\nb", "a\0", "\ud800", "-LRB-"])
def test_words_that_cannot_be_written(word):
    with pytest.raises(DataError):
        encoded(word, None)


@pytest.mark.parametrize("label", ["", "N P", "N(", ")"])
def test_labels_that_cannot_be_written(label):
    with pytest.raises(DataError):
        checked_label(label)


def test_a_tree_on_one_line():
    assert (
        bracketed(Tree.of(("3", ("2", "the"), ("4", ("3", "("), ("2", "film")))))
        == "(3 (2 the) (4 (3 -LRB-) (2 film)))"
    )
