from dataclasses import fields

import pytest

from postil.errors import ConfigurationError
from postil.features.words import LEARNT_DIMS, WordFeatureConfig
from postil.models.config import PRESETS, TaggerConfig, adapted, configured


def test_every_word_feature_can_be_set():
    settings = {field.name for field in fields(TaggerConfig)}
    assert {field.name for field in fields(WordFeatureConfig)} - settings == {"vector_dim"}


@pytest.mark.parametrize("preset", PRESETS)
def test_word_features_are_those_of_the_settings(preset):
    config = adapted(configured(preset, {}), 100, 1000)
    words = WordFeatureConfig.of(config)
    for field in fields(WordFeatureConfig):
        if field.name != "vector_dim":
            assert getattr(words, field.name) == getattr(config, field.name)


@pytest.mark.parametrize("name", LEARNT_DIMS)
def test_dimensions_of_word_features_have_limits(name):
    with pytest.raises(ConfigurationError, match=name):
        TaggerConfig(**{name: -1})


def test_a_tagger_needs_a_word_feature():
    with pytest.raises(ConfigurationError, match=r"features of words.* a dimension above 0"):
        TaggerConfig(**dict.fromkeys(LEARNT_DIMS, 0))
