"""Just enough of the Parquet format to read one column of strings, so that nobody has to install 170 MB for it.

Read are files of one column of byte arrays without missing values, plain or dictionary-coded, uncompressed or Snappy,
in data pages of version 1: what pyarrow and pandas write by default. Anything else is refused.

    "PAR1" | pages | footer (Thrift, compact protocol) | length of the footer, 4 bytes | "PAR1"
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from postil.arrays import Array
from postil.errors import DataError

_MAGIC = b"PAR1"
_BYTE_ARRAY, _DATA_PAGE, _DICTIONARY_PAGE = 6, 0, 2
_PLAIN, _PLAIN_DICTIONARY, _RLE_DICTIONARY = 0, 2, 8


def read_strings(path: str | os.PathLike[str]) -> list[str]:
    """The strings of a Parquet file that holds one column of them."""
    data = Path(path).read_bytes()
    try:
        strings = [string.decode("utf-8") for string in _column(data)]
    except (LookupError, ValueError, TypeError, AttributeError, OverflowError, MemoryError, RecursionError) as error:
        raise DataError(
            "cannot read the Parquet file", expected="one column of strings", got=error, where=path
        ) from None
    return strings


def _column(data: bytes) -> Iterator[bytes]:
    if data[:4] != _MAGIC or data[-4:] != _MAGIC:
        raise ValueError("something else")
    footer_length = int.from_bytes(data[-8:-4], "little")
    footer, _ = _thrift_struct(data, len(data) - 8 - footer_length)
    for row_group in footer[4]:
        if len(row_group[1]) != 1:
            raise ValueError(f"{len(row_group[1])} columns")
        chunk = row_group[1][0][3]
        if chunk[1] != _BYTE_ARRAY:
            raise ValueError("a column of numbers")
        optional = footer[2][1].get(3, 0) == 1
        pages = data[chunk.get(11, chunk[9]) :][: chunk[7]]
        yield from _chunk(pages, total=chunk[5], codec=chunk[4], optional=optional)


def _chunk(data: bytes, total: int, codec: int, optional: bool) -> Iterator[bytes]:
    """The ``total`` values of the pages of one column chunk."""
    words: list[bytes] = []
    start = 0
    while start < len(data):
        header, start = _thrift_struct(data, start)
        if header[1] not in (_DATA_PAGE, _DICTIONARY_PAGE):
            raise ValueError(f"a page of kind {header[1]}")
        if header[3] < 0:
            raise ValueError("a page that ends before it begins")
        page = _decompressed(data[start : start + header[3]], codec)
        start += header[3]
        if header[1] == _DICTIONARY_PAGE:
            words = _plain(page, header[7][1])
        else:
            count, encoding = header[5][1], header[5][2]
            total -= count
            if total < 0:  # before so many of them are made
                raise ValueError("more values than the file has")
            values = _without_levels(page, count) if optional else page
            yield from _page_values(values, count, encoding, words)
    if total:
        raise ValueError("fewer values than the file has")


def _page_values(values: bytes, count: int, encoding: int, words: list[bytes]) -> list[bytes]:
    if encoding == _PLAIN:
        return _plain(values, count)
    if encoding in (_PLAIN_DICTIONARY, _RLE_DICTIONARY):
        return [words[index] for index in _hybrid(values[1:], values[0], count).tolist()]
    raise ValueError(f"encoding {encoding}")


def _without_levels(page: bytes, count: int) -> bytes:
    """Skip the definition levels, after making sure that no value is missing."""
    length = int.from_bytes(page[:4], "little")
    if not _hybrid(page[4 : 4 + length], 1, count).all():
        raise ValueError("a missing value")
    return page[4 + length :]


def _plain(page: bytes, count: int) -> list[bytes]:
    """``count`` strings, each behind its length in 4 bytes."""
    found, place = [], 0
    for _ in range(count):
        end = place + 4 + int.from_bytes(page[place : place + 4], "little")
        if end > len(page):
            raise ValueError("a page that is cut")
        found.append(page[place + 4 : end])
        place = end
    return found


def _hybrid(data: bytes, width: int, count: int) -> Array:
    """``count`` numbers of ``width`` bits, in runs of equal ones and bit-packed groups of eight."""
    if width == 0:  # a dictionary of one word needs no bits to say which
        return np.zeros(count, np.int64)
    parts, found, place = [np.zeros(0, np.int64)], 0, 0
    while found < count:
        head, place = _varint(data, place)
        if head & 1:
            size = (head >> 1) * width
            bits = np.unpackbits(np.frombuffer(data, np.uint8, size, place), bitorder="little")
            part = bits.reshape(-1, width).astype(np.int64) @ (1 << np.arange(width))
        else:
            size = (width + 7) // 8
            part = np.full(min(head >> 1, count - found), int.from_bytes(data[place : place + size], "little"))
        place += size
        parts.append(part)
        found += len(part)
    return np.concatenate(parts)[:count]


def _decompressed(page: bytes, codec: int) -> bytes:
    if codec not in (0, 1):
        raise ValueError(f"compression {codec}")
    return _unsnappy(page) if codec else page


def _unsnappy(data: bytes) -> bytes:
    """Undo Snappy: a length, then literal stretches and copies of what came before."""
    size, place = _varint(data, 0)
    out = bytearray()
    while place < len(data):
        tag = data[place]
        kind, length, place = tag & 3, tag >> 2, place + 1
        if kind == 0:
            if length >= 60:
                wide = length - 59
                length, place = int.from_bytes(data[place : place + wide], "little"), place + wide
            out += data[place : place + length + 1]
            place += length + 1
            continue
        if kind == 1:
            back, length, place = (tag >> 5) << 8 | data[place], (length & 7) + 4, place + 1
        else:
            wide = 2 if kind == 2 else 4
            back, length, place = int.from_bytes(data[place : place + wide], "little"), length + 1, place + wide
        start = len(out) - back
        if not 0 <= start < len(out):
            raise ValueError("a copy of bytes before the page")
        out += out[start : start + length] if back >= length else (out[start:] * (length // back + 1))[:length]
    if len(out) != size:
        raise ValueError("a compressed page that is cut")
    return bytes(out)


# ---------------------------------------------------------------------------------- Thrift, compact protocol


def _thrift_struct(data: bytes, place: int) -> tuple[dict[int, Any], int]:
    """A struct as {field number: value}, and where it ends."""
    fields: dict[int, Any] = {}
    number = 0
    while head := data[place]:
        place += 1
        if head >> 4:
            number += head >> 4
        else:
            number, place = _zigzag(data, place)
        fields[number], place = _thrift_value(data, place, head & 15)
    return fields, place + 1


def _thrift_value(data: bytes, place: int, kind: int) -> tuple[Any, int]:
    if kind in (1, 2):  # true, false: in the field's head
        return kind == 1, place
    if kind == 3:
        return data[place], place + 1
    if kind in (4, 5, 6):
        return _zigzag(data, place)
    if kind == 7:
        if place + 8 > len(data):
            raise ValueError("a number that is cut")
        return None, place + 8  # a double: none that is needed here
    if kind == 8:
        length, place = _varint(data, place)
        return data[place : place + length], place + length
    if kind in (9, 10):
        return _thrift_list(data, place)
    if kind == 12:
        return _thrift_struct(data, place)
    raise ValueError(f"a field of kind {kind}")


def _thrift_list(data: bytes, place: int) -> tuple[list[Any], int]:
    head, place = data[place], place + 1
    count, kind = head >> 4, head & 15
    if count == 15:
        count, place = _varint(data, place)
    values = []
    for _ in range(count):
        if kind in (1, 2):  # a truth value stands in a byte of its own here
            value, place = data[place] == 1, place + 1
        else:
            value, place = _thrift_value(data, place, kind)
        values.append(value)
    return values, place


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte, place = data[place], place + 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, place


def _zigzag(data: bytes, place: int) -> tuple[int, int]:
    value, place = _varint(data, place)
    return value >> 1 ^ -(value & 1), place
