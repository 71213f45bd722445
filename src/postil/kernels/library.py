"""The compiled kernels: ``lib`` is the C library, ``ffi`` knows the types and functions that are declared in kernels.h.

A plain library, opened through cffi, serves every version of Python, free-threaded ones included. For x86-64 there is
one library per instruction set; the best one that is installed and that this processor can run is opened. The
environment variable POSTIL_INSTRUCTIONS asks for a lesser one: ``baseline``, ``v3`` (AVX2) or ``v4`` (AVX-512).
Importing this module fails where nothing was compiled.
"""

import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from postil.errors import ConfigurationError

NOT_COMPILED = "they were not compiled when Postil was installed"

try:
    from postil.kernels._declarations import INTERFACE, ffi
    from postil.kernels._declarations import wrappers as _wrappers
except ModuleNotFoundError as error:
    raise ImportError(NOT_COMPILED if "_declarations" in str(error) else str(error)) from None

LEVELS = ("baseline", "v3", "v4")
"""What libraries are compiled for; the place of each is its number in ``instruction_level`` of runtime.c."""


def _opened(path: Path) -> Any:
    """The library, if it is the one that is declared: calling another would be undefined."""
    try:
        library = ffi.dlopen(os.fspath(path))
        checksum = library.interface()
    except (OSError, AttributeError) as error:
        raise ImportError(str(error)) from None
    header, table = path.with_name("kernels.h"), path.with_name("table.py")  # newer than the library, perhaps
    expected = zlib.crc32(header.read_bytes() + table.read_bytes()) if header.exists() else INTERFACE
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
wrappers: Callable[..., dict[str, Callable[..., Any]]] = _wrappers

__all__ = ["LEVELS", "ffi", "lib", "wrappers"]
