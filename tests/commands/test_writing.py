"""Whether a result can be written is known before the long computation."""

import pytest

from postil.commands.writing import check_output
from postil.errors import ConfigurationError


def test_a_new_file_and_an_old_one(tmp_path, monkeypatch):
    check_output(tmp_path / "new", "the model")
    (tmp_path / "old").write_text("x")
    check_output(tmp_path / "old", "the model")
    monkeypatch.chdir(tmp_path)
    check_output((tmp_path / "new").relative_to(tmp_path), "the model")


def test_a_folder_or_a_missing_one(tmp_path):
    for wrong in (tmp_path, tmp_path / "missing" / "new"):
        with pytest.raises(ConfigurationError, match="the model"):
            check_output(wrong, "the model")
