"""Strings and their ids as three arrays, which serve straight from a memory-mapped file.

A vocabulary is
    ``text``     uint8, the UTF-8 bytes of all strings one after the other,
    ``offsets``  int32 (V + 1,), string ``i`` is ``text[offsets[i]:offsets[i + 1]]``,
    ``slots``    int32 (S,), S a power of two above 2 V: a hash table of ids, -1 where a slot is free,
    ``key``      uint8 (8,), only where CRC-32 does not spread the strings: the key of the hash.

A string's search begins at slot ``hash(bytes) mod S`` and goes on slot by slot until the string or a free slot is
found. The hash is CRC-32, which is the same on every machine and in every process; Python's own ``hash`` is not.
Strings can be chosen so that they all begin at one slot. Therefore no more than ``LONGEST_RUN`` neighbouring slots are
taken: a table is made larger, and in the end hashed by BLAKE2 with a key, until that holds, and ``from_arrays`` refuses
any other.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, final
from zlib import crc32

import numpy as np

from postil.arrays import Array, describe
from postil.errors import ConfigurationError, IndexRangeError, ModelFileError, is_printable
from postil.kernels.plain_text import SURROGATES, StringTable, keyed_hash

_MOST_BYTES = np.iinfo(np.int32).max
_DTYPES = {"text": "uint8", "offsets": "int32", "slots": "int32", "key": "uint8"}
LONGEST_RUN = 128
"""Slots that a search looks at, at most. A million ordinary words in a table half full make runs of up to about 70."""
_KEYS = 16  # tried before giving up


@final
class Vocabulary:
    """V distinct strings, numbered from 0 in the order given."""

    __slots__ = ("_arrays", "table")

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        """``arrays`` as ``arrays()`` returned them; ``from_arrays`` checks arrays of other origin."""
        self._arrays = dict(arrays)
        self.table = StringTable(arrays["text"], arrays["offsets"], arrays["slots"], arrays.get("key"))

    @classmethod
    def build(cls, strings: Iterable[str]) -> "Vocabulary":
        """Number the strings in order. A repeated string is an error."""
        encoded = [string.encode("utf-8", SURROGATES) for string in strings]
        if len(set(encoded)) < len(encoded):
            first = {string: i for i, string in reversed([*enumerate(encoded)])}
            index = next(i for i, string in enumerate(encoded) if first[string] < i)
            string = encoded[index]
            got = f"{string.decode('utf-8', SURROGATES)!r} at {first[string]} and {index}"
            raise ConfigurationError("a string stands twice in a vocabulary", expected="different strings", got=got)
        lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
        if lengths.sum() > _MOST_BYTES:
            raise ConfigurationError("vocabulary too large", expected="at most 2 GiB of text", got=int(lengths.sum()))
        offsets = np.zeros(len(encoded) + 1, np.int32)
        np.cumsum(lengths, out=offsets[1:])
        text = np.frombuffer(b"".join(encoded), np.uint8)
        return cls({"text": text, "offsets": offsets, **_hash_table(encoded)})

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> "Vocabulary":
        """The vocabulary that ``arrays`` returned. Nothing is copied or built, but everything is checked once."""
        checked = {}
        for name, dtype in _DTYPES.items():
            array = arrays.get(name)
            if array is None and name == "key":
                continue
            if array is None or array.ndim != 1 or array.dtype != dtype:
                got = "none" if array is None else describe(array)
                raise ModelFileError(f"array {name!r} of a vocabulary", expected=f"a vector of {dtype}", got=got)
            checked[name] = np.ascontiguousarray(array)
        unknown = sorted(set(arrays) - set(checked))
        if unknown or ("key" in checked and checked["key"].shape != (8,)):
            raise ModelFileError(
                "arrays of a vocabulary", expected="text, offsets, slots", got=", ".join(unknown) or "key"
            )
        text, offsets, slots = (checked[name] for name in ("text", "offsets", "slots"))
        V = len(offsets) - 1
        if V < 0 or offsets[0] != 0 or offsets[-1] != len(text) or (offsets[1:] < offsets[:-1]).any():
            expected, got = "offsets that rise from 0 to the number of bytes", f"{len(text)} bytes, {V + 1} offsets"
            raise ModelFileError("text of a vocabulary", expected=expected, got=got)
        begins = offsets[:-1][offsets[:-1] < len(text)]
        if not _is_utf8(text) or (text[begins] & 0xC0 == 0x80).any():
            raise ModelFileError("text of a vocabulary", expected="strings in UTF-8", got="other bytes")
        expected = got = ""  # every id is one of the V strings, and every search ends soon
        if len(slots) <= V or len(slots) & (len(slots) - 1):
            expected, got = f"a power of two above the {V} strings", f"{len(slots)} slots"
        elif slots.min() < -1 or slots.max() >= V:
            expected, got = f"ids from -1 to {V - 1}", f"{slots.min()} to {slots.max()}"
        elif _has_long_run(slots):
            expected, got = f"a free one among any {LONGEST_RUN + 1} neighbouring slots", "a longer run"
        if expected:
            raise ModelFileError("hash table of a vocabulary", expected=expected, got=got)
        return cls(checked)

    def arrays(self) -> dict[str, Array]:
        """``text``, ``offsets``, ``slots`` and perhaps ``key``, for the model file."""
        return dict(self._arrays)

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, index: int) -> str:
        if not 0 <= index < len(self):
            raise IndexRangeError("no such id in the vocabulary", expected=f"0 to {len(self) - 1}", got=index)
        return self.table.string(index)

    def __iter__(self) -> Iterator[str]:
        return (self[index] for index in range(len(self)))

    def id(self, string: str, default: int = -1) -> int:
        """The id of the string, or ``default`` if it is not in the vocabulary."""
        return self.table.id(string, default)

    def ids(self, strings: Iterable[str], default: int = -1) -> Array:
        """(N,) int64: the id of each string, or ``default`` for those not in the vocabulary."""
        return np.fromiter((self.id(string, default) for string in strings), np.int64)

    def __contains__(self, string: object) -> bool:
        return isinstance(string, str) and self.id(string) >= 0

    def __reduce__(self) -> tuple[Any, ...]:
        return Vocabulary, (self._arrays,)

    def __repr__(self) -> str:
        return f"Vocabulary of {len(self):,} strings"


def _hash_table(encoded: list[bytes]) -> dict[str, Array]:
    """``slots`` of a vocabulary, and its ``key`` if it needs one to avoid long runs of occupied slots."""
    smallest = 1 << (2 * len(encoded)).bit_length()  # less than half full: a search looks at two slots on average
    hashes = [crc32(string) for string in encoded]
    for size in (smallest, 2 * smallest, 4 * smallest):
        slots = _filled_slots(hashes, size)
        if slots is not None:
            return {"slots": slots}
    for number in range(_KEYS):
        key = np.frombuffer(number.to_bytes(8, "little"), np.uint8)
        slots = _filled_slots(list(map(keyed_hash(key.tobytes()), encoded)), smallest)
        if slots is not None:
            return {"slots": slots, "key": key}
    raise ConfigurationError("words that no hash spreads", expected="others", got=f"{len(encoded):,} words")


def _filled_slots(hashes: list[int], size: int) -> Array | None:
    """The ids at their places; None if a search would be long. Then the filling ends early, so it is also short."""
    mask = size - 1
    slots = [-1] * size
    for index, number in enumerate(hashes):
        slot = begin = number & mask
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
            if (slot - begin) & mask >= LONGEST_RUN:
                return None
        slots[slot] = index
    filled = np.array(slots, np.int32)
    return None if _has_long_run(filled) else filled


def _has_long_run(slots: Array) -> bool:
    """Whether more than LONGEST_RUN neighbouring slots are occupied; the first slot follows the last."""
    if not (slots < 0).any():
        return True
    is_free = (slots < 0).tobytes()
    return bytes(LONGEST_RUN + 1) in is_free + is_free[: LONGEST_RUN + 1]


def _is_utf8(text: Array) -> bool:
    """Whether the bytes are UTF-8, halves of surrogate pairs allowed."""
    try:
        str(text.data, "utf-8")
        return True
    except UnicodeDecodeError:
        pass
    # Halves of pairs are ED A0 to ED BF; with 9F instead they are ordinary characters. Python's own handler of them
    # takes a microsecond for each.
    changed = text.copy()
    halves = 1 + np.flatnonzero((text[:-1] == 0xED) & (text[1:] >= 0xA0) & (text[1:] <= 0xBF))
    changed[halves] = 0x9F
    try:
        str(changed.data, "utf-8")
    except UnicodeDecodeError:
        return False
    return True


# ------------------------------------------------------------------------------------ several objects in one model file


def prefixed(prefix: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """The arrays with a prefix before their names: ``arrays_under`` takes it off again."""
    return {f"{prefix}{name}": array for name, array in arrays.items()}


def stored_names(arrays: Mapping[str, Array], what: str) -> list[str]:
    """The strings of a stored vocabulary that are shown to users: printable, and different from each other."""
    names = list(Vocabulary.from_arrays(arrays))
    unprintable = [name for name in names if not is_printable(name)]
    if unprintable or len(set(names)) != len(names):
        raise ModelFileError(f"names of {what}", expected="different names", got=repr(unprintable)[:80])
    return names
