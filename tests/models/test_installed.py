"""Models of installed packages are found by name, quickly, and a path always means a file."""

import subprocess
import sys

import pytest

import postil
from oracles.installed import install_model, uninstall_models
from postil.errors import ConfigurationError, ModelFileError
from postil.models import storage as installed
from postil.models.storage import installed_models, installed_path, located

SENTENCE = ["Anna", "left", "Oslo"]


def test_an_installed_model_is_loaded_by_its_name(names_model, tmp_path, monkeypatch):
    path = install_model(tmp_path, "tiny", names_model, monkeypatch)
    assert installed_models()["tiny"] == "fake_tiny:MODEL"
    assert installed_path("tiny") == path
    assert postil.load("tiny").predict([SENTENCE]) == postil.load(names_model).predict([SENTENCE])


def test_only_entry_points_of_our_group_count(names_model, tmp_path, monkeypatch):
    install_model(tmp_path, "tiny", names_model, monkeypatch)
    assert not {"x", "z"} & set(installed_models())


def test_the_first_on_the_path_counts(names_model, speech_model, tmp_path, monkeypatch):
    install_model(tmp_path / "far", "tiny", speech_model, monkeypatch)
    near = install_model(tmp_path / "near", "tiny", names_model, monkeypatch)
    assert installed_path("tiny") == near


def test_what_only_importlib_finds_counts_too(names_model, tmp_path, monkeypatch):
    path = install_model(tmp_path, "tiny", names_model, monkeypatch)
    monkeypatch.setattr(installed, "_entry_point_files", lambda: iter(()))
    assert installed_path("tiny") == path


def test_only_a_model_file_of_the_same_name_comes_first(names_model, tmp_path, monkeypatch):
    path = install_model(tmp_path / "packages", "tiny", names_model, monkeypatch)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny").mkdir()
    assert located("tiny") == path
    (tmp_path / "tiny").rmdir()
    (tmp_path / "tiny").write_bytes(b"something else")
    assert located("tiny") == path
    (tmp_path / "tiny").write_bytes(path.read_bytes())
    assert str(located("tiny")) == "tiny"


def test_a_path_is_never_looked_up(monkeypatch):
    monkeypatch.setattr(installed, "installed_path", lambda name: pytest.fail(f"looked up {name}"))
    for text in ("models/tiny", "tiny.postil", "two words"):
        assert str(located(text)) == text


def test_a_missing_model_and_a_broken_package_are_told(tmp_path, monkeypatch, names_model):
    uninstall_models(monkeypatch)
    with pytest.raises(ModelFileError, match="tiny: no such model file"):
        postil.load("tiny")
    monkeypatch.undo()
    install_model(tmp_path, "tiny", names_model, monkeypatch)
    (tmp_path / "fake_tiny" / "__init__.py").write_text("")
    with pytest.raises(ConfigurationError, match="the installed model 'tiny' is broken"):
        installed_path("tiny")


def test_a_misspelt_name_gets_a_suggestion(tmp_path, monkeypatch, names_model):
    install_model(tmp_path, "tiny-names", names_model, monkeypatch)
    with pytest.raises(ModelFileError, match=r"^tiny-nmes: no such model file; did you mean tiny-names\?$"):
        postil.load("tiny-nmes")
    for text in ("zebra", "tiny-nmes.postil", "models/tiny-nmes"):  # far away, or no name at all
        with pytest.raises(ModelFileError, match=r"no such model file$"):
            postil.load(text)


def test_a_package_without_its_file_is_told(tmp_path, monkeypatch, names_model):
    install_model(tmp_path, "tiny", names_model, monkeypatch).unlink()
    with pytest.raises(ConfigurationError, match="the installed model 'tiny' is broken: expected a model file"):
        installed_path("tiny")


def test_finding_a_model_imports_nothing_slow(names_model, tmp_path, monkeypatch):
    """importlib.metadata alone takes longer to import than a model to load."""
    install_model(tmp_path, "tiny", names_model, monkeypatch)
    code = (
        "import sys, numpy; sys.modules.pop('importlib.metadata', None); sys.path.insert(0, sys.argv[1]); "
        "import postil; postil.load('tiny'); print('importlib.metadata' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("False\n", "")
