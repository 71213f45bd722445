"""Run the README's two commands, ``make demo`` and ``make test``, on clones of this repository in difficult places.

    python tests/clones.py                      the commands in every place, with a few tests that depend on the place
    python tests/clones.py --only spaces        only in the places whose names contain this word
    python tests/clones.py --whole spaces       all tests in these places, a few in the others

Two places at a time: each runs next to the tests of another checkout. The last commit is cloned. Where only a few
tests run, the packages of this environment are used if the version of Python is the same; Postil itself is installed.
"""

import argparse
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Isolation, pages that start processes, signals, pipes, workers, the build, and how the kernels are chosen.
TESTS = [
    "tests/test_suite.py",
    "tests/test_files.py",
    "tests/kernels/test_choice.py",
    "tests/commands/test_main.py",
    "tests/commands/test_tag.py::test_a_reader_that_goes_away_is_no_error",
    "tests/commands/test_tag.py::test_nor_where_tables_are_shown",
    "tests/tagging/test_workers.py::test_signals_end_all_of_them_with_one_line",
    "tests/test_faults.py::test_a_trial_of_processes",
    "tests/test_faults.py::test_outputs_that_cannot_be_written",
    "tests/test_docs.py::test_commands_run_whatever_the_path_of_python_is",
    "tests/test_docs.py::test_a_page_shows_what_its_code_and_commands_print[docs/how-to/metrics.md]",
]
COMPILER = re.compile(r"(.*-)?(cc|c89|c99|gcc|g\+\+|c\+\+|clang|clang\+\+|tcc|zig|icx)(-[\d.]+)?")
# What belongs to the run that starts this one, not to a user's shell.
OURS = re.compile(r"CI|CC|CFLAGS|M(AKE)?FLAGS|MAKE.*|PYTEST.*|POSTIL.*|VIRTUAL_ENV|PYTHONPATH|TMPDIR|\w+_NUM_THREADS")
NOBODY = 65534


class Failure(Exception):
    """A command that fails in a place, with what it printed."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where, by whom and with what the commands are run."""

    name: str
    folder: str = "a/clone"
    targets: tuple[str, ...] = ("demo", "test")
    python: str = getattr(sys, "_base_executable", sys.executable)
    directly_below_tmp: bool = False
    through_link: bool = False
    temporary: str = ""  # TMPDIR, in the scratch folder
    stranger: bool = False  # another user than root, with umask 077
    compiler: bool = True
    background: bool = False  # Ctrl-C is ignored, as in a job that a shell starts in the background


def places() -> list[Place]:
    """Few places with several difficulties each: a place costs an environment and a build."""
    others = [(name, path) for minor in (14, 13, 12, 11) if (path := _other_python(name := f"python3.{minor}"))]
    return [
        *[Place(name=name, python=path) for name, path in others[:1]],
        Place(
            name="spaces and other letters, symbolic link, TMPDIR set, not root, umask 077, tests run twice",
            folder="Zoë's Käse/my clone",
            targets=("demo", "test", "test"),
            through_link=True,
            temporary="my tmp ü",
            stranger=True,
        ),
        Place(
            name="directly below the temporary folder, no compiler, in the background",
            directly_below_tmp=True,
            compiler=False,
            background=True,
        ),
    ]


def _other_python(name: str) -> str | None:
    """An installed Python of another version than this; those of pyenv are installed, but not found by their names."""
    code = "import sys, venv, ensurepip; print(sys.executable, sys.version_info[:2], sep='\\n')"
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for path in [*filter(None, [shutil.which(name)]), *sorted(pyenv.glob(f"versions/*/bin/{name}"))]:
        found = subprocess.run([path, "-c", code], capture_output=True, text=True, check=False)
        if found.returncode == 0:
            executable, version = found.stdout.splitlines()
            return None if version == str(sys.version_info[:2]) else executable
    return None


class Clone:
    """A clone of the last commit in a place, and the commands that run in it."""

    def __init__(self, place: Place, scratch: Path, whole: bool) -> None:
        self.place, self.whole = place, whole
        self.folder = Path(tempfile.mkdtemp(prefix="postil-")) if place.directly_below_tmp else scratch / place.folder
        self.folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", ROOT, self.folder], check=True)
        self.environment = {name: value for name, value in os.environ.items() if not OURS.fullmatch(name)}
        self.options: dict[str, object] = {"umask": 0o022}
        self.python = place.python
        if place.through_link:
            (scratch / "link").symlink_to(self.folder)
        self.way = scratch / "link" if place.through_link else self.folder
        if place.temporary:
            (scratch / place.temporary).mkdir()
            self.environment["TMPDIR"] = str(scratch / place.temporary)
        if place.stranger:
            self._leave_to_a_stranger(scratch)
        if not place.compiler:
            self.environment["PATH"] = str(_programs_without_compilers(scratch / "bin"))
        elif not whole:
            self.environment["CC"] = shlex.quote(str(_quick_compiler(scratch / "quick-cc")))
        if not whole:
            self.environment["PYTEST_ADDOPTS"] = shlex.join(TESTS)
        self.environment["PWD"] = str(self.way)  # as a shell says it

    def _leave_to_a_stranger(self, scratch: Path) -> None:
        self.options["umask"] = 0o077
        if os.geteuid() != 0:
            return
        self.options |= {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        (scratch / "home").mkdir()
        self.environment["HOME"] = str(scratch / "home")
        for folder, folders, files in os.walk(scratch):
            for name in (".", *folders, *files):
                os.chown(Path(folder) / name, NOBODY, NOBODY, follow_symlinks=False)
        candidates = [self.python, *filter(None, [shutil.which("python3", path="/usr/local/bin:/usr/bin:/bin")])]
        usable = [python for python in candidates if self._runs([python, "-c", "import ensurepip, venv"])]
        if not usable:
            raise Failure(f"no Python that another user may run (tried {', '.join(candidates)})")
        self.python = usable[0]

    def run(self, *words: str) -> str:
        """What a command prints; it must succeed."""
        ignore = signal.signal if self.place.background else None
        done = subprocess.run(
            words,
            cwd=self.way,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
            preexec_fn=ignore and (lambda: ignore(signal.SIGINT, signal.SIG_IGN)),
            **self.options,  # type: ignore[call-overload]
        )
        if done.returncode:
            raise Failure(f"$ {shlex.join(words)}\n{done.stdout}\nexit code {done.returncode}")
        return done.stdout

    def _runs(self, words: Sequence[str]) -> bool:
        try:
            self.run(*words)
        except (Failure, OSError):
            return False
        return True

    def share_packages(self) -> None:
        """Let the environment of the clone find this one's packages, if they suit its Python and may be read."""
        self.run("make", ".venv/bin/python", f"PYTHON={self.python}")
        (packages,) = (self.folder / ".venv" / "lib").glob("python3.*/site-packages")
        ours = Path(sys.prefix) / "lib" / packages.parent.name / "site-packages"
        if self._runs([".venv/bin/python", "-c", f"import sys; sys.path.append({str(ours)!r}); import numpy, pytest"]):
            (packages / "shared.pth").write_text(f"{ours}\n", encoding="utf-8")
            (packages / "shared.pth").chmod(0o644)

    def check(self) -> str:
        """Run the commands; a summary of what was tested."""
        if not self.whole:
            self.share_packages()
        workers = "auto" if self.whole else "1"
        settings = [f"PYTHON={self.python}", f"PYTEST_WORKERS={workers}", *([] if self.whole else ["SELECT=not extra"])]
        printed = [self.run("make", target, *settings) for target in self.place.targets]
        kernels = self.run(".venv/bin/postil", "--version")
        if ("plain" in kernels) == self.place.compiler:
            raise Failure(f"other kernels than expected: {kernels}")
        if left := self.run("git", "status", "--porcelain"):
            raise Failure(f"the commands left files behind:\n{left}")
        passed = re.findall(r"^.*\d+ passed.*$", "\n".join(printed), re.MULTILINE)
        if len(passed) != self.place.targets.count("test"):
            raise Failure("\n".join(printed))
        return "; ".join(passed)


def _quick_compiler(path: Path) -> Path:
    """A compiler that optimises nothing: the results are the same bits, and the build takes half the time."""
    path.write_text('#!/bin/sh\nexec cc "$@" -O0\n')
    path.chmod(0o755)
    return path


def _programs_without_compilers(folder: Path) -> Path:
    """A folder with links to the programs of PATH that are not compilers."""
    folder.mkdir()
    for path in map(Path, os.get_exec_path()):
        for program in path.iterdir() if path.is_dir() else ():
            if not COMPILER.fullmatch(program.name) and not (folder / program.name).is_symlink():
                (folder / program.name).symlink_to(program)
    return folder


def try_out(place: Place, *, whole: bool) -> bool:
    """Run the commands in a place, and show the result in a line; everything that was printed, if they fail."""
    began = time.monotonic()
    scratch = Path(tempfile.mkdtemp(prefix="postil-clones-"))
    scratch.chmod(0o755)
    clone = None
    try:
        clone = Clone(place, scratch, whole)
        told, holds = clone.check(), True
    except Failure as failure:
        told, holds = f"FAILED\n{failure}", False
    finally:
        shutil.rmtree(scratch)
        if clone is not None and place.directly_below_tmp:
            shutil.rmtree(clone.folder)
    sys.stdout.write(f"{place.name} ({time.monotonic() - began:.0f} s): {told}\n")
    sys.stdout.flush()
    return holds


def main() -> int:
    """Try out all places, two at a time."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", action="append", metavar="WORD", help="only places whose names contain this word")
    parser.add_argument("--whole", action="append", default=[], metavar="WORD", help="all tests in these places")
    arguments = parser.parse_args()

    def among(place: Place, words: Sequence[str]) -> bool:
        return any(word in place.name for word in words)

    chosen = [place for place in places() if among(place, arguments.only or [""])]
    with ThreadPoolExecutor(2) as pool:
        held = list(pool.map(lambda place: try_out(place, whole=among(place, arguments.whole)), chosen))
    return 0 if held and all(held) else 1


if __name__ == "__main__":
    raise SystemExit(main())
