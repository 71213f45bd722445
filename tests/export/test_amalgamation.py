"""One source out of many: whole, without warnings, and nothing but the names of postil.h outside of it."""

import re
import shutil
import subprocess
import sys

import pytest

from oracles.c_runtime import COMPILER, WARNINGS, needs_compiler, sources
from postil.export.amalgamation import KERNEL_FILES, KERNELS, amalgamation, header


def test_no_line_of_a_kernel_is_lost():
    """Only includes, guards and prototypes are."""
    source = set(amalgamation().split("\n"))
    for name in KERNEL_FILES:
        if name.endswith(".c"):
            lines = (KERNELS / name).read_text(encoding="utf-8").split("\n")
            kept = [line for line in lines if not line.startswith(("#include", "int "))]
            assert set(kept) <= source
    assert "static int chain_answers" in amalgamation()
    assert "ranked_paths" not in amalgamation()


def test_it_is_the_same_every_time():
    assert amalgamation() == amalgamation()


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize(("compiler", "options"), [("gcc", "-O2"), ("clang", "-O1"), ("zig", "-O0")])
def test_no_compiler_warns(compiler, options, tmp_path):
    if compiler == "zig":
        pytest.importorskip("ziglang")
        command = [sys.executable, "-m", "ziglang", "cc"]
    elif shutil.which(compiler) is None:
        pytest.skip(f"needs {compiler}")
    else:
        command = [compiler]
    made = subprocess.run(
        [*command, *WARNINGS, options, "-c", "postil.c", "-o", str(tmp_path / "postil.o")],
        cwd=sources(),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert (made.returncode, made.stdout, made.stderr) == (0, "", "")


@pytest.mark.slow
@needs_compiler
def test_only_the_names_of_the_header_are_visible(tmp_path):
    if shutil.which("nm") is None:
        pytest.skip("needs nm")
    subprocess.run([COMPILER, "-c", "postil.c", "-o", str(tmp_path / "x.o")], cwd=sources(), check=True, timeout=300)
    listed = subprocess.run(["nm", "-g", str(tmp_path / "x.o")], capture_output=True, text=True, check=True, timeout=60)
    names = {line.split()[-1] for line in listed.stdout.splitlines() if re.search(r" [TDBRC] ", line)}
    assert names == set(re.findall(r"\b(postil_\w+)\(", re.sub(r"/\*.*?\*/", "", header(), flags=re.DOTALL)))


@needs_compiler
def test_the_header_can_be_included_from_cplusplus(tmp_path):
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("needs a C++ compiler")
    (tmp_path / "a.cpp").write_text('#include "postil.h"\nint main() { return POSTIL_OK; }\n', encoding="utf-8")
    command = [compiler, "-Wall", "-Wextra", "-Werror", f"-I{sources()}", "-c", "a.cpp", "-o", "a.o"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=300)
