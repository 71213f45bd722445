"""Descriptions of networks: every parameter is counted once, in every kind of model, and shapes follow each other."""

from pathlib import Path

import pytest

import postil
from postil.drawing import architecture_of
from postil.models.config import PRESETS

GOLDEN = sorted((Path(__file__).parents[1] / "golden").glob("*.postil"))
X = [["Anna", "lives", "in", "Oslo"], ["Bob", "likes", "old", "Lima"]] * 3
Y = [["B-PER", "O", "O", "B-LOC"]] * 6


def _parameters(model):
    return sum(parameter.value.size for parameter in model.model.network.parameters().values())


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_every_parameter_is_counted_once(path):
    model = postil.load(path)
    assert architecture_of(model).parameters == _parameters(model)


@pytest.mark.parametrize("preset", [name for name in PRESETS if name != "margin"])
def test_presets(preset):
    tagger = postil.Tagger(preset=preset, epochs=1, hidden=4, character_dim=3).fit(X, Y)
    network = architecture_of(tagger)
    assert network.parameters == _parameters(tagger)
    assert network.copies == tagger.config.ensemble
    (head,) = network.heads.values()
    assert head[-1].title.endswith(" labels")
    assert any(stage.title == "CRF" for stage in head) == (tagger.config.objective == "crf")


def test_hand_made_features_and_residual_layers():
    tokens = [[{"word": word, "length": str(len(word))} for word in sentence] for sentence in X]
    tagger = postil.Tagger(word_key="word", epochs=1, hidden=4).fit(tokens, Y)
    network = architecture_of(tagger)
    assert network.parameters == _parameters(tagger)
    assert "Hand-made features" in [stage.title for stages in network.heads.values() for stage in stages]
    deep = architecture_of(postil.Tagger(encoder="convolutions", layers=2, window=3, epochs=1, hidden=4).fit(X, Y))
    around = [number for number, stage in enumerate(deep.trunk) if stage.shortcut]
    assert len(around) == 1
    last = around[0]
    inside = deep.trunk[last + 1 - deep.trunk[last].shortcut : last + 1]
    assert [stage.title for stage in inside] == ["Layer normalisation", "Window of 3", "Linear, ReLU"]


@pytest.mark.parametrize("composition", ["sum", "concatenation", "tensor", "tree-lstm"])
def test_trees(composition):
    trees = [postil.text.Tree.of(("pos", (None, "good"), (None, "film"))), postil.text.Tree.of(("neg", "bad"))]
    model = postil.TreeClassifier(composition=composition, hidden=3, word_dim=5, epochs=1).fit(trees)
    assert architecture_of(model).parameters == _parameters(model)
