"""``postil completion``: a script with which a shell completes commands, options, their values and files."""

import argparse
from pathlib import Path

from postil.commands.parser import COMMANDS, command_module

DESCRIPTION = """\
Print a script for completion with the Tab key: commands, options, their values (presets, formats, names of settings
after --set) and files.

  postil completion bash > ~/.local/share/bash-completion/completions/postil
  postil completion zsh > ~/.zsh/_postil            if fpath has ~/.zsh before compinit
  postil completion fish > ~/.config/fish/completions/postil.fish
  postil completion tcsh > ~/.postil.tcsh           and `source` it in ~/.tcshrc

If you do not have these folders, save the script anywhere and `source` it in ~/.bashrc, or in ~/.zshrc after compinit.
Print it again after updating Postil.
"""
SHELLS = ("bash", "zsh", "fish", "tcsh")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="the shell to complete in")


def run(arguments: argparse.Namespace) -> int:
    import shtab

    print(shtab.complete(_whole_parser(), arguments.shell))
    return 0


def _whole_parser() -> argparse.ArgumentParser:
    """One parser with all commands, which shtab reads; options that take a path complete files."""
    import shtab

    whole = argparse.ArgumentParser("postil")
    commands = whole.add_subparsers()
    for name, entry in COMMANDS.items():
        parser = commands.add_parser(name, help=entry.help, description=entry.help)
        command_module(name).add_arguments(parser)
        for action in parser._actions:
            if action.dest == "settings":
                action.choices = _settings()
            elif action.choices is None and _takes_path(action):
                action.complete = shtab.FILE  # type: ignore[attr-defined]
    return whole


def _takes_path(action: argparse.Action) -> bool:
    words = str(action.metavar)
    return action.type is Path or not action.option_strings or words.endswith(("FILE", "MODEL", "PATH", "FOLDER"))


def _settings() -> list[str]:
    """``NAME=`` of every setting; ``NAME=VALUE`` if its values are a list."""
    from postil.models.config import TaggerConfig, TreeConfig
    from postil.models.settings import rules

    declared = {**rules(TreeConfig), **rules(TaggerConfig)}
    return [f"{name}={value}" for name in sorted(declared) for value in declared[name].choices or ("",)]
