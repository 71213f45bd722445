"""Run the code and the commands of the documentation pages and compare what they print with what the pages show.

    python docs/run_pages.py                                check every page; exit code 1 if one is out of date
    python docs/run_pages.py --write docs/tutorials/*.md    rewrite the outputs of these pages

A page runs from top to bottom in an empty folder. Three kinds of fenced blocks run:

    ```python     a piece of the page's program; a ```text block right after it shows what it prints
    ```pycon      a session with >>> prompts, in the same program; blank lines of its output are not shown
    ```console    commands after "$ ", each followed by its output; a line "…" stands for any number of lines

Blocks of ``sh`` show commands without their output. They run apart from the rest of the page, in a folder with small
files under the names that pages use (programs/files.py), and must succeed. ``<!-- not run: REASON -->`` before such a
block says why it does not run; its options are checked nevertheless, as are those of commands that serve a page.

An HTML comment ``<!-- run: COMMAND -->`` runs a command that the reader does not see. ``<!-- needs: MODULE -->`` names
a package of an extra without which the page cannot run. Blocks of any other language are only shown. Times and speeds
are not compared, and neither are the last digits of figures in the output of commands: a model trained on another
processor rounds differently. ``--write`` updates figures and leaves times alone.
"""

import argparse
import contextlib
import doctest
import importlib
import importlib.util
import io
import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from postil.commands.main import main as main_of_postil
from postil.commands.parser import command_parser

DOCS = Path(__file__).parent
FENCE = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$|^<!-- run: (.*?) -->$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"(?<![A-Za-z_])[-+]?\d[\d,]*(?:\.\d+)?")
TIMES = re.compile(r"\b[\d.,]+ (ms|s|seconds|minutes|tokens/s|trees/s)(?!\w)")
ELISION = "…"


@dataclass(frozen=True)
class Mismatch:
    """A block whose output is not what the page shows."""

    page: Path
    code: str
    shown: str
    printed: str

    def __str__(self) -> str:
        return "\n".join(
            [f"{self.page}: out of date", self.code, "--- the page shows", self.shown, "--- it prints", self.printed]
        )


def pages() -> list[Path]:
    """Every page that has something to run."""
    candidates = [DOCS.parent / "README.md", *sorted(DOCS.rglob("*.md"))]
    return [page for page in candidates if re.search(r"^```(python|pycon|console)", page.read_text("utf-8"), re.M)]


SHELL = re.compile(r"^(<!-- not run: .* -->\n)?```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SERVING = ("annotate", "serve")


@dataclass(frozen=True)
class ShellBlock:
    """A block of commands without output."""

    lines: list[str]
    is_run: bool


def shell_blocks(page: Path) -> list[ShellBlock]:
    """The blocks of ``sh`` on a page."""
    return [ShellBlock(found[2].splitlines(), not found[1]) for found in SHELL.finditer(page.read_text("utf-8"))]


def failures(blocks: Sequence[ShellBlock], folder: Path) -> list[str]:
    """The commands that fail, each with its output, when the blocks run in a copy of a folder of example files."""
    found = []
    with tempfile.TemporaryDirectory() as copy, contextlib.chdir(copy):
        shutil.copytree(folder, copy, dirs_exist_ok=True)
        _install_command(Path(copy))
        for block in blocks:
            with contextlib.chdir(copy), _environment():
                found += [message for line in block.lines if (message := _failure(line, block.is_run))]
    return found


def _failure(line: str, is_run: bool) -> str | None:
    """The message of a command that fails; a change of the folder lasts for the block."""
    words = shlex.split(line, comments=True)
    is_plain = words[:1] == ["postil"] and not {"|", ">"} & {*words}
    if is_plain and (not is_run or words[1] in SERVING):
        try:
            command_parser(words[1]).parse_args(words[2:])
        except SystemExit:
            return f"$ {line}: wrong options"
    elif is_run and words[:1] == ["cd"]:
        os.chdir(words[1])
    elif is_run and words:
        code, printed = _in_process(words[1:]) if is_plain else _in_a_shell(line)
        return f"$ {line}\n{printed}" if code else None
    return None


def needs(page: Path) -> list[str]:
    """The modules of other packages that a page uses."""
    return [
        name
        for found in re.findall(r"^<!-- needs: (.*?) -->$", page.read_text("utf-8"), re.M)
        for name in found.split()
    ]


def run_page(page: Path) -> tuple[list[Mismatch], str, dict[str, object]]:
    """Run a page: what is out of date, its text with the outputs of this run, and the names that its code defined."""
    text = page.read_text("utf-8")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), np.printoptions():
        _install_command(Path(folder))
        if "spacy" in needs(page):  # as the entry point of an installed package does
            importlib.import_module("postil.integrations.spacy")
        runner = _Runner(page, text)
        runner.run()
    return runner.mismatches, runner.result(), runner.names


class _Runner:
    """The blocks of one page; ``names`` is the namespace of its Python code."""

    def __init__(self, page: Path, text: str) -> None:
        self.page, self.text = page, text
        self.names: dict[str, object] = {"__name__": "__page__"}
        self.mismatches: list[Mismatch] = []
        self.replacements: list[tuple[int, int, str]] = []

    def run(self) -> None:
        blocks = list(FENCE.finditer(self.text))
        for block, following in itertools.zip_longest(blocks, blocks[1:]):
            if block[3] is not None:
                _prepare(block[3])
            elif block[1] == "python":
                self._python(block[2], following)
            elif block[1] == "pycon":
                self._replace(block, block[2], self._session(block[2]), code="")
            elif block[1] == "console":
                self._console(block)

    def result(self) -> str:
        text = self.text
        for start, end, new in reversed(self.replacements):
            text = text[:start] + new + text[end:]
        return text

    def _python(self, code: str, following: re.Match[str] | None) -> None:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, self.page.name, "exec"), self.names)
        output = printed.getvalue()
        if following is not None and following[1] == "text":
            self._replace(following, following[2], output, code)
        elif output:
            self.mismatches.append(Mismatch(self.page, code, "(nothing)\n", output))

    def _session(self, text: str) -> str:
        """A session with the outputs of this run in place of those of the page."""
        lines: list[str] = []
        for part in doctest.DocTestParser().parse(text):
            if isinstance(part, str):
                lines.append(part)
                continue
            source = part.source.splitlines()
            prompts = [">>> ", *["... "] * (len(source) - 1)]
            lines += [f"{prompt}{line}".rstrip() + "\n" for prompt, line in zip(prompts, source, strict=True)]
            lines.append(self._statement(part.source))
        return "".join(lines)

    def _statement(self, source: str) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            try:
                exec(compile(source, self.page.name, "single"), self.names)
            except Exception as error:
                frames = "Traceback (most recent call last):\n  ...\n"
                printed.write(frames + "".join(traceback.format_exception_only(error)))
        return re.sub(r"\n{2,}", "\n", printed.getvalue())  # a blank line would end the output

    def _console(self, block: re.Match[str]) -> None:
        written = []
        for command, shown in _commands(block[2]):
            printed = _shell(command)
            if not _agree(shown, printed):
                self.mismatches.append(Mismatch(self.page, f"$ {command}", shown, printed))
            written.append(f"$ {command}\n{_with_times_of(shown, _elided(shown, printed))}")
        self.replacements.append((block.start(2), block.end(2), "".join(written)))

    def _replace(self, block: re.Match[str], shown: str, printed: str, code: str) -> None:
        if shown != printed:
            self.mismatches.append(Mismatch(self.page, code, shown, printed))
        self.replacements.append((block.start(2), block.end(2), printed))


def _commands(text: str) -> Iterator[tuple[str, str]]:
    """The commands of a console block, each with the output that is shown below it."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        lines = part.splitlines(keepends=True)
        count = 1
        while lines[count - 1].endswith("\\\n"):
            count += 1
        yield "".join(lines[:count]).rstrip("\n"), "".join(lines[count:])


def _install_command(folder: Path) -> None:
    """Put a ``postil`` and a ``python`` that run this very package into the folder's ``.bin``."""
    (folder / ".bin").mkdir()
    for name, words in (("postil", [sys.executable, "-m", "postil"]), ("python", [sys.executable])):
        script = folder / ".bin" / name
        script.write_bytes(os.fsencode(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n'))
        script.chmod(0o755)


def _prepare(command: str) -> None:
    """Run a command that the reader does not see; it must succeed in silence."""
    printed = _shell(command)
    if printed:
        raise RuntimeError(f"{command} printed {printed}")


def _shell(command: str) -> str:
    """Return the output of a command on a terminal: standard output and standard error, in order."""
    with _environment():
        plain = command.startswith("postil ") and not re.search(r"[|<>;&$\\]", command)
        _, printed = _in_process(shlex.split(command)[1:]) if plain else _in_a_shell(command)
    return re.sub(r"[ \t]+$", "", printed, flags=re.MULTILINE)


@contextlib.contextmanager
def _environment() -> Iterator[None]:
    """A terminal of 100 columns without colours, in which ``postil`` and ``python`` run this package."""
    before = dict(os.environ)
    sources = os.pathsep.join(filter(None, [str(DOCS.parent / "src"), before.get("PYTHONPATH")]))
    path = f"{Path.cwd() / '.bin'}{os.pathsep}{before['PATH']}"
    os.environ.update({"PATH": path, "PYTHONPATH": sources, "COLUMNS": "100", "NO_COLOR": "1"})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _in_process(words: Sequence[str]) -> tuple[int, str]:
    """Exit code and output of ``postil`` with these words, without the half second that a process takes to start."""
    printed = io.BytesIO()
    with io.TextIOWrapper(printed, encoding="utf-8", write_through=True) as stream:
        with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
            code = main_of_postil(words)
        stream.flush()
        return code, printed.getvalue().decode("utf-8")


def _in_a_shell(command: str) -> tuple[int, str]:
    for folder in ("programs", "ladder"):  # pages run elsewhere
        command = command.replace(f"docs/{folder}/", f"{shlex.quote(str(DOCS / folder))}/")
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    done = subprocess.run(command, shell=True, text=True, check=False, **streams)
    return done.returncode, done.stdout


def _agree(shown: str, printed: str) -> bool:
    """Whether the lines shown are those printed; an elision stands for any number of lines."""
    return _matches(shown.splitlines(), printed.splitlines())


def _matches(shown: Sequence[str], printed: Sequence[str]) -> bool:
    if not shown:
        return not printed
    if shown[0] == ELISION:
        return any(_matches(shown[1:], printed[start:]) for start in range(len(printed) + 1))
    return bool(printed) and _same_line(shown[0], printed[0]) and _matches(shown[1:], printed[1:])


def _same_line(shown: str, printed: str) -> bool:
    if _words(shown) != _words(printed):
        return False
    pairs = zip(_figures(shown), _figures(printed), strict=True)
    return all(abs(a - b) <= _tolerance(a) for a, b in pairs)


def _tolerance(figure: float) -> float:
    """How far a figure may move before a page is out of date: 0.1 for probabilities, about 5 % for larger figures."""
    return 0.1 if abs(figure) <= 1 else 0.3 + 0.05 * abs(figure)


def _timeless(line: str) -> str:
    return TIMES.sub(r"# \1", line)


def _words(line: str) -> str:
    """A line without its figures, times, bars and amount of white space."""
    return " ".join(re.sub(r"[█░▌▏▎▍▋▊▉*]+", "", NUMBER.sub("#", _timeless(line))).split())


def _figures(line: str) -> list[float]:
    return [float(number.replace(",", "")) for number in NUMBER.findall(TIMES.sub(r"\1", line))]


def _elided(shown: str, printed: str) -> str:
    """Return the output with the elisions of the page; lines that the page shows are those of this run."""
    if ELISION not in shown.splitlines():
        return printed
    rest, kept = printed.splitlines(), []
    for line in shown.splitlines():
        if line == ELISION:
            kept.append(line)
            continue
        places = [place for place, candidate in enumerate(rest) if _words(candidate) == _words(line)]
        if not places:
            raise SystemExit(f"no line of the output looks like {line!r}; edit the page by hand:\n{printed}")
        kept.append(rest[places[0]])
        rest = rest[places[0] + 1 :]
    return "".join(f"{line}\n" for line in kept)


def _with_times_of(shown: str, printed: str) -> str:
    """Lines in which nothing but times has changed stay as the page has them."""
    known = {_timeless(line): line for line in shown.splitlines()}
    return "".join(f"{known.get(_timeless(line), line)}\n" for line in printed.splitlines())


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("pages", nargs="*", type=Path, help="pages (default: all that have something to run)")
    parser.add_argument("--write", action="store_true", help="rewrite the outputs instead of comparing them")
    arguments = parser.parse_args()
    outdated = 0
    for page in [page.resolve() for page in arguments.pages] or pages():
        if missing := [name for name in needs(page) if importlib.util.find_spec(name) is None]:
            sys.stdout.write(f"{page}: skipped, needs {', '.join(missing)}\n")
            continue
        mismatches, text, _ = run_page(page)
        if arguments.write and text != page.read_text("utf-8"):
            page.write_text(text, "utf-8")
            sys.stdout.write(f"{page}: rewritten\n")
        elif not arguments.write:
            outdated += len(mismatches)
            sys.stdout.writelines(f"{mismatch}\n" for mismatch in mismatches)
    return 1 if outdated else 0


if __name__ == "__main__":
    raise SystemExit(main())
