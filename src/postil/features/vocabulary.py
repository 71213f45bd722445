"""Strings and their ids as three arrays, which serve straight from a memory-mapped file.

A vocabulary is
    ``text``     uint8, the UTF-8 bytes of all strings one after the other,
    ``offsets``  int32 (V + 1,), string ``i`` is ``text[offsets[i]:offsets[i + 1]]``,
    ``slots``    int32 (S,), S a power of two above 2 V: a hash table of ids, -1 where a slot is free.

A string's search begins at slot ``crc32(bytes) mod S`` and goes on slot by slot until the string or a free slot is
found. CRC-32 is the same on every machine and in every process, which Python's own ``hash`` is not.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, final
from zlib import crc32

import numpy as np

from postil.arrays import Array, describe
from postil.errors import ConfigurationError, IndexRangeError, ModelFileError

# Strings from broken text may hold half of a surrogate pair, which strict UTF-8 refuses.
_SURROGATES = "surrogatepass"
_MOST_BYTES = np.iinfo(np.int32).max
_DTYPES = {"text": np.dtype(np.uint8), "offsets": np.dtype(np.int32), "slots": np.dtype(np.int32)}


@final
class Vocabulary:
    """V different strings, numbered from 0 in the order in which they were given."""

    __slots__ = ("_arrays", "_mask", "_offsets", "_slots", "_text")

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        self._arrays = {name: _checked(arrays, name) for name in _DTYPES}
        # Indexing a memoryview returns a Python int in a third of the time that an array takes for a NumPy scalar.
        self._text, self._offsets, self._slots = (array.data for array in self._arrays.values())
        self._mask = len(self._slots) - 1
        _check_sizes(self._text, self._offsets, self._slots)

    @classmethod
    def build(cls, strings: Iterable[str]) -> "Vocabulary":
        """Number the strings in their order; a string that comes twice is an error."""
        encoded = [string.encode("utf-8", _SURROGATES) for string in strings]
        _check_distinct(encoded)
        lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
        if lengths.sum() > _MOST_BYTES:
            raise ConfigurationError("vocabulary too large", expected="at most 2 GiB of text", got=int(lengths.sum()))
        offsets = np.zeros(len(encoded) + 1, np.int32)
        np.cumsum(lengths, out=offsets[1:])
        text = np.frombuffer(b"".join(encoded), np.uint8)
        return cls({"text": text, "offsets": offsets, "slots": _filled_slots(encoded)})

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> "Vocabulary":
        """The vocabulary whose ``arrays`` these are; nothing is copied and nothing is built."""
        return cls(arrays)

    def arrays(self) -> dict[str, Array]:
        """``text``, ``offsets`` and ``slots``, for the model file."""
        return dict(self._arrays)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, index: int) -> str:
        if not 0 <= index < len(self):
            raise IndexRangeError("no such id in the vocabulary", expected=f"0 to {len(self) - 1}", got=index)
        return str(self._text[self._offsets[index] : self._offsets[index + 1]], "utf-8", _SURROGATES)

    def __iter__(self) -> Iterator[str]:
        return (self[index] for index in range(len(self)))

    def id(self, string: str, default: int = -1) -> int:
        """The string's id, or ``default`` when it is not in the vocabulary."""
        try:
            encoded = string.encode()
        except UnicodeEncodeError:  # rare, and asking for it at once would take as long as the search
            encoded = string.encode("utf-8", _SURROGATES)
        text, offsets, slots, mask = self._text, self._offsets, self._slots, self._mask
        slot = crc32(encoded) & mask
        while (index := slots[slot]) >= 0:
            if text[offsets[index] : offsets[index + 1]] == encoded:
                return index
            slot = (slot + 1) & mask
        return default

    def ids(self, strings: Iterable[str], default: int = -1) -> Array:
        """(N,) int64, the id of each string, ``default`` for those that are not in the vocabulary."""
        return np.fromiter((self.id(string, default) for string in strings), np.int64)

    def __contains__(self, string: object) -> bool:
        return isinstance(string, str) and self.id(string) >= 0

    def __reduce__(self) -> tuple[Any, ...]:
        return Vocabulary, (self._arrays,)

    def __repr__(self) -> str:
        return f"Vocabulary of {len(self):,} strings"


def arrays_under(prefix: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """The arrays whose name begins with the prefix, under the rest of their name: several things in one file."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _filled_slots(encoded: list[bytes]) -> Array:
    """The hash table of a vocabulary: less than half full, so that a search looks at two slots on average."""
    size = 1 << (2 * len(encoded)).bit_length()
    mask = size - 1
    slots = [-1] * size
    for index, string in enumerate(encoded):
        slot = crc32(string) & mask
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = index
    return np.array(slots, np.int32)


def _check_distinct(encoded: list[bytes]) -> None:
    if len(set(encoded)) == len(encoded):
        return
    seen: dict[bytes, int] = {}
    for index, string in enumerate(encoded):
        first = seen.setdefault(string, index)
        if first != index:
            raise ConfigurationError(
                "a string stands twice in a vocabulary",
                expected="different strings",
                got=f"{string.decode('utf-8', _SURROGATES)!r} at {first} and {index}",
            )


def _checked(arrays: Mapping[str, Array], name: str) -> Array:
    array = arrays.get(name)
    if array is None or array.ndim != 1 or array.dtype != _DTYPES[name]:
        got = "none" if array is None else describe(array)
        raise ModelFileError(f"array {name!r} of a vocabulary", expected=f"a vector of {_DTYPES[name]}", got=got)
    return np.ascontiguousarray(array)


def _check_sizes(text: memoryview, offsets: memoryview, slots: memoryview) -> None:
    """What can be known without reading the whole file: a search ends, and the last string ends with the text."""
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(text):
        got = f"{len(text)} bytes, {len(offsets)} offsets"
        raise ModelFileError("text of a vocabulary", expected="offsets from 0 to the number of bytes", got=got)
    if len(slots) < len(offsets) or len(slots) & (len(slots) - 1):
        raise ModelFileError(
            "hash table of a vocabulary",
            expected=f"a power of two above the {len(offsets) - 1} strings",
            got=f"{len(slots)} slots",
        )
