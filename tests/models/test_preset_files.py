"""Presets in files: what is written is read; what a stranger wrote is checked."""

import json

import pytest

from postil.errors import ConfigurationError
from postil.models.config import configured
from postil.models.preset_files import read_preset, write_preset


def test_settings_come_back_in_their_own_types(tmp_path):
    settings = {"hidden": 64, "rate": None, "prefix_lengths": (1, 2), "word_rate": 2.0, "constrained": False}
    write_preset(tmp_path / "p.json", "fast", settings, score=71.2)
    assert read_preset(tmp_path / "p.json") == ("fast", settings)
    assert configured(*read_preset(tmp_path / "p.json")).hidden == 64


def test_impossible_settings_are_not_written(tmp_path):
    with pytest.raises(ConfigurationError):
        write_preset(tmp_path / "p.json", "fast", {"hidden": 0})
    assert not (tmp_path / "p.json").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the name of a preset or a file"),
        ("[" * 5000, "the name of a preset or a file"),
        ("{}", "the name of a preset or a file"),
        (json.dumps({"format": "postil-preset"}), "needs a preset and its settings"),
        (json.dumps({"format": "postil-preset", "preset": "fast", "settings": []}), "needs a preset"),
        (json.dumps({"format": "postil-preset", "preset": "x", "settings": {}}), "preset must be one of"),
        (json.dumps({"format": "postil-preset", "preset": "fast", "settings": {"hiden": 2}}), "did you mean hidden"),
        (json.dumps({"format": "postil-preset", "preset": "fast", "settings": {"hidden": "2"}}), "a whole number"),
        (json.dumps({"format": "postil-preset", "preset": "fast", "settings": {"hidden": 1e400}}), "a whole number"),
    ],
)
def test_a_stranger_s_file_is_checked(tmp_path, content, message):
    path = tmp_path / "p.json"
    path.write_text(content)
    with pytest.raises(ConfigurationError, match=message) as caught:
        read_preset(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)
