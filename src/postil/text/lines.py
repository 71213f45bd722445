"""Bytes to lines: files, pipes and gzip streams, decoded piece by piece in flat memory.

Everything that can be wrong with a file before it has a format is found here: damaged gzip, invalid characters,
NUL bytes, endless lines.
"""

import codecs
import contextlib
import gzip
import io
import os
import re
import sys
import zlib
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO, Self, cast, final

import numpy as np

from postil.errors import ConfigurationError, DataError

Source = str | os.PathLike[str] | BinaryIO

PIECE = 1 << 18  # bytes read at a time
LINE_LIMIT = 50_000_000
"""Longest line, in characters. Beyond it, a file is not text in lines, and memory would not stay flat."""
HEAD = 1 << 16  # characters that are looked at to recognise a format

_GZIP = b"\x1f\x8b"
_NOT_TEXT = {
    b"PK\x03\x04": "a ZIP archive or an office document",
    b"BZh": "a bzip2 file",
    b"\xfd7zXZ\x00": "an xz file",
    b"\x28\xb5\x2f\xfd": "a zstd file",
    b"%PDF": "a PDF",
}
# How a source with this mark is decoded, and how what follows the mark is encoded again. The longer mark first: that of
# UTF-16 is the beginning of that of UTF-32.
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: ("utf-8-sig", "utf-8"),
    codecs.BOM_UTF32_LE: ("utf-32", "utf-32-le"),
    codecs.BOM_UTF32_BE: ("utf-32", "utf-32-be"),
    codecs.BOM_UTF16_LE: ("utf-16", "utf-16-le"),
    codecs.BOM_UTF16_BE: ("utf-16", "utf-16-be"),
}
_DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error)
_LINE_END = re.compile(r"\r\n?|\n")
_ORIGINAL_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)")


class NumberedLines(ABC):
    """The input of readers: lines with their numbers in the source ``name``."""

    name: str
    opening: "NumberedLines | None" = None
    """Where the lines do not begin with those of their source: its first ones, which say how to read the others."""

    @abstractmethod
    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        """Pairs of the number of the first line and a batch of lines without their ends; a blank one is empty."""

    def numbered(self) -> Iterator[tuple[int, str]]:
        """The lines that are not empty, each with its number."""
        return ((number, line) for first, batch in self for number, line in enumerate(batch, first) if line)

    def where(self, line: int) -> str:
        """The place for an error message."""
        return f"{self.name}, line {line}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:  # noqa: B027 - most have nothing to close
        """Close what was opened here."""


@final
class Originals:
    """The lines of a source as they stand in it, for those who write them again: with their ends, until taken."""

    def __init__(self) -> None:
        self.mark, self.encoding = b"", "utf-8"
        """The byte order mark of the source, and the encoding of what follows it."""
        self.next_line = 1
        """Number of the first line that has not been taken."""
        self._lines: deque[str] = deque()
        self.pieces: list[str] = []  # what follows these lines, not yet split

    def take(self, count: int = sys.maxsize, *, if_blank: bool = False) -> list[str]:
        """The next lines, at most ``count`` of them; the last line of the source may have no end."""
        if if_blank and (not self._lines or self._lines[0].strip(" \t\r\n")):
            return []
        if len(self._lines) <= count:
            text = "".join(self.pieces)
            found = _ORIGINAL_LINE.findall(text)
            self._lines += found
            rest = text[sum(map(len, found)) :]
            self.pieces = [rest] if rest else []
        taken = [self._lines.popleft() for _ in range(min(count, len(self._lines)))]
        if len(taken) < count:
            taken += self.pieces
            self.pieces = []
        self.next_line += len(taken)
        return taken


@final
class Lines(NumberedLines):
    """The lines of a source, in batches; a context manager that closes what it has opened.

    ``encoding`` None means UTF-8, or what a byte order mark says. "\\n", "\\r\\n" and "\\r" end a line.
    A line of nothing but spaces and tabs comes as an empty one.
    """

    def __init__(
        self, source: Source, *, encoding: str | None = None, piece: int | None = None, line_limit: int = LINE_LIMIT
    ) -> None:
        name = source if isinstance(source, str | os.PathLike) else getattr(source, "name", None)
        self.name = os.fspath(name) if isinstance(name, str | os.PathLike) else "stream"
        self.name = "standard input" if source == "-" else self.name
        self._piece = PIECE if piece is None else piece
        self._line_limit = line_limit
        self._owned = isinstance(source, str | os.PathLike) and source != "-"
        self._opened = _open(source)
        self._wrapped = not self._owned and source != "-" and self._opened is not source
        self._originals: Originals | None = Originals()  # until it is clear that nobody asks for them
        self._keeps_originals = False
        try:
            self.magic = self._opened.peek(64)[:64]
            for beginning, what in _NOT_TEXT.items():
                if self.magic.startswith(beginning):
                    raise DataError(f"this is {what}", expected="text or gzip of text", where=self.name)
            is_gzip = self.magic.startswith(_GZIP)
            self._bytes = cast(io.BufferedReader, gzip.GzipFile(fileobj=self._opened)) if is_gzip else self._opened
            self._decoder = self._make_decoder(encoding, self._originals)
        except (ConfigurationError, DataError):
            self.close()
            raise
        self._consumed = 0  # bytes
        self._ended = False
        self._next_line = 1
        self._pending: list[str] = []  # the beginning of a line whose end has not been read: joined once, at its end
        self._pending_length = 0
        self._ahead: list[str] = []  # texts that head() has read already
        self._failure: DataError | None = None  # what the next reading meets

    def close(self) -> None:
        """Close the file if it was opened here; a stream that was handed in stays open."""
        if self._owned:
            self._opened.close()
        elif self._wrapped and not self._opened.closed:
            self._opened.detach()
            self._wrapped = False

    @property
    def empty(self) -> bool:
        """Whether the source has ended without a single character."""
        return self._ended and self._next_line == 1

    def originals(self) -> Originals:
        """The lines as they stand in the source, kept from now on; to be called before the first line is read."""
        assert self._originals is not None
        self._keeps_originals = True
        return self._originals

    def head(self, size: int = HEAD) -> list[str]:
        """At least ``size`` characters of lines from the beginning, or all of them, without consuming them."""
        while not self._ended and sum(map(len, self._ahead)) < size:
            try:
                self._ahead.append(self._read_text())
            except DataError as error:
                self._failure = error  # also of the next reading
                raise
        return [line for text in self._ahead for line in lines_of(text)]

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        number = 1
        for text in self.texts():
            lines = lines_of(text)
            yield number, lines
            number += len(lines)

    def texts(self) -> Iterator[str]:
        """The same lines joined by "\\n", in pieces of whole lines; only the last line of all may lack its end."""
        if not self._keeps_originals:
            self._originals = None
        while self._ahead or not self._ended:
            text = self._ahead.pop(0) if self._ahead else self._read_text()
            if text:
                yield text

    def _read_text(self) -> str:
        if self._failure is not None:
            raise self._failure
        try:
            content = self._bytes.read1(self._piece)  # a pipe returns what it has instead of waiting for a full piece
        except _DAMAGED as error:
            what, got = "damaged gzip data", str(error).lower()
            raise DataError(what, expected="a whole gzip file", got=got, where=self.name) from None
        self._ended = not content
        piece = self._decode(content)
        self._pending.append(piece)
        self._pending_length += len(piece)
        if "\n" not in piece and not self._ended and self._pending_length <= self._line_limit:
            return ""
        text = "".join(self._pending)
        end = len(text) if self._ended else text.rfind("\n") + 1
        text, unfinished = text[:end], text[end:]
        self._pending, self._pending_length = [unfinished], len(unfinished)
        # Only the first line and the unfinished one can be longer than a piece.
        end = text.find("\n")
        first = text[:end] if end > self._line_limit else text if end < 0 else ""
        for line, before in ((first, ""), (unfinished, text)):
            if len(line) > self._line_limit:
                raise DataError(
                    "line too long",
                    expected=f"at most {self._line_limit:,} characters",
                    got=f"more, beginning with {shortened(line, 30)}",
                    where=self.where(self._next_line + line_ends(before)),
                )
        self._next_line += line_ends(text) + (text[-1:] not in ("", "\n"))
        return text

    def _decode(self, piece: bytes) -> str:
        """The text of a piece, or the part before a mistake in it: those lines are good whatever follows."""
        before = self._decoder.getstate()
        try:
            text = self._decoder.decode(piece, final=self._ended)
        except UnicodeDecodeError as error:
            held_back = len(error.object) - len(piece)  # bytes of a character that the piece before had begun
            self._decoder.setstate(before)
            text = self._decoder.decode(piece[: max(0, error.start - held_back)])
            byte, encoding = self._consumed - held_back + error.start, error.encoding.upper()
            expected = f"{encoding}, or the right encoding (--encoding latin-1 or cp1252 for older Western text)"
            got = f"byte 0x{error.object[error.start]:02x}"
            self._fails(f"invalid {encoding} at byte {byte}", expected, got, text)
        self._consumed += len(piece)
        if "\0" in text:
            text = text[: text.index("\0")]
            self._fails("NUL byte", "text", "binary data or another encoding", text)
        if self._originals is not None:
            self._originals.pieces.append(text)
        return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text

    def _fails(self, what: str, expected: str, got: str, good: str) -> None:
        """The next reading raises this, at the line in which ``good`` ends."""
        where = self.where(self._next_line + len(_LINE_END.findall(good)))
        self._failure = DataError(what, expected=expected, got=got, where=where)
        self._ended = False

    def _make_decoder(self, encoding: str | None, originals: Originals) -> io.IncrementalNewlineDecoder:
        marked = "utf-8"
        with contextlib.suppress(*_DAMAGED):  # reading will meet the damage again and name it
            beginning = self._bytes.peek(4)[:4]
            for mark, (name, rest) in _BYTE_ORDER_MARKS.items():
                if beginning.startswith(mark):
                    marked, originals.mark, originals.encoding = name, mark, rest
                    break
        encoding = encoding or marked
        try:
            if codecs.lookup(encoding).name != codecs.lookup(marked).name:
                originals.mark, originals.encoding = b"", encoding
            decoder = codecs.getincrementaldecoder(encoding)(errors="strict")
        except LookupError:
            raise unknown_encoding(encoding) from None
        # It does not translate line ends, but returns both characters of "\r\n" together.
        return io.IncrementalNewlineDecoder(decoder, translate=False)


@final
class Unread(NumberedLines):
    """A source that its reader opens itself: a folder, or a file that is not text."""

    def __init__(self, path: str) -> None:
        self.name = path
        self.empty = False

    def head(self, size: int = HEAD) -> list[str]:
        return []

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        return iter(())


def shortened(text: str, limit: int = 60) -> str:
    """``repr`` of the text, cut so that it fits into a message."""
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")


def unknown_encoding(name: str) -> ConfigurationError:
    expected = "a name such as utf-8, latin-1, cp1252, utf-16"
    return ConfigurationError("unknown encoding", expected=expected, got=repr(name))


def _open(source: Source) -> io.BufferedReader:
    if isinstance(source, str) and source == "-":
        return _open(sys.stdin.buffer)
    if isinstance(source, str | os.PathLike):
        return open(source, "rb")  # noqa: PTH123 (closed by Lines.close)
    if isinstance(cast(object, source), io.TextIOBase):
        raise ConfigurationError("cannot read from a text stream", expected="a path or a binary stream")
    return source if isinstance(source, io.BufferedReader) else io.BufferedReader(cast(io.RawIOBase, source), PIECE)


def line_ends(text: str) -> int:
    """``text.count("\\n")``, for ASCII in a quarter of the time."""
    if not text.isascii():
        return text.count("\n")
    return int(np.count_nonzero(np.frombuffer(text.encode(), np.uint8) == ord("\n")))


def lines_of(text: str) -> list[str]:
    """The lines of a text without their ends; those of nothing but spaces and tabs are empty."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    if "\n " in text or "\n\t" in text or text[:1] in (" ", "\t"):
        return [line if line.strip(" \t") else "" for line in lines]
    return lines


def split_spaces(line: str) -> list[str]:
    """Fields between runs of blanks. Not str.split(): a no-break space belongs to its token."""
    fields = line.split(" ")
    if "" in fields or "\t" in line:
        return [field for field in line.replace("\t", " ").split(" ") if field]
    return fields


# ------------------------------------------------------------------------------------------------------------- passages
# Parts of a long source that can be read separately, by other processes and in any order.


Border = Callable[[str, int], int]
"""From a text of whole lines and a position to the first position at or after it where the text can be split, with a
sentence before it; 0 if there is none."""


@final
@dataclass(frozen=True, kw_only=True, slots=True)
class Passage(NumberedLines):
    """Some lines of a source."""

    name: str
    format: str
    first: int  # number of the first line in the source, from 1
    text: str  # the lines, each with its end, but for the last one of the source perhaps
    opening: "Passage | None" = None
    whole: bool = False  # whether the source has no other lines
    mistake: DataError | None = None  # the error of the source after these lines

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        yield self.first, lines_of(self.text)
        if self.mistake is not None:
            raise self.mistake


def cut(lines: Lines, format: str, border: Border, size: int) -> Iterator[Passage]:
    """Passages up to the first border after ``size`` characters each: the same however the source arrives."""
    make = partial(Passage, name=lines.name, format=format)
    first, opening = 1, None
    mistake: DataError | None = None
    held, enough = "", size
    texts = lines.texts()
    while True:
        try:
            text = next(texts, "")
        except DataError as error:
            text, mistake = "", error
        held += text
        enough = enough if text else size
        while len(held) > enough:
            end = border(held, size)
            if not end:
                enough = 5 * len(held) // 4  # so that a long search is not done again for every little piece
                break
            passage = make(first=first, text=held[:end], opening=opening)
            yield passage
            opening = opening or make(first=1, text=held[: border(held, 0)])
            first += line_ends(passage.text)
            held, enough = held[end:], size
        if not text:
            break
    if held or first == 1 or mistake is not None:
        yield make(first=first, text=held, opening=opening, whole=first == 1, mistake=mistake)
