"""Which kernels are in use: the environment variable, and an installation without a compiler."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import postil

ROOT = Path(postil.__file__).parents[2]
COMPILED = bool(list(Path(postil.__file__).parent.glob("kernels/libkernels-*")))
SHOW = "from postil import kernels; print(kernels.IN_USE)"


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.slow
def test_plain_is_numpy():
    assert run(SHOW, POSTIL_KERNELS="plain").stdout == "plain (NumPy)\n"
    assert (
        "plain (NumPy): POSTIL_KERNELS=plain, "
        in run("from postil import kernels; print(kernels.in_use())", POSTIL_KERNELS="plain").stdout
    )
    code = "from postil import kernels; print(kernels.viterbi.__module__)"
    assert run(code, POSTIL_KERNELS="plain").stdout == "postil.kernels.plain_chain\n"


@pytest.mark.skipif(not COMPILED, reason="the kernels were not compiled here")
def test_compiled_is_taken_if_it_is_there():
    for choice in ("compiled", "auto", ""):
        assert run(SHOW, POSTIL_KERNELS=choice).stdout.startswith("compiled (")


def test_another_word_is_refused():
    code = "import sys; from postil.commands.main import main; sys.exit(main(['--version']))"
    refused = run(code, POSTIL_KERNELS="fast")
    assert refused.returncode == 1 and not refused.stdout
    assert refused.stderr == "postil: POSTIL_KERNELS must be auto or plain or compiled (got 'fast')\n"


def test_the_version_says_what_is_in_use():
    code = "from postil.commands.main import main; main(['--version'])"
    assert run(code, POSTIL_KERNELS="plain").stdout.endswith(", kernels: plain (NumPy)\n")


@pytest.mark.slow
@pytest.mark.skipif(not (ROOT / "setup.py").exists(), reason="the sources are not here")
def test_a_broken_compiler_still_gives_a_working_package(tmp_path):
    pytest.importorskip("cffi")
    pytest.importorskip("setuptools")
    sources = tmp_path / "sources"
    ignored = shutil.ignore_patterns("libkernels*", "_declarations.py", "__pycache__", "*.egg-info")
    for name in ("src", "packaging"):
        shutil.copytree(ROOT / name, sources / name, ignore=ignored)
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE", "MANIFEST.in"):
        shutil.copy(ROOT / name, sources)
    target = tmp_path / "built"
    built = subprocess.run(
        [sys.executable, "setup.py", "--quiet", "build", "--build-lib", str(target)],
        cwd=sources,
        env={**os.environ, "CC": "/bin/false", "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert built.returncode == 0, built.stderr
    assert "postil.kernels.baseline" in built.stderr  # it was tried, and failed
    assert not list(target.rglob("libkernels*"))
    decode = "import numpy as np; print(kernels.viterbi(np.eye(2), [0, 2], np.zeros((2, 2)), *np.zeros((2, 2)))[0])"
    tokens = "from postil.text import tokenise; print(*tokenise('It rains.').tokens)"  # the tables came along
    found = run(
        f"{SHOW}; print(kernels.__file__.startswith({str(target)!r})); {decode}; {tokens}",
        PYTHONPATH=str(target),
        POSTIL_KERNELS="auto",
    )
    assert found.stdout == "plain (NumPy)\nTrue\n[0 1]\nIt rains .\n", found.stderr
    assert found.stderr.count("several times slower") == 1  # it is said, and said once
    tag = "from postil.commands.main import main; main(['tag', 'missing.postil', '--text', 'It rains.'])"
    said = run(tag, PYTHONPATH=str(target), POSTIL_KERNELS="auto").stderr.splitlines()
    assert len(said) == 2 and "several times slower" in said[0] and said[1].startswith("postil: no such model file")
    assert "slower" not in run(tag, PYTHONPATH=str(target), POSTIL_KERNELS="plain").stderr
    insisted = run(SHOW, PYTHONPATH=str(target), POSTIL_KERNELS="compiled")
    assert "ConfigurationError: POSTIL_KERNELS: the compiled kernels cannot be used" in insisted.stderr


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="the kernels were not compiled here")
def test_the_instructions_can_be_limited():
    limited = run(SHOW, POSTIL_KERNELS="compiled", POSTIL_INSTRUCTIONS="baseline").stdout
    assert limited in ("compiled (baseline)\n", "compiled (NEON)\n")
    code = "import sys; from postil.commands.main import main; sys.exit(main(['--version']))"
    refused = run(code, POSTIL_KERNELS="compiled", POSTIL_INSTRUCTIONS="v9")
    assert refused.returncode == 1 and not refused.stdout
    assert refused.stderr == "postil: POSTIL_INSTRUCTIONS must be baseline or v3 or v4 (got 'v9')\n"


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="the kernels were not compiled here")
def test_the_best_library_for_this_processor_is_opened(tmp_path):
    """Where the better ones are missing the lesser ones serve; without the baseline NumPy does."""
    shutil.copytree(Path(postil.__file__).parent, tmp_path / "postil", ignore=shutil.ignore_patterns("__pycache__"))
    folder = tmp_path / "postil" / "kernels"
    everything = run(SHOW, PYTHONPATH=str(tmp_path), POSTIL_INSTRUCTIONS="").stdout
    for path in folder.glob("libkernels-v?.*"):
        path.unlink()
    assert run(SHOW, PYTHONPATH=str(tmp_path)).stdout in ("compiled (baseline)\n", "compiled (NEON)\n")
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    assert ("avx2" not in flags) == (everything in ("compiled (baseline)\n", "compiled (NEON)\n")) or not flags
    next(folder.glob("libkernels-baseline.*")).unlink()
    assert run(SHOW, PYTHONPATH=str(tmp_path)).stdout == "plain (NumPy)\n"


@pytest.mark.skipif(not COMPILED, reason="the kernels were not compiled here")
def test_a_library_older_than_its_sources_is_not_used(tmp_path):
    """Its functions may take other arguments now."""
    copy = tmp_path / "postil"
    shutil.copytree(Path(postil.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    with (copy / "kernels" / "kernels.h").open("a") as header:
        header.write("/* changed */\n")
    assert run(SHOW, PYTHONPATH=str(tmp_path), POSTIL_KERNELS="auto").stdout == "plain (NumPy)\n"
    insisted = run(SHOW, PYTHONPATH=str(tmp_path), POSTIL_KERNELS="compiled")
    assert "the compiled kernels are older than their sources" in insisted.stderr
