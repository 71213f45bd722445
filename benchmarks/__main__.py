"""Run the benchmarks that need no corpus, one after the other, each in a process of its own.

    python -m benchmarks                     all of them (minutes; peers get environments of their own)
    python -m benchmarks --list              what there is
    python -m benchmarks gradient_cost …     only these
    python -m benchmarks.tokenising --help   one benchmark, with its own options and data

Tables go to the screen and figures to benchmarks/results/*.json. Exit code 1 if any of them misses its goal.
"""

import argparse
import ast
import subprocess
import sys
from pathlib import Path

from benchmarks.environments import ROOT
from benchmarks.measuring import parser

# The others are listed, but wait for the path of a corpus.
WITHOUT_DATA = (
    *("gradient_cost", "sparse_step", "model_file", "start_up", "beside_pytorch", "crf"),
    *("explaining", "kernels", "growth"),
)
# Those that would take more than a minute or two have a short form.
SHORT = {"growth": ["--quick"]}
SHARED = ("__init__", "__main__", "environments", "limits", "measuring", "plots", "zipf")


def main() -> int:
    arguments = _arguments()
    found = benchmarks()
    unknown = [name for name in arguments.names if name not in found]
    if unknown:
        print(f"no such benchmark: {', '.join(unknown)}; expected some of: {', '.join(found)}", file=sys.stderr)
        return 2
    if arguments.list:
        return show(found)
    waiting = [name for name in arguments.names if name not in WITHOUT_DATA]
    if waiting:
        print(f"{waiting[0]} needs a corpus: python -m benchmarks.{waiting[0]} --help", file=sys.stderr)
        return 2
    names = arguments.names or [name for name in WITHOUT_DATA if name in found]
    failed = [name for name in names if run(name, found[name]) != 0]
    print(f"\n{len(names) - len(failed)} of {len(names)} benchmarks reached their goals", end="")
    print(f"; missed: {', '.join(failed)}" if failed else "")
    return 1 if failed else 0


def _arguments() -> argparse.Namespace:
    options = parser(__doc__)
    options.add_argument("names", nargs="*", metavar="NAME", help="benchmarks to run; without: all that need no corpus")
    options.add_argument("--list", action="store_true", help="list the benchmarks and stop")
    return options.parse_args()


def benchmarks() -> dict[str, str]:
    """Every benchmark of this folder with the first line of its docstring, without importing any."""
    found = {}
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path.stem not in SHARED:
            text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
            found[path.stem] = text.partition("\n")[0]
    return found


def show(found: dict[str, str]) -> int:
    for name, line in found.items():
        note = "" if name in WITHOUT_DATA else " (needs a corpus)"
        print(f"{name:<16} {line}{note}")
    return 0


def run(name: str, line: str) -> int:
    print(f"\n=== {name}: {line}", flush=True)
    return subprocess.run(
        [sys.executable, "-m", f"benchmarks.{name}", *SHORT.get(name, [])], cwd=ROOT, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
