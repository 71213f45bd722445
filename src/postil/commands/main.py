"""Entry point of ``postil``: find the command, let it parse its words and run, print errors as one line.

Exit codes: 0 success, 1 a user error or a failed check, 2 a wrong command line, 130 interrupted.
"""

import argparse
import importlib
import os
import sys
import warnings
from collections.abc import Sequence
from typing import NamedTuple, NoReturn, Protocol, cast

from postil.errors import LongSentenceWarning, PostilError, similar


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
    "evaluate": Entry("postil.commands.evaluate", "score a model on labelled data"),
    "tag": Entry("postil.commands.tag", "label text"),
    "tune": Entry("postil.commands.tune", "trade precision for recall in a trained model"),
    "explain": Entry("postil.commands.explain", "explain an answer by its words and features"),
    "convert": Entry("postil.commands.convert", "convert a labelled file to another format or labelling scheme"),
    "presets": Entry("postil.commands.presets", "list the presets with their purposes and settings"),
    "check": Entry("postil.commands.check", "compare every gradient with central differences"),
    "score": Entry("postil.commands.score", "score predicted labels against gold labels"),
    "bench": Entry("postil.commands.bench", "measure the speed of training and tagging on this machine"),
    "demo": Entry("postil.commands.demo", "a tour: generate sentences, train, tag, explain, write a report"),
    "completion": Entry("postil.commands.completion", "print a script for completion in bash, zsh or fish"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = _dispatch(words)
        sys.stdout.flush()  # here, where a closed pipe can still be told from an error
        return code
    except PostilError as error:
        return _complain(str(error))
    except BrokenPipeError:  # the reader closed the pipe: `postil … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _complain(f"{where}{error.strerror or error}")
    except KeyboardInterrupt:
        return _complain("interrupted", code=130)


def _dispatch(words: list[str]) -> int:
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
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_arguments(parser)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LongSentenceWarning)  # commands warn with the number of sentences
        # Options may come anywhere: `postil tag MODEL --probabilities FILE`, which parse_args does not accept.
        return command.run(parser.parse_intermixed_args(words[1:]))


class _Parser(argparse.ArgumentParser):
    """Reports errors in one line: the full usage would hide what is wrong."""

    def error(self, message: str) -> NoReturn:
        wrong = message.removeprefix("unrecognized arguments: ")
        if wrong != message:
            message = f"unknown option {wrong}{similar(wrong.split('=')[0], self._option_string_actions)}"
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
