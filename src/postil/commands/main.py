"""Entry point of ``postil``: find the command, let it parse its words and run, print errors as one line.

Exit codes: 0 success, 1 a user error or a failed check, 2 a wrong command line, 3 a gate was not
passed (``extend``), 130 interrupted, 143 terminated.
"""

import argparse
import codecs
import errno
import importlib
import io
import os
import re
import signal
import sys
import textwrap
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, NoReturn, Protocol, cast

from postil.commands.terminal.notices import warn
from postil.errors import (
    CheckpointWarning,
    ForgettingWarning,
    LongSentenceWarning,
    PostilError,
    SchemeWarning,
    SlowKernelsWarning,
    UnspacedTextWarning,
    WorkerWarning,
    similar,
)


class Command(Protocol):
    """What a command's module offers."""

    DESCRIPTION: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...
    def run(self, arguments: argparse.Namespace) -> int: ...


class Entry(NamedTuple):
    module: str
    help: str


# Modules are imported only when their command is called: `postil --help` stays instant.
COMMANDS: dict[str, Entry] = {
    "train": Entry("postil.commands.train", "train a tagger, a detector or a tree classifier"),
    "pretrain": Entry("postil.commands.pretrain", "learn word vectors, word clusters or encoders from raw text"),
    "neighbours": Entry("postil.commands.neighbours", "list the words with the most similar vectors"),
    "evaluate": Entry("postil.commands.evaluate", "score a model on labelled data"),
    "tag": Entry("postil.commands.tag", "label text"),
    "tune": Entry("postil.commands.tune", "trade precision for recall in a trained model"),
    "explain": Entry("postil.commands.explain", "show which words and features led to a prediction"),
    "serve": Entry("postil.commands.serve", "serve models through an HTTP API, with a page to try them"),
    "annotate": Entry("postil.commands.annotate", "label text on a local page while a model learns from the answers"),
    "doctor": Entry("postil.commands.doctor", "find errors and inconsistencies in labelled data"),
    "extend": Entry("postil.commands.extend", "teach a tagger new classes without forgetting the old ones"),
    "suggest": Entry("postil.commands.suggest", "suggest which sentences to label next"),
    "crossval": Entry("postil.commands.crossval", "cross-validate: score a model without a held-out file"),
    "curve": Entry("postil.commands.curve", "draw a learning curve and estimate what more data would bring"),
    "compare": Entry("postil.commands.compare", "compare two taggers on labelled data"),
    "convert": Entry("postil.commands.convert", "convert a labelled file to another format or labelling scheme"),
    "export": Entry("postil.commands.export", "write a model for C or for web pages"),
    "card": Entry("postil.commands.card", "show the model card: data, licence, scores and weaknesses"),
    "draw": Entry("postil.commands.draw", "draw the network of a model as a picture"),
    "presets": Entry("postil.commands.presets", "list the presets with their purposes and settings"),
    "check": Entry("postil.commands.check", "compare every gradient with central differences"),
    "score": Entry("postil.commands.score", "score predicted labels against gold labels"),
    "bench": Entry("postil.commands.bench", "measure the speed of training and tagging on this machine"),
    "demo": Entry("postil.commands.demo", "a tour: generate sentences, train, tag, explain, write a report"),
    "completion": Entry("postil.commands.completion", "print a completion script for bash, zsh or fish"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    _let_everything_be_printed()
    try:
        with _ended_by_sigterm():
            code = _dispatch(words)
            sys.stdout.flush()  # here, where a closed pipe can still be told from an error
            return code
    except PostilError as error:
        return _complain(str(error))
    except BrokenPipeError:  # the reader closed the pipe: `postil … | head`
        _discard_output()
        return 0
    except OSError as error:
        where = error.filename
        if not where and error.errno in _NO_ROOM:  # whoever writes a file names it
            where = "standard output"
            _discard_output()
        return _complain(f"{where}: {error.strerror or error}" if where else error.strerror or str(error))
    except Terminated:
        return _complain("terminated", code=143)
    except KeyboardInterrupt:
        return _complain("interrupted", code=130)


def _let_everything_be_printed() -> None:
    """No character stops a command, whatever the locale can encode.

    Pipes and files get UTF-8, as all files do that commands write; on a terminal, what it cannot show is escaped.
    """
    for stream in (sys.stdout, sys.stderr):
        if not isinstance(stream, io.TextIOWrapper) or stream.closed:
            continue
        knows_all = codecs.lookup(stream.encoding).name.startswith("utf")
        if stream is sys.stdout and not knows_all and not stream.isatty():
            stream.reconfigure(encoding="utf-8")
        stream.reconfigure(errors="backslashreplace")


_NO_ROOM = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


def _discard_output() -> None:
    """Send what is still buffered nowhere: Python would fail to write it again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Terminated(KeyboardInterrupt):
    """SIGTERM: everything is cleaned up as after Ctrl-C."""


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """SIGTERM raises Terminated instead of ending the process where it stands, with files and workers left behind."""

    def end(number: int, frame: object) -> NoReturn:
        raise Terminated

    is_ours = threading.current_thread() is threading.main_thread() and (
        signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    )
    if not is_ours:
        yield
        return
    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextmanager
def _signals_held() -> Iterator[None]:
    """Signals come afterwards: interrupted while it parses, argparse fails with an error of its own."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _dispatch(words: list[str]) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LongSentenceWarning)  # commands warn with the number of sentences
        warnings.simplefilter("ignore", SchemeWarning)  # commands warn with the file and the line
        for category in _SHOWN:
            warnings.simplefilter("always", category)
        warnings.simplefilter("once", UnspacedTextWarning)
        warnings.showwarning = _shown(warnings.showwarning)
        top = _top_parser()
        if not words:
            top.print_help()
            return 0
        if words[0] not in COMMANDS:
            if not words[0].startswith("-"):
                top.error(f"unknown command {words[0]!r}{similar(words[0], COMMANDS)}")
            top.parse_args(words)  # handles --help and --version; anything else exits with 2
        command = cast(Command, importlib.import_module(COMMANDS[words[0]].module))
        parser = _Parser(
            prog=f"postil {words[0]}",
            description=command.DESCRIPTION,
            formatter_class=_Formatter,
        )
        command.add_arguments(parser)
        # Options may come anywhere: `postil tag MODEL --probabilities FILE`, which parse_args does not accept.
        with _signals_held():
            arguments = _parsed(parser, words[1:])
        try:
            return command.run(arguments)
        except PostilError as error:
            return _complain(_with_options(str(error), parser))


def _with_options(message: str, parser: argparse.ArgumentParser) -> str:
    """The message with options as they are typed: the library calls --keep-gold keep_gold."""
    options = {action.dest: action.option_strings[-1] for action in parser._actions if action.option_strings}
    return _PYTHON_NAME.sub(lambda found: options.get(found[0], found[0]), message)


_PYTHON_NAME = re.compile(r"(?<![\w/.'\"=-])[a-z]+(?:_[a-z]+)+(?![\w/.'\"=-])")
"""Not part of a path or of something quoted."""


def _parsed(parser: argparse.ArgumentParser, words: list[str]) -> argparse.Namespace:
    """Positional words and options in any order.

    The parser would format its usage first, which only --help prints, and which takes longer than to parse.
    """
    if not any(word.startswith("-") and "h" in word for word in words):
        parser.usage = argparse.SUPPRESS
    return parser.parse_intermixed_args(words)


_SHOWN = (CheckpointWarning, ForgettingWarning, SlowKernelsWarning, WorkerWarning)


def _shown(otherwise: Callable[..., None]) -> Callable[..., None]:
    """Print those warnings of the library that are meant for a user of commands as one line each."""

    def show(message: Warning | str, category: type[Warning], *place: object) -> None:
        if issubclass(category, (*_SHOWN, UnspacedTextWarning)):
            warn(str(message))
        else:
            otherwise(message, category, *place)

    return show


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Fills the paragraphs of a description to the width of the terminal and leaves indented lines, examples, alone."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n\n".join(
            textwrap.indent(paragraph if "\n  " in f"\n{paragraph}" else self._filled(paragraph, width), indent)
            for paragraph in text.strip("\n").split("\n\n")
        )

    def _filled(self, text: str, width: int) -> str:
        return "\n".join(self._split_lines(text, min(width, _WIDEST)))

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)  # label-studio-min, --dry-run


_WIDEST = 118
"""Longer lines of text are hard to read, however wide the terminal is."""


class _Parser(argparse.ArgumentParser):
    """Reports errors in one line: the full usage would hide what is wrong."""

    def error(self, message: str) -> NoReturn:
        wrong = message.removeprefix("unrecognized arguments: ")
        if wrong != message:
            kind = "unknown option" if wrong.startswith("-") else "unexpected argument"
            message = f"{kind} {wrong}{similar(wrong.split('=')[0], self._option_string_actions)}"
        elif value := re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)$", message):
            message += similar(value[1], re.findall(r"[\w-]+", value[2]))
        self.exit(2, f"{self.prog}: error: {message} (see {self.prog} --help)\n")


class _Version(argparse.Action):
    """Looks the version up only when needed: that is the slowest part of ``postil --help``."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        import postil
        from postil.kernels import IN_USE

        print(f"postil {postil.__version__}, kernels: {IN_USE}")
        parser.exit()


def _top_parser() -> argparse.ArgumentParser:
    width = max(map(len, COMMANDS))
    listing = "\n".join(f"  {name:<{width}}  {entry.help}" for name, entry in COMMANDS.items())
    parser = _Parser(
        prog="postil",
        usage="postil COMMAND [OPTIONS]",
        description="Label words and phrases: train and run neural taggers on an ordinary CPU.",
        epilog=f"commands:\n{listing}\n\n`postil COMMAND --help` explains one command.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    parser.add_argument("command", nargs="?", choices=list(COMMANDS), metavar="COMMAND", help=argparse.SUPPRESS)
    return parser


def _complain(message: str, code: int = 1) -> int:
    print(f"postil: {message}", file=sys.stderr)
    return code
