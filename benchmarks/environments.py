"""Environments of their own for the peers, so that none of them is ever installed beside Postil.

    python = environment("torch", TORCH)
    subprocess.run([python, "-m", "benchmarks.peers.pytorch"])

An environment is made once, under ``benchmarks/results/``, and made again when its list of packages changes.
"""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
ROOT = Path(__file__).parent.parent

# This exact version of PyTorch: others bring gigabytes of libraries for graphics cards. Postil itself goes beside it.
TORCH = ["torch==2.13.0", "pytorch-crf==0.7.2", "cffi>=1.16", f"--editable={ROOT}"]


def environment(name: str, packages: Sequence[str]) -> Path:
    """The path of a Python that has ``packages`` installed. Takes minutes the first time and nothing afterwards."""
    folder = RESULTS / f"env-{name}"
    python = folder / "bin" / "python"
    wanted = "\n".join(packages) + "\n"
    stamp = folder / "installed-packages.txt"
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    print(f"making an environment with {packages[0]} in {folder.relative_to(ROOT)} …", file=sys.stderr)
    shutil.rmtree(folder, ignore_errors=True)
    RESULTS.mkdir(exist_ok=True)
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *packages], check=True)
    stamp.write_text(wanted)
    return python
