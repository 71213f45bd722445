"""The compiled kernels: ``lib`` is the C library, ``ffi`` describes its types and functions, ``call`` are its wrappers.

A plain library, opened through cffi, serves every version of Python, free-threaded ones included. For x86-64 there is
one library per instruction set; the best one that is installed and that this processor can run is opened. The
environment variable POSTIL_INSTRUCTIONS asks for a lesser one: ``baseline``, ``v3`` (AVX2) or ``v4`` (AVX-512).

A wrapper checks its arguments, hands over pointers and raises the error of the code that comes back. It costs a few
microseconds: arrays that are laid out as C expects them are recognised quickly, others go through ``checking.py``.
During the call other Python threads run: cffi releases the interpreter's lock.
Importing this module fails if nothing was compiled.
"""

import os
import zlib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from postil.arrays import Array, checked_offsets
from postil.errors import ConfigurationError, IndexRangeError, ShapeError
from postil.kernels.checking import ACTIVATIONS, check_activation, contiguous, floats, label_scores

NOT_COMPILED = "they were not compiled when Postil was installed"

try:
    from postil.kernels._declarations import INTERFACE, wrappers
    from postil.kernels._declarations import ffi as ffi
except ModuleNotFoundError as error:
    raise ImportError(NOT_COMPILED if "_declarations" in str(error) else str(error)) from None

LEVELS = ("baseline", "v3", "v4")
"""Instruction levels of the libraries; the index of each is its number in ``instruction_level`` of runtime.c."""
# Objects of C may be freed by the library after everything else of this module is gone, when the process ends.
_FOR_GOOD = ffi.RTLD_NOW | getattr(ffi, "RTLD_NODELETE", 0)


def _opened(path: Path) -> Any:
    """The library, if it is the one that is declared: calling another would be undefined."""
    try:
        library = ffi.dlopen(os.fspath(path), _FOR_GOOD)
        checksum = library.interface()
    except (OSError, AttributeError) as error:
        raise ImportError(str(error)) from None
    sources = [path.with_name(name) for name in ("kernels.h", "prototypes.h")]  # newer than the library, perhaps
    is_there = all(source.exists() for source in sources)
    expected = zlib.crc32(b"".join(source.read_bytes() for source in sources)) if is_there else INTERFACE
    if checksum != expected or expected != INTERFACE:
        raise ImportError("the compiled kernels are older than their sources: pip install -e . builds them again")
    return library


def _best() -> Any:
    """The library for the best instruction set that is installed, that this processor has and that the user allows."""
    limit = os.environ.get("POSTIL_INSTRUCTIONS") or LEVELS[-1]
    if limit not in LEVELS:
        raise ConfigurationError("POSTIL_INSTRUCTIONS", expected=" or ".join(LEVELS), got=repr(limit))
    paths = {path.stem.partition("-")[2]: path for path in Path(__file__).parent.glob("libkernels-*")}
    if LEVELS[0] not in paths:
        raise ImportError(NOT_COMPILED)
    baseline = _opened(paths[LEVELS[0]])
    for number in range(min(baseline.instruction_level(), LEVELS.index(limit)), 0, -1):
        if LEVELS[number] in paths:
            return _opened(paths[LEVELS[number]])
    return baseline


lib = _best()

INT64 = np.dtype(np.int64)
_from_buffer = ffi.from_buffer
BYTES, DOUBLES, INTEGERS = (ffi.typeof(kind) for kind in ("uint8_t[]", "double[]", "int64_t[]"))
_LARGEST = np.finfo(np.float64).max
# With more labels than this, matrix products over all sentences at once are faster than one sentence after the other.
MOST_LABELS = 100
MOST_LABELS_AT_ONCE = 200
"""The same of kernels that do more than the recursions: a step of training, and answers (five times as fast at 160)."""


def instruction_set() -> str:
    """The instruction set that the loaded library was compiled for."""
    return str(ffi.string(lib.instruction_set()).decode())


def is_ready(array: Any, dtype: np.dtype[Any]) -> bool:
    return type(array) is np.ndarray and array.dtype is dtype and array.flags.c_contiguous


def pointer(array: Array, kind: Any) -> Any:
    """The memory of a C-contiguous array as a C array, which keeps it alive."""
    return _from_buffer(kind, array)


def reals(array: Any, dtype: Any, shape: tuple[int, ...], where: str, *, changed: bool = False) -> Any:
    """The memory of an array of real numbers, checked; one that C changes is not copied."""
    return _from_buffer(BYTES, contiguous(array, dtype, shape, where, changed=changed))


def finish(code: int, where: str, offsets: Array | None = None, rows: int = 0) -> None:
    """Raise the error that a kernel's code stands for. C sees that offsets are wrong, Python says what is wrong."""
    if not code:  # almost always
        return
    if code == lib.NOT_FINITE:
        np.multiply(_LARGEST, 2)  # raises the flag again where np.errstate hears it, as the twin would have done
    if code == lib.WRONG_OFFSETS:
        if offsets is not None:
            checked_offsets(offsets, rows)
        raise ShapeError("sizes that do not fit", where=where)
    if code == lib.WRONG_INDEX:
        raise IndexRangeError("an index points outside its table", where=where)
    if code == lib.NO_MEMORY:
        raise MemoryError(f"{where}: no memory for what is computed on the way")


def remembered(make: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any], Any]:
    """The first of what ``make`` returns for an object; the rest, what that points to, lives as long as the object."""
    known: WeakKeyDictionary[Any, tuple[Any, ...]] = WeakKeyDictionary()

    def of(key: Any) -> Any:
        found = known.get(key)
        if found is None:
            found = known[key] = make(key)
        return found[0]

    return of


_MOST_STEPS = 16
_known_steps: dict[tuple[int, int, int, int], tuple[tuple[Any, Any, Any], tuple[Array, Array, Array]]] = {}
"""Scores of steps that were passed lately: pointers to them, and the arrays. A model passes the same ones every time.
They are kept, so that no other array can have their ids."""


def steps(transitions: Array, start: Array, end: Array, L: int) -> tuple[Any, Any, Any]:
    """Pointers to the scores of steps, float64 (L, L), (L,) and (L,)."""
    known = _known_steps.get((id(transitions), id(start), id(end), L))
    if known is not None:
        return known[0]
    arrays = (
        contiguous(transitions, np.float64, (L, L), where="transitions"),
        contiguous(start, np.float64, (L,), where="start"),
        contiguous(end, np.float64, (L,), where="end"),
    )
    pointers = pointer(arrays[0], DOUBLES), pointer(arrays[1], DOUBLES), pointer(arrays[2], DOUBLES)
    if arrays[0] is transitions and arrays[1] is start and arrays[2] is end:  # a copy would not show later changes
        if len(_known_steps) >= _MOST_STEPS:
            _known_steps.clear()
        _known_steps[id(transitions), id(start), id(end), L] = pointers, arrays
    return pointers


def parts(offsets: Any, rows: int) -> tuple[Array, int]:
    """Offsets of parts among rows as C expects them, and how many parts there are. C checks them."""
    if not (is_ready(offsets, INT64) and offsets.ndim == 1 and len(offsets)):
        offsets = np.ascontiguousarray(checked_offsets(offsets, rows))
    return offsets, len(offsets) - 1


def _shaped(
    array: Any, dtype: np.dtype[Any], dimensions: int, where: str, changed: bool = False
) -> tuple[Array, tuple[int, ...]]:
    """An array with a number of dimensions, and its shape."""
    if not is_ready(array, dtype) or array.ndim != dimensions or changed:
        shape: tuple[int, ...] = np.shape(array)
        if len(shape) != dimensions:
            raise ShapeError("wrong shape", expected=f"{dimensions} dimensions", got=shape, where=where)
        array = contiguous(array, dtype, shape, where, changed=changed)
    return array, array.shape


def _reals(array: Any, dimensions: int, where: str, changed: bool = False) -> tuple[Array, Any, tuple[int, ...]]:
    """An array of float32 or float64, which decides about the type of a call."""
    ready = floats(array, dimensions, where)
    if changed:
        contiguous(array, ready.dtype, ready.shape, where, changed=True)
    return ready, ready.dtype, ready.shape


def _scores(unary: Any) -> tuple[Array, Any, tuple[int, ...]]:
    ready = label_scores(unary)
    return ready, ready.dtype, ready.shape


def _wrong(array: Array, expected: tuple[int, ...], where: str) -> None:
    raise ShapeError("wrong shape", expected=expected, got=array.shape, where=where)


_C = ("float[]", "double[]", "int32_t[]", "int64_t[]", "uint32_t[]", "uint64_t[]", "uint8_t[]")
_TYPES = {
    name: np.dtype(name) for name in ("float32", "float64", "int32", "int64", "uint32", "uint64", "uint8", "bool")
}


def _activation(name: str) -> int:
    check_activation(name)
    return ACTIVATIONS.index(name)


call = SimpleNamespace(
    **wrappers(  # type: ignore[no-untyped-call,unused-ignore]
        lib,
        _from_buffer,
        np.empty,
        {"NULL": ffi.NULL, **_TYPES, **{name: ffi.typeof(name) for name in _C}},
        _shaped,
        _reals,
        _scores,
        contiguous,
        parts,
        steps,
        _activation,
        finish,
        _wrong,
    )
)  # the wrappers that the build has made of packaging/kernels/table.py, by name.
