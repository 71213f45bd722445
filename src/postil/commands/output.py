"""The results of all commands: whether a file may be written, decided before a long computation; JSON and reports."""

import argparse
import json
import os
import re
import stat
from argparse import Namespace
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from postil.archive import MAGIC
from postil.errors import ConfigurationError, PostilError, printable
from postil.files import is_temporary, remove_abandoned
from postil.models.storage import located
from postil.reading import parsed_json
from postil.text.formats import FORMATS, format_named, format_of
from postil.text.output import write_text

PARQUET, CSV = "parquet", "csv"
_HEAD = 1 << 12  # bytes that tell the kinds apart


def present(arguments: Namespace, result: Any, show: Callable[[], None], page: Callable[[], str] | None = None) -> int:
    """Write the page that --report asks for, then print the result: with --json as JSON, else by ``show``.

    ``result`` is ready for JSON, or has a method to_dict that makes it so. Returns the exit code, 0.
    """
    report = arguments.report if page is not None else None
    if page is not None and report is not None:
        write_text(report, [page()])
    if arguments.json:
        content = result.to_dict() if hasattr(result, "to_dict") else result
        print(json.dumps(content, indent=2, ensure_ascii=False))
        return 0
    show()
    if report is not None:
        tell_of_report(report)
    return 0


def tell_of_report(path: Path) -> None:
    print(f"\nThe report is in {printable(str(path))}: open it in a browser.")


def output_format(path: str) -> str | None:
    """The format that the name of an output file asks for, "report" for a page; None: its ending stands for none."""
    return "report" if path.endswith((".html", ".htm")) else format_named(path)


def check_outputs(parser: argparse.ArgumentParser, arguments: Namespace) -> None:
    """``check_output`` of every option that writes a file, and of the checkpoint that --resume continues from.

    Any other word of the command line may name an input: ``FILE``, ``NAME=FILE`` or ``NAME=FILE:COLUMN``.
    """
    outputs = {action.dest: vars(action)["writes"] for action in parser._actions if "writes" in vars(action)}
    asked, inputs = {str(getattr(arguments, name)) for name in outputs}, list[str | Path]()
    for name, value in vars(arguments).items():
        for word in value if isinstance(value, list) else [value]:
            if isinstance(word, str | Path) and name not in outputs:
                word = str(word).rpartition(":")[0] or word if name == "tagger" else word  # MODEL:TASK
                text = str(located(str(word)) if name in ("model", "warm_start", "tagger") else word)
                names = (text, text.partition("=")[2], text.partition("=")[2].rpartition(":")[0])
                # A text is no path, but an input that is missing may be what would be written.
                inputs += [path for path in names if path in asked or os.path.exists(path)]  # noqa: PTH110
    for name, kind in outputs.items():
        if (path := getattr(arguments, name)) is None:
            continue
        written = {path: kind(arguments) if callable(kind) else kind}
        if name == "output" and hasattr(arguments, "resume"):
            written[checkpoint_of(path)] = "model"
        for one, kind_of_one in written.items():
            check_output(one, kind_of_one, inputs=inputs, overwrite=getattr(arguments, "overwrite", True))
            inputs.append(one)


def checkpoint_of(path: Path) -> Path:
    """Where the state of a training run is kept until the file at ``path`` is written."""
    return path.parent / f"{path.name}.checkpoint"


def check_output(
    path: str | Path | None, kind: str, *, inputs: Iterable[str | Path | None] = (), overwrite: bool = False
) -> None:
    """Raise ConfigurationError if ``path`` cannot be written, or if writing it would destroy something else.

    ``kind`` is a key of ``_KINDS``, such as "model", or the name of a format: what the file will be, and what an
    existing file must be to be replaced. With ``overwrite`` any file is, except one of the ``inputs``, under any name.
    An unfinished file that a killed run left next to it is removed.
    """
    if path is None:  # nothing is to be written
        return
    path, what = Path(path), "the output"
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
        tables = ("csv-spans",) if kind == "csv" else ()  # a tagged table of texts is one
        if (present_kind := _kind_of(path)) not in (kind, "empty", *tables):
            expected = f"must not replace a file that is not {_title(kind)}: --overwrite does"
            raise ConfigurationError(what, expected=expected, got=_title(present_kind), where=path)
        if not path.stat().st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH) or not os.access(path, os.W_OK):
            raise ConfigurationError(what, expected="must not replace a read-only file: --overwrite does", where=path)
    with suppress(OSError):
        remove_abandoned(path)


def _is_same(path: Path, other: Path) -> bool:
    """Whether two names mean one regular file, also through links; or will, once it exists."""
    if path.resolve() == other.resolve():
        return path.is_file() or not path.exists()  # a device may be read and written
    return path.is_file() and other.is_file() and path.samefile(other)


def _kind_of(path: Path) -> str:
    """The kind of an existing file; "other" if Postil does not write such files."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
        if not head:
            return "empty"
        return next((kind for kind, (_, recognises) in _KINDS.items() if recognises(head)), None) or format_of(
            str(path)
        )
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


_KINDS: dict[str, tuple[str, Callable[[bytes], bool]]] = {
    "model": ("a model file", lambda head: head[8:].startswith(MAGIC)),
    "report": ("an HTML page", lambda head: head.lstrip()[:14].lower() == b"<!doctype html"),
    "picture": ("an SVG picture", lambda head: head.lstrip().startswith((b"<svg", b"<?xml")) and b"<svg" in head),
    "markdown": ("a Markdown page", lambda head: head.startswith(b"# ")),
    "log": ("the log of a training run", _is_log),
    "parquet": ("a Parquet file", lambda head: head.startswith(b"PAR1")),
    "spacy": ("a DocBin", lambda head: head.startswith(b"\x78\x9c")),  # compressed by zlib, as DocBin does
    "vectors": ("a file of word vectors", _is_vectors),
    "clusters": ("a file of word clusters", lambda head: re.match(rb"[01]+\t[^\t\n]+\t\d+\n", head) is not None),
    "other": ("another kind of file", lambda head: False),
}
"""Kind of file -> what it is called, and whether a file that begins with these bytes is one."""


def _title(kind: str) -> str:
    return _KINDS[kind][0] if kind in _KINDS else FORMATS[kind].title
