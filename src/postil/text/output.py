"""Text to files and streams, encoded and packed."""

import gzip
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

from postil.files import replaced

Target = str | os.PathLike[str] | BinaryIO

_HALF = re.compile("[\ud800-\udfff]")
PIECE = 1 << 18  # characters that are encoded at once


def is_utf8(text: str) -> bool:
    """Whether a text can be written in UTF-8: it has no half of a surrogate pair."""
    return text.isascii() or _HALF.search(text) is None


def write_text(target: Target, pieces: Iterable[str]) -> None:
    """Write the pieces as UTF-8 to a path ("-": standard output, ".gz": gzip) or a binary stream."""
    if isinstance(target, str | os.PathLike) and target != "-":
        with replaced(target) as file, packed(file, os.fspath(target)) as stream:
            _write(stream, pieces)
        return
    stream = sys.stdout.buffer if isinstance(target, str | os.PathLike) else target
    _write(stream, pieces)
    stream.flush()


@contextmanager
def packed(stream: BinaryIO, path: str) -> Iterator[BinaryIO]:
    """The stream itself, or one that packs what is written to it, where the path says so."""
    if not path.endswith(".gz"):
        yield stream
        return
    # Neither name nor time: the same data give the same bytes.
    with gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0) as packed:
        yield cast(BinaryIO, packed)


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
