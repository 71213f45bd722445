"""What a single line looks like."""

import pytest

from postil.text.columns.line_kinds import could_be_comment, is_header, is_mark, looks_like_label, looks_like_tree


@pytest.mark.parametrize("cell", ["O", "B-PER", "I-x", "NN", "NN|VB", "PRP$", "$", ",", "X2", "W-D"])
def test_labels(cell):
    assert looks_like_label(cell)


@pytest.mark.parametrize("cell", ["Oslo", "the", "5", "", "a-PER", "Mr."])
def test_no_labels(cell):
    assert not looks_like_label(cell)


@pytest.mark.parametrize("line", ["(3 (2 the) (4 film))", "((S (NP x)))", "(2 film)", "(S (NP x)) "])
def test_trees(line):
    assert looks_like_tree(line)


@pytest.mark.parametrize("line", ["(see below)x", "he (she) left", "()", "(film)", "(3 (2 the"])
def test_no_trees(line):
    assert not looks_like_tree(line)


def test_comments_marks_and_headers():
    assert could_be_comment("# id = 1") and could_be_comment("#begin document (x);")
    assert not could_be_comment("#\tO") and not could_be_comment("#hash") and not could_be_comment("# a\tO")
    assert is_header("# annotates: PER LOC") and is_header("#annotates = PER") and not is_header("# annotated PER")
    assert is_mark("-DOCSTART-") and is_mark("-DOCSTART- -X- O") and is_mark("-DOCSTART-\tO")
    assert not is_mark("-DOCSTART-x") and not is_mark(" -DOCSTART-")
