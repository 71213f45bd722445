import contextlib
import io
import re

import numpy as np
import pytest
from rich.console import Console

import postil
from oracles.pages import read_page
from postil.commands import demo
from postil.models.decoding.tree_labels import NodeLabel
from postil.samples.corpora import made_up_trees
from postil.text import parse_tree, read_trees


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """What the part about trees prints, and the folder it fills; trained on fewer trees."""
    folder = tmp_path_factory.mktemp("demo")
    with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.redirect_stderr(io.StringIO()):
        assert demo.show_trees(folder, 0, {"train": 800, "dev": 50, "test": 100}) == 0
    return printed.getvalue(), folder


@pytest.mark.slow
def test_trees_learn_what_counting_words_cannot(shown):
    printed, _ = shown
    (accuracy,) = re.findall(r"test file: ([\d.]+)%", printed)
    assert float(accuracy) > 95


def test_negations_turn_phrases_around_in_the_drawn_tree(shown):
    printed, _ = shown
    assert re.search(r" not bad at all good (0\.\d\d|1\.00)", printed)
    assert re.search(r"└──  bad at all bad (0\.\d\d|1\.00)", printed)
    assert " never dull good " in printed and " hardly a good film bad " in printed


def test_model_and_report_are_of_the_test_file(shown):
    _, folder = shown
    classifier = postil.load(folder / "opinions.postil")
    trees = list(read_trees(folder / "opinions-test.trees"))
    assert classifier.score(trees) > 0.95
    page = read_page((folder / "opinions.html").read_text(encoding="utf8"))
    assert page.one("h1").text.endswith("opinions.postil") and len(list(page.all("svg"))) > 1


def test_branches_show_labels_of_their_own_or_those_found():
    tree = parse_tree("(good (neither not) (bad (bad bad) (neither (neither at) (neither all))))")
    text = drawn(demo.branches(tree))
    assert text == [" not bad at all good", "├── not", "└──  bad at all bad", "    ├──  bad bad", "    └── at all"]
    nodes = [NodeLabel(label, {label: 0.75}) for label in tree.labels[:-1]] + [NodeLabel("bad", {"bad": 0.5})]
    assert drawn(demo.branches(tree, nodes))[0] == " not bad at all bad 0.50"


def drawn(branches):
    console = Console(file=io.StringIO(), width=40)
    console.print(branches)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_trees_of_one_seed_are_the_same():
    assert made_up_trees(5, np.random.default_rng(3)) == made_up_trees(5, np.random.default_rng(3))
