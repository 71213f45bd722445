"""``postil completion``: a script with which a shell completes commands, options, their values and files."""

import argparse
import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from postil.commands.main import COMMANDS

DESCRIPTION = """\
Print a script for completion with the Tab key: commands, options, their values (presets, formats, settings after --set)
and files.

  postil completion bash > ~/.local/share/bash-completion/completions/postil
  postil completion zsh > ~/.zsh/_postil            where fpath has ~/.zsh before compinit
  postil completion fish > ~/.config/fish/completions/postil.fish

If you do not have these folders, save the script anywhere and `source` it in ~/.bashrc, or in ~/.zshrc after compinit.
Print it again after updating Postil.
"""

SETTINGS = "--set"


@dataclass(frozen=True)
class Option:
    """An option of a command: its spellings, and what may follow it."""

    names: tuple[str, ...]
    help: str
    choices: tuple[str, ...] = ()
    takes_value: bool = False
    takes_file: bool = False


@dataclass(frozen=True)
class Words:
    """What may follow a command: options, and choices for a word without dashes; other such words are files."""

    help: str
    options: tuple[Option, ...]
    choices: tuple[str, ...] = ()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=list(SCRIPTS), help="the shell to complete in")


def run(arguments: argparse.Namespace) -> int:
    print(SCRIPTS[arguments.shell](vocabulary()), end="")
    return 0


def vocabulary() -> dict[str, Words]:
    """Command -> its words, as the parsers of the commands know them."""
    return {name: _words(entry.help, entry.module) for name, entry in COMMANDS.items()}


def _words(help_text: str, module: str) -> Words:
    parser = argparse.ArgumentParser(add_help=True)
    importlib.import_module(module).add_arguments(parser)
    options = tuple(_option(action) for action in parser._actions if action.option_strings)
    free = [action for action in parser._actions if not action.option_strings]
    choices = tuple(str(choice) for action in free for choice in action.choices or ())
    if module.endswith(".presets"):
        choices = _presets()
    return Words(help_text, options, choices)


def _option(action: argparse.Action) -> Option:
    takes_value = action.nargs != 0
    names_file = action.type is Path or str(action.metavar).endswith(("FILE", "MODEL", "FOLDER"))
    choices = tuple(f"{name}=" for name in settings()) if SETTINGS in action.option_strings else action.choices
    return Option(
        tuple(action.option_strings),
        (action.help or "").split(":")[0].split("(")[0].strip(),
        tuple(map(str, choices or ())),
        takes_value,
        takes_value and names_file,
    )


def _presets() -> tuple[str, ...]:
    from postil.models.config import PRESETS
    from postil.models.tree_config import DEFAULTS

    return (*PRESETS, *DEFAULTS)


def settings() -> dict[str, tuple[str, ...]]:
    """Name of a setting -> its possible values, where they are a list."""
    from postil.models.config import TaggerConfig
    from postil.models.settings import rules
    from postil.models.tree_config import TreeConfig

    declared = {**rules(TreeConfig), **rules(TaggerConfig)}
    return {name: tuple(map(str, declared[name].choices or ())) for name in sorted(declared)}


# ------------------------------------------------------------------------------------------------ shells


def _values(commands: dict[str, Words]) -> Iterator[tuple[str, Option]]:
    """(command, option) for every option with a value."""
    for name, words in commands.items():
        for option in words.options:
            if option.takes_value:
                yield name, option


def _patterns(command: str, option: Option) -> str:
    return "|".join(f'"{command} {name}"' for name in option.names)


def _all_names(words: Words) -> str:
    return " ".join(name for option in words.options for name in option.names)


def bash(commands: dict[str, Words]) -> str:
    """Files are what bash itself completes where the function finds nothing."""
    lines = [
        "# Completion of postil for bash.",
        "_postil() {",
        '  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}"',
        '  [[ $current == "=" ]] && current=""',
        '  [[ $previous == "=" ]] && previous="${COMP_WORDS[COMP_CWORD-2]}"',  # bash cuts words at =
        "  COMPREPLY=()",
        "  if ((COMP_CWORD == 1)); then",
        f'    COMPREPLY=($(compgen -W "{" ".join(commands)} --help --version" -- "$current"))',
        "    return",
        "  fi",
        '  case "${COMP_WORDS[1]} $previous" in',
    ]
    for name, option in _values(commands):
        if SETTINGS in option.names:
            lines.append(f"    {_patterns(name, option)}) compopt -o nospace 2>/dev/null")
            lines.append(f'      COMPREPLY=($(compgen -W "{" ".join(option.choices)}" -- "$current")); return ;;')
        elif option.choices:
            answer = f'COMPREPLY=($(compgen -W "{" ".join(option.choices)}" -- "$current"))'
            lines.append(f"    {_patterns(name, option)}) {answer}; return ;;")
        else:
            lines.append(f"    {_patterns(name, option)}) return ;;")
    for setting, choices in settings().items():
        if choices:
            answer = f'COMPREPLY=($(compgen -W "{" ".join(choices)}" -- "$current"))'
            lines.append(f'    "train {setting}") {answer}; return ;;')
    lines += ["  esac", '  case "${COMP_WORDS[1]} $current" in']
    for name, words in commands.items():
        lines.append(f'    "{name} -"*) COMPREPLY=($(compgen -W "{_all_names(words)}" -- "$current")) ;;')
        if words.choices:
            lines.append(f'    "{name} "*) COMPREPLY=($(compgen -W "{" ".join(words.choices)}" -- "$current")) ;;')
    return "\n".join([*lines, "  esac", "}", "complete -o bashdefault -o default -F _postil postil", ""])


def zsh(commands: dict[str, Words]) -> str:
    """Works from ``eval`` and as a file ``_postil`` in ``fpath``."""
    lines = [
        "#compdef postil",
        "_postil() {",
        '  local command="$words[2]" previous="$words[CURRENT-1]"',
        "  if (( CURRENT == 2 )); then",
        "    local -a commands",
        "    commands=(" + " ".join(f"'{name}:{_quoted(words.help)}'" for name, words in commands.items()) + ")",
        "    _describe command commands",
        "    return",
        "  fi",
        f'  if [[ "$command $previous" == "train {SETTINGS}" && $PREFIX == *=* ]]; then',
        '    local setting="${PREFIX%%=*}"',
        "    compset -P '*='",
        '    case "$setting" in',
        *(f"      {name}) compadd -- {' '.join(values)} ;;" for name, values in settings().items() if values),
        "    esac",
        "    return",
        "  fi",
        '  case "$command $previous" in',
    ]
    for name, option in _values(commands):
        ending = "-S '' " if SETTINGS in option.names else ""
        answer = f"compadd {ending}-- {' '.join(option.choices)}" if option.choices else "_files"
        lines.append(f"    {_patterns(name, option)}) {answer}; return ;;")
    lines += ["  esac", '  case "$command $PREFIX" in']
    for name, words in commands.items():
        lines.append(f'    "{name} -"*) compadd -- {_all_names(words)} ;;')
        if words.choices:
            lines.append(f'    "{name} "*) compadd -- {" ".join(words.choices)} ;;')
    lines += ["    *) _files ;;", "  esac", "}"]
    return "\n".join([*lines, 'if [[ "$funcstack[1]" == _postil ]]; then _postil; else compdef _postil postil; fi', ""])


def fish(commands: dict[str, Words]) -> str:
    """One line for each command and option."""
    lines = ["# Completion of postil for fish."]
    for name, words in commands.items():
        lines.append(f"complete -c postil -n __fish_use_subcommand -f -a {name} -d '{_quoted(words.help)}'")
    for name, words in commands.items():
        begin = f"complete -c postil -n '__fish_seen_subcommand_from {name}'"
        if words.choices:
            lines.append(f"{begin} -f -a '{' '.join(words.choices)}'")
        for option in words.options:
            spelt = [f"-l {word[2:]}" if word.startswith("--") else f"-s {word[1:]}" for word in option.names]
            value = ""
            if option.choices:
                value = f" -x -a '{' '.join(_fish_choices(option))}'"
            elif option.takes_value:
                value = " -r -F" if option.takes_file else " -x"
            lines.append(f"{begin} {' '.join(spelt)}{value} -d '{_quoted(option.help)}'")
    return "\n".join([*lines, ""])


def _fish_choices(option: Option) -> list[str]:
    if SETTINGS not in option.names:
        return list(option.choices)
    return [f"{name}={value}" for name, values in settings().items() for value in values or ("",)]


def _quoted(text: str) -> str:
    """Text inside single quotes of a shell."""
    return text.replace("\\", "").replace("'", "").replace(":", " ")


SCRIPTS: dict[str, Callable[[dict[str, Words]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
