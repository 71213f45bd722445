"""Bracketed trees: what is read, what is written, and what is refused, with file, line and column."""

import gzip
import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from postil.errors import DataError
from postil.text.formats import read, write
from postil.text.trees import treebank as bracket_reader
from postil.text.trees.tree import Tree, right_branching
from postil.text.trees.treebank import (
    bracketed,
    checked_label,
    decoded,
    encoded,
    parse_tree,
    read_trees,
    tree_of,
    write_trees,
)

DEEP = 20_000
IT_ENDS = Tree.of(("S", ("NP-SBJ", ("PRP", "It")), ("VP", ("VBZ", "ends")), (".", ".")))

# Letters beside everything that has a meaning in a file of trees.
texts = st.text(st.sampled_from([*"ab#(/)*[]{}-\\LRSCB1", "é", "日", "\xa0", "\u2028", "\x85"]), min_size=1, max_size=8)
words = texts.filter(lambda word: decoded(word) == word or "-" not in word)
labels = st.none() | texts.map(lambda label: label.replace("(", "x").replace(")", "y")) | st.just("-NONE-")
nested = st.recursive(
    st.tuples(labels, words) | words.map(lambda word: (None, word)),
    lambda child: st.tuples(labels, st.lists(child, min_size=1, max_size=4)).map(lambda node: (node[0], *node[1])),
    max_leaves=20,
)
trees = nested.map(Tree.of)


def trees_in(text: str | bytes) -> list[Tree]:
    return list(read_trees(io.BytesIO(text if isinstance(text, bytes) else text.encode())))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(3 (2 good) (2 film))", ("3", ("2", "good"), ("2", "film"))),
        ("(2 film)", ("2", "film")),
        ("(S (NP-SBJ (PRP It)) (VP (VBZ ends)) (. .))", IT_ENDS),
        ("( (S (NP-SBJ (PRP It)) (VP (VBZ ends)) (. .)) )", IT_ENDS),
        ("((S (NP-SBJ (PRP It)) (VP (VBZ ends)) (. .)))", IT_ENDS),
        ("( (S\n    (NP-SBJ (PRP It) )\n\n  (VP\n\t(VBZ\nends) )\n    (. .) ))", IT_ENDS),
        ("(S\n(NP-SBJ (PRP It))\n(VP (VBZ ends))\n(. .))", IT_ENDS),
        ("( S ( NP-SBJ ( PRP It ) ) ( VP ( VBZ ends ) ) ( . . ) )", IT_ENDS),
        ("(S(NP-SBJ(PRP It))(VP(VBZ ends))(. .))", IT_ENDS),
        ("(NP a good film)", ("NP", "a", "good", "film")),
        ("( (2 good) ( film))", (None, ("2", "good"), (None, "film"))),
        ("( film)", (None, "film")),
        ("(NP ( film))", ("NP", (None, "film"))),
        ("(NP (-LRB- -LRB-) (NN and\\/or) (-RRB- -RRB-))", ("NP", ("-LRB-", "("), ("NN", "and/or"), ("-RRB-", ")"))),
        ("(NN -LSB-a-RSB-)", ("NN", "[a]")),
        ("(NN -LCB-\\*-RCB-)", ("NN", "{*}")),
        ("(-NONE- *T*-1)", ("-NONE-", "*T*-1")),
        ("(# #)", ("#", "#")),
        ("(NP (# #) (CD 5))", ("NP", ("#", "#"), ("CD", "5"))),
        ("(NP\n# (CD 5))", None),
    ],
)
def test_read(text, expected):
    if expected is None:
        with pytest.raises(DataError, match="next to"):
            trees_in(text)
    else:
        assert trees_in(text) == [Tree.of(expected)]


def test_several_trees_comments_and_blank_lines():
    text = "# a comment\n\n(2 one)\n  # another\n(2 two) (2 three)\n\n\n(2\n four)\n# the end\n"
    with read(io.BytesIO(text.encode())) as reading:
        sentences = list(reading)
    assert reading.format == "trees"
    assert [sentence.tokens for sentence in sentences] == [["one"], ["two"], ["three"], ["four"]]
    assert [sentence.line for sentence in sentences] == [3, 5, 5, 8]
    assert [sentence.comments for sentence in sentences] == [["# a comment"], ["# another"], [], []]
    assert reading.report.notes["comments"] == 2
    assert reading.report.dropped["comments after the last sentence"] == 1
    assert (reading.report.sentences, reading.report.tokens) == (4, 4)


def test_bytes_of_every_kind():
    text = "(3 (2 schöner) (2 Film))\n(2 日本)\n"
    expected = trees_in(text)
    assert trees_in(text.replace("\n", "\r\n")) == expected
    assert trees_in(text.replace("\n", "\r")) == expected
    assert trees_in(b"\xef\xbb\xbf" + text.encode()) == expected
    assert trees_in(text.encode("utf-16")) == expected
    assert trees_in(gzip.compress(text.encode())) == expected
    assert trees_in(text.removesuffix("\n")) == expected
    latin = io.BytesIO("(2 schön)".encode("latin-1"))
    assert list(read_trees(latin, encoding="latin-1")) == [Tree.of(("2", "schön"))]


def test_a_no_break_space_belongs_to_its_word():
    assert trees_in("(2 8\xa01\\/2)") == [Tree.of(("2", "8\xa01/2"))]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "(2 one)\n(3 (2 good) (2 film)\n",
            "stream, line 2, column 1: a bracket is never closed: expected 1 more ), got the end of the file",
        ),
        (
            "(3 (2 good) (2 film\n\n(2 one)\n(2 two)\n",
            "stream, line 3, column 1: a bracket next to the word 'film': expected (LABEL word), or ( word) without a "
            "label, got (",
        ),
        (
            "(3 (2 good) (2 (2 film)\n\n(2 one)\n(2 two)\n",
            "stream, line 1, column 1: 2 brackets are never closed: expected 2 more ), got the end of the file; "
            "the next tree seems to begin on line 3",
        ),
        ("(2 one))\n", "stream, line 1, column 8: a closing bracket without an opening one: expected (, got )"),
        ("(2 one)\n)", "stream, line 2, column 1: a closing bracket without an opening one: expected (, got )"),
        ("(3 () (2 film))", "stream, line 1, column 4: an empty node: expected (LABEL word) or (LABEL (…) …), got ()"),
        (
            "(3 (2 good)\n  (2film))",
            "stream, line 2, column 3: a node '2film' with nothing in it: "
            "expected (LABEL word) or (LABEL (…) …), got ()",
        ),
        ("(2 one)\n\nstray text", "stream, line 3, column 1: text outside the trees: expected (, got 'stray text'"),
        ("(2 one) x (2 two)", "stream, line 1, column 9: text outside the trees: expected (, got 'x (2 two)'"),
        (
            "(NP (DT a) good (NN film))",
            "stream, line 1, column 12: a word next to brackets: expected (LABEL word), or ( word) without a label, "
            "got 'good'",
        ),
        (
            "(NP good (NN film))",
            "stream, line 1, column 10: a bracket next to the word 'good': expected (LABEL word), or ( word) without a "
            "label, got (",
        ),
        ("( )", "stream, line 1, column 1: an empty node: expected (LABEL word) or (LABEL (…) …), got ()"),
    ],
)
def test_refused(text, message):
    with pytest.raises(DataError) as caught:
        trees_in(text)
    assert str(caught.value) == message


def test_a_missing_bracket_does_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr(bracket_reader, "TREE_LIMIT", 100)
    with pytest.raises(DataError, match=r"line 1, column 1: 2 brackets .* 100 nodes and no end; .* on line 2"):
        trees_in("(3 (2 (2 film)\n" + "(3 (2 good) (2 film))\n" * 100)


def test_files_without_a_tree():
    with pytest.raises(DataError, match="the file is empty"):
        list(read(io.BytesIO(b""), "trees"))
    with pytest.raises(DataError, match=r"no sentence: expected sentences as bracketed trees, got only comments"):
        list(read(io.BytesIO(b"# nothing\n"), "trees"))


# Writing


@pytest.mark.parametrize(
    ("nested", "text"),
    [
        (("3", ("2", "good"), ("2", "film")), "(3 (2 good) (2 film))"),
        (("NP", "a", "film"), "(NP a film)"),
        (("NP", "a", ("NN", "film")), "(NP ( a) (NN film))"),
        ((None, "film"), "( film)"),
        (("NP", (None, "film")), "(NP ( film))"),
        ((None, ("S", "a", "b")), "(( (S a b)))"),
        ((None, "a", "b"), "( ( a) ( b))"),
        (("NP", ("-LRB-", "("), ("NN", "and/or*")), "(NP (-LRB- -LRB-) (NN and\\/or\\*))"),
        (("-NONE-", "*T*-1"), "(-NONE- *T*-1)"),
    ],
)
def test_written(nested, text):
    tree = Tree.of(nested)
    assert bracketed(tree) == text
    assert parse_tree(text) == tree


@pytest.mark.slow
@example([Tree.of(("-NONE-", "\\/"))])
@given(st.lists(trees, min_size=1, max_size=4))
def test_writing_then_reading_is_the_identity(many):
    stream = io.BytesIO()
    write_trees(many, stream)
    assert trees_in(stream.getvalue()) == many


@given(st.text(st.sampled_from("(() ab)\n\t#"), max_size=30))
def test_any_text_is_read_whole_or_refused(text):
    """The fast path and the slow one agree on every text, and no word gets lost."""
    try:
        found = trees_in(text)
    except DataError as error:
        assert "line" in str(error.where)
        return
    lines = [line for line in text.split("\n") if not line.lstrip(" \t").startswith("#")]
    atoms = "\n".join(lines).replace("(", " ").replace(")", " ").split()
    in_trees = [label for tree in found for label in tree.labels if label] + [w for tree in found for w in tree.tokens]
    if "#" not in text:
        assert sorted(in_trees) == sorted(atoms)
    for tree in found:  # readers do not check the order of the nodes, as they build it
        assert Tree(tree.labels, tree.words, tree.children) == tree


@pytest.mark.parametrize("word", ["", "a b", "a\tb", "a\nb", "-LRB-", "x-RSB-", "\0", "\ud800"])
def test_words_that_cannot_be_written(word):
    with pytest.raises(DataError, match="this word cannot be written in a tree"):
        bracketed(Tree(["2"], [word], [()]))


@pytest.mark.parametrize("label", ["", "a b", "a(", ")", "\n"])
def test_labels_that_cannot_be_written(label):
    with pytest.raises(DataError, match="this label cannot be written in a tree"):
        bracketed(Tree([label], ["word"], [()]))


def test_a_text_with_one_tree():
    assert parse_tree("# so\n(2\nfilm)\n") == Tree.of(("2", "film"))
    for text in ("", "(2 a) (2 b)"):
        with pytest.raises(DataError, match="not one tree"):
            parse_tree(text)


# As a format among others


def converted(text: str, source: str, target: str) -> str:
    stream = io.BytesIO()
    with read(io.BytesIO(text.encode()), source) as reading:
        write(reading, stream, target)
    return stream.getvalue().decode()


def test_trees_to_columns_and_back():
    assert converted("(NP (DT the) (NN film))", "trees", "conll") == "the\tDT\nfilm\tNN\n\n"
    assert converted("the\tDT\nfilm\tNN\n\nends\tVBZ\n", "conll", "trees") == "( (DT the) (NN film))\n(VBZ ends)\n"


def test_comments_are_written_again():
    text = "# one\n# two\n(2 film)\n(2 end)\n"
    assert converted(text, "trees", "trees") == text


def test_words_without_labels_make_a_sentence_without_labels():
    (sentence,) = read(io.BytesIO(b"(NP (DT the) ( film))"), "trees")
    assert sentence.labels is None
    assert tree_of(sentence) == Tree.of(("NP", ("DT", "the"), (None, "film")))


def test_what_other_formats_leave_out_is_counted():
    with read(io.BytesIO(b"(S (NP (DT the) (NN film)) (VBZ ends))"), "trees") as reading:
        report = write(reading, io.BytesIO(), "conll")
    assert report.dropped["phrases of trees"] == 2


# Depth


@pytest.mark.slow
def test_deep_trees_do_not_overflow_the_stack():
    words = ["w"] * DEEP
    right = right_branching(words)
    for tree in (right, right.with_labels(["1"] * len(right))):
        assert parse_tree(bracketed(tree)) == tree
    chain = Tree(["1"] * DEEP, ["w", *[None] * (DEEP - 1)], [(), *[(node,) for node in range(DEEP - 1)]])
    assert parse_tree(bracketed(chain)) == chain
    spread = bracketed(chain).replace(" (", "\n (")
    assert trees_in(spread) == [chain]
    with pytest.raises(DataError, match=f"line 1, column 1: {DEEP:,} brackets are never closed"):
        trees_in("(1 " * DEEP)


# ------------------------------- Words and labels of trees as they stand in files; whole trees are in test_treebank.py


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
def test_words_that_cannot_be_written_bracketing(word):
    with pytest.raises(DataError):
        encoded(word, None)


@pytest.mark.parametrize("label", ["", "N P", "N(", ")"])
def test_labels_that_cannot_be_written_bracketing(label):
    with pytest.raises(DataError):
        checked_label(label)


def test_a_tree_on_one_line():
    assert (
        bracketed(Tree.of(("3", ("2", "the"), ("4", ("3", "("), ("2", "film")))))
        == "(3 (2 the) (4 (3 -LRB-) (2 film)))"
    )
