"""The compiled files of the package: small, without imports, and made of the present sources."""

import importlib.metadata
import re
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

import postil

ROOT = Path(postil.__file__).parents[2]
build = SimpleNamespace(**runpy.run_path(str(ROOT / "packaging" / "wasm.py")))


def pinned():
    return re.search(r'"ziglang==([\d.]+)"', (ROOT / "pyproject.toml").read_text(encoding="utf8"))[1]


def sections(content):
    """The numbers of a module's sections: 2 is that of imports, 0 of names and other notes."""
    found, place = [], 8
    while place < len(content):
        found.append(content[place])
        size, shift, place = 0, 0, place + 1
        while True:
            byte = content[place]
            size, shift, place = size | (byte & 127) << shift, shift + 7, place + 1
            if byte < 128:
                break
        place += size
    return found


@pytest.mark.parametrize("name", build.BUILDS)
def test_the_files_are_small_and_need_nothing(name):
    content = (build.HERE / name).read_bytes()
    assert content[:8] == b"\0asm\x01\0\0\0" and len(content) < (300_000 if name == "trainer.wasm" else 180_000)
    assert 2 not in sections(content), "it imports something"
    assert str(ROOT).encode() not in content and b"/tmp/" not in content


@pytest.mark.extra("ziglang")
@pytest.mark.skipif(not (ROOT / "pyproject.toml").exists(), reason="the sources are not here")
def test_the_files_are_those_of_the_sources(tmp_path):
    """After a change of the kernels or of the runtime: `make wasm`."""
    if importlib.metadata.version("ziglang") != pinned():
        pytest.skip("another version of Zig makes other bytes")
    build.compiled(tmp_path)
    for name in build.BUILDS:
        assert (tmp_path / name).read_bytes() == (build.HERE / name).read_bytes(), f"{name}: run `make wasm`"
