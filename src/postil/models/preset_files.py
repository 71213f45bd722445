"""Presets in files: a preset's name and the settings on top of it, as ``postil search`` finds them."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from postil.errors import ConfigurationError, PostilError
from postil.files import replaced
from postil.models.config import TaggerConfig, configured

FORMAT = "postil-preset"
_MOST_BYTES = 1 << 20


def write_preset(path: str | os.PathLike[str], preset: str, settings: Mapping[str, Any], **about: Any) -> None:
    """Write a preset that ``postil train --preset FILE`` takes; ``about`` is kept for people to read."""
    configured(preset, settings)
    content = {"format": FORMAT, "preset": preset, "settings": dict(settings), "about": about}
    with replaced(path) as file:
        file.write((json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())


def read_preset(path: str | os.PathLike[str]) -> tuple[str, dict[str, Any]]:
    """The preset's name and the settings of a file, all checked."""
    path = Path(path)
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise ValueError
        content = json.loads(path.read_text(encoding="utf8"))
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ConfigurationError("--preset", expected="the name of a preset or a file of `postil search`", where=path)
    preset, settings = content.get("preset"), content.get("settings")
    if not isinstance(preset, str) or not isinstance(settings, dict):
        raise ConfigurationError("preset file", expected="needs a preset and its settings", where=path)
    try:
        config = configured(preset, settings)
    except PostilError as error:
        raise ConfigurationError(f"preset file: {error}", where=path) from None
    return preset, {name: getattr(config, name) for name in settings if name in TaggerConfig.__dataclass_fields__}
