"""Settings are checked when they are made."""

import pytest

from postil.errors import ConfigurationError
from postil.pretraining import CorpusConfig, PretrainingConfig


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "cbow"}, "method must be skipgram or ranking"),
        ({"dimensions": 1}, r"dimensions must be at least 2 \(got 1\)"),
        ({"epochs": 0}, "epochs must be at least 1"),
        ({"window": 33}, "window must be 1 to 32"),
        ({"negatives": 64}, "negatives must be 1 to 63"),
        ({"hidden": 50}, "hidden must be a multiple of 16"),
        ({"rate": 0.0}, "rate must be more than 0"),
        ({"sample": float("nan")}, "sample must be more than 0"),
        ({"seed": -1}, "seed must be at least 0"),
    ],
)
def test_wrong_settings(settings, message):
    with pytest.raises(ConfigurationError, match=message):
        PretrainingConfig(**settings)


@pytest.mark.parametrize("settings", [{"min_count": 0}, {"words": 1}, {"min_count": 2.5}])
def test_wrong_settings_of_a_corpus(settings):
    with pytest.raises(ConfigurationError, match="must be at least"):
        CorpusConfig(**settings)


def test_defaults_depend_on_the_method():
    skipgram, ranking = PretrainingConfig(), PretrainingConfig(method="ranking")
    assert (skipgram.reach, ranking.reach, PretrainingConfig(window=3).reach) == (5, 2, 3)
    assert (skipgram.first_rate, ranking.first_rate, PretrainingConfig(rate=0.5).first_rate) == (0.025, 0.1, 0.5)
