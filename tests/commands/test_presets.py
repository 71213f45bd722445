"""``postil presets`` lists what there is, and --set takes what it prints."""

import json
from dataclasses import asdict

import pytest

from postil.commands import presets
from postil.commands.main import main
from postil.models.config import PRESETS, TaggerConfig, adapted, configured, parsed_setting
from postil.models.settings import rules
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
    assert [text for _, text in lines] == [rules(TaggerConfig)[name].text.replace("``", "") for name in settings]


def test_what_is_off_is_not_called_automatic(capsys):
    """And no setting that adapts to the data is called off."""
    assert main(["presets", "fast"]) == 0
    out = capsys.readouterr().out
    words = dict(line.split()[0].split("=") for line in out.splitlines() if line.startswith("    "))
    assert {words[name] for name in ("word_key", "feature_buckets", "patience")} == {"none"}
    begun = configured("fast", {})
    fitted = adapted(begun, 100, 1000)
    changed = [name for name, value in asdict(begun).items() if value != getattr(fitted, name)]
    assert {words[name] for name in changed} == {"auto"} and "auto" not in {words[n] for n in words if n not in changed}
    assert "`" not in out


def test_a_name_that_does_not_exist(capsys):
    assert main(["presets", "fats"]) == 1
    assert "no preset 'fats'; did you mean fast?\n" in capsys.readouterr().err
