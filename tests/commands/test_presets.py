"""``postil presets`` lists what there is, and --set takes what it prints."""

import json

import pytest

from postil.commands import presets
from postil.commands.main import main
from postil.models.config import PRESETS, TaggerConfig, configured, parsed_setting
from postil.models.settings import descriptions
from postil.models.tree_config import DEFAULTS


def test_every_preset_and_composition_has_a_purpose():
    assert set(presets.PURPOSES) == set(PRESETS)
    assert set(presets.TREE_PURPOSES) == set(DEFAULTS)


def test_all_of_them(capsys):
    assert main(["presets"]) == 0
    out = capsys.readouterr().out
    assert "fast: the default" in out and "encoder=convolutions" in out and "--composition tree-lstm" in out
    assert main(["presets", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert set(rows) == {*PRESETS, *DEFAULTS}
    assert rows["accurate"]["settings"]["layers"] == 3


@pytest.mark.parametrize("name", PRESETS)
def test_all_settings_of_one_are_what_set_takes(capsys, name):
    assert main(["presets", name]) == 0
    lines = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines() if line.startswith("    ")]
    settings = dict(parsed_setting(word) for word, _ in lines)
    assert TaggerConfig(**settings) == configured(name, {})
    assert [text for _, text in lines] == [descriptions(TaggerConfig)[name] for name in settings]


def test_a_name_that_does_not_exist(capsys):
    assert main(["presets", "fats"]) == 1
    assert "no preset 'fats'; did you mean fast?\n" in capsys.readouterr().err
