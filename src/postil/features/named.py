"""Hand-made features: a dict per token, as CRFsuite's users write them, in addition to the features of words."""

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, chain, pairwise
from threading import Lock
from typing import Any, Generic, TypeVar, final
from zlib import crc32

import numpy as np

from postil import kernels
from postil.arrays import Array
from postil.errors import DataError, ModelFileError
from postil.features.vocabulary import Vocabulary
from postil.kernels import Attributes

_BUCKETS = "buckets"
MOST_BUCKETS = 1 << 30


@final
class FeatureToken(tuple[Any, ...]):
    """A token with hand-made features: (form, dict)."""

    __slots__ = ()

    @classmethod
    def of(cls, form: str, features: Mapping[str, Any]) -> "FeatureToken":
        return cls((form, features))

    def without(self, key: str) -> "FeatureToken":
        """The token with all features but those under a key."""
        return self.of(self[0], {name: value for name, value in self[1].items() if name != key})

    def only(self, key: str) -> "FeatureToken":
        """The token with no other features than those under a key."""
        return self.of(self[0], {key: self[1][key]} if key in self[1] else {})


@final
class NamedFeatures:
    """The numbers of hand-made features: those of a vocabulary, or hashed into a number of buckets.

    A feature that is not in the vocabulary is unknown, and left out.
    """

    def __init__(self, names: Vocabulary | None, buckets: int | None = None) -> None:
        self.names, self.buckets = names, buckets
        self._table = AttributeTable(names or (), grows=False, buckets=buckets)

    @classmethod
    def build(cls, sentences: Sequence[Sequence[Any]], *, min_count: int, buckets: int | None) -> "NamedFeatures":
        """Those that occur at least ``min_count`` times in the training sentences; hashed ones are all known."""
        if buckets is not None:
            return cls(None, buckets)
        table = AttributeTable(grows=True)
        attributes, _ = table.encoded([_items(sentences)])
        counts = np.bincount(attributes.ids, minlength=len(table.ids))
        return cls(Vocabulary.build(name for name, count in zip(table.ids, counts, strict=True) if count >= min_count))

    def __len__(self) -> int:
        return self.buckets if self.names is None else len(self.names)  # type: ignore[return-value]

    def of(self, sentences: Sequence[Sequence[Any]]) -> Attributes:
        """The known features of every token."""
        attributes, _ = self._table.encoded([_items(sentences)])
        ids, values, offsets = attributes
        is_known = ids >= 0
        if is_known.all():
            return attributes
        kept = np.concatenate([[0], np.cumsum(is_known)])
        return Attributes(ids[is_known], None if values is None else values[is_known], kept[offsets])

    def arrays(self) -> dict[str, Array]:
        """Everything, for the model file."""
        return {_BUCKETS: np.array([self.buckets])} if self.names is None else self.names.arrays()

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> "NamedFeatures":
        """The features whose ``arrays()`` these are."""
        if _BUCKETS not in arrays:
            return cls(Vocabulary.from_arrays(arrays))
        buckets = arrays[_BUCKETS]
        if len(arrays) > 1 or buckets.shape != (1,) or buckets.dtype != np.int64 or not 0 < buckets[0] <= MOST_BUCKETS:
            raise ModelFileError("buckets of features", expected=f"one number up to {MOST_BUCKETS}", got="others")
        return cls(None, int(buckets[0]))

    def __reduce__(self) -> tuple[Any, ...]:
        return NamedFeatures, (self.names, self.buckets)


def _items(sentences: Iterable[Sequence[Any]]) -> list[Mapping[str, Any]]:
    """The dicts of all tokens."""
    tokens = list(chain.from_iterable(sentences))
    if set(map(type, tokens)) <= {FeatureToken}:
        return [token[1] for token in tokens]
    other = next(token for token in tokens if type(token) is not FeatureToken)
    form = other if isinstance(other, str) else other[0]
    raise DataError(f"token {form!r} has no features", expected="a feature dict, as in training", got="the word alone")


# ----------------------------------------------------------------------- Feature dicts of tokens -> numbered attributes
#
# An item, the features of one token, is a dict or a list, read as python-crfsuite reads it:
#
#     {"word": "Rome"}            attribute "word:Rome" with value 1
#     {"title": True, "len": 4}   attributes "title" with value 1 and "len" with value 4
#     {"near": {"left": ["a"]}}   attribute "near:left:a": lists, sets and dicts are nested names
#     ["word=Rome", "title"]      attributes of these names with value 1
#
# Most of the time would go into the interpreter, so there is a path without a line of Python per feature: pairs (key,
# value) are looked up in one table by ``map``, those of nested dicts in a table for their prefix, and only a pair that
# is new runs code. 1, 1.0 and True are the same key of a dict, and the same value here.


UNKNOWN = -1
MOST_REMEMBERED = 1 << 16
"""Pairs that are remembered at most, about 20 MB of them: text without end must not fill the memory."""
_LONGEST_REMEMBERED = 200  # characters of a name
_IN_PYTHON = kernels.IN_USE.startswith("plain")
T = TypeVar("T")


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


class _Table(dict[Any, T]):
    """Key of a feature, or (key, value) -> what its attribute becomes; ``parsed`` returns name and value of that."""

    def __init__(self, owner: "_Memo[T]", parsed: Callable[[Any], tuple[str, float]]) -> None:
        self.owner, self.parsed = owner, parsed

    def __missing__(self, key: Any) -> T:
        name, value = self.parsed(key)
        result = self.owner.make(name, value)
        if (value == 1 or value == 0) and len(name) <= _LONGEST_REMEMBERED:
            self.owner.count()
            self[key] = result
        return result


@final
class _Memo(Generic[T]):
    """Features -> what ``make`` returns for the names and values of their attributes, which is remembered.

    At most ``most`` are: then all are forgotten, and what is common comes back. Measures, which hardly ever come again,
    are not remembered. Below each key of a nested item there is a memo with that prefix.
    """

    def __init__(
        self, make: Callable[[str, float], T], most: int | None, prefix: str = "", root: "_Memo[T] | None" = None
    ) -> None:
        self.make, self.most, self.prefix, self.root = make, most, prefix, root or self
        self.pairs = _Table(self, lambda pair: attribute(prefix + _text(pair[0]), pair[1]))
        self.names = _Table(self, lambda key: (prefix + _text(key), 1.0))
        self.below, self.size = dict[Any, _Memo[T]](), 0
        self.is_flat = True  # so far no item had nested features

    def count(self) -> None:
        root = self.root
        root.size += 1
        if root.most is not None and root.size > root.most:
            root.size = 0
            for table in (root.pairs, root.names, root.below):
                table.clear()

    def extend(self, item: Any, out: list[T]) -> None:
        """Append the attributes of one item, in the order of its features."""
        if not isinstance(item, dict):
            try:
                out.extend(map(self.names.__getitem__, item))
            except TypeError:  # a name without a hash
                for key in item:
                    _text(key)
                raise
            return
        if self.is_flat:
            before = len(out)
            try:
                out.extend(map(self.pairs.__getitem__, item.items()))
                return
            except TypeError:  # something has no hash: from now on, feature by feature
                self.is_flat = False
                del out[before:]
        for pair in item.items():
            key, value = pair
            if isinstance(value, dict | list | set):
                below = self.below.get(key)
                if below is None:
                    self.count()
                    below = self.below[key] = _Memo(self.make, None, f"{self.prefix}{_text(key)}:", self.root)
                below.extend(value, out)
                continue
            try:
                out.append(self.pairs[pair])
            except TypeError:  # no hash: an array with one number
                out.append(self.make(*attribute(self.prefix + _text(key), value)))


_FLATTENED: _Memo[tuple[str, float]] = _Memo(lambda name, value: (name, value), MOST_REMEMBERED)


class _Row(tuple[tuple[str, float], ...]):
    """The names and values of the attributes of one item."""

    __slots__ = ()

    @classmethod
    def of(cls, item: Any) -> "_Row":
        pairs: list[tuple[str, float]] = []
        _FLATTENED.extend(item, pairs)
        return cls(pairs)


@final
class ItemSequence:
    """The items of one sentence, their features flattened once for all.

    >>> ItemSequence([["foo"], {"bar": {"baz": 1}}]).items()
    [{'foo': 1.0}, {'bar:baz': 1.0}]
    """

    def __init__(self, pyseq: "Iterable[Any] | ItemSequence") -> None:
        self.content: bytes | None = None
        """A copy of the items for ``kernels.CrfFile``; None if they are not plain, or nothing was compiled."""
        self._flat: list[_Row] = []  # without such a copy
        if isinstance(pyseq, ItemSequence):
            self._size, self.content, self._flat = len(pyseq), pyseq.content, pyseq._flat
            return
        items = pyseq if isinstance(pyseq, list | tuple) else [*pyseq]
        self._size = len(items)
        self.content = None if _IN_PYTHON else kernels.item_bytes(items)
        if self.content is None:
            self._flat = [_Row.of(item) for item in items]

    def _items(self) -> list[Any]:
        """The items as they were, or flattened."""
        return self._flat if self.content is None else [*kernels.items_of(self.content)]

    def items(self) -> list[dict[str, float]]:
        """One ``{name: value}`` per item."""
        return [dict(item if type(item) is _Row else _Row.of(item)) for item in self._items()]

    def __len__(self) -> int:
        return self._size

    def __repr__(self) -> str:
        return f"<ItemSequence of size {len(self)}>"


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
        self._memo: _Memo[int] = _Memo(self._code, None if grows else MOST_REMEMBERED)
        self._weighted: list[tuple[int, float]] = []

    def _code(self, name: str, value: float) -> int:
        if self.buckets is None:
            number = self.ids.get(name)
        else:
            number = crc32(name.encode("utf8", "surrogatepass")) % self.buckets
        if number is None and self.grows:
            number = self.ids.setdefault(name, len(self.ids))
        if number is None or (value == 0 and not self.grows):
            return UNKNOWN
        if value == 1 or value == 0:
            return number if value else -2 - 2 * number
        self._weighted.append((number, value))
        return -1 - 2 * len(self._weighted)

    def encoded(self, sequences: Iterable[Any]) -> tuple[Attributes, Array]:
        """The attributes of all tokens, and where each sequence begins and ends among them (B + 1,)."""
        sequences = [
            s._items() if isinstance(s, ItemSequence) else s if isinstance(s, list) else [*s] for s in sequences
        ]
        ends = _offsets_of([*map(len, sequences)])
        with self._lock:  # threads that share a model share the entries of ``_weighted``
            try:
                found, sizes = self._codes([*chain.from_iterable(sequences)])
                codes, offsets = np.frombuffer(array("i", found), np.int32), _offsets_of(sizes)
                if not found or min(found) >= UNKNOWN:
                    return Attributes(codes, None, offsets), ends
                places = np.flatnonzero(codes < UNKNOWN)
                values, entries = np.ones(len(codes)), np.array([(0, 0.0), *self._weighted])
                i, is_zero = (-2 - codes[places]) >> 1, codes[places] % 2 == 0
                weighted = entries[np.where(is_zero, 0, i + 1)]
                codes[places] = np.where(is_zero, i, weighted[:, 0])
                values[places] = np.where(is_zero, 0.0, weighted[:, 1])
                return Attributes(codes, values, offsets), ends
            finally:
                self._weighted.clear()

    def _codes(self, items: list[Any]) -> tuple[list[int], list[int]]:
        """The codes of all attributes, and how many each item has."""
        kinds, memo = set(map(type, items)), self._memo
        if kinds == {_Row}:
            return [*map(memo.pairs.__getitem__, chain.from_iterable(items))], [*map(len, items)]
        try:
            if kinds == {list}:
                return [*map(memo.names.__getitem__, chain.from_iterable(items))], [*map(len, items)]
            if kinds == {dict} and memo.is_flat:
                return [*map(memo.pairs.__getitem__, chain.from_iterable(map(dict.items, items)))], [*map(len, items)]
        except TypeError:  # something has no hash: nested features, or a name that is not a string
            pass
        codes: list[int] = []
        ends = [0]
        for item in items:
            if type(item) is _Row:
                codes.extend(map(memo.pairs.__getitem__, item))
            else:
                memo.extend(item, codes)
            ends.append(len(codes))
        return codes, [end - first for first, end in pairwise(ends)]


def _offsets_of(sizes: list[int]) -> Array:
    return np.frombuffer(array("q", accumulate(sizes, initial=0)), np.int64)
