"""The parameters of whole networks: none forgotten, and stored under the names that model files have."""

import numpy as np
import pytest

from oracles.created import created_parameters
from postil.models import PRESETS
from postil.models.config import configured, configured_tree
from postil.models.networks.network import DetectorNetwork, TaggerNetwork
from postil.models.networks.tree_network import TreeNetwork
from postil.network import COMPOSITIONS
from postil.text import transition_mask

LABELS = ["O", "B-A", "I-A"]


def sizes(extra=True):
    return {
        "form_sizes": [(7, 2), (3, 1)],
        "extra_sizes": [(4, 1)] if extra else [],
        "vectors": np.zeros((7, 2)),
        "word_counts": np.arange(7),
        "alphabet": 4,
        "rng": np.random.default_rng(0),
    }


def network(preset, *, extra=True):
    config = configured(preset, {"hidden": 3, "position_dim": 1})
    if preset == "margin":
        return DetectorNetwork(config, **sizes(extra))
    return TaggerNetwork(config, mask=transition_mask(LABELS, "bio"), **sizes(extra))


@pytest.mark.parametrize("extra", [True, False])
@pytest.mark.parametrize("preset", PRESETS)
def test_no_parameter_of_a_preset_is_forgotten(preset, extra):
    with created_parameters() as created:
        made = network(preset, extra=extra)
    assert set(made.parameters().values()) == set(created)


@pytest.mark.parametrize("composition", COMPOSITIONS)
@pytest.mark.parametrize("vectors", [None, np.zeros((4, 2))])
def test_no_parameter_of_a_tree_classifier_is_forgotten(composition, vectors):
    config, options = configured_tree(composition, {"hidden": 3, "word_dim": 2}), {"word_counts": np.arange(4)}
    with created_parameters() as created:
        made = TreeNetwork(config, 3, vectors=vectors, rng=np.random.default_rng(0), **options)
    assert set(made.parameters().values()) == set(created)
    paths = list(made.parameters())
    assert paths[0] == "words.table" and paths[-2:] == ["output.W", "output.b"]


def test_paths_are_those_of_model_files():
    assert list(network("neural-crf").parameters()) == [
        *["forms.tables.0", "forms.tables.1", "extra.tables.0"],
        *["encoder.layers.0.padding", "encoder.layers.1.W", "encoder.layers.1.b"],
        *["output0.W", "output0.b", "output1.W", "output1.b", "output2.W", "output2.b"],
        *["crf.transitions", "crf.start", "crf.end"],
    ]
