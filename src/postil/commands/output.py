"""Decide before a long computation whether its result may be written: the one place, for every command."""

import argparse
import os
import re
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from postil.archive import MAGIC
from postil.errors import ConfigurationError, PostilError
from postil.files import is_temporary, remove_abandoned
from postil.reading import parsed_json
from postil.text.formats import FORMATS, format_named, format_of

DOCS = "spacy"
"""The format of spaCy's docs, which is not one of lines."""
_HEAD = 1 << 12  # bytes that tell the kinds apart


def add_overwrite_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--overwrite", action="store_true", help="replace an existing output even if it is read-only or of another kind"
    )


_OTHER_ENDINGS = {".spacy": DOCS, ".html": "report", ".htm": "report"}


def output_format(path: str) -> str | None:
    """The format that the name of an output file asks for; None: its ending stands for none.

    Besides the names of formats: ``DOCS``, and "report" for a page.
    """
    other = next((format for ending, format in _OTHER_ENDINGS.items() if path.endswith(ending)), None)
    return other or format_named(path)


def check_output(
    path: str | Path, what: str, kind: str, *, inputs: Iterable[str | Path | None] = (), overwrite: bool = False
) -> None:
    """Raise ConfigurationError if ``path`` cannot be written, or if writing it would destroy something else.

    ``kind`` is a key of ``_KINDS``, such as "model", or the name of a format: what the file will be, and what an
    existing file must be to be replaced. With ``overwrite`` any file is, except one of the ``inputs``, under any name.
    An unfinished file that a killed run left next to it is removed.
    """
    path = Path(path)
    if path.is_dir():
        raise ConfigurationError(what, expected="must be a file", got="a folder", where=path)
    if not path.resolve().parent.is_dir():
        raise ConfigurationError(what, expected="must be in an existing folder", got=f"no {path.parent}", where=path)
    if (path.is_file() or not path.exists()) and not os.access(path.resolve().parent, os.W_OK):  # or a device
        raise ConfigurationError(what, expected="must be in a folder that you may write to", where=path)
    for name in inputs:
        if name is not None and (_is_same(path, Path(name)) or is_temporary(Path(name).resolve(), path.resolve())):
            other = None if str(name) == str(path) else str(name)  # another name of the same file
            raise ConfigurationError(what, expected="must not be one of the inputs", got=other, where=path)
    if path.is_file() and not overwrite:  # devices and pipes have no content to lose
        _check_existing(path, what, kind)
    with suppress(OSError):
        remove_abandoned(path)


def _is_same(path: Path, other: Path) -> bool:
    """Whether two names mean one regular file, also through links; or will, once it exists."""
    if path.resolve() == other.resolve():
        return path.is_file() or not path.exists()  # a device may be read and written
    return path.is_file() and other.is_file() and path.samefile(other)


def _check_existing(path: Path, what: str, kind: str) -> None:
    found = _kind_of(path)
    if found not in (kind, "empty"):
        raise ConfigurationError(
            what,
            expected=f"must not replace a file that is not {_title(kind)}: --overwrite does",
            got=_title(found),
            where=path,
        )
    if not path.stat().st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) or not os.access(path, os.W_OK):
        raise ConfigurationError(what, expected="must not replace a read-only file: --overwrite does", where=path)


def _kind_of(path: Path) -> str:
    """The kind of an existing file; "other" if Postil does not write such files."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
        if not head:
            return "empty"
        return next((kind for kind, recognises in _KINDS.items() if recognises(head)), None) or format_of(str(path))
    except (PostilError, OSError):
        return "other"


def _is_log(head: bytes) -> bool:
    """The first line of what ``postil train --log`` appends."""
    try:
        line = parsed_json(head.split(b"\n", 1)[0], finite=False)
    except ValueError:
        return False
    return isinstance(line, dict) and "epoch" in line and "text" not in line


def _is_vectors(head: bytes) -> bool:
    """A word and at least two numbers on the first line."""
    try:
        return len([float(number) for number in head.split(b"\n", 1)[0].split(b" ")[1:]]) > 1
    except ValueError:
        return False


_KINDS: dict[str, Callable[[bytes], bool]] = {
    "model": lambda head: head[8:].startswith(MAGIC),
    "report": lambda head: head.lstrip()[:14].lower() == b"<!doctype html",
    "picture": lambda head: head.lstrip().startswith((b"<svg", b"<?xml")) and b"<svg" in head,
    "markdown": lambda head: head.startswith(b"# "),
    "log": _is_log,
    "parquet": lambda head: head.startswith(b"PAR1"),
    "spacy": lambda head: head.startswith(b"\x78\x9c"),  # compressed by zlib, as DocBin does
    "vectors": _is_vectors,
    "clusters": lambda head: re.match(rb"[01]+\t[^\t\n]+\t\d+\n", head) is not None,
}
_TITLES = {
    "model": "a model file",
    "report": "an HTML page",
    "picture": "an SVG picture",
    "markdown": "a Markdown page",
    "log": "a training log",
    "parquet": "a Parquet file",
    "spacy": "a DocBin",
    "vectors": "a file of word vectors",
    "clusters": "a file of word clusters",
    "other": "another kind of file",
}


def _title(kind: str) -> str:
    return _TITLES.get(kind) or FORMATS[kind].title
