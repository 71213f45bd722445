"""Build every file of a release on one Linux machine: source archive, pure wheel, and one wheel per platform.

    python packaging/build_wheels.py [--output dist] [--only win_amd64 …] [--models]

The kernels use nothing of Python, so a wheel serves every version from 3.11 on, free-threaded ones included. The
compiler is Zig's, from the package index (`pip install -r packaging/requirements.txt`); it contains the C libraries of
all platforms. The same sources make the same bytes: times are those of the last commit. Every wheel contains a bill of
materials (sbom.py), which also lies beside the wheels.
"""

import argparse
import base64
import hashlib
import os
import runpy
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = "postil/kernels"
CPUS = {"baseline": [], "v3": ["-mcpu=x86_64_v3"], "v4": ["-mcpu=x86_64_v4"]}  # Zig's names of build.LEVELS


@dataclass(frozen=True, kw_only=True)
class Platform:
    """What a wheel is for: the tag of its name, Zig's target, and ``sys.platform``."""

    tag: str
    target: str
    system: str

    @property
    def machine(self) -> str:
        return self.target.partition("-")[0]


PLATFORMS = [
    Platform(tag="manylinux_2_17_x86_64.manylinux2014_x86_64", target="x86_64-linux-gnu.2.17", system="linux"),
    Platform(tag="manylinux_2_17_aarch64.manylinux2014_aarch64", target="aarch64-linux-gnu.2.17", system="linux"),
    Platform(tag="musllinux_1_2_x86_64", target="x86_64-linux-musl", system="linux"),
    Platform(tag="musllinux_1_2_aarch64", target="aarch64-linux-musl", system="linux"),
    Platform(tag="macosx_11_0_x86_64", target="x86_64-macos.11.0", system="darwin"),
    Platform(tag="macosx_11_0_arm64", target="aarch64-macos.11.0", system="darwin"),
    Platform(tag="win_amd64", target="x86_64-windows-gnu", system="win32"),
    Platform(tag="win_arm64", target="aarch64-windows-gnu", system="win32"),
]


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Build the files of a release.")
    parser.add_argument("--output", type=Path, default=ROOT / "dist", help="folder of the files (default: dist)")
    parser.add_argument("--only", nargs="+", metavar="TAG", help="part of the tags of the platforms to build for")
    parser.add_argument("--models", action="store_true", help="wheels and source archives of all models as well")
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("SOURCE_DATE_EPOCH", last_commit())
    chosen = [p for p in PLATFORMS if options.only is None or any(word in p.tag for word in options.only)]
    with tempfile.TemporaryDirectory() as temporary:
        sources = tracked_files(Path(temporary) / "sources")
        report(build(sources, "sdist", options.output))
        pure = with_bill(build(sources, "wheel", options.output), sources)
        for platform in chosen:
            files = libraries(sources, platform, Path(temporary) / platform.target)
            report(platform_wheel(pure, platform.tag, files))
        for model in sorted([sources / "postil-english", *(sources / "languages").iterdir()]) if options.models else ():
            report(build(model, "sdist", options.output))
            with_bill(build(model, "wheel", options.output), model)


def report(path: Path) -> None:
    print(f"{path.stat().st_size / 1e6:6.2f} MB  {path.name}", flush=True)


def last_commit() -> str:
    """The time of the last commit, in seconds; of a source archive, the time of this file."""
    found = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=False)
    return found.stdout.strip() or str(int(Path(__file__).stat().st_mtime))


def tracked_files(target: Path) -> Path:
    """A copy of what belongs to the project: nothing that a build or a test has left in the folder."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:  # a source archive
        return Path(shutil.copytree(ROOT, target, ignore=shutil.ignore_patterns(".venv", "build", "dist", "lib*.*")))
    for name in filter(None, listed.stdout.split("\0")):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target / name)
    return target


def build(sources: Path, kind: str, output: Path) -> Path:
    """The source archive or the wheel without compiled parts, by the build backend of pyproject.toml."""
    code = f"from setuptools import build_meta; print(build_meta.build_{kind}({os.fspath(output.resolve())!r}))"
    command = [sys.executable, "-W", "ignore", "-c", code]
    built = subprocess.run(
        command, cwd=sources, env={**os.environ, "POSTIL_PURE": "1"}, stdout=subprocess.PIPE, text=True, check=True
    )
    return output / built.stdout.split()[-1]


# ------------------------------------------------------------------------------------------------ the libraries


def libraries(sources: Path, platform: Platform, objects: Path) -> list[Path]:
    """The kernels compiled for a platform, and what describes them to cffi."""
    objects.mkdir()
    how = runpy.run_path(os.fspath(sources / "packaging" / "kernels" / "build.py"))
    return [
        how["write_declarations"](objects),
        *(library(level, how, platform, objects) for level in how["levels"](platform.machine)),
    ]


def library(level: str, how: dict, platform: Platform, objects: Path) -> Path:
    """One library. Compiled and linked apart: linking for another processor would build Zig's C library for it too."""
    flags = [*how["FLAGS"], f"-DPOSTIL_INTERFACE={how['interface']()}", "-Wall", "-Wextra", "-Werror", *CPUS[level]]
    if platform.system == "win32":  # where what is hidden is not exported, whatever kernels.h says
        flags.remove("-fvisibility=hidden")
    else:
        flags.append("-fPIC")

    def compiled(source: str) -> str:
        result = objects / f"{Path(source).stem}-{level}.o"
        zig(platform, *flags, "-c", source, "-o", os.fspath(result))
        return os.fspath(result)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        parts = list(pool.map(compiled, how["sources"]()))
    path = objects / how["file_name"](level, platform.system)
    linked = ["-lm", "-Wl,-Bsymbolic"] if platform.system == "linux" else []
    if platform.system == "darwin":
        linked = [f"-Wl,-install_name,@rpath/{path.name}"]
    zig(platform, "-shared", "-s", "-o", os.fspath(path), *parts, *linked)
    return path


def zig(platform: Platform, *arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "ziglang", "cc", "-target", platform.target, *arguments], check=True)


# ------------------------------------------------------------------------------------------------ the wheels


def platform_wheel(pure: Path, tag: str, added: Iterable[Path]) -> Path:
    """A copy of the pure wheel with files added to the folder of the kernels, tagged for a platform."""
    return write_wheel(pure.with_name(pure.name.replace("-none-any", f"-none-{tag}")), contents(pure, tag, added))


def with_bill(pure: Path, folder: Path) -> Path:
    """A wheel with its bill of materials where PEP 770 wants it, and the same file beside the wheel."""
    name, version, *_ = pure.name.split("-")
    bill = runpy.run_path(os.fspath(Path(__file__).with_name("sbom.py")))["sbom"](folder)
    pure.with_name(f"{name}-{version}.cdx.json").write_bytes(bill)
    with zipfile.ZipFile(pure) as wheel:
        files = {entry: wheel.read(entry) for entry in wheel.namelist()}
    record = f"{name}-{version}.dist-info/RECORD"
    files[f"{name}-{version}.dist-info/sboms/{name}.cdx.json"] = bill
    files[record] = files.pop(record)  # last
    write_wheel(pure, files.items())
    report(pure)
    return pure


def write_wheel(path: Path, files: Iterable[tuple[str, bytes]]) -> Path:
    """Names and bytes as a wheel; its record, which comes last, is made anew."""
    records: list[str] = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, content in files:
            if name.endswith(".dist-info/RECORD"):
                records.append(f"{name},,\n")
                content = "".join(records).encode()
            else:
                digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
                records.append(f"{name},sha256={digest},{len(content)}\n")
            entry = zipfile.ZipInfo(name, date_time=commit_time())
            entry.external_attr = 0o100644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)
    return path


def contents(pure: Path, tag: str, added: Iterable[Path]) -> Iterator[tuple[str, bytes]]:
    """Names and bytes of the files of a platform's wheel; the record of all of them last."""
    with zipfile.ZipFile(pure) as wheel:
        names = [name for name in wheel.namelist() if not name.endswith("/RECORD")]
        for name in [name for name in names if ".dist-info/" not in name]:
            yield name, wheel.read(name)
        for path in added:
            yield f"{FOLDER}/{path.name}", path.read_bytes()
        for name in [name for name in names if ".dist-info/" in name]:
            text = wheel.read(name)
            yield name, tagged(text, tag) if name.endswith(".dist-info/WHEEL") else text
        yield next(name for name in wheel.namelist() if name.endswith("/RECORD")), b""


def tagged(text: bytes, tag: str) -> bytes:
    """The file WHEEL of a platform's wheel; several tags are joined by dots in its name, and stand alone in here."""
    lines = [line for line in text.decode().splitlines() if line and not line.startswith(("Tag:", "Root-Is-Purelib:"))]
    lines += ["Root-Is-Purelib: false", *(f"Tag: py3-none-{part}" for part in tag.split("."))]
    return "\n".join([*lines, ""]).encode()


def commit_time() -> tuple[int, ...]:
    return time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]


if __name__ == "__main__":
    main()
