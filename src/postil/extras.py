"""Packages that only some users need: imported where they are used, and missed in one line."""

import importlib
from typing import Any

from postil.errors import ConfigurationError


def needed(module: str, extra: str) -> Any:
    """The module of another package; where it is not installed, an error names the extra that has it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as missing:
        package = str(missing.name).partition(".")[0]
        raise ConfigurationError(
            f"{package} is not installed", expected=f"pip install 'postil[{extra}]'", got=f"no package {package}"
        ) from None
