"""What a search may choose: possible values only, each trial by its number."""

import pytest

import postil
from postil.curation.settings_space import checked_space, default_space, drawn
from postil.models.config import configured


def test_a_trial_depends_on_its_number_and_seed_only():
    space = {"hidden": [8, 16, 32], "window": [3, 5], "rate": [0.1, 0.2]}
    base = configured("fast", {"hidden": 8})
    draws = [drawn(space, number, base, 7) for number in range(50)]
    assert draws == [drawn(space, number, base, 7) for number in range(50)]
    assert draws != [drawn(space, number, base, 8) for number in range(50)]
    assert all(draws) and all(settings.get("hidden") != 8 and settings.get("window") != 5 for settings in draws)
    assert drawn({"hidden": [8]}, 1, base, 0) == {}


@pytest.mark.parametrize("preset", ["fast", "accurate", "linear-crf"])
def test_every_default_value_is_possible(preset):
    tagger = postil.Tagger(preset=preset)
    assert checked_space(tagger, default_space(configured(preset, {})))
