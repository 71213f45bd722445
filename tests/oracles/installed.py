"""Installed models without an installer: a folder with what ``pip install`` would have put there."""

import sys
from pathlib import Path
from shutil import copy

import pytest

from postil.models import storage as installed

ENTRY = "[console_scripts]\nx = x:y\n\n[postil.models]\n{name} = {module}:MODEL\n\n[other]\nz = z:z\n"


def install_model(folder: Path, name: str, model: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a package with a model onto the path, and return the path of the model in it."""
    module = f"fake_{name.replace('-', '_')}"
    (folder / module).mkdir(parents=True)
    (folder / module / "__init__.py").write_text(
        "from pathlib import Path\n\nMODEL = Path(__file__).with_name('model.postil')\n"
    )
    copy(model, folder / module / "model.postil")
    information = folder / f"{module}-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(ENTRY.format(name=name, module=module))
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, module, raising=False)  # of an earlier test
    return folder / module / "model.postil"


def uninstall_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if no model were installed."""
    monkeypatch.setattr(installed, "installed_models", dict)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **asked: ())
