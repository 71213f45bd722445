"""Model files of CRFsuite itself, read and never written. A file is checked completely when it is opened.

    header      "lCRF", size, "FOMC", version, numbers of features, labels, attributes, and where each part begins
    "FEAT"      size, number, then (type, source, label, weight) of every feature; type 0 has an attribute as its
                source, type 1 a label
    "CQDB"      the names of labels, and another one those of attributes: 256 hash tables, records (number of the name,
                length with the final zero, bytes), and at ``backward[i]`` where the record of name i begins

All numbers are little-endian, 32 bits wide, the weights 64. Names are looked up in the file's own hash tables, so no
dictionary is made when a file is opened. It is read, not mapped: CRFsuite writes models in place, and a process crashes
if another one cuts a file that it has mapped.
"""

from collections.abc import Iterator, Sequence
from struct import Struct
from typing import NamedTuple, final, overload

import numpy as np

from postil.arrays import Array
from postil.errors import ModelFileError
from postil.kernels import PairWeights

MAGIC = b"lCRF"
LARGEST_WEIGHT = 1e100
"""Sums of weights must stay finite."""
MOST_TRANSITION_BYTES = 64 << 20
"""Of the table of all pairs of labels, or 16 times the file if that is more: a small file must not take much memory."""

_FEATURE = np.dtype([("type", "<u4"), ("source", "<u4"), ("label", "<u4"), ("weight", "<f8")])
_HEADER, _CHUNK = Struct("<4sI4s9I"), Struct("<4sII")
_NAMES, _TWO, _BLOCK = Struct("<4s5I"), Struct("<II"), Struct("<III")
_TABLES, _BYTE_ORDER = 256, 0x62445371
_RECORDS = _NAMES.size + _TABLES * _TWO.size  # where the first record may begin
_MOST_PROBES = 1000  # half of a table is empty, so a name is found after a few


def check_labels(labels: Sequence[str], size: int) -> None:
    """A ValueError unless these are different labels of which a file of ``size`` bytes may have as many."""
    if len(set(labels)) != len(labels):
        raise ValueError("two labels have the same name")
    if 8 * len(labels) ** 2 > max(MOST_TRANSITION_BYTES, 16 * size):
        raise ValueError(f"{len(labels)} labels in {size} bytes")


def check_weights(weights: Array) -> None:
    if len(weights) and not np.abs(weights).max() <= LARGEST_WEIGHT:  # false for NaN
        raise ValueError("a weight is not finite")


class CRFsuiteFile(NamedTuple):
    """The content of a file."""

    labels: list[str]
    attributes: "Names"
    pairs: PairWeights
    weights: Array  # (K,)
    transitions: Array  # (L, L)


def parsed(content: bytes, where: object) -> CRFsuiteFile:
    """Read a file; a ModelFileError if it is cut, damaged, or not one of a first-order model."""
    try:
        return _parsed(content)
    except ValueError as error:
        raise ModelFileError("damaged CRFsuite model", got=error, where=where) from None


def _parsed(content: bytes) -> CRFsuiteFile:
    if len(content) < _HEADER.size or content[8:12] != b"FOMC":
        raise ValueError("no complete header of a first-order model")
    _, size, _, _, _, L, A, features_at, labels_at, attributes_at, _, _ = _HEADER.unpack_from(content)
    if size > len(content):
        raise ValueError(f"cut: {len(content)} of {size} bytes")
    labels = [*Names(content, labels_at, L)]
    check_labels(labels, len(content))
    attributes = Names(content, attributes_at, A)
    if features_at + _CHUNK.size > len(content) or content[features_at : features_at + 4] != b"FEAT":
        raise ValueError("no features")
    _, _, K = _CHUNK.unpack_from(content, features_at)
    first = features_at + _CHUNK.size
    if first + K * _FEATURE.itemsize > len(content):
        raise ValueError(f"cut: {K} features do not fit into the file")
    features = np.frombuffer(content, _FEATURE, K, first)
    states, steps = _of_type(features)
    owners, targets, weights = _columns(states, A, L)
    firsts = np.zeros(A + 1, np.int64)
    np.cumsum(np.bincount(owners, minlength=A), out=firsts[1:])
    transitions = np.zeros((L, L))
    sources, following, of_steps = _columns(steps, L, L)
    transitions[sources, following] = of_steps
    return CRFsuiteFile(labels, attributes, PairWeights(firsts, targets), weights, transitions)


def _of_type(features: Array) -> tuple[Array, Array]:
    """Features of attributes and of labels: CRFsuite writes them in this order, other programs may not."""
    types = features["type"]
    count = int(np.searchsorted(types, 1))
    if types[:count].any() or (types[count:] != 1).any():
        if int(types.max()) > 1:
            raise ValueError("a feature of an unknown type")
        features, count = features[np.argsort(types, kind="stable")], len(types) - int(np.count_nonzero(types))
    return features[:count], features[count:]


def _columns(features: Array, sources: int, L: int) -> tuple[Array, Array, Array]:
    """Sources, labels and weights of features, ordered by source and label, each pair once."""
    owners, labels = features["source"].astype(np.int64), features["label"].astype(np.int64)
    weights = features["weight"].astype(np.float64)
    if len(owners) and (int(owners.max()) >= sources or int(labels.max()) >= L):
        raise ValueError("a feature of an unknown name")
    check_weights(weights)
    places = owners * L + labels
    if not (places[1:] > places[:-1]).all():
        order = np.argsort(places)
        places, owners, labels, weights = places[order], owners[order], labels[order], weights[order]
        if not (places[1:] > places[:-1]).all():
            raise ValueError("a feature stands twice")
    return owners, labels.astype(np.int32), weights


@final
class Names(Sequence[str]):
    """The names in a "CQDB": name i, and the number of a name. Nothing is made of them before it is asked for."""

    def __init__(self, content: bytes, begin: int, count: int) -> None:
        if begin + _RECORDS > len(content) or content[begin : begin + 4] != b"CQDB":
            raise ValueError("no names")
        _, size, _, order, room, backward = _NAMES.unpack_from(content, begin)
        if order != _BYTE_ORDER or not _RECORDS <= size <= len(content) - begin:
            raise ValueError("names without an end")
        if count > room or (count and backward + 4 * count > size):
            raise ValueError(f"{count} names do not fit into the file")
        self._chunk = memoryview(content)[begin : begin + size]
        self._first: Array = np.frombuffer(self._chunk, "<u4", count, backward if count else 0).astype(np.int64) + 8
        self._end = self._ends()
        self._numbers: dict[str, int] | None = None
        self._asked = 0

    def _ends(self) -> Array:
        """Where each name ends; they neither overlap nor lie outside."""
        first, bytes_ = self._first, np.frombuffer(self._chunk, np.uint8)
        if not len(first):
            return first
        order = None if (first[1:] > first[:-1]).all() else np.argsort(first)
        rising = first if order is None else first[order]
        last = int(rising[-1])
        if int(rising[0]) < _RECORDS + 8 or last > len(bytes_):
            raise ValueError("a name lies outside of its part")
        end = np.empty_like(first)  # each name ends where the next record begins; the last one says how long it is
        end[:-1] = rising[1:] - 9
        end[-1] = last + int.from_bytes(self._chunk[last - 4 : last], "little") - 1
        if int(end[-1]) >= len(bytes_) or (end < rising).any():
            raise ValueError("a name is cut, or overlaps another")
        if bytes_[end].any():
            raise ValueError("a name without an end")
        if order is not None:
            end[order] = end.copy()
        return end

    def __len__(self) -> int:
        return len(self._first)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(len(self))[index]]
        return str(self._chunk[self._first[index] : self._end[index]], "utf8", "surrogateescape")

    def __iter__(self) -> Iterator[str]:
        chunk = self._chunk
        for first, end in zip(self._first.tolist(), self._end.tolist(), strict=True):
            yield str(chunk[first:end], "utf8", "surrogateescape")

    def find(self, name: str) -> int | None:
        """The number of a name; None if it is not there.

        The hash tables of the file serve for few names. For many, a dictionary is quicker, and then worth making.
        """
        if self._numbers is None:
            self._asked += 1
            if self._asked <= 100 + len(self) // 16:
                try:
                    return self._probed(name)
                except LookupError:
                    pass
            self._numbers = {other: number for number, other in enumerate(self)}
        return self._numbers.get(name.partition("\0")[0])

    def _probed(self, name: str) -> int | None:
        """A LookupError if the hash tables are no help: only names whose places were checked are found by them."""
        key = name.encode("utf8", "surrogateescape").partition(b"\0")[0]  # as C reads it
        hashed = hash_of(key + b"\0")
        at, count = _TWO.unpack_from(self._chunk, _NAMES.size + _TWO.size * (hashed % _TABLES))
        if at + _TWO.size * count > len(self._chunk):
            raise LookupError
        for probe in range(min(count, _MOST_PROBES)):
            found, record = _TWO.unpack_from(self._chunk, at + _TWO.size * (((hashed >> 8) + probe) % count))
            if not record:
                return None
            if found == hashed and record + _TWO.size <= len(self._chunk):
                number, _ = _TWO.unpack_from(self._chunk, record)
                if number >= len(self) or self._first[number] != record + _TWO.size:
                    raise LookupError
                if self._chunk[self._first[number] : self._end[number]] == key:
                    return int(number)
        if count:
            raise LookupError
        return None


def hash_of(key: bytes) -> int:
    """Bob Jenkins's lookup3 of the key, by which the tables are ordered. Rotations are written out: this runs often."""
    m = 0xFFFFFFFF
    a = b = c = (0xDEADBEEF + len(key)) & m
    padded = key + bytes(-len(key) % 12)
    blocks = [*_BLOCK.iter_unpack(padded)]
    for x, y, z in blocks[:-1]:
        a, b, c = a + x & m, b + y & m, c + z & m
        a, c = a - c & m ^ (c << 4 & m | c >> 28), c + b & m
        b, a = b - a & m ^ (a << 6 & m | a >> 26), a + c & m
        c, b = c - b & m ^ (b << 8 & m | b >> 24), b + a & m
        a, c = a - c & m ^ (c << 16 & m | c >> 16), c + b & m
        b, a = b - a & m ^ (a << 19 & m | a >> 13), a + c & m
        c, b = c - b & m ^ (b << 4 & m | b >> 28), b + a & m
    x, y, z = blocks[-1]
    a, b, c = a + x & m, b + y & m, c + z & m
    c = (c ^ b) - (b << 14 & m | b >> 18) & m
    a = (a ^ c) - (c << 11 & m | c >> 21) & m
    b = (b ^ a) - (a << 25 & m | a >> 7) & m
    c = (c ^ b) - (b << 16 & m | b >> 16) & m
    a = (a ^ c) - (c << 4 & m | c >> 28) & m
    b = (b ^ a) - (a << 14 & m | a >> 18) & m
    hashed: int = (c ^ b) - (b << 24 & m | b >> 8) & m
    return hashed
