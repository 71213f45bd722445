"""Models that are installed as packages: each is an entry point of the group ``postil.models``.

    [project.entry-points."postil.models"]
    english = "postil_english:MODEL"

The name is what users say, the object is the path of the model file. ``importlib.metadata`` finds entry points too, but
takes longer to import than a model takes to load. So the folders of ``sys.path`` are looked through here, and it is
asked only about what they do not have (packages in zip files, finders of other tools).
"""

import importlib
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from postil.archive import is_model_file
from postil.errors import ConfigurationError, similar

GROUP = "postil.models"
ENGLISH = "english"
"""The model that commands use where none is named."""
_ENDINGS = (".dist-info", ".egg-info")


def installed_models() -> dict[str, str]:
    """Name of each installed model -> ``module:object`` that is the path of its file. The first on the path counts."""
    found: dict[str, str] = {}
    for text in _entry_point_files():
        for name, target in _of_group(text):
            found.setdefault(name, target)
    return found


def installed_path(name: str) -> Path | None:
    """The file of an installed model; None if none of that name is installed."""
    target = installed_models().get(name) or _found_by_importlib(name)
    return None if target is None else _path(name, target)


def located(model: str | os.PathLike[str]) -> Path:
    """The path of a model: a model file, or else the file of the installed model of that name."""
    if isinstance(model, str) and is_name(model) and not is_model_file(model):
        return installed_path(model) or Path(model)
    return Path(model)


def misspelt(text: str) -> str:
    """The text in quotes, and the name of an installed model that was perhaps meant, for messages."""
    return repr(text) + hint(text)


def hint(text: str) -> str:
    """``; did you mean NAME?`` where the name of an installed model is close to the text, otherwise nothing."""
    return similar(text, installed_models()) if is_name(text) else ""


def is_name(text: str) -> bool:
    """Whether a text could be the name of an installed model: no path, no sentence."""
    return re.fullmatch(r"[\w-]+", text) is not None


def _entry_point_files() -> Iterator[str]:
    for folder in dict.fromkeys(sys.path):
        try:
            names = sorted(os.listdir(folder or "."))  # noqa: PTH208
        except OSError:  # zip files, folders that are not there
            continue
        for name in names:
            if name.endswith(_ENDINGS):
                try:
                    yield Path(folder, name, "entry_points.txt").read_text("utf-8")
                except (OSError, UnicodeDecodeError):
                    continue


def _of_group(text: str) -> Iterator[tuple[str, str]]:
    """Names and targets of one section of an ini file."""
    if f"[{GROUP}]" not in text:
        return
    section = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            section = line.strip("[]")
        elif section == GROUP and not line.startswith("#"):
            name, equals, target = line.partition("=")
            if equals:
                yield name.strip(), target.strip()


def _found_by_importlib(name: str) -> str | None:
    from importlib.metadata import entry_points

    return next((point.value for point in entry_points(group=GROUP, name=name)), None)


def _path(name: str, target: str) -> Path:
    module, _, attribute = target.partition(":")
    try:
        path = Path(getattr(importlib.import_module(module), attribute))
    except (ImportError, AttributeError, TypeError) as error:
        raise ConfigurationError(f"the installed model {name!r} is broken", got=error, where=target) from None
    if not path.is_file():
        raise ConfigurationError(f"the installed model {name!r} is broken", expected="a model file", where=path)
    return path
