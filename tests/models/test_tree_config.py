"""Settings of tree classifiers."""

import pytest

import postil
from postil.errors import ConfigurationError
from postil.models.config import DEFAULTS, configured_tree, explicit_weights
from postil.network import COMPOSITIONS


def test_every_composition_has_defaults_that_can_be():
    assert DEFAULTS.keys() == COMPOSITIONS.keys()
    for name, defaults in DEFAULTS.items():
        config = configured_tree(name, {})
        assert config.composition == name
        assert {key: getattr(config, key) for key in defaults} == defaults


def test_settings_stand_above_the_defaults():
    assert configured_tree("sum", {"rate": 0.5}).rate == 0.5
    for wrong in ({"speed": 1}, {"loss": "leaf"}, {"hidden": 0}, {"rate": 0}):
        with pytest.raises(ConfigurationError):
            configured_tree("sum", wrong)
    with pytest.raises(ConfigurationError):
        configured_tree("product", {})


def test_weights_of_classes_as_a_dict_or_as_text():
    for given in ({"gut": 2}, '{"gut": 2}'):
        assert explicit_weights(configured_tree("sum", {"class_weights": given})) == {"gut": 2.0}
    for wrong in ("{", "[1]", '{"a": -1}', '{"a": "x"}', '{"a": true}'):
        with pytest.raises(ConfigurationError):
            configured_tree("sum", {"class_weights": wrong})


@pytest.mark.parametrize(("trees", "batch"), [(1, 8), (900, 10), (3000, 32)])
def test_batches_grow_with_the_data_unless_they_are_given(trees, batch):
    data = [("3", ("2", "a"), ("3", "good"))] * trees
    assert postil.TreeClassifier(composition="sum").fitting(data).model.config.batch_trees == batch
    assert postil.TreeClassifier(composition="sum", batch_trees=5).fitting(data).model.config.batch_trees == 5
