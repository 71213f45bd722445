"""Feature dicts of tokens -> numbered attributes.

An item, the features of one token, is a dict or a list, read as python-crfsuite reads it:

    {"word": "Rome"}            attribute "word:Rome" with value 1
    {"title": True, "len": 4}   attributes "title" with value 1 and "len" with value 4
    {"near": {"left": ["a"]}}   attribute "near:left:a": lists, sets and dicts are nested names
    ["word=Rome", "title"]      attributes of these names with value 1

Most of the time would go into the interpreter, so there is a fast path without a line of Python per feature: pairs
(key, value) are looked up in one table by ``map``, and only a pair that is new runs code. 1, 1.0 and True are the same
key of a dict, and the same value here.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from threading import Lock
from typing import Any, final
from zlib import crc32

import numpy as np

from postil.arrays import Array
from postil.errors import DataError
from postil.kernels import Attributes

UNKNOWN = -1
MOST_CACHED = 1 << 21
"""Pairs that a table of a trained model remembers at most: text without end must not fill the memory."""


def flattened(item: Any) -> Iterator[tuple[str, float]]:
    """Names and values of the attributes of one item."""
    if not isinstance(item, dict):
        for key in item:
            yield _text(key), 1.0
        return
    for key, value in item.items():
        name = _text(key)
        if isinstance(value, dict | list | set):
            for below, weight in flattened(value):
                yield f"{name}:{below}", weight
        else:
            yield attribute(name, value)


def attribute(name: str, value: Any) -> tuple[str, float]:
    """The attribute of a key with a plain value."""
    if isinstance(value, str | bytes):
        return f"{name}:{_text(value)}", 1.0
    try:
        weight = float(value)
    except (TypeError, ValueError):
        expected = "a string, number, boolean, list, set or dict"
        raise DataError("value of a feature", expected=expected, got=repr(value)[:80], where=repr(name)) from None
    if not np.isfinite(weight):
        raise DataError("value of a feature", expected="a finite number", got=weight, where=repr(name))
    return name, weight


def _text(key: Any) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, bytes):
        return key.decode("utf8", errors="surrogateescape")
    raise DataError("name of a feature", expected="a string", got=repr(key)[:80])


@final
class ItemSequence:
    """The items of one sentence, their features flattened once for all.

    >>> ItemSequence([["foo"], {"bar": {"baz": 1}}]).items()
    [{'foo': 1.0}, {'bar:baz': 1.0}]
    """

    def __init__(self, pyseq: Iterable[Any]) -> None:
        rows = getattr(pyseq, "_rows", None)
        if rows is None:
            rows = [list(flattened(item)) for item in pyseq]
        self._rows: list[list[tuple[str, float]]] = rows
        self._encoded: tuple[object, Attributes] | None = None

    def items(self) -> list[dict[str, float]]:
        """One ``{name: value}`` per item."""
        return [dict(row) for row in self._rows]

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"<ItemSequence of size {len(self)}>"


class _PairTable(dict[tuple[Any, Any], int]):
    """(key, value) -> the code of an attribute, see ``AttributeTable``."""

    def __init__(self, owner: "AttributeTable") -> None:
        self.owner = owner

    def __missing__(self, pair: tuple[Any, Any]) -> int:
        key, value = pair
        return self.owner.code(*attribute(_text(key), value), pair=pair)


class _NameTable(dict[Any, int]):
    """Name -> the code of an attribute with value 1."""

    def __init__(self, owner: "AttributeTable") -> None:
        self.owner = owner

    def __missing__(self, key: Any) -> int:
        return self.owner.code(_text(key), 1.0)


@final
class AttributeTable:
    """Numbers of attributes. A growing one numbers new names as they come; otherwise they are unknown.

    With ``buckets`` the number of every name is its hash, below that: nothing is unknown, and names may share a number.

    Codes: the number of an attribute whose value is 1; UNKNOWN; below that -2 - 2 · number where the value is 0 (False
    is common, and is as quick as True), and -3 - 2 · i for entry i of ``_weighted``.
    """

    def __init__(self, names: Iterable[str] = (), *, grows: bool, buckets: int | None = None) -> None:
        self.ids: dict[str, int] = {name: number for number, name in enumerate(names)}
        self.grows, self.buckets = grows, buckets
        self._lock = Lock()
        self._pairs, self._names = _PairTable(self), _NameTable(self)
        self._weighted: list[tuple[int, float]] = []

    def code(self, name: str, value: float, pair: tuple[Any, Any] | None = None) -> int:
        """The code of an attribute; remembered for the pair or the name it came from unless its value is a measure."""
        number = self.ids.get(name) if self.buckets is None else _hashed(name, self.buckets)
        if number is None:
            number = self.ids.setdefault(name, len(self.ids)) if self.grows else UNKNOWN
        if number == UNKNOWN or (value == 0 and not self.grows):
            code = UNKNOWN
        elif value == 1 or value == 0:
            code = number if value else -2 - 2 * number
        else:
            self._weighted.append((number, value))
            return -1 - 2 * len(self._weighted)
        if self.grows or len(self._pairs) + len(self._names) < MOST_CACHED:
            if pair is not None:
                self._pairs[pair] = code
            elif value == 1:
                self._names[name] = code
        return code

    def encoded(self, sequences: Iterable[Any]) -> tuple[Attributes, Array]:
        """The attributes of all tokens, and where each sequence begins and ends among them (B + 1,)."""
        sequences = [s if isinstance(s, ItemSequence | list | tuple) else list(s) for s in sequences]
        offsets = _offsets_of(np.fromiter(map(len, sequences), np.int64, len(sequences)))
        if len(sequences) and all(isinstance(s, ItemSequence) for s in sequences):
            return _joined([self._ready(s) for s in sequences]), offsets
        items = [*chain.from_iterable(s._rows if isinstance(s, ItemSequence) else s for s in sequences)]
        plain = not any(isinstance(s, ItemSequence) for s in sequences)
        with self._lock:  # threads that share a model share the entries of ``_weighted``
            try:
                return self._from_codes(*(self._fast_codes(items) if plain else self._codes(items))), offsets
            except TypeError:  # nested, mixed or unhashable: one by one
                return self._from_codes(*self._codes(items)), offsets
            finally:
                self._weighted.clear()

    def _ready(self, sequence: ItemSequence) -> Attributes:
        """The attributes of a sequence, numbered once for a table that does not grow."""
        encoded = sequence._encoded  # read once: another thread may number the same sequence for another table
        if encoded is not None and encoded[0] is self:
            return encoded[1]
        with self._lock:
            attributes = self._from_codes(*self._codes(sequence._rows))
            self._weighted.clear()
        if not self.grows:
            sequence._encoded = self, attributes
        return attributes

    def _fast_codes(self, items: list[Any]) -> tuple[Array, Array]:
        sizes = np.fromiter(map(len, items), np.int64, len(items))
        if items and isinstance(items[0], list):
            if not all(type(item) is list for item in items):
                raise TypeError("mixed")
            codes = map(self._names.__getitem__, chain.from_iterable(items))
        else:
            codes = map(self._pairs.__getitem__, chain.from_iterable(map(dict.items, items)))
        return np.fromiter(codes, np.int32, int(sizes.sum())), sizes

    def _codes(self, items: list[Any]) -> tuple[Array, Array]:
        codes: list[int] = []
        sizes = np.empty(len(items), np.int64)
        for i, item in enumerate(items):
            before = len(codes)
            pairs = item if _is_flat(item) else flattened(item)
            codes.extend(self.code(name, value) for name, value in pairs)
            sizes[i] = len(codes) - before
        return np.array(codes, np.int32), sizes

    def _from_codes(self, codes: Array, sizes: Array) -> Attributes:
        places = np.flatnonzero(codes < UNKNOWN)
        if not len(places):
            return Attributes(codes, None, _offsets_of(sizes))
        values, entries = np.ones(len(codes)), np.array([(0, 0.0), *self._weighted])
        i, is_zero = (-2 - codes[places]) >> 1, codes[places] % 2 == 0
        weighted = entries[np.where(is_zero, 0, i + 1)]
        codes[places] = np.where(is_zero, i, weighted[:, 0])
        values[places] = np.where(is_zero, 0.0, weighted[:, 1])
        return Attributes(codes, values, _offsets_of(sizes))


def _hashed(name: str, buckets: int) -> int:
    return crc32(name.encode("utf8", "surrogatepass")) % buckets


def _is_flat(item: Any) -> bool:
    """Whether an item comes from an ItemSequence: a list of (name, value)."""
    return type(item) is list and bool(item) and type(item[0]) is tuple


def _offsets_of(sizes: Array) -> Array:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _joined(parts: list[Attributes]) -> Attributes:
    ids, ends = np.concatenate([part.ids for part in parts]), np.concatenate([part.offsets[1:] for part in parts])
    counts = np.fromiter([len(part.offsets) - 1 for part in parts], np.int64, len(parts))
    lengths = np.fromiter([len(part.ids) for part in parts], np.int64, len(parts))
    offsets = np.concatenate([[0], ends + np.repeat(np.cumsum(lengths) - lengths, counts)]).astype(np.int64)
    if all(part.values is None for part in parts):
        return Attributes(ids, None, offsets)
    values = [np.ones(len(part.ids)) if part.values is None else part.values for part in parts]
    return Attributes(ids, np.concatenate(values), offsets)
