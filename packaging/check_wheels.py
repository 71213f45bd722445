"""Check the files of a release: contents, tags and sizes of wheels, and a few known results of every library.

    python packaging/check_wheels.py dist [--run]

Every library must be for the platform that its wheel names. With --run, packaging/conformance.c is compiled for each
platform and opens the libraries: directly where possible, else through an emulator if there is one (qemu-aarch64,
wine); what cannot be run is said to be untested. ARM_ROOT is a folder with the C libraries of Linux on ARM.
"""

import argparse
import base64
import csv
import hashlib
import os
import runpy
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
KERNELS = ROOT / "src/postil/kernels"
BUILD = runpy.run_path(os.fspath(Path(__file__).with_name("build_wheels.py")))
# The first bytes of a library, and where the number of its processor is.
ELF, MACH, PE = b"\x7fELF", struct.pack("<I", 0xFEEDFACF), b"MZ"
PROCESSORS = {
    ("linux", "x86_64"): 62,
    ("linux", "aarch64"): 183,
    ("darwin", "x86_64"): 0x01000007,
    ("darwin", "aarch64"): 0x0100000C,
    ("win32", "x86_64"): 0x8664,
    ("win32", "aarch64"): 0xAA64,
}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Check the files of a release.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--run", action="store_true", help="compile the conformance program and run what can be run")
    options = parser.parse_args(arguments)
    problems = []
    for path in sorted(options.folder.glob("postil-*.whl")):
        found = wheel_problems(path)
        if options.run and not found:
            found = conformance_problems(path)
        problems += [f"{path.name}: {problem}" for problem in found]
        print(f"{path.stat().st_size / 1e6:6.2f} MB  {'wrong' if found else 'ok'}  {path.name}", flush=True)
    print(*problems, sep="\n", end="\n" * bool(problems))
    return bool(problems)


def platform_of(path: Path) -> Any | None:
    """What a wheel is for; None for the pure wheel."""
    tag = path.stem.split("-", 4)[4]
    return next((platform for platform in BUILD["PLATFORMS"] if platform.tag == tag), None)


def wheel_problems(path: Path) -> list[str]:
    """What is wrong with a wheel: its record, its libraries, its tags."""
    platform = platform_of(path)
    with zipfile.ZipFile(path) as wheel:
        contents = {name: wheel.read(name) for name in wheel.namelist()}
    problems = record_problems(contents)
    about = next(content for name, content in contents.items() if name.endswith(".dist-info/WHEEL")).decode()
    tags = sorted(line.removeprefix("Tag: ") for line in about.splitlines() if line.startswith("Tag: "))
    if tags != sorted(f"py3-none-{tag}" for tag in ("any" if platform is None else platform.tag).split(".")):
        problems.append(f"tags {tags}")
    libraries = {name: content for name, content in contents.items() if "/libkernels-" in name}
    expected = set()
    if platform is not None:
        how = runpy.run_path(os.fspath(Path(__file__).with_name("kernels") / "build.py"))
        names = [how["file_name"](level, platform.system) for level in how["levels"](platform.machine)]
        expected = {f"postil/kernels/{name}" for name in names}
        number = PROCESSORS[platform.system, platform.machine]
        problems += [f"{name}: another processor" for name, data in libraries.items() if processor(data) != number]
        problems += [f"{name}: exports nothing" for name, data in libraries.items() if b"instruction_set\0" not in data]
    if libraries.keys() != expected or (platform is None) == ("postil/kernels/_declarations.py" in contents):
        problems.append(f"libraries {sorted(libraries)}")
    return problems


def record_problems(contents: Mapping[str, bytes]) -> list[str]:
    """Files that RECORD does not list, or lists with another checksum."""
    record = next(name for name in contents if name.endswith(".dist-info/RECORD"))
    listed = {row[0]: row[1] for row in csv.reader(contents[record].decode().splitlines())}
    problems = [f"{name}: not in RECORD" for name in contents.keys() - listed.keys()]
    for name, checksum in listed.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(contents.get(name, b"")).digest()).rstrip(b"=").decode()
        if name != record and checksum != f"sha256={digest}":
            problems.append(f"{name}: wrong checksum")
    return problems


def processor(library: bytes) -> int:
    """The number of the processor that a library is for, as its format writes it."""
    if library.startswith(ELF):
        return int(struct.unpack_from("<H", library, 18)[0])
    if library.startswith(MACH):
        return int(struct.unpack_from("<I", library, 4)[0])
    if library.startswith(PE):
        return int(struct.unpack_from("<H", library, struct.unpack_from("<I", library, 60)[0] + 4)[0])
    return -1


# ------------------------------------------------------------------------------------------------ running them


def runner(target: str) -> list[str] | None:
    """What comes before a program to run it here; None where it cannot be run."""
    root = os.environ.get("ARM_ROOT", "/usr/aarch64-linux-gnu")
    wine = next(filter(None, map(shutil.which, ("wine64", "wine", "/usr/lib/wine/wine64"))), None)
    emulated = ["qemu-aarch64", "-L", root] if shutil.which("qemu-aarch64") else None
    return {
        "x86_64-linux-gnu.2.17": [],
        "x86_64-linux-musl": [] if Path("/lib/ld-musl-x86_64.so.1").exists() else None,
        "aarch64-linux-gnu.2.17": emulated if Path(root, "lib/ld-linux-aarch64.so.1").exists() else None,
        "aarch64-linux-musl": emulated if Path(root, "lib/ld-musl-aarch64.so.1").exists() else None,
        "x86_64-windows-gnu": [wine] if wine else None,
    }.get(target)


def conformance_problems(path: Path) -> list[str]:
    """What the conformance program says about the libraries of a wheel."""
    platform = platform_of(path)
    if platform is None:
        return []
    prefix = runner(platform.target)
    if prefix is None:
        print(f"           untested: nothing here runs {platform.target}")
        return []
    problems = []
    with tempfile.TemporaryDirectory() as temporary, zipfile.ZipFile(path) as wheel:
        program = compiled_program(platform, Path(temporary))
        for name in sorted(name for name in wheel.namelist() if "/libkernels-" in name):
            library = Path(wheel.extract(name, temporary))
            if library.stem.endswith("-v4") and "avx512vl" not in Path("/proc/cpuinfo").read_text():
                print(f"           untested: this processor lacks the instructions of {library.name}")
                continue
            command = [*prefix, os.fspath(program), os.fspath(library)]
            quiet = {**os.environ, "WINEDEBUG": "-all"}
            ran = subprocess.run(command, capture_output=True, text=True, check=False, env=quiet, timeout=600)
            print(f"           {library.name}: {ran.stdout.strip()}")
            if ran.returncode:
                problems.append(f"{library.name}: {(ran.stdout + ran.stderr).strip() or ran.returncode}")
    return problems


def compiled_program(platform: Any, folder: Path) -> Path:
    """conformance.c for a platform."""
    checksum = runpy.run_path(os.fspath(Path(__file__).with_name("kernels") / "build.py"))["interface"]()
    program = folder / ("conformance.exe" if platform.system == "win32" else "conformance")
    source = os.fspath(Path(__file__).with_name("conformance.c"))
    flags = [f"-DPOSTIL_INTERFACE={checksum}", f"-I{KERNELS}", "-std=gnu99", "-O2", "-Wall", "-Wextra", "-Werror"]
    dynamic = ["-dynamic"] if "musl" in platform.target else []  # a static program cannot open libraries
    compiled = os.fspath(folder / "conformance.o")  # linked apart, as the libraries are: with the same parts of Zig's
    BUILD["zig"](platform, *flags, "-c", source, "-o", compiled)
    BUILD["zig"](platform, *dynamic, "-s", compiled, "-o", os.fspath(program))
    return program


if __name__ == "__main__":
    sys.exit(main())
