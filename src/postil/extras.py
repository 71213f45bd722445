"""Optional packages: imported where they are used; if one is missing, one line says how to install it."""

import importlib
from typing import Any

from postil.errors import ConfigurationError


def needed(module: str, extra: str) -> Any:
    """Import a module of an optional package. If it is not installed, the error names the extra that installs it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as missing:
        package = str(missing.name).partition(".")[0]
        raise ConfigurationError(f"{package} is not installed: run pip install 'postil[{extra}]'") from None
