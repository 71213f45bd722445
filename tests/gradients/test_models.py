"""The rows of models run what users train: the same features, network, batch and path through the first layer."""

import numpy as np
import pytest

import postil.models.scoring.network as scoring
from postil.gradients.model_requirements import BY_DEFAULT, PARTIAL_LABELS, presets_of, sentence_inputs, tree_inputs
from postil.gradients.models import SENTENCE_INPUTS, sentence_loss
from postil.gradients.trees import tree_loss
from postil.graph import Result, ancestors
from postil.models import Detector, Tagger
from postil.models.config import configured
from postil.models.fitting import fitting
from postil.network import COMPOSITIONS

SHARED = "Linear of windows"
WITH_WINDOWS = ("window", "convolutions")
"""Encoders whose first layer is a linear layer of windows."""


def nodes_of(loss) -> list[str]:
    return [node.name for node in ancestors(loss.node()) if isinstance(node, Result)]


def sentence_nodes(kind, preset, inputs, **settings):
    return nodes_of(sentence_loss(kind, preset, inputs, settings, np.random.default_rng(7)))


def tree_nodes(composition, inputs):
    return nodes_of(tree_loss(composition, inputs, {}, np.random.default_rng(7)))


CASES = [(kind, preset) for kind in (Tagger, Detector) for preset in presets_of(kind)]


@pytest.mark.parametrize(("kind", "preset"), CASES)
def test_the_shared_window_path_runs_as_in_training(kind, preset):
    shares = configured(preset, {}).encoder in WITH_WINDOWS
    for inputs in (BY_DEFAULT, "vectors", PARTIAL_LABELS):
        assert (SHARED in sentence_nodes(kind, preset, inputs)) is shares, inputs
    for inputs in ("use_columns", "gazetteer"):
        assert SHARED not in sentence_nodes(kind, preset, inputs), inputs


def test_most_presets_share_windows():
    assert {configured(preset, {}).encoder for preset in presets_of(Tagger)} >= set(WITH_WINDOWS)


@pytest.mark.parametrize("preset", ["fast", "accurate", "window-wll"])
def test_fit_itself_takes_that_path(preset, monkeypatch):
    calls = []
    right = scoring.shared_windows
    monkeypatch.setattr(scoring, "shared_windows", lambda *given: calls.append(given) or right(*given))
    monkeypatch.setattr(fitting, "fused_training", lambda network: None)  # which computes the same in a kernel
    X, y = [["Anna", "lives", "here"]] * 3, [["B-PER", "O", "O"]] * 3
    Tagger(preset=preset, hidden=4, epochs=1).fit(X, y)
    assert calls
    finish = calls[0][-1]
    assert finish is not None and finish.activation == configured(preset, {}).activation


def test_every_kind_of_input_has_data():
    assert set(SENTENCE_INPUTS) == set(sentence_inputs())


def parameters_of(inputs):
    return sentence_loss(Tagger, "fast", inputs, {}, np.random.default_rng(7)).parameters


def test_inputs_reach_the_network():
    width = parameters_of(BY_DEFAULT)["encoder.layers.0.padding"].shape[0]
    assert parameters_of("vectors")["encoder.layers.0.padding"].shape[0] == width + 2
    assert "extra.tables.0" in parameters_of("use_columns") and "extra.tables.0" in parameters_of("gazetteer")
    assert "extra.tables.0" not in parameters_of(BY_DEFAULT)


def test_sizes_are_all_that_differs_from_the_preset():
    names = set(Tagger(preset="fast").fit([["a", "b"]] * 2, [["O", "B-X"]] * 2).parts.network.parameters())
    assert set(parameters_of(BY_DEFAULT)) == names


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_tree_inputs_change_the_graph_as_they_should(composition):
    by_default, *others = tree_inputs()
    plain = tree_nodes(composition, by_default)
    assert "take rows" not in plain
    assert "take rows" in tree_nodes(composition, "loss=root")
    assert "LookupTable" not in tree_nodes(composition, "learn_vectors=False")
    assert {"vectors", "learn_vectors=False", "loss=root", "class_weights=balanced"} == set(others)
    # Vectors of another width than phrases need a map, which the Tree-LSTM has in itself.
    maps = [tree_nodes(composition, inputs).count("Linear") for inputs in (by_default, "vectors")]
    assert maps == ([1, 1] if composition == "tree-lstm" else [1, 2])
