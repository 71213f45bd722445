"""Labels of the phrases of trees: lists that are drawn and printed."""

import copy
import json
import pickle

from oracles.pages import read_page
from postil.models.decoding.tree_labels import MOST_SHOWN, NodeLabel, NodeLabels, TreeAnswers
from postil.text import Tree, right_branching

TREE = Tree.of(("?", ("?", "<not>"), ("?", ("?", "very"), ("?", "bad"))))


def nodes(tree=TREE):
    labels = ["a", "b", "a\x1b", "a", "b"]
    return NodeLabels([NodeLabel(labels[i % 5], {labels[i % 5]: 0.75, "c": 0.25}) for i in range(len(tree))], tree)


def test_it_is_a_list():
    assert nodes() == list(nodes()) and nodes()[-1].label == "b" and nodes()[-1].probability == 0.75
    for other in (pickle.loads(pickle.dumps(nodes())), copy.deepcopy(nodes()), copy.copy(nodes())):
        assert other == nodes() and other.tree == TREE and type(other) is NodeLabels


def test_it_is_printed_from_the_root_downwards():
    assert str(nodes()).splitlines() == [
        "b 0.75  <not> very bad",
        "  a 0.75  <not>",
        "  a 0.75  very bad",
        "    b 0.75  very",
        r"    a\x1b 0.75  bad",
    ]


def test_it_is_drawn():
    page = read_page(nodes()._repr_html_())
    assert page.one("figcaption").text == "b (0.75)"
    assert next(page.all("rect")).one("title").text == "a 0.75: <not>"
    assert len(list(page.all("rect"))) == 5 and not list(page.all("script"))


def test_long_sentences_are_written_in_brackets():
    page = read_page(nodes(right_branching(["<w>"] * 200))._repr_html_())
    assert not list(page.all("svg")) and page.one("p", class_="excerpt").text.count("<w>") == 200


def test_a_list_that_was_changed_is_still_shown():
    changed = nodes()
    changed.pop()
    assert "NodeLabel" in str(changed) and "NodeLabel" in read_page(changed._repr_html_()).one("p").text


def test_many_trees():
    answers = TreeAnswers([nodes()] * (MOST_SHOWN + 2))
    page = read_page(answers._repr_html_())
    assert (
        len(list(page.all("svg"))) == MOST_SHOWN and page.one("p", class_="note").text == "2 more trees are not shown."
    )
    assert str(answers).count("very bad") == 2 * len(answers)


def test_dicts():
    (answer,) = json.loads(json.dumps(TreeAnswers([nodes()]).to_dict()))
    assert answer["label"] == "b" and answer["probabilities"] == {"b": 0.75, "c": 0.25}
    assert answer["phrases"][3] == {
        "text": "very bad",
        "start": 1,
        "end": 3,
        "label": "a",
        "probabilities": {"a": 0.75, "c": 0.25},
    }
