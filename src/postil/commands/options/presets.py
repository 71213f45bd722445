"""``--preset``: the name of a preset, or a file that ``postil search`` wrote."""

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from postil.models.config import PRESETS
from postil.models.preset_files import read_preset


class NamesAndFiles(tuple[str, ...]):
    """The choices of ``--preset``: the names that are listed and completed, and any existing file."""

    def __contains__(self, value: object) -> bool:
        return super().__contains__(value) or (isinstance(value, str) and Path(value).is_file())


def add_preset_argument(parser: Any, names: Iterable[str], default: str | None, text: str) -> None:
    parser.add_argument(
        "--preset",
        choices=NamesAndFiles(names),
        default=default,
        metavar="NAME|FILE",
        help=f"{text}: see `postil presets`; or a file of `postil search` (default: fast)",
    )


def resolve_preset(arguments: argparse.Namespace) -> None:
    """Put what a file says in the place of its name: its preset, and its settings before those of ``--set``."""
    choice = arguments.preset
    arguments.preset_file = None if choice in PRESETS else choice
    if arguments.preset_file is None:
        return
    arguments.preset, settings = read_preset(choice)
    arguments.settings = [f"{name}={spelt(value)}" for name, value in settings.items()] + arguments.settings


def spelt(value: Any) -> str:
    """A value as ``--set`` takes it."""
    if value is None:
        return "auto"
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value).lower()
