"""Finding the model that a command names."""

from pathlib import Path
from typing import Any

from postil.errors import ConfigurationError
from postil.models.estimator import Estimator
from postil.models.storage import load


def open_model(name: str) -> Estimator[Any, Any]:
    """MODEL of the command line: the path of a model file."""
    path = Path(name)
    if path.is_dir():
        raise ConfigurationError("model", expected="a model file", got="a folder", where=name)
    if not path.exists():
        raise ConfigurationError("no such model", expected="the path of a model file", got=repr(name))
    model: Estimator[Any, Any] = load(path)
    return model
