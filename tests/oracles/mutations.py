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
    *(b"(", b")", b"()", b"( ", b" )", b"(2 x)", b"-LRB-", b"\\/"),
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


def drop_bracket(data: bytes, rng: random.Random) -> bytes:
    places = [place for place, byte in enumerate(data) if byte in b"()"] or range(len(data))
    place = rng.choice(places)
    return data[:place] + data[place + 1 :]


def swap_brackets(data: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(data))
    stretch = data[place : place + rng.choice([10, 50, 200])]
    return data[:place] + stretch.translate(bytes.maketrans(b"()", b")(")) + data[place + len(stretch) :]


def join_lines(data: bytes, rng: random.Random) -> bytes:
    place = data.find(b"\n", _place(data, rng))
    return data[:place] + rng.choice([b" ", b""]) + data[place + 1 :] if place >= 0 else data


def break_at_blank(data: bytes, rng: random.Random) -> bytes:
    place = data.find(b" ", _place(data, rng))
    return data[:place] + rng.choice([b"\n", b"\n  ", b"\n\n"]) + data[place + 1 :] if place >= 0 else data


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
    drop_bracket,
    swap_brackets,
    join_lines,
    break_at_blank,
    windows_line_ends,
    damaged_gzip,
)


def mutate(data: bytes, rng: random.Random) -> bytes:
    """One to four kinds of damage, one after the other."""
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        if data:
            data = rng.choice(MUTATIONS)(data, rng)
    return data
