"""Arrays as they travel through Postil: ragged batches, and the rules about element types.

Shape letters, the same everywhere: ``B`` sentences, ``N`` tokens in a batch, ``T`` tokens in a sentence, ``L`` labels,
``V`` vocabulary, ``D`` features in, ``H`` features out, ``K`` window size.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from postil.errors import ArrayError, DtypeError, IndexRangeError, NumericalError, ShapeError

Array: TypeAlias = NDArray[Any]
FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_BLOCK = 512  # elements


@dataclass(frozen=True, slots=True, eq=False)
class Ragged:
    """Sentences of different lengths as one array, without padding.

    ``data`` (N, …) holds the rows of all sentences one after the other; sentence ``i`` is
    ``data[offsets[i]:offsets[i + 1]]``, so ``offsets`` (B + 1,) starts at 0, never decreases and ends at N.
    """

    data: Array
    offsets: Array

    def __post_init__(self) -> None:
        object.__setattr__(self, "data", np.asarray(self.data))
        if not self.data.ndim:
            raise ShapeError("data of a ragged batch", expected="an array of rows", got=describe(self.data))
        object.__setattr__(self, "offsets", checked_offsets(self.offsets, rows=len(self.data)))

    @classmethod
    def from_sequences(cls, sequences: Iterable[Sequence[Any] | Array], dtype: Any = None) -> "Ragged":
        """Join sequences of rows. Without ``dtype``, the result has their common type, or int64 if there are none."""
        arrays = [_rows(sequence, dtype) for sequence in sequences]
        filled = [array for array in arrays if len(array)]
        widths = dict.fromkeys(array.shape[1:] for array in filled)
        if len(widths) > 1:
            got = ", ".join(f"rows of shape {width}" for width in widths)
            raise ShapeError("sequences of a ragged batch", expected="rows of one shape", got=got)
        data = np.concatenate(filled) if filled else np.empty(0, dtype if dtype is not None else np.int64)
        return cls(data, offsets_from_lengths([len(array) for array in arrays]))

    @property
    def lengths(self) -> Array:
        """(B,) the number of rows of each sentence."""
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int) -> Array: ...
    @overload
    def __getitem__(self, index: slice) -> "Ragged": ...
    def __getitem__(self, index: int | slice) -> "Array | Ragged":
        """The rows (T, …) of one sentence, or some of the sentences as another ragged batch."""
        if isinstance(index, slice):
            sentences = [self[i] for i in range(*index.indices(len(self)))]
            data = np.concatenate([self.data[:0], *sentences])  # without sentences: the same type and width
            return Ragged(data, offsets_from_lengths([len(rows) for rows in sentences]))
        if not isinstance(index, int | np.integer) or not -len(self) <= index < len(self):
            raise IndexRangeError("no such sentence", expected=f"an index below {len(self)}", got=repr(index))
        index = int(index) % len(self)
        return self.data[self.offsets[index] : self.offsets[index + 1]]

    def __iter__(self) -> Iterator[Array]:
        return (self[index] for index in range(len(self)))


def _rows(sequence: Any, dtype: Any) -> Array:
    """One sentence of a ragged batch as an array (T, …)."""
    try:
        array = np.asarray(sequence, dtype)
    except (ValueError, TypeError) as error:
        raise ShapeError("a sequence of a ragged batch", expected="rows of one shape", got=str(error)) from None
    if not array.ndim:
        raise ShapeError("a sequence of a ragged batch", expected="a list or an array of rows", got=describe(sequence))
    return array


def offsets_from_lengths(lengths: Sequence[int] | Array) -> Array:
    """(B,) lengths -> (B + 1,) offsets."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def selected_rows(offsets: Array, which: Array) -> tuple[Array, Array]:
    """Some pieces of a ragged batch, in the order given: the offsets of a new one, and the rows that it takes."""
    lengths = offsets[which + 1] - offsets[which]
    selected = offsets_from_lengths(lengths)
    return selected, np.arange(selected[-1]) + np.repeat(offsets[which] - selected[:-1], lengths)


def checked_offsets(offsets: Any, rows: int) -> Array:
    """``offsets`` as int64 (B + 1,), or an error if they do not divide ``rows`` rows into sentences."""
    array = np.asarray(offsets)
    if array.ndim != 1 or len(array) < 1 or array.dtype.kind not in "iu":
        expected = "a vector of integers, one longer than the number of sentences"
        raise ShapeError("offsets of a ragged batch", expected=expected, got=describe(array))
    if array[0] != 0 or array[-1] != rows or (len(array) > 2 and (array[1:] < array[:-1]).any()):
        expected = f"a rising sequence from 0 to {rows}, the number of rows"
        raise ShapeError("offsets of a ragged batch", expected=expected, got=np.array2string(array, threshold=8))
    return array.astype(np.int64, copy=False)


def describe(value: Any) -> str:
    """An array as described in error messages: ``float32 (3, 5)``."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape}"
    return f"{type(value).__name__} {value!r}"[:80]


def checked_floats(value: Any, where: str) -> Array:
    """``value`` as an array of float32 or float64; Python floats and lists of them become float64."""
    if not isinstance(value, np.ndarray | np.generic):
        try:
            is_numeric = np.asarray(value).dtype.kind in "fiub"
        except ArrayError:  # a node
            raise
        except ValueError:  # ragged nested lists
            got = type(value).__name__
            raise ShapeError("rows of different lengths", expected="a rectangular array", got=got) from None
        value = np.asarray(value, np.float64) if is_numeric else value
    array = np.asarray(value)
    if array.dtype not in FLOATS:
        raise DtypeError("wrong element type", expected="float32 or float64", got=describe(array), where=where)
    return array


def checked_indices(value: Any, size: int, where: str) -> Array:
    """``value`` as integers in [0, size), or an error that names the first one out of range."""
    array = np.asarray(value)
    if array.size == 0:
        return array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise DtypeError("wrong element type", expected="integers", got=describe(array), where=where)
    if array.min() < 0 or array.max() >= size:
        place = tuple(int(i) for i in np.argwhere((array < 0) | (array >= size))[0])
        got = f"{array[place]} at position {place}"
        raise IndexRangeError("index out of range", expected=f"0 to {size - 1}", got=got, where=where)
    return array


def checked_finite(array: Array, where: str) -> Array:
    """Return ``array`` itself, or raise an error that names the first NaN or infinity in it."""
    if not np.isfinite(array).all():
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        got = f"{array[place]} at position {place}" if place else f"{array}"
        raise NumericalError("a value is not finite", expected="finite numbers", got=got, where=where)
    return array


def sum_of_squares(array: Array) -> float:
    """Σ x², accurate to six digits even in float32: blocks are summed in float64."""
    flat = array.reshape(-1)
    whole = len(flat) // _BLOCK * _BLOCK
    blocks, rest = flat[:whole].reshape(-1, _BLOCK), flat[whole:]
    with np.errstate(over="ignore"):
        total = float(np.einsum("bi,bi->b", blocks, blocks).sum(dtype=np.float64)) + float(np.dot(rest, rest))
    if 1e-30 < total < np.inf or array.dtype == np.float64:
        return total
    return float(np.square(flat, dtype=np.float64).sum())  # squares that are too large or too small for float32


def arrays_under(prefix: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """The arrays whose names start with the prefix, under the rest of their names.

    Lets several objects share one file.
    """
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
