"""Model files of CRFsuite itself, read and never written. A file is checked completely when it is opened.

    header      "lCRF", size, "FOMC", version, numbers of features, labels, attributes, and where each part begins
    "FEAT"      size, number, then (type, source, label, weight) of every feature; type 0 has an attribute as its
                source, type 1 a label
    "CQDB"      the names of labels, and another one those of attributes: 256 hash tables, records (number of the name,
                length with the final zero, bytes), and at ``backward[i]`` where the record of name i begins

All numbers are little-endian, 32 bits wide, the weights 64. Names are looked up in the file's own hash tables, so opening a
file costs little more than reading it. It is read, not mapped: CRFsuite writes models in place, and a mapped file that
another process cuts ends this one.
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
"""Of the table of all pairs of labels, unless a file has a sixteenth of that: a small file must not take much memory."""

_FEATURE = np.dtype([("type", "<u4"), ("source", "<u4"), ("label", "<u4"), ("weight", "<f8")])
_HEADER, _CHUNK = Struct("<4sI4s9I"), Struct("<4sII")
_NAMES, _TWO = Struct("<4s5I"), Struct("<II")
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
    check_weights(features["weight"])
    states, steps = _of_type(features)
    places, of_states = _places(states, A, L)
    firsts = np.zeros(A + 1, np.int64)
    np.cumsum(np.bincount(places // max(L, 1), minlength=A), out=firsts[1:])
    transitions = np.zeros(L * L)
    places_of_steps, of_steps = _places(steps, L, L)
    transitions[places_of_steps] = of_steps
    targets = (places % max(L, 1)).astype(np.int32)
    return CRFsuiteFile(labels, attributes, PairWeights(firsts, targets), of_states, transitions.reshape(L, L))


def _of_type(features: Array) -> tuple[Array, Array]:
    """Features of attributes and of labels: CRFsuite writes them in this order, other programs may not."""
    types = features["type"]
    if len(types) and int(types.max()) > 1:
        raise ValueError("a feature of an unknown type")
    count = len(types) - int(np.count_nonzero(types))
    if types[:count].any():
        features = features[np.argsort(types, kind="stable")]
    return features[:count], features[count:]


def _places(features: Array, sources: int, L: int) -> tuple[Array, Array]:
    """source · L + label of each feature, rising, and its weight."""
    if len(features) and (int(features["source"].max()) >= sources or int(features["label"].max()) >= L):
        raise ValueError("a feature of an unknown name")
    places = features["source"].astype(np.int64) * L + features["label"]
    weights = features["weight"].astype(np.float64)
    if not (places[1:] > places[:-1]).all():
        order = np.argsort(places)
        places, weights = places[order], weights[order]
        if not (places[1:] > places[:-1]).all():
            raise ValueError("a feature stands twice")
    return places, weights


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
        if int(first.min()) < _RECORDS + 8 or int(first.max()) > len(bytes_):
            raise ValueError("a name lies outside of its part")
        sizes = sum(bytes_[first - 4 + i].astype(np.int64) << 8 * i for i in range(4))
        end = first + sizes - 1
        order = slice(None) if (first[1:] > first[:-1]).all() else np.argsort(first)
        if int(sizes.min()) < 1 or int(end.max()) >= len(bytes_) or not (end[order][:-1] < first[order][1:]).all():
            raise ValueError("a name is cut, or overlaps another")
        if bytes_[end].any():
            raise ValueError("a name without an end")
        return np.asarray(end)

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
    """Bob Jenkins's lookup3 of the key, by which the tables are ordered."""
    a = b = c = (0xDEADBEEF + len(key)) & _MASK
    padded = key + bytes(-len(key) % 12)
    words = np.frombuffer(padded, "<u4").tolist()
    for i in range(0, len(words) - 3, 3):
        a, b, c = (a + words[i]) & _MASK, (b + words[i + 1]) & _MASK, (c + words[i + 2]) & _MASK
        a, c = (a - c) & _MASK ^ _turned(c, 4), (c + b) & _MASK
        b, a = (b - a) & _MASK ^ _turned(a, 6), (a + c) & _MASK
        c, b = (c - b) & _MASK ^ _turned(b, 8), (b + a) & _MASK
        a, c = (a - c) & _MASK ^ _turned(c, 16), (c + b) & _MASK
        b, a = (b - a) & _MASK ^ _turned(a, 19), (a + c) & _MASK
        c, b = (c - b) & _MASK ^ _turned(b, 4), (b + a) & _MASK
    a, b, c = (a + words[-3]) & _MASK, (b + words[-2]) & _MASK, (c + words[-1]) & _MASK
    c = (c ^ b) - _turned(b, 14) & _MASK
    a = (a ^ c) - _turned(c, 11) & _MASK
    b = (b ^ a) - _turned(a, 25) & _MASK
    c = (c ^ b) - _turned(b, 16) & _MASK
    a = (a ^ c) - _turned(c, 4) & _MASK
    b = (b ^ a) - _turned(a, 14) & _MASK
    return (c ^ b) - _turned(b, 24) & _MASK


_MASK = 0xFFFFFFFF


def _turned(x: int, bits: int) -> int:
    return (x << bits | x >> (32 - bits)) & _MASK
