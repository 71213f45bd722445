"""How the C of this folder becomes ``_compiled``: called by setup.py, never imported by the package.

The extension is optional: a missing compiler or a failing build leaves an installation that uses NumPy.
"""

import os
import zlib
from pathlib import Path
from typing import Any

from cffi import FFI

HERE = Path(os.path.relpath(Path(__file__).parent))  # setuptools wants paths relative to setup.py
# Bits: the compiler may not fuse a product and a sum, nor reorder sums, or results would differ between machines.
# sqrt sets no errno, which changes no result and lets its loops become vector instructions.
FLAGS = "-std=c99 -O3 -ffp-contract=off -fno-math-errno -fvisibility=hidden -Wno-psabi".split()
# `make sanitise`: stop at the first access outside an array and at the first undefined step. Without clones: their
# choice runs before the sanitisers are ready.
SANITISED = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-DPOSTIL_NO_CLONES"]
SANITISE = bool(os.environ.get("POSTIL_SANITISE"))


def declarations() -> str:
    """The prototypes of kernels.h without the lines of the preprocessor."""
    lines = (HERE / "kernels.h").read_text(encoding="utf-8").splitlines()
    return "\n".join(line for line in lines if not line.startswith("#"))


def interface() -> int:
    """A checksum by which a library compiled from older sources is told from a present one."""
    return zlib.crc32((HERE / "kernels.h").read_bytes())


def extension() -> Any:
    """The extension for setuptools; one binary for all versions of Python from 3.11 on."""
    ffi = FFI()
    ffi.cdef(declarations())
    ffi.set_source(
        "postil.kernels._compiled",
        '#include "kernels.h"',
        sources=[path.as_posix() for path in sorted(HERE.glob("*.c"))],
        depends=[path.as_posix() for path in sorted(HERE.glob("*.h"))],
        include_dirs=[HERE.as_posix()],
        define_macros=[("POSTIL_INTERFACE", str(interface()))],
        extra_compile_args=([] if os.name == "nt" else FLAGS) + SANITISED * SANITISE,
        extra_link_args=["-fsanitize=address,undefined"] * SANITISE,
        libraries=[] if os.name == "nt" else ["m"],
        py_limited_api=True,
    )
    Path("build").mkdir(exist_ok=True)
    extension = ffi.distutils_extension(tmpdir="build", verbose=False)
    extension.optional, extension.py_limited_api = not SANITISE, True
    return extension
