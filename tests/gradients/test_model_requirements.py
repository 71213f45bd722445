"""Which models and settings must be checked."""

from postil.gradients.model_requirements import (
    inputs_of,
    networks_of_estimators,
    presets_of,
    sentence_estimators,
    sentence_inputs,
    unused_settings,
)
from postil.models import PRESETS, Detector, Tagger, TaggerConfig, TreeConfig
from postil.models.scoring.detector_network import DetectorNetwork
from postil.models.scoring.ensemble_network import EnsembleNetwork
from postil.models.scoring.tagger_network import TaggerNetwork
from postil.models.scoring.task_network import TaskNetwork
from postil.models.scoring.tree_network import TreeNetwork


def test_every_kind_of_model_and_its_network_are_found():
    assert set(sentence_estimators()) == {Tagger, Detector}
    assert set(networks_of_estimators()) == {TaggerNetwork, EnsembleNetwork, TaskNetwork, DetectorNetwork, TreeNetwork}


def test_presets_of_each_kind():
    assert set(presets_of(Detector)) == set(PRESETS)
    assert set(PRESETS) - set(presets_of(Tagger)) == {"margin"}


def test_a_kind_that_replaces_the_objective_is_checked_on_forms():
    assert inputs_of(Tagger, "fast") == inputs_of(Detector, "margin") == sentence_inputs()
    assert inputs_of(Detector, "fast") == ["forms"]


def test_settings_that_no_preset_has():
    of_taggers, of_trees = dict(unused_settings(TaggerConfig)), dict(unused_settings(TreeConfig))
    assert of_taggers["l2"] == 0.01 and of_taggers["input_dropout"] == 0 and of_taggers["constrained"] is False
    assert ("activation", "sigmoid") in unused_settings(TaggerConfig)
    assert "encoder" not in of_taggers and "optimiser" not in of_taggers  # all used; nothing to differentiate
    assert of_trees["l2"] == 0.01 and "loss" not in of_trees  # checked with every composition
