"""Tests are isolated: they do not write into the working tree, read nothing next to it, and do not use the network.

An audit hook sees every such call of this process, also those of libraries, and raises where the call is made. It helps
developers. If it cannot tell a neighbour of the repository from something that Python, pytest or the system needs, it
lets the call pass.
"""

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parent.parent
# What Python, pytest and the build write, and git ignores.
CACHES = {"__pycache__", ".pytest_cache", ".hypothesis", ".venv", "build"}
LOCAL = {"127.0.0.1", "::1", "localhost", "", None}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class NotIsolated(AssertionError):
    """A test uses something outside of its isolation."""


class Isolation:
    """Which files tests may open, for a repository at ``root`` and folders ``elsewhere`` that anybody may use."""

    def __init__(self, root: Path, elsewhere: Iterable[str | os.PathLike[str]]) -> None:
        # A folder may be reached through links. A path is compared with both names, not resolved: that costs time.
        self._trees = _prefixes([root])
        parents = _prefixes([root.parent])
        self._elsewhere = _prefixes(elsewhere)
        homes = _prefixes([os.path.expanduser("~"), root.anchor])  # noqa: PTH111
        # In a home, at the top of a file system and in a folder of `elsewhere`, anything may be next to the repository.
        can_tell = not homes & parents and not any(parent.startswith(tuple(self._elsewhere)) for parent in parents)
        self.parents = parents if can_tell else set()
        """What is in these folders and in no other known one is a neighbour of the repository."""

    def check(self, path: object, *, writing: bool) -> None:
        """Raise ``NotIsolated`` if a test may not open this file."""
        if path is None or isinstance(path, int):  # a file that is open already
            return
        full = os.path.abspath(os.fsdecode(path))  # type: ignore[arg-type]  # noqa: PTH100
        if f"{full}{os.sep}" in self._trees:  # `mkdir(exist_ok=True)` asks for the tree itself
            return
        for tree in self._trees:
            if full.startswith(tree):
                if writing and not CACHES & set(Path(full[len(tree) :]).parts):
                    raise NotIsolated(f"a test writes {full}: tests write into tmp_path")
                return
        for parent in self.parents:
            if full.startswith(parent) and not f"{full}{os.sep}".startswith((*self._elsewhere, f"{parent}.")):
                raise NotIsolated(f"a test opens {full}: tests need nothing outside of the repository")


def _prefixes(folders: Iterable[str | os.PathLike[str]]) -> set[str]:
    """How the paths of files in these folders begin: the folders as they are called, and without links."""
    names = {os.path.abspath(folder) for folder in folders}  # noqa: PTH100
    return {os.path.join(name, "") for name in names | set(map(os.path.realpath, names))}  # noqa: PTH118


_watching = False
_installed: list["Isolation"] = []


def can_tell_neighbours() -> bool:
    """Whether a file next to the repository is recognised in this process."""
    return bool(_installed[-1].parents)


@contextmanager
def watched() -> Iterator[None]:
    """Watch what is done inside; pytest's own files are read and written outside."""
    global _watching
    before, _watching = _watching, True
    try:
        yield
    finally:
        _watching = before


def install(*elsewhere: str | os.PathLike[str]) -> None:
    """Install the hook in this process; audit hooks cannot be removed again."""
    isolation = Isolation(
        ROOT, [tempfile.gettempdir(), sys.prefix, sys.base_prefix, *filter(None, sys.path), *elsewhere]
    )

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if not _watching:
            return
        if event == "open":
            path, _, flags = arguments
            isolation.check(path, writing=bool(flags & _WRITING))  # type: ignore[operator]
        elif event in ("os.mkdir", "os.rename"):
            for path in arguments[: 2 if event == "os.rename" else 1]:
                isolation.check(path, writing=True)
        elif event == "socket.connect" and isinstance(arguments[1], tuple) and arguments[1][0] not in LOCAL:
            raise NotIsolated(f"a test connects to {arguments[1]}: tests need no network")
        elif event == "socket.getaddrinfo" and arguments[0] not in LOCAL:
            raise NotIsolated(f"a test looks for the host {arguments[0]!r}: tests need no network")

    sys.addaudithook(hook)
    _installed.append(isolation)
