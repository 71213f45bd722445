"""Trees as pictures."""

import re
from xml.etree import ElementTree

from postil.text import Tree, right_branching
from postil.text.trees.tree_drawing import colours_of_trees, drawn_tree

TREE = Tree.of(("3", ("2", "good"), ("1", ("2", "&"), ("2", "<film>"))))


def test_a_disc_for_every_node_a_line_for_every_edge_and_a_ring_for_every_mistake():
    gold = ["2", "2", None, "2", "4"]
    svg = ElementTree.fromstring(drawn_tree(TREE, gold, colours_of_trees([TREE])))
    discs, lines = svg.findall(".//rect"), svg.findall(".//line")
    assert len(discs) == len(TREE) and len(lines) == len(TREE) - 1
    assert [disc.get("stroke") is not None for disc in discs] == [False, False, False, True, True]
    texts = [text.text for text in svg.findall(".//text")]
    assert [word for word in texts if word in TREE.tokens] == TREE.tokens
    heights = [float(disc.get("y")) for disc in discs]
    for node, children in enumerate(TREE.children):
        assert all(heights[child] > heights[node] for child in children)
    words = [
        float(disc.get("x")) + float(disc.get("width")) / 2
        for disc, word in zip(discs, TREE.words, strict=True)
        if word
    ]
    assert words == sorted(words)


def test_colours():
    assert colours_of_trees([TREE])["0"] != colours_of_trees([TREE])["4"]
    assert "var(--" in next(iter(colours_of_trees([Tree.of(("NP", "film"))]).values()))


def test_a_deep_tree_is_drawn():
    tree = right_branching(["w"] * 2000)
    tree = tree.with_labels(["1"] * len(tree))
    assert len(re.findall("<rect", drawn_tree(tree, tree.labels, {"1": "red"}))) == len(tree)


def test_long_labels_are_cut_on_the_disc_and_whole_in_its_tooltip():
    tree = Tree.of(("incomprehensible", ("a<b", "x"), ("a<b", "y")))
    svg = ElementTree.fromstring(drawn_tree(tree, [None] * 3, colours_of_trees([tree]), ["0.10", "0.20", "0.30"]))
    names = [group.find("text").text for group in svg.findall("g")]
    assert names == ["a<b", "a<b", "incompr…"]
    tooltips = [rect.find("title").text for rect in svg.findall(".//rect")]
    assert tooltips == ["a<b 0.10: x", "a<b 0.20: y", "incomprehensible 0.30: x y"]
    widths = [float(rect.get("width")) for rect in svg.findall(".//rect")]
    assert widths[2] > widths[0]
