"""Exported tree classifiers beside Python."""

import numpy as np
import pytest

import postil
from oracles.c_runtime import Runtime, RuntimeFailure, needs_compiler
from postil.errors import ConfigurationError
from postil.export.c import export_c
from postil.export.flat import exported
from postil.network import COMPOSITIONS
from postil.samples.corpora import made_up_trees
from postil.text.trees.treebank import bracketed, parse_tree

TREES = made_up_trees(40, np.random.default_rng(0))
ODD = [
    "(3 (2 a) (3 b) (2 c) (1 d) (0 e))",
    "(S (NP the old dog) (VP (V saw) ( cat) (X (Y (Z -LRB-x\\/y-RRB-)))))",
    "( (S (A a) (B b)))",
    "(1 good)",
    "(1\t(2 a)\n (1 ( b) (2 Δέντρο)))",
]


def fitted(composition, **settings):
    labelled = [tree for tree in TREES if tree.root_label is not None]
    return postil.TreeClassifier(composition=composition, hidden=8, epochs=2, **settings).fit(labelled)


@needs_compiler
@pytest.mark.parametrize("binarise", ["left", "right"])
@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_compositions_answer_as_in_python(composition, binarise):
    classifier = fitted(composition, binarise=binarise, word_dim=6 if composition != "sum" else 8)
    labels = classifier.model.codec.labels
    trees = [*TREES[:20], *map(parse_tree, ODD)]
    texts = [*map(bracketed, TREES[:20]), *ODD]
    growing, fixed = Runtime(exported(classifier)), Runtime(exported(classifier), max_bytes=max(map(len, texts)) + 9)
    for text, P in zip(texts, classifier.node_probabilities(trees), strict=True):
        answers = growing.tree(text)
        assert [label for label, _ in answers] == [labels[i] for i in P.argmax(axis=1)]
        np.testing.assert_allclose([probabilities for _, probabilities in answers], P, atol=1e-5)
        assert fixed.tree(text) == answers
    growing.close()
    fixed.close()


@needs_compiler
def test_word_vectors(tmp_path):
    words = sorted({word for tree in TREES for word in tree.tokens})
    rng = np.random.default_rng(0)
    rows = (f"{word} {' '.join(f'{x:.3f}' for x in rng.normal(size=5))}\n" for word in words[::2])
    (tmp_path / "vectors.txt").write_text("".join(rows), encoding="utf-8")
    for learn in (False, True):
        classifier = fitted("concatenation", vectors=str(tmp_path / "vectors.txt"), learn_vectors=learn)
        runtime = Runtime(exported(classifier))
        for tree, P in zip(TREES, classifier.node_probabilities(TREES), strict=True):
            np.testing.assert_allclose([p for _, p in runtime.tree(bracketed(tree))], P, atol=1e-5)
        runtime.close()


@needs_compiler
def test_what_is_no_tree_is_refused():
    runtime = Runtime(exported(fitted("sum", word_dim=8)))
    for text in (
        "",
        " ",
        "a",
        "(",
        ")",
        "(1 a",
        "(1 a))",
        "(1)",
        "()",
        "(1 a) (2 b)",
        "(1 (2 a) b)",
        "(1 a (2 b))",
        "(1 a) b",
    ):
        with pytest.raises(RuntimeFailure, match="is not a tree in brackets"):
            runtime.tree(text)
    with pytest.raises(RuntimeFailure, match="a tree classifier labels trees"):
        runtime.tag("some text")
    assert runtime.tree("(1 a)")
    runtime.close()


def test_half_precision_of_trees_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match="half precision"):
        export_c(fitted("sum", word_dim=8), tmp_path / "out", half=True)
