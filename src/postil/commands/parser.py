"""The table of commands, the declaration of their options, and the parser that all of them share.

A command is a module with DESCRIPTION, OPTIONS and ``run(arguments)``. If it has more than a few options, SHOWN names
those that ``--help`` lists; ``--help-all`` lists every one.
"""

import argparse
import importlib
import re
import textwrap
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, cast, final

from postil.errors import ConfigurationError, similar

# ------------------------------------------------------------------------------------------------ options


class CommandOption(NamedTuple):
    """An argument of one command or of several."""

    flags: list[str]
    settings: dict[str, Any]
    """Those of argparse. Options with the same "instead" exclude each other; "least" is the smallest value; "needs"
    names another option that must be given, and may say why; "writes" is the kind of the file that is written, or a
    function of the arguments that returns it."""


Options = Mapping[str, Iterable[CommandOption]]
"""Title of a group, perhaps with a second line that describes it -> its options. "" are the options without a group."""


def option(typed: str, help: str, **settings: Any) -> CommandOption:
    """Declare an argument as it is typed.

    ``MODEL`` is an argument, ``--json`` a switch, ``--dev FILE`` takes a value, ``--task NAME …`` may be repeated,
    ``-n N`` takes a whole number, ``--sure P=0.9`` a number with a default, which the help tells.
    """
    flags, value = re.fullmatch(r"((?:--?[\w-]+(?: |$))*)(.*)", typed).groups()  # type: ignore[union-attr]
    if number := re.fullmatch(r"(N|[A-Z]+(?==))=?([\d.,]*)", value):
        value, default = number.groups()
        settings = {"type": float if "." in default else int, **settings}
        if default:
            settings["default"] = settings["type"](default.replace(",", ""))
            help += f" (default: {default.removesuffix('.0')})"
    elif value.endswith(" …"):
        settings = {"action": "append", "default": [], **settings}
        help += " (repeatable)"
    elif flags and not value and not settings.keys() & {"choices", "action"}:
        settings["action"] = "store_true"
    if value:
        settings["metavar"] = value.removesuffix(" …")
    if not flags:
        flags = settings.pop("dest", value.lower())
    return CommandOption(flags.split(), {"help": help, **settings})


def needing(other: str, *options: CommandOption) -> list[CommandOption]:
    """Options that need another one."""
    return [CommandOption(flags, {**settings, "needs": other}) for flags, settings in options]


_RULES = ("instead", "least", "needs", "writes")
JSON = option("--json", "print one JSON object and nothing else")
OVERWRITE = option("--overwrite", "replace an existing output even if it is read-only or of another kind")
SEED = option("--seed N=0", "random seed")
SETTINGS = option("--set NAME=VALUE …", "change one setting", dest="settings")


def add_options(parser: argparse.ArgumentParser, options: Options) -> None:
    exclusive: dict[str, argparse._MutuallyExclusiveGroup] = {}
    for heading, declared in options.items():
        title, _, description = heading.partition("\n")
        group = parser.add_argument_group(title, description or None) if title else parser
        for flags, settings in declared:
            rules = {name: value for name, value in settings.items() if name in _RULES}
            target, instead = group, rules.get("instead")
            if instead is not None:
                target = exclusive.setdefault(instead, exclusive.get(instead) or group.add_mutually_exclusive_group())
            action = target.add_argument(*flags, **{name: settings[name] for name in settings if name not in rules})
            vars(action).update(**rules)


def check_options(parser: argparse.ArgumentParser, arguments: Namespace) -> None:
    """Raise ConfigurationError for a number that is too small, and for an option without another that it needs."""
    choices = {action.dest: action.choices for action in parser._actions}
    for action in parser._actions:
        value, least, needs = getattr(arguments, action.dest, None), *map(vars(action).get, ("least", "needs"))
        if not _is_given(value) or value == action.default:
            continue
        if least is not None and value < least:
            raise ConfigurationError(action.option_strings[0], expected=f"must be at least {least}", got=value)
        if needs is not None:
            other, wanted = re.findall(r"--([\w-]+) ?(\w*)", needs)[0]
            other = getattr(arguments, dest := other.replace("-", "_"))
            if not _is_given(other) or (wanted and choices[dest] and other != wanted):
                raise ConfigurationError(action.option_strings[0], expected=f"needs {needs}", got=other or None)


def _is_given(value: object) -> bool:
    return value is not None and value is not False and value != [] and value != ()


def refuse(arguments: Namespace, why: str, *names: str) -> None:
    """Raise ConfigurationError if one of these options is used, which do not apply."""
    for name in names:
        if _is_given(getattr(arguments, name)):
            raise ConfigurationError(f"{typed_name(name)} cannot be used here: {why}")


def typed_name(name: str) -> str:
    """``--feature-columns`` for the value feature_columns."""
    renamed = {"settings": "--set", "source_format": "--from"}
    return renamed.get(name, f"--{name.replace('_', '-')}")


# ------------------------------------------------------------------------------------------------ commands


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
        "rules": "check rules that label raw text: lists of names, patterns, models",
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
COMMANDS: dict[str, str] = {name: text for group in GROUPS.values() for name, text in group.items()}


def command_module(name: str) -> Any:
    return importlib.import_module(f"postil.commands.{name}")


def command_parser(name: str) -> "Parser":
    """The parser of one command, with all its options."""
    command = command_module(name)
    parser = Parser(f"postil {name}", command.DESCRIPTION, getattr(command, "SHOWN", "").split())
    add_options(parser, command.OPTIONS)
    parser.set_defaults(usage_error=parser.error)
    # argparse would format the usage before it parses anything, which takes longer than to parse.
    words = []
    for action in parser._actions:
        if not action.option_strings:
            word = str(action.metavar or action.dest)
            shapes = {"?": f"[{word}]", "*": f"[{word}…]", "+": f"{word}…"}
            words.append(word if word.startswith("[") else shapes.get(str(action.nargs), word))
    parser.usage = " ".join([parser.prog, *words, "[OPTIONS]"])
    return parser


_OTHER_NAMES = {"--raw": "--unlabelled"}
"""Options that people look for under another name."""


@final
class Parser(argparse.ArgumentParser):
    """A parser with a short and a full help, which reports errors in one line: the full usage would hide the error."""

    def __init__(self, prog: str, description: str, shown: Sequence[str] = ()) -> None:
        # Every new option is formatted once. The width of the terminal takes an import, and only the help needs it.
        self._width: int | None = 80
        super().__init__(
            prog=prog, description=description, formatter_class=_Formatter, add_help=False, allow_abbrev=False
        )
        self._shown, self.is_full = shown, False
        self._positionals.title = "arguments"
        self.add_argument("-h", "--help", action="help", help="show this help")
        self.add_argument(
            "--help-all", action=_HelpAll, nargs=0, help="show all options" if shown else argparse.SUPPRESS
        )

    def _get_formatter(self) -> argparse.HelpFormatter:
        return _Formatter(self.prog, width=self._width)

    def format_help(self) -> str:
        self._width = None
        if self.is_full or not self._shown:
            return super().format_help()
        options = {name: action for action in self._actions for name in action.option_strings}
        formatter = self._get_formatter()
        formatter.add_usage(self.usage, [], [])
        paragraphs = (self.description or "").split("\n\n")  # up to the examples
        examples = next((i for i, text in enumerate(paragraphs) if text.startswith("  ")), len(paragraphs))
        formatter.add_text("\n\n".join(paragraphs[: examples + 1]))
        formatter.start_section("arguments")
        formatter.add_arguments([action for action in self._actions if not action.option_strings])
        formatter.end_section()
        formatter.start_section("options")
        formatter.add_arguments([options[name] for name in (*self._shown, "--help", "--help-all")])
        formatter.end_section()
        return formatter.format_help()

    def error(self, message: str) -> NoReturn:
        wrong = message.removeprefix("unrecognized arguments: ")
        if wrong != message:
            kind = "unknown option" if wrong.startswith("-") else "unexpected argument"
            name, known = re.split("[ =]", wrong)[0], list(self._option_string_actions)
            other = _OTHER_NAMES.get(name)
            message = f"{kind} {wrong}{similar(other if other in known else name, known)}"
        elif value := re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)$", message):
            message += similar(value[1], re.findall(r"[\w-]+", value[2]))
        self.exit(2, f"{self.prog}: error: {message} (see {self.prog} --help)\n")


class _HelpAll(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        cast(Parser, parser).is_full = True
        parser.print_help()
        parser.exit()


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Fills the paragraphs of a description to the width of the terminal and leaves indented lines, examples, alone."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n\n".join(
            textwrap.indent(
                paragraph
                if "\n  " in f"\n{paragraph}"
                else "\n".join(self._split_lines(paragraph, min(width, _WIDEST))),
                indent,
            )
            for paragraph in text.strip("\n").split("\n\n")
        )

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)  # label-studio-min, --dry-run


_WIDEST = 118
"""Longer lines of text are hard to read, however wide the terminal is."""
