"""How the C of the kernels becomes libraries: called by setup.py and the programs of packaging/.

The libraries are optional: a missing compiler or a failing build leaves an installation that uses NumPy. They use
nothing of Python: what describes them to cffi is written next to them, as a module without compiled parts.
"""

import os
import platform
import runpy
import sys
import zlib
from pathlib import Path
from typing import Any

from cffi import FFI
from setuptools import Extension
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

TABLE = Path(os.path.relpath(Path(__file__).with_name("table.py")))  # setuptools wants paths relative to setup.py
HERE = Path(os.path.relpath(Path(__file__).parents[2] / "src" / "postil" / "kernels"))
PACKAGE = "postil.kernels"
DECLARATIONS = "_declarations"
# Bits: the compiler may not fuse a product and a sum, nor reorder sums, or results would differ between machines.
# sqrt sets no errno, which changes no result and lets its loops become vector instructions.
FLAGS = "-std=c99 -O3 -g0 -ffp-contract=off -fno-math-errno -fvisibility=hidden -Wno-psabi".split()
# Instructions that the compiler may use; a processor without it gets the library before.
LEVELS = {"baseline": [], "v3": ["-march=x86-64-v3"], "v4": ["-march=x86-64-v4"]}
NEEDED = {"v3": "avx2", "v4": "avx512vl"}  # in the processor's description
SUFFIXES = {"win32": ".dll", "darwin": ".dylib"}  # by sys.platform
# `make sanitise`: stop at the first access outside an array and at the first undefined step.
SANITISED = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
SANITISE = bool(os.environ.get("POSTIL_SANITISE"))


def declarations() -> str:
    """The types and prototypes of kernels.h, without the lines of the preprocessor, and the prototypes of the table."""
    lines = (HERE / "kernels.h").read_text(encoding="utf-8").splitlines()
    return "\n".join([*(line for line in lines if not line.startswith("#")), _table()["prototypes"]()])


def _table() -> dict[str, Any]:
    return runpy.run_path(os.fspath(TABLE))


def _prototypes() -> str:
    """The content of prototypes.h, which kernels.h includes."""
    return f"/* Written by the build from table.py. */\n\n{_table()['prototypes']()}"


def write_prototypes() -> None:
    path, text = HERE / "prototypes.h", _prototypes()
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def interface() -> int:
    """A checksum by which a library compiled from other sources is told from the right one."""
    return zlib.crc32((HERE / "kernels.h").read_bytes() + _prototypes().encode())


def write_declarations(folder: Path) -> Path:
    """Write the module through which cffi knows the library, so that no process has to parse C, and the wrappers."""
    ffi = FFI()
    ffi.cdef(declarations())
    ffi.set_source(DECLARATIONS, None)
    path = folder / f"{DECLARATIONS}.py"
    ffi.emit_python_code(os.fspath(path))
    with path.open("a", encoding="utf-8") as module:
        module.write(f"INTERFACE = {interface()}\n")
        module.write(_table()["source"]())
    return path


def sources() -> list[str]:
    """The files to compile."""
    write_prototypes()
    return [path.as_posix() for path in sorted(HERE.glob("*.c"))]


def levels(machine: str) -> dict[str, list[str]]:
    """The instruction sets that there are libraries for, each with its flags."""
    return LEVELS if machine.lower() in ("x86_64", "amd64") else {"baseline": []}


def levels_here() -> dict[str, list[str]]:
    """Those of this processor, as far as the system tells: an installation from sources is for this machine."""
    described = Path("/proc/cpuinfo")
    flags = described.read_text(encoding="utf-8").split() if described.exists() else list(NEEDED.values())
    return {level: of for level, of in levels(platform.machine()).items() if NEEDED.get(level, flags[0]) in flags}


def file_name(level: str, system: str) -> str:
    """The file of a library; ``library.py`` looks for ``libkernels-LEVEL`` with any suffix."""
    return f"libkernels-{level}{SUFFIXES.get(system, '.so')}"


def extensions() -> list[Any]:
    """The libraries for setuptools: one, or one per instruction set."""
    linked = [] if sys.platform in ("darwin", "win32") else ["-Wl,-Bsymbolic"]
    return [
        Extension(
            f"{PACKAGE}.{level}",
            sources=sources(),
            depends=[path.as_posix() for path in sorted([*HERE.glob("*.h"), *HERE.glob("engine/*"), TABLE])],
            include_dirs=[HERE.as_posix()],
            define_macros=[("POSTIL_INTERFACE", str(interface()))],
            extra_compile_args=([] if os.name == "nt" else FLAGS) + flags + SANITISED * SANITISE,
            extra_link_args=linked + ["-fsanitize=address,undefined"] * SANITISE,
            libraries=[] if os.name == "nt" else ["m"],
            optional=not SANITISE,
        )
        for level, flags in ({"baseline": []} if SANITISE else levels_here()).items()
    ]


class BuildLibraries(build_ext):
    """Compiles plain libraries where setuptools would compile modules of Python."""

    def get_ext_filename(self, fullname: str) -> str:
        *folders, level = fullname.split(".")
        return os.fspath(Path(*folders, file_name(level, sys.platform)))

    def get_export_symbols(self, ext: Any) -> list[str]:
        return []  # no PyInit_…

    def run(self) -> None:
        super().run()
        folder = Path(self.get_ext_fullpath(f"{PACKAGE}.baseline")).parent
        folder.mkdir(parents=True, exist_ok=True)
        write_declarations(folder)


class PlatformWheel(bdist_wheel):
    """A wheel for one platform and every Python: nothing in it depends on the version."""

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]
