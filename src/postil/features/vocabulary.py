"""Strings and their ids as three arrays, which serve straight from a memory-mapped file.

A vocabulary is
    ``text``     uint8, the UTF-8 bytes of all strings one after the other,
    ``offsets``  int32 (V + 1,), string ``i`` is ``text[offsets[i]:offsets[i + 1]]``,
    ``slots``    int32 (S,), S a power of two above 2 V: a hash table of ids, -1 where a slot is free.

In a file, ``PACKED`` strings or more have instead of the last two
    ``lengths``  uint8 (V,), in bytes: offsets and slots are made of them when the file is opened.

A string's search begins at slot ``hash(bytes) mod S`` and goes on slot by slot until the string or a free slot is
found. The hash is CRC-32, which is the same on every machine and in every process; Python's own ``hash`` is not.
Strings can be chosen so that they all begin at one slot. Therefore no more than ``LONGEST_RUN`` neighbouring slots are
taken: a table is made larger until that holds, ``build`` refuses strings for which that does not help, and
``from_arrays`` any other table.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, final

import numpy as np

from postil import kernels
from postil.arrays import Array, describe
from postil.errors import ConfigurationError, IndexRangeError, ModelFileError, is_printable
from postil.kernels.plain_text import SURROGATES, StringTable, has_long_run
from postil.lazy import once

_MOST_BYTES = np.iinfo(np.int32).max
_DTYPES = {"text": "uint8", "offsets": "int32", "slots": "int32"}
LONGEST_RUN = 128
"""Slots that a search looks at, at most. A million ordinary words in a table half full make runs of up to about 70."""
PACKED = 1 << 16
"""Strings from which on a file holds a vocabulary packed."""


@final
class Vocabulary:
    """V distinct strings, numbered from 0 in the order given."""

    __slots__ = ("__weakref__", "_arrays", "_stored", "table")

    def __init__(self, arrays: Mapping[str, Array], stored: Mapping[str, Array] | None = None) -> None:
        """Text, offsets and slots, and what a file holds instead; ``from_arrays`` checks others'."""
        self._arrays, self._stored = dict(arrays), stored
        self.table = StringTable(arrays["text"], arrays["offsets"], arrays["slots"])

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
        return cls({"text": text, "offsets": offsets, "slots": _slots(text, offsets)})

    @classmethod
    @once
    def from_arrays(cls, arrays: Mapping[str, Array]) -> "Vocabulary":
        """The vocabulary that ``arrays`` returned. Everything is checked once, and built only if it was packed."""
        if "lengths" in arrays:
            return cls(_unpacked(arrays), dict(arrays))
        checked = {}
        for name, dtype in _DTYPES.items():
            array = arrays.get(name)
            if array is None or array.ndim != 1 or array.dtype != dtype:
                got = "none" if array is None else describe(array)
                raise ModelFileError(f"array {name!r} of a vocabulary", expected=f"a vector of {dtype}", got=got)
            checked[name] = np.ascontiguousarray(array)
        if unknown := sorted(set(arrays) - set(checked)):
            raise ModelFileError("arrays of a vocabulary", expected="text, offsets, slots", got=", ".join(unknown))
        text, offsets, slots = (checked[name] for name in ("text", "offsets", "slots"))
        V = len(offsets) - 1
        if V < 0 or offsets[0] != 0 or offsets[-1] != len(text) or (offsets[1:] < offsets[:-1]).any():
            expected, got = "offsets that rise from 0 to the number of bytes", f"{len(text)} bytes, {V + 1} offsets"
            raise ModelFileError("text of a vocabulary", expected=expected, got=got)
        _check_text(text, offsets)
        expected = got = ""  # every id is one of the V strings, and every search ends soon
        if len(slots) <= V or len(slots) & (len(slots) - 1):
            expected, got = f"a power of two above the {V} strings", f"{len(slots)} slots"
        elif slots.min() < -1 or slots.max() >= V:
            expected, got = f"ids from -1 to {V - 1}", f"{slots.min()} to {slots.max()}"
        elif has_long_run(slots, LONGEST_RUN):
            expected, got = f"a free one among any {LONGEST_RUN + 1} neighbouring slots", "a longer run"
        if expected:
            raise ModelFileError("hash table of a vocabulary", expected=expected, got=got)
        return cls(checked, checked)

    def arrays(self) -> dict[str, Array]:
        """``text``, ``offsets`` and ``slots``, or what they are made of, for the model file."""
        if self._stored is None:
            table, lengths = self.table, np.diff(self.table.offsets)
            is_large = len(table) >= PACKED and len(table.slots) == _smallest(len(table))
            if is_large and lengths.max() <= 255:  # as the words of a language are
                self._stored = {"text": table.text, "lengths": lengths.astype(np.uint8)}
            else:
                self._stored = self._arrays
        return dict(self._stored)

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


def _smallest(V: int) -> int:
    """Slots of a table that is less than half full: a search looks at two of them on average."""
    return 1 << (2 * V).bit_length()


def _slots(text: Array, offsets: Array) -> Array:
    """The hash table of a vocabulary, larger than usual where that avoids long runs of occupied slots."""
    smallest = _smallest(len(offsets) - 1)
    for size in (smallest, 2 * smallest, 4 * smallest):
        slots = kernels.string_slots(text, offsets, size, LONGEST_RUN)
        if slots is not None:
            return slots
    got = f"more of {len(offsets) - 1:,}"
    raise ConfigurationError("words that were chosen to have one CRC-32", expected=f"at most {LONGEST_RUN}", got=got)


def _unpacked(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """``text``, ``offsets`` and ``slots`` of ``text`` and ``lengths``."""
    if set(arrays) != {"text", "lengths"} or any(a.ndim != 1 or a.dtype != np.uint8 for a in arrays.values()):
        got = ", ".join(f"{name} {describe(array)}" for name, array in arrays.items())
        raise ModelFileError("arrays of a packed vocabulary", expected="text, lengths, of bytes", got=got[:120])
    text, V = arrays["text"], len(arrays["lengths"])
    ends = np.cumsum(arrays["lengths"], dtype=np.int64)
    if ends[-1:].sum() != len(text) or len(text) > _MOST_BYTES:
        raise ModelFileError("text of a vocabulary", expected=f"{ends[-1:].sum()} bytes", got=len(text))
    offsets = np.zeros(V + 1, np.int32)
    offsets[1:] = ends
    _check_text(text, offsets)
    slots = kernels.string_slots(text, offsets, _smallest(V), LONGEST_RUN)
    if slots is None:
        expected = f"strings that leave one free among any {LONGEST_RUN + 1} neighbouring slots"
        raise ModelFileError("hash table of a vocabulary", expected=expected, got="others")
    return {"text": text, "offsets": offsets, "slots": slots}


def _check_text(text: Array, offsets: Array) -> None:
    """Raise unless the strings that begin at rising offsets are UTF-8."""
    begins = offsets[: np.searchsorted(offsets[:-1], len(text))]  # the strings after them are empty
    wrong = ModelFileError("text of a vocabulary", expected="strings in UTF-8", got="other bytes")
    if (np.take(text, begins) & 0xC0 == 0x80).any():
        raise wrong
    try:
        str(text.data, "utf-8")
    except UnicodeDecodeError:
        # Halves of surrogate pairs, ED A0 to ED BF, are allowed; with 9F instead they are ordinary characters. Python's
        # own handler of them takes a microsecond for each.
        changed = text.copy()
        changed[1 + np.flatnonzero((text[:-1] == 0xED) & (text[1:] >= 0xA0) & (text[1:] <= 0xBF))] = 0x9F
        try:
            str(changed.data, "utf-8")
        except UnicodeDecodeError:
            raise wrong from None


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
