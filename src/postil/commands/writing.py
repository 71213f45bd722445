"""Check before a long computation that its result can be written."""

from pathlib import Path

from postil.errors import ConfigurationError


def check_output(path: Path, what: str) -> None:
    """Raise ConfigurationError if ``path`` cannot be written."""
    if path.is_dir():
        raise ConfigurationError(what, expected="must be a file", got="a folder", where=path)
    if not path.resolve().parent.is_dir():
        raise ConfigurationError(what, expected="must be in an existing folder", got=f"no {path.parent}", where=path)
