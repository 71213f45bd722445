"""Trees as pictures."""

import re
from xml.etree import ElementTree

from postil.reports.trees import colours_of_trees, drawn_tree
from postil.text import Tree, right_branching

TREE = Tree.of(("3", ("2", "good"), ("1", ("2", "&"), ("2", "<film>"))))


def test_a_circle_for_every_node_a_line_for_every_edge_and_a_ring_for_every_mistake():
    gold = ["2", "2", None, "2", "4"]
    svg = ElementTree.fromstring(drawn_tree(TREE, gold, colours_of_trees([TREE])))
    circles, lines = svg.findall(".//circle"), svg.findall(".//line")
    assert len(circles) == len(TREE) and len(lines) == len(TREE) - 1
    assert [circle.get("stroke") is not None for circle in circles] == [False, False, False, True, True]
    texts = [text.text for text in svg.findall(".//text")]
    assert [word for word in texts if word in TREE.tokens] == TREE.tokens
    heights = [float(circle.get("cy")) for circle in circles]
    for node, children in enumerate(TREE.children):
        assert all(heights[child] > heights[node] for child in children)
    words = [float(circle.get("cx")) for circle, word in zip(circles, TREE.words, strict=True) if word]
    assert words == sorted(words)


def test_colours():
    assert colours_of_trees([TREE])["0"] != colours_of_trees([TREE])["4"]
    assert "var(--" in next(iter(colours_of_trees([Tree.of(("NP", "film"))]).values()))


def test_a_deep_tree_is_drawn():
    tree = right_branching(["w"] * 2000)
    tree = tree.with_labels(["1"] * len(tree))
    assert len(re.findall("<circle", drawn_tree(tree, tree.labels, {"1": "red"}))) == len(tree)
