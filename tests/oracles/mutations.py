"""Damage to files as it happens in life: bytes flipped, lines cut, columns swapped, encodings mixed."""

import gzip
import random
from collections.abc import Callable

Mutation = Callable[[bytes, random.Random], bytes]


def _place(data: bytes, rng: random.Random) -> int:
    return rng.randrange(len(data) + 1)


def flip_byte(data: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(data))
    return data[:place] + bytes([data[place] ^ (1 << rng.randrange(8))]) + data[place + 1 :]


def random_byte(data: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(data))
    return data[:place] + bytes([rng.randrange(256)]) + data[place + 1 :]


INSERTIONS = (
    *(b"\0", b"\xff", b"\xc3", b"\t", b"\t\t", b" ", b"\n", b"\n\n", b"\r", b"\r\n", b"#", b"# ", b"-DOCSTART-"),
    *(text.encode() for text in ("\ufeff", "\u2028", "\x85", "\xa0", '"', "\\", "{", "]", "_", "|")),
    *(b"\\ud800", b"\\u0000", b"1e999", b"NaN", b"-1", "é".encode("latin-1")),
)


def insert_something(data: bytes, rng: random.Random) -> bytes:
    place = _place(data, rng)
    return data[:place] + rng.choice(INSERTIONS) + data[place:]


def cut_stretch(data: bytes, rng: random.Random) -> bytes:
    place = _place(data, rng)
    return data[:place] + data[place + rng.choice([1, 1, 2, 5, 20, 200]) :]


def cut_end(data: bytes, rng: random.Random) -> bytes:
    return data[: _place(data, rng)]


def _on_lines(change: Callable[[list[bytes], random.Random], None]) -> Mutation:
    def mutation(data: bytes, rng: random.Random) -> bytes:
        lines = data.split(b"\n")
        change(lines, rng)
        return b"\n".join(lines)

    mutation.__name__ = change.__name__
    return mutation


@_on_lines
def cut_line(lines: list[bytes], rng: random.Random) -> None:
    index = rng.randrange(len(lines))
    lines[index] = lines[index][: rng.randrange(len(lines[index]) + 1)]


@_on_lines
def drop_line(lines: list[bytes], rng: random.Random) -> None:
    del lines[rng.randrange(len(lines))]


@_on_lines
def double_line(lines: list[bytes], rng: random.Random) -> None:
    index = rng.randrange(len(lines))
    lines.insert(rng.randrange(len(lines)), lines[index])


@_on_lines
def swap_lines(lines: list[bytes], rng: random.Random) -> None:
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[one], lines[other] = lines[other], lines[one]


@_on_lines
def swap_columns(lines: list[bytes], rng: random.Random) -> None:
    index = rng.randrange(len(lines))
    cells = lines[index].split(b"\t")
    rng.shuffle(cells)
    lines[index] = b"\t".join(cells)


@_on_lines
def drop_column(lines: list[bytes], rng: random.Random) -> None:
    index = rng.randrange(len(lines))
    cells = lines[index].split(b"\t")
    del cells[rng.randrange(len(cells))]
    lines[index] = b"\t".join(cells)


@_on_lines
def tabs_to_spaces(lines: list[bytes], rng: random.Random) -> None:
    index = rng.randrange(len(lines))
    lines[index] = lines[index].replace(b"\t", b" ")


def windows_line_ends(data: bytes, rng: random.Random) -> bytes:
    return data.replace(b"\n", b"\r\n")


def damaged_gzip(data: bytes, rng: random.Random) -> bytes:
    return rng.choice([flip_byte, cut_end, random_byte])(gzip.compress(data, 1, mtime=0), rng)


MUTATIONS: tuple[Mutation, ...] = (
    flip_byte,
    random_byte,
    insert_something,
    cut_stretch,
    cut_end,
    cut_line,
    drop_line,
    double_line,
    swap_lines,
    swap_columns,
    drop_column,
    tabs_to_spaces,
    windows_line_ends,
    damaged_gzip,
)


def mutate(data: bytes, rng: random.Random) -> bytes:
    """One to four kinds of damage, one after the other."""
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        if data:
            data = rng.choice(MUTATIONS)(data, rng)
    return data
