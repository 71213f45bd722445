"""Text to files: written to a temporary file and renamed, so that nobody ever sees half a file."""

import gzip
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

Target = str | os.PathLike[str] | BinaryIO

_HALF = re.compile("[\ud800-\udfff]")
PIECE = 1 << 18
"""Characters that are encoded at once."""


def is_utf8(text: str) -> bool:
    """Whether a text can be written in UTF-8: it has no half of a surrogate pair."""
    return text.isascii() or _HALF.search(text) is None


def write_text(target: Target, pieces: Iterable[str]) -> None:
    """Write the pieces as UTF-8 to a path ("-": standard output, ".gz": gzip) or a binary stream."""
    if isinstance(target, str | os.PathLike) and target != "-":
        with _replaced(Path(target)) as stream:
            _write(stream, pieces)
        return
    stream = sys.stdout.buffer if isinstance(target, str | os.PathLike) else target
    _write(stream, pieces)
    stream.flush()


@contextmanager
def _replaced(path: Path) -> Iterator[BinaryIO]:
    """A new file that takes the place of ``path`` if all goes well and vanishes if not."""
    if path.exists() and not path.is_file():  # a device or a named pipe must not be replaced
        with path.open("wb") as stream:
            yield stream
        return
    path = path.resolve()  # a link stays a link
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with _created(temporary, path) as file:
            if path.suffix == ".gz":
                # Neither name nor time: the same data give the same bytes.
                with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
                    yield cast(BinaryIO, packed)
            else:
                yield file
        if path.exists():
            shutil.copymode(path, temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _created(temporary: Path, path: Path) -> BinaryIO:
    try:
        return temporary.open("xb")
    except OSError as error:  # the user did not ask for the temporary file
        raise type(error)(error.errno, error.strerror, str(path)) from None


def _write(stream: BinaryIO, pieces: Iterable[str]) -> None:
    held: list[str] = []
    size = 0
    try:
        for piece in pieces:
            held.append(piece)
            size += len(piece)
            if size >= PIECE:
                stream.write("".join(held).encode())
                held, size = [], 0
    finally:  # what comes before a mistake is written
        stream.write("".join(held).encode())
