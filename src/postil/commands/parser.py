"""The table of commands, and the parser that all of them share.

A command is a module with DESCRIPTION, ``add_arguments(parser)`` and ``run(arguments)``. If it has more than a few
options, SHOWN names those that ``--help`` lists; ``--help-all`` lists every one.
"""

import argparse
import importlib
import re
import textwrap
from collections.abc import Sequence
from typing import NamedTuple, NoReturn, Protocol, cast, final

from postil.errors import similar


class Command(Protocol):
    """The contents of a command's module."""

    DESCRIPTION: str

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...
    def run(self, arguments: argparse.Namespace) -> int: ...


class Entry(NamedTuple):
    module: str
    help: str


# Modules are imported only when their command is called: `postil --help` stays instant.
GROUPS: dict[str, dict[str, str]] = {
    "Start": {
        "demo": "take a tour: generate sentences, train, tag, explain, write a report",
        "tag": "label text",
        "explain": "show which words and features led to a prediction",
        "info": "show a model's card, its network, or the presets",
    },
    "Train": {
        "train": "train a tagger, a detector or a tree classifier",
        "evaluate": "score a model, or a file of predictions, on labelled data",
        "tune": "trade precision for recall in a trained model",
        "compare": "compare two models, or two files of predictions, on labelled data",
        "crossval": "cross-validate, or draw a learning curve",
        "pretrain": "learn word vectors, word clusters or encoders from raw text",
    },
    "Data": {
        "convert": "convert a labelled file to another format or labelling scheme",
        "doctor": "find errors and inconsistencies in labelled data",
        "suggest": "suggest which sentences to label next",
        "annotate": "label text on a local page while a model learns from the answers",
        "extend": "add classes to a tagger without forgetting the others",
    },
    "Deploy": {
        "serve": "serve models through an HTTP API, with a page to try them",
        "export": "write a model for C or for web pages",
    },
    "Tools": {
        "gradcheck": "compare every gradient with central differences",
        "bench": "measure the speed of training and tagging on this machine",
        "completion": "print a completion script for bash, zsh, fish or tcsh",
    },
}
COMMANDS: dict[str, Entry] = {
    name: Entry(f"postil.commands.{name}", text) for group in GROUPS.values() for name, text in group.items()
}


def command_module(name: str) -> Command:
    return cast(Command, importlib.import_module(COMMANDS[name].module))


def command_parser(name: str) -> "Parser":
    """The parser of one command, with all its options."""
    command = command_module(name)
    parser = Parser(f"postil {name}", command.DESCRIPTION, getattr(command, "SHOWN", ()))
    command.add_arguments(parser)
    # argparse would format the usage before it parses anything, which takes longer than to parse.
    words = [_usage(action) for action in parser._actions if not action.option_strings]
    parser.usage = " ".join([parser.prog, *words, "[OPTIONS]"])
    return parser


def _usage(action: argparse.Action) -> str:
    word = str(action.metavar or action.dest)
    if word.startswith("[") or action.nargs not in ("?", "*", "+"):
        return word
    return {"?": f"[{word}]", "*": f"[{word}…]", "+": f"{word}…"}[str(action.nargs)]


@final
class Parser(argparse.ArgumentParser):
    """A parser with a short and a full help, which reports errors in one line: the full usage would hide the error."""

    def __init__(self, prog: str, description: str, shown: Sequence[str] = ()) -> None:
        super().__init__(prog=prog, description=description, formatter_class=_Formatter, add_help=False)
        self._shown, self._is_full = shown, False
        self.add_argument("-h", "--help", action="help", help="show this help")
        if shown:
            self.add_argument("--help-all", action=_HelpAll, nargs=0, help="show all options")

    def format_help(self) -> str:
        if self._is_full or not self._shown:
            return super().format_help()
        options = {name: action for action in self._actions for name in action.option_strings}
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, [], [])
        formatter.add_text(_beginning(self.description or ""))
        formatter.start_section("arguments")
        formatter.add_arguments([action for action in self._actions if not action.option_strings])
        formatter.end_section()
        formatter.start_section("options")
        formatter.add_arguments([options[name] for name in (*self._shown, "--help", "--help-all")])
        formatter.end_section()
        return formatter.format_help()

    def show_all(self) -> str:
        self._is_full = True
        return self.format_help()

    def error(self, message: str) -> NoReturn:
        wrong = message.removeprefix("unrecognized arguments: ")
        if wrong != message:
            kind = "unknown option" if wrong.startswith("-") else "unexpected argument"
            message = f"{kind} {wrong}{similar(wrong.split('=')[0], self._option_string_actions)}"
        elif value := re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)$", message):
            message += similar(value[1], re.findall(r"[\w-]+", value[2]))
        self.exit(2, f"{self.prog}: error: {message} (see {self.prog} --help)\n")


def _beginning(description: str) -> str:
    """The paragraphs up to the examples."""
    paragraphs = description.split("\n\n")
    examples = next((i for i, text in enumerate(paragraphs) if text.startswith("  ")), len(paragraphs))
    return "\n\n".join(paragraphs[: examples + 1])


class _HelpAll(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print(cast(Parser, parser).show_all(), end="")
        parser.exit()


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
