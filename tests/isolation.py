"""Tests stay in their own room: they write no file into the working tree, read none beside it, and use no network.

An audit hook sees every such call of this process, in Python's own libraries too, and refuses it where it is made.
"""

import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
_PARENT = f"{ROOT.parent}{os.sep}"
_TREE = f"{ROOT}{os.sep}"
# What Python, pytest and the build write, and git ignores.
CACHES = {"__pycache__", ".pytest_cache", ".hypothesis", ".venv", "build"}
LOCAL = {"127.0.0.1", "::1", "localhost", "", None}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class NotIsolated(AssertionError):
    """A test left its room."""


def watch() -> None:
    """From now on in this process; audit hooks cannot be taken away again."""
    elsewhere = {tempfile.gettempdir(), sys.prefix, sys.base_prefix, *filter(None, sys.path)} - {str(ROOT.parent)}
    elsewhere |= {os.path.realpath(folder) for folder in elsewhere}  # an environment may be a link
    installed = tuple(f"{folder}{os.sep}" for folder in elsewhere)

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            _look_at(path, bool(flags & _WRITING), installed)  # type: ignore[operator]
        elif event in ("os.mkdir", "os.rename"):
            for path in arguments[: 2 if event == "os.rename" else 1]:
                _look_at(path, True, installed)
        elif event == "socket.connect" and isinstance(arguments[1], tuple) and arguments[1][0] not in LOCAL:
            raise NotIsolated(f"a test connects to {arguments[1]}: tests need no network")
        elif event == "socket.getaddrinfo" and arguments[0] not in LOCAL:
            raise NotIsolated(f"a test looks for the host {arguments[0]!r}: tests need no network")

    sys.addaudithook(hook)


def _look_at(path: object, writing: bool, installed: tuple[str, ...]) -> None:
    if isinstance(path, int) or path is None:  # a file that is open already
        return
    full = os.path.abspath(os.fsdecode(path))  # type: ignore[arg-type]  # noqa: PTH100
    if full == str(ROOT) or not full.startswith(_PARENT):  # `mkdir(exist_ok=True)` asks for the tree itself
        return
    if full.startswith(_TREE):
        parts = Path(full[len(_TREE) :]).parts
        # pytest fills its cache under a name of its own and renames it, where there was none before.
        if writing and not CACHES & set(parts) and not parts[0].startswith("pytest-cache-files-"):
            raise NotIsolated(f"a test writes {full}: tests write into tmp_path")
    elif not full.startswith(installed) and not full[len(_PARENT) :].startswith("."):
        raise NotIsolated(f"a test opens {full}: tests need nothing outside of the repository")
